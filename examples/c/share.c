/*
 * Sharing: three runs of one program have two GPUs between them. Nobody serves: the table of who has what is a file that all of
 * them map. One run is killed in the middle of its work, and who waits has its GPU at once.
 *
 * Start it from as many terminals as you like with the name of a job (share train-1): they share the GPUs of this machine.
 * Without one it plays the story by itself, with two GPUs that do not exist and a file of its own.
 *
 * Build it: cc -std=c99 share.c $(pkg-config --cflags --libs ternlease) -o share
 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

static tern_pool_t *open_pool(const char *url, const char *devices)
{
    tern_error_t err = tern_error_init();
    tern_pool_options_t options = tern_pool_options_init();
    tern_pool_t *pool = NULL;
    options.devices = devices;
    options.devices_len = strlen(devices);
    expect(TERN_OK, tern_pool_open(TERN_STR(url), &options, &pool, &err), &err);
    return pool;
}

/* Waits for a GPU, and tells which one it is. */
static tern_status_t take_one(const tern_pool_t *pool, const char *job, tern_error_t *err)
{
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease;
    size_t place = 0;
    claim.holder = job;
    claim.holder_len = strlen(job);
    claim.wait = TERN_FOREVER;
    tern_status_t status = tern_pool_claim(pool, &claim, &lease, err);
    if (status == TERN_OK) {
        expect(TERN_OK, tern_gpu_lease_devices(pool, lease, &place, 1, NULL, err), err);
        printf("%s has GPU %zu\n", job, place);
        fflush(stdout);
    }
    return status;
}

/* One run of the program, as from a terminal: it computes until the user presses enter, or it is killed. */
static int run_job(const char *job)
{
    tern_error_t err = tern_error_init();
    tern_pool_t *pool = open_pool("host:", "host");
    tern_status_t status = take_one(pool, job, &err);
    if (status == TERN_OK)
        getchar();
    else
        printf("on the CPU, then: %s\n", err.message);
    tern_pool_close(pool);
    return 0;
}

/* A run in the story, which is told to the one that started it. */
static pid_t start(const char *url, const char *job)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        exit(1);
    pid_t process = fork();
    if (process == 0) {
        /* What was open before fork() is not the child's: it opens the pool itself. */
        tern_error_t err = tern_error_init();
        alarm(60);
        expect(TERN_OK, take_one(open_pool(url, "fake:2"), job, &err), &err);
        if (write(ends[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ends[1]);
    if (process < 0 || read(ends[0], &byte, 1) != 1)
        exit(1);
    close(ends[0]);
    return process;
}

int main(int count, char **arguments)
{
    if (count > 1)
        return run_job(arguments[1]);

    char url[64];
    tern_error_t err = tern_error_init();
    snprintf(url, sizeof url, "host:/dev/shm/ternlease-share-%ld", (long)getpid());
    pid_t first = start(url, "train-1"), second = start(url, "train-2");
    tern_pool_t *pool = open_pool(url, "fake:2");
    tern_lease_t none;
    expect(TERN_BUSY, tern_pool_try_claim(pool, &none, &err), &err);
    printf("train-3 has to wait; train-1 is killed\n");
    fflush(stdout);

    kill(first, SIGKILL);
    expect(TERN_OK, take_one(pool, "train-3", &err), &err);

    kill(second, SIGKILL);
    while (wait(NULL) > 0)
        ;
    tern_pool_close(pool);
    unlink(url + strlen("host:"));
    return 0;
}
