/* What is seen of devices reaches C: the first argument is the script of a fake driver library, which the loader finds instead of the real
 * one. bindings/c/tests/evidence.rs compiles and runs this. */
#include "../c/open.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

static const char *script;

/* Replaces the script as a whole: half a one must not be read. */
static void say(const char *text)
{
    char other[4096];
    CHECK(snprintf(other, sizeof other, "%s.new", script) < (int)sizeof other);
    FILE *file = fopen(other, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK(fclose(file) == 0);
    CHECK(rename(other, script) == 0);
}

static tern_device_status_t status_of(tern_pool_t *pool, size_t place)
{
    tern_device_status_t status = tern_device_status_init();
    EXPECT(TERN_OK, tern_pool_device_status, pool, place, &status);
    return status;
}

static tern_device_status_t wait_for_health(tern_pool_t *pool, size_t place, tern_trit_t health)
{
    const time_t limit = time(NULL) + 60;
    tern_device_status_t status;
    while ((status = status_of(pool, place)).health != health) {
        CHECK(time(NULL) < limit);
        poll(NULL, 0, 1);
    }
    return status;
}

static void check_squatters(tern_pool_t *pool, uint32_t pid)
{
    tern_device_status_t status = status_of(pool, 0);
    CHECK_EQ(status.health, TERN_DRAINING);
    CHECK_EQ(status.squatter_count, 1);
    CHECK(status.known == (TERN_DEVICE_USED_MEMORY | TERN_DEVICE_BUSY) && status.seen_us < TERN_FOREVER);
    CHECK_EQ(status.used_memory_mib, 900);
    CHECK(strstr(status.trouble, "in use without a lease") != NULL);
    tern_process_t squatter = tern_process_init();
    size_t needed = 0;
    EXPECT(TERN_OK, tern_pool_squatters, pool, 0, &squatter, 1, &needed);
    CHECK_EQ(needed, 1);
    CHECK_EQ(squatter.pid, pid);
    CHECK_EQ(squatter.memory_mib, 900);
    tern_lease_t lease = 0;
    EXPECT(TERN_OK, tern_pool_try_claim, pool, &lease);
    size_t place = 9;
    EXPECT(TERN_OK, tern_gpu_lease_devices, pool, lease, &place, 1, &needed);
    CHECK_EQ(place, 1);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
}

static void check_fault(tern_pool_t *pool)
{
    tern_manager_t *manager = NULL;
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    const tern_text_t name = {"nvidia:0", 8};
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    claim.devices = &name;
    claim.device_count = 1;
    tern_lease_t lease = 0;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    struct pollfd told = {.fd = -1, .events = POLLIN};
    EXPECT(TERN_OK, tern_lease_watch_fd, manager, lease, &told.fd);
    say("device\ndevice\nevent 1 0 xid=79\n");
    CHECK(poll(&told, 1, 60000) == 1);
    close(told.fd);
    CHECK_EQ(tern_lease_state(manager, lease, NULL), TERN_REVOKED);
    tern_lease_info_t info = tern_lease_info_init();
    EXPECT(TERN_OK, tern_lease_info, manager, lease, &info);
    CHECK_EQ(info.reason, TERN_REASON_DEVICE_FAULT);
    tern_device_status_t status = status_of(pool, 0);
    CHECK_EQ(status.health, TERN_FAILED);
    CHECK(strstr(status.trouble, "79") != NULL);
    CHECK_EQ(status_of(pool, 1).health, TERN_HEALTHY);
    tern_manager_close(manager);
}

int main(int count, char **arguments)
{
    CHECK_EQ(count, 2);
    script = arguments[1];
    char text[100];
    const uint32_t pid = (uint32_t)getpid();
    snprintf(text, sizeof text, "device used=900\ndevice\nprocess 0 pid=%u memory=900\n", pid);
    say(text);
    tern_pool_options_t options = tern_pool_options_init();
    options.devices = "host";
    options.devices_len = 4;
    options.flags = TERN_POOL_CHECK_USE;
    options.poll_us = 10000;
    tern_pool_t *pool = NULL;
    EXPECT(TERN_OK, tern_pool_open, TERN_STR("process:"), &options, &pool);
    check_squatters(pool, pid);
    say("device\ndevice\n");
    wait_for_health(pool, 0, TERN_HEALTHY);
    wait_for_health(pool, 1, TERN_HEALTHY);
    check_fault(pool);
    tern_pool_close(pool);
    return finish(__FILE__);
}
