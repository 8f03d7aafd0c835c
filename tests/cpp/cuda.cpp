// CUDA: which ordinals leased devices have, and which is current in a scope. With a CUDA of a few functions that sees
// three devices, in an order of its own. What CUDA itself does with them is for scripts/test-cuda, which also compiles
// this with CUDA's own header.
#include "check.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <ternlease_cuda.hpp>

namespace {

const char* const seen[] = {"0000:03:00.0", "0000:01:00.0", "0000:02:00.0"};

int current = 0;             // The current device.
int broken = -1;             // One that cannot be used.
bool silent = false;         // Nobody tells the current device.
std::vector<int> made;       // The devices that were made current.
cudaError_t last_error = cudaSuccess;

cudaError_t failing(cudaError_t code)
{
    last_error = code;
    return code;
}

} // namespace

extern "C" {

cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* address)
{
    for (int i = 0; i < 3; i += 1) {
        *ordinal = i;
        if (std::strcmp(seen[i], address) == 0)
            return cudaSuccess;
    }
    return failing(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceCount(int* count)
{
    *count = 3;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int ordinal)
{
    // 0 is a device that does not answer.
    for (int i = 0; i < 16; i += 1)
        about->uuid.bytes[i] = static_cast<char>(ordinal * 0x11 + i * 0x10);
    return ordinal == 0 ? failing(cudaErrorInvalidDevice) : cudaSuccess;
}

cudaError_t cudaGetDevice(int* ordinal)
{
    *ordinal = current;
    return silent ? failing(cudaErrorNoDevice) : cudaSuccess;
}

// As CUDA does it: the device is current, even if there is no context on it.
cudaError_t cudaSetDevice(int ordinal)
{
    current = ordinal;
    made.push_back(ordinal);
    return ordinal == broken ? failing(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaGetLastError(void) { return std::exchange(last_error, cudaSuccess); }
}

using tern::cuda::device_guard;

static_assert(!std::is_copy_constructible_v<device_guard> && std::is_nothrow_move_constructible_v<device_guard>);
static_assert(!std::is_move_assignable_v<device_guard> && std::is_nothrow_destructible_v<device_guard>);

static tern::device part(const char* uuid)
{
    tern::device made;
    made.uuid = uuid;
    made.pci = seen[0]; // That of the whole device.
    made.mig = tern::device::part{};
    return made;
}

static void devices_are_found_by_their_address()
{
    const auto gpus = check::fakes(4);
    const auto pair = gpus.claim().of({"1", "2"}).count(2).try_now().value();
    CHECK(tern::cuda::ordinals(pair).value() == (std::vector<int>{2, 0}));
    CHECK(tern::cuda::ordinal(pair).value() == 2);
    const auto hidden = gpus.claim().of("3").try_now().value();
    const auto none = tern::cuda::ordinal(hidden);
    CHECK_STATUS(none, unknown_resource);
    CHECK(none.error().driver_code() == cudaErrorInvalidDevice);
    CHECK_STATUS(tern::cuda::ordinals(tern::gpu_lease()), null);
    CHECK(made.empty()); // No context was made.
}

static void parts_are_found_by_their_uuid()
{
    CHECK(tern::cuda::ordinal(part("MIG-11213141-5161-7181-91a1-b1c1d1e1f101")).value() == 1);
    CHECK(tern::cuda::ordinal(part("MIG-22324252-6272-8292-A2B2-C2D2E2F20212")).value() == 2);
    for (const char* unknown :
         {"", "MIG", "MIG-", "MIG-00102030-4050-6070-8090-a0b0c0d0e0f0", "MIG-22324252-6272-8292-a2b2-c2d2e2f202",
          "MIG-22324252-6272-8292-a2b2-c2d2e2f2021200", "MIG-22324252-6272-8292-a2b2-c2d2e2f2021x",
          "MIG-22324252-6272-8292-a2b2-c2d2e2f20213"})
        CHECK_STATUS(tern::cuda::ordinal(part(unknown)), unknown_resource);
}

static void what_was_told_is_not_cudas_last_error()
{
    CHECK_STATUS(tern::cuda::ordinal(part("MIG-")), unknown_resource);
    CHECK(cudaGetLastError() == cudaSuccess);
    // A device that did not answer, before the one that was looked for.
    CHECK(tern::cuda::ordinal(part("MIG-11213141-5161-7181-91a1-b1c1d1e1f101")).has_value());
    CHECK(cudaGetLastError() == cudaSuccess);
}

static void a_guard_makes_a_device_current_and_restores()
{
    const auto gpus = check::fakes(4);
    const auto gpu = gpus.claim().of("1").try_now().value();
    current = 0;
    {
        const auto guard = device_guard::enter(gpu).value();
        CHECK(guard.ordinal() == 2 && current == 2);
    }
    CHECK(current == 0);
    {
        const auto guard = device_guard::enter(gpu).value();
        current = 1; // Somebody in the scope changed it.
    }
    CHECK(current == 0);
    current = 2;
    made.clear();
    {
        const auto guard = device_guard::enter(gpu).value();
        CHECK(current == 2);
    }
    CHECK(current == 2 && made.size() == 1); // There was nothing to go back to.
}

static void guards_of_several_leases_nest()
{
    const auto gpus = check::fakes(4);
    const auto one = gpus.claim().of("0").try_now().value();
    const auto two = gpus.claim().of({"1", "2"}).count(2).try_now().value();
    current = 0;
    {
        const auto outer = device_guard::enter(one).value();
        CHECK(current == 1);
        for (const auto& device : two.devices().value()) {
            const auto inner = device_guard::enter(device).value();
            CHECK(current == inner.ordinal() && current == tern::cuda::ordinal(device).value());
        }
        CHECK(current == 1);
    }
    CHECK(current == 0);
}

static void a_guard_can_be_moved()
{
    const auto gpus = check::fakes(4);
    const auto gpu = gpus.claim().of("1").try_now().value();
    current = 0;
    made.clear();
    {
        auto first = device_guard::enter(gpu).value();
        const auto second = std::move(first);
        CHECK(second.ordinal() == 2 && current == 2);
    }
    CHECK(current == 0 && made == (std::vector<int>{2, 0})); // Once each.
}

static void an_exception_restores_as_well()
{
    const auto gpus = check::fakes(4);
    const auto gpu = gpus.claim().of("0").try_now().value();
    current = 2;
    try {
        const auto guard = device_guard::enter(gpu).value();
        CHECK(current == 1);
        throw std::runtime_error("in the middle");
    } catch (const std::runtime_error&) {
        CHECK(current == 2);
    }
}

static void what_cannot_be_entered_changes_nothing()
{
    const auto gpus = check::fakes(4);
    auto gpu = gpus.claim().of("0").try_now().value();
    const auto hidden = gpus.claim().of("3").try_now().value();
    current = 2;
    CHECK_STATUS(device_guard::enter(hidden), unknown_resource);
    CHECK_STATUS(device_guard::enter(tern::gpu_lease()), null);
    broken = 1;
    const auto refused = device_guard::enter(gpu);
    CHECK_STATUS(refused, system);
    CHECK(refused.error().driver_code() == cudaErrorMemoryAllocation && current == 2);
    broken = -1;
    silent = true;
    CHECK_STATUS(device_guard::enter(gpu), system);
    silent = false;
    CHECK(current == 2 && cudaGetLastError() == cudaSuccess);
    gpus.manager().revoke(gpu.id()).value();
    CHECK_STATUS(device_guard::enter(gpu), not_held);
    CHECK(current == 2);
}

int main()
{
    return check::run({
        {"devices are found by their address", devices_are_found_by_their_address},
        {"parts are found by their UUID", parts_are_found_by_their_uuid},
        {"what was told is not CUDA's last error", what_was_told_is_not_cudas_last_error},
        {"a guard makes a device current, and restores", a_guard_makes_a_device_current_and_restores},
        {"guards of several leases nest", guards_of_several_leases_nest},
        {"a guard can be moved", a_guard_can_be_moved},
        {"an exception restores as well", an_exception_restores_as_well},
        {"what cannot be entered changes nothing", what_cannot_be_entered_changes_nothing},
    });
}
