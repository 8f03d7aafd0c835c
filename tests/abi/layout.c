/*
 * The types and numbers of ternlease.h are as layout.def says. It need only compile, as C99 or later and as C++17;
 * bindings/c/tests/layout.rs says the same of the Rust side.
 */
#include "ternlease.h"

#if UINTPTR_MAX != UINT64_MAX
#error "layout.def is for machines with 64 bits"
#endif

/* Works in every version of both languages; the error names what is wrong. */
#define CHECK(what, condition) typedef char what[(condition) ? 1 : -1]

#define TYPE(name, size, alignment) \
    struct name##_after_a_char { char first; name second; }; \
    CHECK(name##_has_another_size, sizeof(name) == (size)); \
    CHECK(name##_has_another_alignment, offsetof(struct name##_after_a_char, second) == (alignment));

#define FIELD(type, name, offset, size) \
    CHECK(type##_##name##_is_elsewhere, offsetof(type, name) == (offset)); \
    CHECK(type##_##name##_has_another_size, sizeof(((type *)0)->name) == (size));

#define VALUE(name, value) \
    CHECK(name##_has_another_value, (name) == (value));

#include "layout.def"

CHECK(the_version_has_another_number,
      TERN_VERSION_NUMBER == TERN_VERSION_MAJOR * 1000000 + TERN_VERSION_MINOR * 1000 + TERN_VERSION_PATCH);
