/*
 * A pool: two GPUs that are linked, in one lease, and a child that sees these and no others. Then somebody who has to wait.
 *
 * TERNLEASE_DEVICES=host takes the GPUs of this machine; if nothing is said, this uses four that do not exist, so that it
 * prints the same on every machine.
 *
 * Build it: cc -std=c99 pool.c $(pkg-config --cflags --libs ternlease) -o pool
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <ternlease.h>

/* Ends the program if a call did not end as it must in this story. */
static void expect(tern_status_t wanted, tern_status_t got, const tern_error_t *err)
{
    if (got == wanted)
        return;
    fprintf(stderr, "%s, not %s (%s)\n", tern_status_name(got), tern_status_name(wanted),
            got == TERN_OK ? "" : err->message);
    exit(1);
}

static void print_devices(const tern_pool_t *pool, tern_lease_t lease)
{
    tern_error_t err = tern_error_init();
    size_t places[2], count = 0;
    expect(TERN_OK, tern_gpu_lease_devices(pool, lease, places, 2, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        tern_device_t device = tern_device_init();
        expect(TERN_OK, tern_pool_device(pool, places[i], &device, &err), &err);
        printf("  %s at %s, %" PRIu32 " MiB\n", device.name, device.pci, device.memory_mib);
    }
}

/* A program that starts others sets this in their environment. */
static void print_environment(const tern_pool_t *pool, tern_lease_t lease)
{
    tern_error_t err = tern_error_init();
    char lines[512];
    expect(TERN_OK, tern_gpu_lease_env(pool, lease, 0, lines, sizeof lines, NULL, &err), &err);
    printf("a child needs:\n%s", lines);
}

int main(void)
{
    tern_error_t err = tern_error_init();
    tern_pool_t *pool = NULL;
    tern_pool_options_t options = tern_pool_options_init();
    if (getenv("TERNLEASE_DEVICES") == NULL) {
        options.devices = "fake:4";
        options.devices_len = strlen(options.devices);
    }
    expect(TERN_OK, tern_pool_open(TERN_STR("process:"), &options, &pool, &err), &err);

    tern_lease_t pair, single;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.holder = "trainer";
    claim.holder_len = strlen(claim.holder);
    claim.count = 2;
    tern_status_t status = tern_pool_claim(pool, &claim, &pair, &err);
    if (status == TERN_EMPTY || status == TERN_ERR_IMPOSSIBLE) {
        /* No special case: a program would compute on the CPU now. */
        char why[1024];
        tern_pool_absence(pool, why, sizeof why, NULL, NULL);
        printf("too few GPUs: %s\n%s", err.message, why);
        tern_pool_close(pool);
        return 0;
    }
    expect(TERN_OK, status, &err);
    printf("trainer has two, in one lease:\n");
    print_devices(pool, pair);
    print_environment(pool, pair);

    /* Everything that is left, and one more: that one has to wait. */
    while (tern_pool_try_claim(pool, &single, &err) == TERN_OK)
        ;
    claim = tern_gpu_claim_init();
    claim.wait = 10 * TERN_MILLISECOND;
    expect(TERN_TIMEOUT, tern_pool_claim(pool, &claim, &single, &err), &err);
    printf("the next one waited in vain: %s\n", err.message);

    expect(TERN_OK, tern_gpu_lease_release(pool, pair, &err), &err);
    expect(TERN_OK, tern_pool_claim(pool, &claim, &single, &err), &err);
    printf("trainer gives its two back, and the next one has one of them:\n");
    print_devices(pool, single);

    tern_pool_close(pool);
    return 0;
}
