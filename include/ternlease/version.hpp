// Which library is this?
#ifndef TERNLEASE_VERSION_HPP
#define TERNLEASE_VERSION_HPP

#include <cstdint>

#include "../ternlease.h"
#include "result.hpp"

namespace tern {

/// Can this program, which was compiled with these headers, use the library that is running? manager::open() asks by
/// itself.
inline result<void> abi_check()
{
    return detail::attempt([](auto... out) { return tern_abi_check(TERN_VERSION_NUMBER, out...); });
}

/// The version of the library that is running, such as "1.2.3". The text is constant.
inline const char* version() noexcept { return tern_version_text(); }

/// The same as a number, as TERN_VERSION_NUMBER is that of these headers.
inline std::uint32_t version_number() noexcept { return tern_version(); }

} // namespace tern

#endif
