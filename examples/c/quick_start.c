/*
 * Two GPUs of a pool, in one lease; a child needs this in its environment to see these two and no others. All programs
 * of this machine share the pool. TERNLEASE_DEVICES=fake:8 in the environment pretends that there are eight devices.
 *
 * Build it: cc -std=c99 quick_start.c $(pkg-config --cflags --libs ternlease) -o quick_start
 */
#include <stdio.h>

#include <ternlease.h>

int main(void)
{
    tern_error_t err = tern_error_init();
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.count = 2;
    tern_pool_t *pool = NULL;
    tern_lease_t gpus;
    char env[256];
    if (tern_pool_open(TERN_STR("host:"), NULL, &pool, &err) != TERN_OK ||
        tern_pool_claim(pool, &claim, &gpus, &err) != TERN_OK ||
        tern_gpu_lease_env(pool, gpus, 0, env, sizeof env, NULL, &err) != TERN_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("%s", env);
    tern_gpu_lease_release(pool, gpus, NULL);
    tern_pool_close(pool);
    return 0;
}
