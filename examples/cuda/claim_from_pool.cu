/*
 * How GPU code uses a pool: the pool finds the devices, the lease says which to use, and a guard makes each of them the
 * current one for a scope.
 *
 * The library never touches CUDA; ternlease_cuda.hpp is compiled into this program, against its own CUDA. Without a GPU
 * that both can see it says why and ends well.
 *
 * Build it: nvcc -std=c++17 claim_from_pool.cu $(pkg-config --cflags --libs ternlease) -o claim_from_pool
 */
#include <chrono>
#include <cstdio>

#include <cuda_runtime.h>
#include <ternlease_cuda.hpp>

using namespace std::chrono_literals;

__global__ void fill(int *numbers, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        numbers[i] = i;
}

/* Whether the current device works. */
static bool works()
{
    const int length = 1 << 16;
    int *numbers = nullptr;
    if (cudaMallocManaged(&numbers, length * sizeof(int)) != cudaSuccess)
        return false;
    fill<<<length / 256, 256>>>(numbers, length);
    const bool done = cudaDeviceSynchronize() == cudaSuccess && numbers[length - 1] == length - 1;
    cudaFree(numbers);
    return done;
}

int main()
{
    const auto pool = tern::pool::open("host:").value();

    /* One or two devices of NVIDIA's, renewed for as long as this program works. If they are taken, wait for a minute. */
    const auto count = pool.capacity().value() > 1 ? 2U : 1U;
    auto gpus = pool.claim().holder("claim_from_pool").vendor(tern::vendor::nvidia).count(count).ttl(10s).keep_alive().wait(60s);
    if (!gpus) {
        std::printf("no usable GPU: %s\n%s", gpus.error().message(), pool.absence().value().c_str());
        return 0;
    }

    for (const auto& device : gpus->devices().value()) {
        /* Only now a context is made. At the end of the scope another device may be the current one. */
        const auto guard = tern::cuda::device_guard::enter(device);
        if (!guard) {
            std::printf("no usable GPU: %s\n", guard.error().message());
            return 0;
        }
        if (!works()) {
            std::fprintf(stderr, "device %d does not work\n", guard->ordinal());
            return 1;
        }
        /* Only what was computed while the lease was held counts. */
        if (gpus->state() != tern::lease_state::held) {
            std::printf("the lease is over: %s\n", tern::name(gpus->info().value().reason));
            return 0;
        }
        std::printf("computed on %s, device %d\n", device.pci.c_str(), guard->ordinal());
    }
    return 0;
}
