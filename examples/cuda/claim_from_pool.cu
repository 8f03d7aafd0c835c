/*
 * How GPU code uses a pool: the pool finds the devices, the lease says which to use, CUDA knows their ordinals here.
 *
 * The library never touches CUDA; ternlease/cuda.hpp is compiled into this program, against its own CUDA. Without a GPU
 * that both can see it says why and ends well.
 *
 * Build it: nvcc -std=c++17 claim_from_pool.cu $(pkg-config --cflags --libs ternlease) -o claim_from_pool
 */
#include <chrono>
#include <cstdio>

#include <cuda_runtime.h>
#include <ternlease.hpp>
#include <ternlease/cuda.hpp>

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
    const auto pool = tern::pool::open("process:").value();

    /* Any one device of NVIDIA's, renewed for as long as this program works. If all are taken, wait for a minute. */
    auto gpu = pool.claim().holder("claim_from_pool").vendor(tern::vendor::nvidia).ttl(10s).keep_alive().wait(60s);
    if (!gpu) {
        std::printf("no usable GPU: %s\n%s", gpu.error().message(), pool.absence().value().c_str());
        return 0;
    }
    const auto ordinal = tern::cuda::ordinal(*gpu);
    if (!ordinal) {
        std::printf("no usable GPU: %s\n", ordinal.error().message());
        return 0;
    }

    /* Only now a context is made. */
    if (cudaSetDevice(*ordinal) != cudaSuccess || !works()) {
        std::fprintf(stderr, "device %d does not work\n", *ordinal);
        return 1;
    }
    /* Only what was computed while the lease was held counts. */
    if (gpu->state() != tern::lease_state::held) {
        std::printf("the lease is over: %s\n", tern::name(gpu->info().value().reason));
        return 0;
    }
    std::printf("computed on %s, device %d\n", gpu->devices().value().front().pci.c_str(), *ordinal);
    return 0;
}
