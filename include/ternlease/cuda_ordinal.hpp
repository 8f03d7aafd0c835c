// CUDA: which ordinals the devices of a lease have in this process.
#ifndef TERNLEASE_CUDA_ORDINAL_HPP
#define TERNLEASE_CUDA_ORDINAL_HPP

#include <cstddef>
#include <string_view>
#include <vector>

#include <cuda_runtime_api.h>

#include "../ternlease.h"
#include "device.hpp"
#include "gpu_lease.hpp"
#include "result.hpp"

namespace tern {

namespace cuda {

namespace detail {

/// What CUDA said is told here, and is not to be found again by the next one who asks for CUDA's last error.
inline error failure(tern::status status, const char* message, cudaError_t code)
{
    static_cast<void>(cudaGetLastError());
    error made(status, message);
    made.capi()->driver_code = static_cast<int>(code);
    return made;
}

/// Is this the UUID of the device with these bytes? "GPU-" or "MIG-" and 16 bytes in hexadecimal digits, with hyphens
/// between some.
inline bool is_uuid(std::string_view text, const char* bytes) noexcept
{
    const auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    };
    std::size_t digits = 0;
    for (std::size_t at = text.find('-'); at < text.size(); at += 1) {
        if (text[at] == '-')
            continue;
        const int value = digit(text[at]);
        if (value < 0 || digits == 32)
            return false;
        const auto byte = static_cast<unsigned char>(bytes[digits / 2]);
        if (value != (digits % 2 == 0 ? byte >> 4 : byte & 15))
            return false;
        digits += 1;
    }
    return digits == 32;
}

} // namespace detail

/// The ordinal of a device in this process, which is counted after CUDA_VISIBLE_DEVICES: by its PCI address, and for a
/// part of a device by its UUID. status::unknown_resource if CUDA does not see it.
inline result<int> ordinal(const device& of)
{
    int found = 0;
    if (!of.mig && !of.pci.empty()) {
        const cudaError_t code = cudaDeviceGetByPCIBusId(&found, of.pci.c_str());
        if (code == cudaSuccess)
            return found;
        return detail::failure(status::unknown_resource, "CUDA sees no device with this PCI address", code);
    }
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    for (int each = 0; code == cudaSuccess && each < count; each += 1) {
        cudaDeviceProp about{};
        if (cudaGetDeviceProperties(&about, each) != cudaSuccess)
            static_cast<void>(cudaGetLastError()); // One that does not answer is not it.
        else if (detail::is_uuid(of.uuid, about.uuid.bytes))
            return each;
    }
    return detail::failure(status::unknown_resource, "CUDA sees no device with this UUID", code);
}

/// The ordinals of a lease's devices.
inline result<std::vector<int>> ordinals(const gpu_lease& of)
{
    const auto devices = of.devices();
    if (!devices)
        return devices.error();
    std::vector<int> found;
    for (const device& each : *devices) {
        const auto one = ordinal(each);
        if (!one)
            return one.error();
        found.push_back(*one);
    }
    return found;
}

/// The ordinal of a lease's first device.
inline result<int> ordinal(const gpu_lease& of)
{
    const auto all = ordinals(of);
    if (!all)
        return all.error();
    return all->front();
}

} // namespace cuda

} // namespace tern

#endif
