/*
 * How GPU code uses ternlease: claim a device, compute on it in batches, renew the lease between them, give it back.
 *
 * The library never touches CUDA. What ties a lease to a device is a name: the PCI bus id. It means the same device to
 * every program on the machine, while the ordinals 0, 1, 2, ... change with CUDA_VISIBLE_DEVICES.
 *
 * The table of this example belongs to the process: it coordinates the threads of one program.
 *
 * Build it: nvcc -std=c++17 claim_device.cu $(pkg-config --cflags --libs ternlease) -o claim_device
 */
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>
#include <ternlease.h>

#define CUDA(call)                                                                             \
    do {                                                                                       \
        cudaError_t cuda_status = (call);                                                      \
        if (cuda_status != cudaSuccess)                                                        \
            die(__LINE__, cudaGetErrorName(cuda_status), cudaGetErrorString(cuda_status));     \
    } while (0)

/* For calls that are given the address of a tern_error_t `err`. */
#define TERN(call)                                                                             \
    do {                                                                                       \
        tern_status_t tern_status = (call);                                                    \
        if (tern_status != TERN_OK)                                                            \
            die(__LINE__, tern_status_name(tern_status), err.message);                         \
    } while (0)

static void die(int line, const char *name, const char *message)
{
    std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, line, name, message);
    std::exit(1);
}

static const int MAX_DEVICES = 64;
static const int BATCHES = 8;
static const int LENGTH = 1 << 20;
static const uint64_t SECOND = 1000000;

__global__ void add_vectors(const float *a, const float *b, float *sum, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        sum[i] = a[i] + b[i];
}

/* One batch on the current device; whether its result is right. */
static bool run_batch(int batch, float *a, float *b, float *sum)
{
    for (int i = 0; i < LENGTH; i++) {
        a[i] = float(i % 1000);
        b[i] = float(batch);
    }
    add_vectors<<<(LENGTH + 255) / 256, 256>>>(a, b, sum, LENGTH);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < LENGTH; i++)
        if (sum[i] != float(i % 1000 + batch))
            return false;
    return true;
}

/* Computes for as long as the lease is held; how many batches were done. */
static int compute(const tern_manager_t *manager, tern_lease_t lease)
{
    float *a, *b, *sum;
    CUDA(cudaMallocManaged(&a, LENGTH * sizeof(float)));
    CUDA(cudaMallocManaged(&b, LENGTH * sizeof(float)));
    CUDA(cudaMallocManaged(&sum, LENGTH * sizeof(float)));

    /* Each batch has a whole ttl before it. Renewing fails once the lease is over, and never brings it back. */
    int done = 0;
    tern_error_t err = tern_error_init();
    while (done < BATCHES && tern_lease_renew(manager, lease, NULL, &err) == TERN_OK) {
        if (!run_batch(done, a, b, sum))
            die(__LINE__, "add_vectors", "wrong result");
        /* Only what was computed while the lease was held counts. */
        if (tern_lease_state(manager, lease, NULL) == TERN_HELD)
            done++;
    }
    if (done < BATCHES)
        std::printf("the lease is over: %s\n", tern_reason_name(err.reason));

    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    CUDA(cudaFree(sum));
    return done;
}

/* Declares each device as a resource named by its PCI bus id; how many there are. This creates no CUDA context. */
static int declare_devices(const tern_manager_t *manager, int count, char ids[][32], tern_text_t *names)
{
    if (count > MAX_DEVICES)
        count = MAX_DEVICES;
    for (int i = 0; i < count; i++) {
        tern_error_t err = tern_error_init();
        CUDA(cudaDeviceGetPCIBusId(ids[i], sizeof ids[i], i));
        names[i] = { TERN_STR(ids[i]) };
        TERN(tern_resource_declare(manager, TERN_STR(ids[i]), 1, 0, NULL, &err));
    }
    return count;
}

int main()
{
    int count = 0;
    cudaError_t found = cudaGetDeviceCount(&count);
    if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver) {
        int driver = 0;
        CUDA(cudaDriverGetVersion(&driver));
        std::printf("no usable GPU: %s\n", driver == 0 ? "there is no CUDA driver" : cudaGetErrorString(found));
        return 0;
    }
    CUDA(found);

    tern_error_t err = tern_error_init();
    tern_manager_t *manager = NULL;
    TERN(tern_manager_open(TERN_STR("process:"), NULL, &manager, &err));
    char ids[MAX_DEVICES][32];
    tern_text_t names[MAX_DEVICES];
    count = declare_devices(manager, count, ids, names);

    /* Any one device, for ten seconds at a time. If all are taken, wait for a minute. */
    tern_lease_t lease;
    tern_claim_t claim = tern_claim_init();
    claim.holder = "claim_device";
    claim.holder_len = strlen(claim.holder);
    claim.resources = names;
    claim.resource_count = count;
    claim.ttl = 10 * SECOND;
    claim.wait = 60 * SECOND;
    TERN(tern_manager_claim(manager, &claim, &lease, &err));

    /* The lease names the device; CUDA knows its ordinal in this process. Only now a context is created. */
    int device;
    tern_take_t take = tern_take_init();
    TERN(tern_lease_takes(manager, lease, &take, 1, NULL, &err));
    CUDA(cudaDeviceGetByPCIBusId(&device, take.resource));
    CUDA(cudaSetDevice(device));

    int done = compute(manager, lease);
    std::printf("%d of %d batches ran on %s, device %d of %d\n", done, BATCHES, take.resource, device, count);

    /* The device is idle and its memory free: somebody else may have it. A lease that is over needs no release. */
    tern_lease_release(manager, lease, NULL);
    tern_manager_close(manager);
    return 0;
}
