/* Machines: what is read, what may be said about how, what is kept, and many threads at one machine. */
#include "open.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

static void check_info(const tern_machine_t *machine)
{
    tern_machine_info_t info = tern_machine_info_init();
    char json[8192];
    size_t needed = 0;
    EXPECT(TERN_OK, tern_machine_info, machine, &info);
    CHECK(info.cores_usable >= 1 && info.cores_logical >= 1 && info.cores_physical >= 1);
    CHECK(info.mem_total > 0 && info.mem_available <= info.mem_total && info.compute_budget < info.mem_available);
    CHECK(info.known & TERN_MACHINE_HAS_DISK && info.disk_free <= info.disk_total);
    CHECK(info.mem_pressure_permille <= 1000 && info.disk_pressure_permille <= 1000 && info.core_scaling_permille <= 1000);
    CHECK(info.machine_class >= TERN_MACHINE_CLASS_CONSTRAINED && info.machine_class <= TERN_MACHINE_CLASS_DESKTOP);
    CHECK_EQ(info.network, TERN_NETWORK_NONE);
    CHECK(info.age_us == TERN_FOREVER && info.reserved == 0 && info.ridge_permille > 0);
    CHECK(info.gpu_start.lo <= info.gpu_start.mid && info.gpu_start.mid <= info.gpu_start.hi);
    CHECK_TEXT(info.store, "/");
    EXPECT(TERN_OK, tern_machine_json, machine, json, sizeof json, &needed);
    CHECK(needed == strlen(json) + 1 && json[0] == '{' && strstr(json, "\"triad_all\"") && !strstr(json, "inf"));
    EXPECT(TERN_MORE, tern_machine_json, machine, json, 10, NULL);
    CHECK_EQ(strlen(json), 9);
}

static void check_gpu_start(const tern_machine_t *machine)
{
    tern_machine_info_t info = tern_machine_info_init();
    EXPECT(TERN_OK, tern_machine_set_gpu_start, machine, 0, 5, UINT64_MAX);
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_set_gpu_start, machine, 6, 5, 7);
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_set_gpu_start, machine, 4, 5, 4);
    EXPECT(TERN_OK, tern_machine_info, machine, &info);
    CHECK(info.gpu_start.lo == 0 && info.gpu_start.mid == 5 && info.gpu_start.hi == UINT64_MAX);
}

static void check_rates(const tern_machine_t *machine)
{
    const int32_t none[] = { -1, TERN_RATE_DISK_READ + 1, 255, INT32_MIN, INT32_MAX };
    tern_rate_t rate = tern_rate_init();
    for (int32_t which = TERN_RATE_FLOP64; which <= TERN_RATE_DISK_READ; which++) {
        EXPECT(TERN_OK, tern_machine_rate, machine, which, &rate);
        CHECK(rate.per_second > 0 && rate.usual == rate.per_second && rate.source == TERN_SOURCE_ESTIMATED);
    }
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        EXPECT(TERN_ERR_BAD_VALUE, tern_machine_rate, machine, none[i], &rate);
}

static void check_refused(void)
{
    const char *const nowhere[] = { "", "/nowhere/at/all", "/etc/passwd" };
    const uint64_t too_large[] = { (uint64_t)1 << 48, (uint64_t)1 << 63, UINT64_MAX - 1 };
    tern_machine_t *machine = NULL;
    tern_machine_options_t options = no_benchmarks();
    for (int i = 0; i < 3; i++) {
        EXPECT(TERN_ERR_SYSTEM, tern_machine_read, TERN_STR(nowhere[i]), &options, &machine);
        CHECK_EQ(err.os_errno, i == 2 ? ENOTDIR : ENOENT);
    }
    for (int bit = 4; bit < 64; bit++) {
        options.flags = TERN_MACHINE_NO_BENCHMARKS | (uint64_t)1 << bit;
        EXPECT(TERN_ERR_BAD_VALUE, tern_machine_read, TERN_STR("/"), &options, &machine);
    }
    options.flags = TERN_MACHINE_NO_BENCHMARKS | TERN_MACHINE_KEEP | TERN_MACHINE_REFRESH;
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_read, TERN_STR("/"), &options, &machine);
    options = no_benchmarks();
    uint64_t *const times[] = { &options.budget_us, &options.disk_budget_us, &options.max_age_us };
    for (size_t i = 0; i < 9; i++) {
        *times[i / 3] = too_large[i % 3];
        EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_machine_read, TERN_STR("/"), &options, &machine);
        *times[i / 3] = 0;
    }
    CHECK(machine == NULL);
    options.budget_us = options.max_age_us = TERN_FOREVER;
    EXPECT(TERN_OK, tern_machine_read, TERN_STR("/"), &options, &machine);
    tern_machine_close(machine);
}

