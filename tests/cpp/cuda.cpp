// CUDA: which ordinals leased devices have. With a CUDA of three functions that sees three devices, in an order of its
// own: what CUDA itself does with them is for scripts/test-cuda.
#define __CUDA_RUNTIME_API_H__
enum cudaError_t { cudaSuccess = 0, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101 };
struct cudaDeviceProp {
    struct {
        char bytes[16];
    } uuid;
};
static cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* address);
static cudaError_t cudaGetDeviceCount(int* count);
static cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int ordinal);

#include "check.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <ternlease/cuda.hpp>

static const char* const seen[] = {"0000:03:00.0", "0000:01:00.0", "0000:02:00.0"};

static cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* address)
{
    for (int i = 0; i < 3; i += 1) {
        *ordinal = i;
        if (std::strcmp(seen[i], address) == 0)
            return cudaSuccess;
    }
    return cudaErrorInvalidDevice;
}

static cudaError_t cudaGetDeviceCount(int* count)
{
    *count = 3;
    return cudaSuccess;
}

static cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int ordinal)
{
    // 0 is a device that does not answer.
    for (int i = 0; i < 16; i += 1)
        about->uuid.bytes[i] = static_cast<char>(ordinal * 0x11 + i * 0x10);
    return ordinal == 0 ? cudaErrorInvalidDevice : cudaSuccess;
}

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
    const auto gpus = tern::pool::open("process:", tern::pool_options::of("fake:4")).value();
    const auto pair = gpus.claim().of({"1", "2"}).count(2).try_now().value();
    CHECK(tern::cuda::ordinals(pair).value() == (std::vector<int>{2, 0}));
    CHECK(tern::cuda::ordinal(pair).value() == 2);
    const auto hidden = gpus.claim().of("3").try_now().value();
    const auto none = tern::cuda::ordinal(hidden);
    CHECK_STATUS(none, unknown_resource);
    CHECK(none.error().driver_code() == cudaErrorInvalidDevice);
    CHECK_STATUS(tern::cuda::ordinals(tern::gpu_lease()), null);
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

int main()
{
    return check::run({
        {"devices are found by their address", devices_are_found_by_their_address},
        {"parts are found by their UUID", parts_are_found_by_their_uuid},
    });
}
