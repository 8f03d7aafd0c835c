/* As much of CUDA's header as ternlease_cuda.hpp needs. Who includes this defines the functions: tests/cpp/cuda.cpp. */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

extern "C" {

enum cudaError { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101 };
typedef enum cudaError cudaError_t;

struct cudaDeviceProp {
    struct {
        char bytes[16];
    } uuid;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* about, int ordinal);
cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* address);
cudaError_t cudaGetDevice(int* ordinal);
cudaError_t cudaSetDevice(int ordinal);
cudaError_t cudaGetLastError(void);
}

#endif
