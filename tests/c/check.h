/*
 * What every test of the C library needs. Include it first.
 *
 * A test is a program: it exits with 0 if all its checks hold, and with 1 at the first that does not.
 */
#ifndef TERN_TESTS_CHECK_H
#define TERN_TESTS_CHECK_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ternlease.h"

/* A test that loads the library by itself must not be linked to it, and does without names. */
#ifdef TESTED_WITHOUT_LINKING
#define STATUS_NAME(status) "(see number)"
#define REASON_NAME(reason) "(see number)"
#else
#define STATUS_NAME(status) tern_status_name(status)
#define REASON_NAME(reason) tern_reason_name(reason)
#endif

/*
 * How often to repeat what is repeated so that threads meet in many ways: where TERN_SLOWLY is set, a tenth of it. A tool that makes everything
 * slower by a factor of fifty, and lets one thread run at a time, looks at each step and not at how they meet.
 */
static inline int often(int times)
{
    return getenv("TERN_SLOWLY") ? times / 10 : times;
}

static unsigned long checks_made;

/* Where the macros put the details of a status. Threads declare one of their own, with this name. */
static tern_error_t err = { .struct_size = sizeof(tern_error_t) };

/* What is in `err` before a call, to see whether the call touched it. */
static inline tern_error_t untouched_error(void)
{
    tern_error_t made = tern_error_init();
    made.status = made.reason = made.os_errno = made.driver_code = 0x5a5a5a5a;
    memset(made.message, 0x5a, sizeof made.message - 1);
    return made;
}

static inline int is_untouched(const tern_error_t *error)
{
    tern_error_t before = untouched_error();
    return memcmp(error, &before, sizeof before) == 0;
}

/* Counts a check; if it does not hold, says so and ends the program. Children of fork() end here too, hence _exit(). */
static inline void check(int holds, const tern_error_t *error, const char *file, int line, const char *text)
{
    __atomic_add_fetch(&checks_made, 1, __ATOMIC_RELAXED);
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
    if (!is_untouched(error))
        fprintf(stderr, "    last error: %s (%d), reason %s (%d), errno %d: %s\n", STATUS_NAME(error->status),
                (int)error->status, REASON_NAME(error->reason), (int)error->reason, (int)error->os_errno, error->message);
    _exit(1);
}

static inline void check_equal(intmax_t is, intmax_t should, const tern_error_t *error, const char *file, int line,
                               const char *text)
{
    if (is != should)
        fprintf(stderr, "    is %" PRIdMAX ", should be %" PRIdMAX "\n", is, should);
    check(is == should, error, file, line, text);
}

static inline void check_text(const char *is, const char *should, const tern_error_t *error, const char *file,
                              int line, const char *text)
{
    int same = strcmp(is, should) == 0;
    if (!same)
        fprintf(stderr, "    is \"%s\", should be \"%s\"\n", is, should);
    check(same, error, file, line, text);
}

/* The status is the expected one; the error tells the same, or was left alone. */
static inline void check_status(int32_t is, int32_t should, const tern_error_t *error, const char *file, int line,
                                const char *text)
{
    if (is != should)
        fprintf(stderr, "    is %s (%d), should be %s (%d)\n", STATUS_NAME(is), (int)is, STATUS_NAME(should), (int)should);
    check(is == should, error, file, line, text);
    if (is == TERN_OK) {
        check(is_untouched(error), error, file, line, "success leaves the error alone");
        return;
    }
    check(error->status == is, error, file, line, "the error has the status that was returned");
    check(error->struct_size == sizeof *error, error, file, line, "the error keeps its size");
    check(memchr(error->message, 0, sizeof error->message) != NULL && error->message[0] != 0, error, file, line,
          "the error has a message, terminated");
    /* Users of other languages read it, too. An _init function exists in C alone, as do the structs that it makes. */
    const char *constant = strstr(error->message, "TERN_");
    /* Options of CMake are for users of every language. */
    int is_option = constant && constant - error->message >= 2 && strncmp(constant - 2, "-D", 2) == 0;
    check(strstr(error->message, "tern_") == NULL && (constant == NULL || is_option), error, file, line,
          "the error names nothing of C");
}

/* A trit is the expected one; the error tells why it is unknown, or was left alone. */
static inline void check_trit(tern_trit_t is, tern_trit_t should, int32_t status, const tern_error_t *error,
                              const char *file, int line, const char *text)
{
    check_equal(is, should, error, file, line, text);
    check_status(is == TERN_TRIT_UNKNOWN ? error->status : TERN_OK, status, error, file, line, text);
}

#define CHECK(condition) check(!!(condition), &err, __FILE__, __LINE__, #condition)
#define CHECK_EQ(is, should) check_equal((intmax_t)(is), (intmax_t)(should), &err, __FILE__, __LINE__, #is " == " #should)
#define CHECK_TEXT(is, should) check_text(is, should, &err, __FILE__, __LINE__, #is " is " #should)

/* EXPECT(TERN_BUSY, tern_lease_acquire, manager, ..., &lease): calls the function, with `err` as its last argument. */
#define EXPECT(status, function, ...)                                                                                 \
    (err = untouched_error(),                                                                                         \
     check_status(function(__VA_ARGS__, &err), status, &err, __FILE__, __LINE__, #function " gives " #status))

/* The same for functions that answer with a trit, one of the three. */
#define EXPECT_TRIT(trit, function, ...)                                                                              \
    (err = untouched_error(),                                                                                         \
     check_trit(function(__VA_ARGS__, &err), trit, TERN_OK, &err, __FILE__, __LINE__, #function " gives " #trit))

/* And for those that answer TERN_TRIT_UNKNOWN, with this status in the error. */
#define EXPECT_UNKNOWN(status, function, ...)                                                                         \
    (err = untouched_error(), check_trit(function(__VA_ARGS__, &err), TERN_TRIT_UNKNOWN, status, &err, __FILE__,      \
                                         __LINE__, #function " gives unknown, " #status))

/* The end of main(). */
static inline int finish(const char *file)
{
    const char *slash = strrchr(file, '/');
    printf("%s: %lu checks\n", slash ? slash + 1 : file, checks_made);
    return EXIT_SUCCESS;
}

#endif
