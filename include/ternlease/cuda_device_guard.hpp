// CUDA device guard: the device of a lease is the current one, for as long as this object lives.
#ifndef TERNLEASE_CUDA_DEVICE_GUARD_HPP
#define TERNLEASE_CUDA_DEVICE_GUARD_HPP

#include <utility>

#include <cuda_runtime_api.h>

#include "cuda_ordinal.hpp"
#include "device.hpp"
#include "enums.hpp"
#include "gpu_lease.hpp"
#include "result.hpp"

namespace tern {

namespace cuda {

/// A leased device is the current one of this thread for as long as this object lives; then that which was before is so
/// again, also if the scope is left by an exception. Guards nest.
///
///     {
///         const auto guard = tern::cuda::device_guard::enter(gpu).value();
///         cudaMalloc(&memory, bytes); // on the leased device
///     }
///
/// From version 12 on CUDA makes a context on each device that becomes current. A thread whose current device was not
/// leased would have one there at the end of its first guard: let it begin with cudaSetDevice() and the ordinal of a
/// device that it keeps, or hide the others with gpu_lease::env().
class [[nodiscard]] device_guard {
public:
    /// Makes a device the current one of this thread.
    static result<device_guard> enter(const device& of)
    {
        const auto found = cuda::ordinal(of);
        if (!found)
            return found.error();
        int before = 0;
        if (const cudaError_t code = cudaGetDevice(&before); code != cudaSuccess)
            return detail::failure(status::system, "CUDA does not tell the current device", code);
        if (const cudaError_t code = cudaSetDevice(*found); code != cudaSuccess) {
            // It may be the current one all the same: CUDA changes that before it makes a context.
            static_cast<void>(cudaSetDevice(before));
            return detail::failure(status::system, "CUDA cannot use the device", code);
        }
        return device_guard(before, *found);
    }

    /// The same with the first device of a lease, which must be held: status::not_held if it is over. Of a lease on
    /// several, enter each of gpu_lease::devices() when it is its turn.
    static result<device_guard> enter(const gpu_lease& of)
    {
        const auto devices = of.devices();
        if (!devices)
            return devices.error();
        if (of.state() != lease_state::held)
            return error(status::not_held, "the lease is over: do not use its device");
        return enter(devices->front());
    }

    device_guard(device_guard&& other) noexcept
        : before_(std::exchange(other.before_, nothing)), ordinal_(other.ordinal_)
    {
    }

    /// A scope cannot be handed over to one that has another device before it.
    device_guard& operator=(device_guard&&) = delete;

    /// The device that was current before is so again. On the thread that entered.
    ~device_guard()
    {
        int now = nothing;
        if (before_ != nothing && (cudaGetDevice(&now) != cudaSuccess || now != before_))
            static_cast<void>(cudaSetDevice(before_));
    }

    /// Its ordinal in this process.
    int ordinal() const noexcept { return ordinal_; }

private:
    static constexpr int nothing = -1;

    device_guard(int before, int ordinal) noexcept : before_(before), ordinal_(ordinal) {}

    int before_;
    int ordinal_;
};

} // namespace cuda

} // namespace tern

#endif