struct progress {
    uint32_t calls, of;
    char last[64];
};

/* It may use the library meanwhile. */
static void note_progress(void *user, const char *step, uint32_t done, uint32_t of)
{
    struct progress *seen = user;
    CHECK(done == seen->calls++ && done < of && strlen(step) < sizeof seen->last);
    strcpy(seen->last, step);
    seen->of = of;
    tern_machine_close(read_machine());
}

/* Measured for a moment, kept in a file, and read from there without being measured again. */
static void check_kept(void)
{
    char directory[] = "/tmp/ternlease-machine-XXXXXX", file[64];
    struct progress seen = { 0, 0, "" };
    struct stat is;
    tern_machine_t *machine = NULL;
    tern_machine_info_t info = tern_machine_info_init();
    tern_machine_options_t options = tern_machine_options_init();
    CHECK(mkdtemp(directory) != NULL);
    snprintf(file, sizeof file, "%s/rates", directory);
    options.flags = TERN_MACHINE_NO_NETWORK;
    options.budget_us = 20 * TERN_MILLISECOND;
    options.cache_file = file;
    options.cache_file_len = strlen(file);
    options.progress = note_progress;
    options.user = &seen;
    EXPECT(TERN_OK, tern_machine_read, TERN_STR(directory), &options, &machine);
    CHECK(seen.calls == seen.of && seen.of > 0);
    CHECK_TEXT(seen.last, "done");
    EXPECT(TERN_OK, tern_machine_info, machine, &info);
    CHECK(info.age_us != TERN_FOREVER);
    tern_machine_close(machine);
    CHECK(stat(file, &is) != 0); /* nobody asked for it */

    const uint64_t ways[] = { TERN_MACHINE_KEEP, 0, TERN_MACHINE_REFRESH };
    for (int i = 0; i < 3; i++) {
        seen.calls = 0;
        options.flags = TERN_MACHINE_NO_NETWORK | ways[i];
        options.max_age_us = i == 1 ? TERN_FOREVER : 0;
        EXPECT(TERN_OK, tern_machine_read, TERN_STR(directory), &options, &machine);
        tern_machine_close(machine);
        CHECK((seen.calls == 0) == (i == 1)); /* only the second uses what the first has kept */
        CHECK(stat(file, &is) == 0);
    }
    /* Where nothing can be kept. */
    machine = NULL;
    options.flags = TERN_MACHINE_NO_NETWORK | TERN_MACHINE_KEEP;
    options.budget_us = 1;
    options.cache_file = "/proc/nowhere/rates";
    options.cache_file_len = strlen(options.cache_file);
    seen.calls = 0;
    EXPECT(TERN_ERR_SYSTEM, tern_machine_read, TERN_STR(directory), &options, &machine);
    CHECK(machine == NULL && err.os_errno != 0);
    CHECK(unlink(file) == 0 && rmdir(directory) == 0);
}

static int stop;

static void *teach(void *argument)
{
    for (uint64_t i = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        tern_route_t route = tern_route_init();
        route.bytes_per_second = i;
        if (tern_machine_set_route(argument, &route, NULL) != TERN_OK ||
            tern_machine_record_fetch(argument, i, 1000 + i, NULL) != TERN_OK)
            return NULL;
    }
    return argument;
}

static void check_threads(tern_machine_t *machine)
{
    pthread_t threads[2];
    tern_task_t task = task_of(tern_cost_scan(1000000, 1000), TERN_KIND_STREAM);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, teach, machine), 0);
    for (int i = 0; i < 2000; i++) {
        tern_verdict_t verdict = tern_verdict_init();
        EXPECT(TERN_OK, tern_machine_verdict, machine, &task, &verdict);
        CHECK(verdict.can_compute == 1 && verdict.reserved[0] == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        void *end = NULL;
        pthread_join(threads[i], &end);
        CHECK(end == machine);
    }
}

int main(void)
{
    tern_machine_t *machine = read_machine();
    check_info(machine);
    check_gpu_start(machine);
    check_rates(machine);
    check_refused();
    check_kept();
    check_threads(machine);
    tern_machine_close(machine);
    return finish(__FILE__);
}
