/* Estimates: lengths of time and what follows from them, up to the largest numbers. */
#include "open.h"

static const uint64_t numbers[] = { 0, 1, 1000, 1000000000, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static void check_disk(const tern_machine_t *machine)
{
    tern_rate_t write = tern_rate_init();
    tern_estimate_t time = { 1, 1, 1 };
    EXPECT(TERN_OK, tern_machine_rate, machine, TERN_RATE_DISK_WRITE, &write);
    for (int i = 0; i < NUMBERS; i++) {
        EXPECT(TERN_OK, tern_machine_store_time, machine, numbers[i], &time);
        CHECK(time.mid == tern_nanoseconds(numbers[i], write.per_second) && time.lo <= time.mid && time.mid <= time.hi);
    }
    EXPECT_TRIT(1, tern_machine_can_store, machine, 0);
    EXPECT_TRIT(-1, tern_machine_can_store, machine, UINT64_MAX - 1);
    EXPECT_TRIT(-1, tern_machine_can_store, machine, UINT64_MAX);
    EXPECT_UNKNOWN(TERN_ERR_NULL, tern_machine_can_store, NULL, 1);
    CHECK_EQ(tern_machine_can_store(NULL, 1, NULL), TERN_TRIT_UNKNOWN);
}

static void check_ttl(const tern_machine_t *machine)
{
    tern_task_t cheap = task_of(tern_cost_copy(1000), TERN_KIND_COPY);
    tern_task_t dear = task_of((tern_cost_t){ UINT64_MAX, 0, 0, 1000 }, TERN_KIND_ROOFLINE);
    uint64_t ttl = 77;
    EXPECT(TERN_OK, tern_machine_suggest_ttl, machine, &cheap, 60 * TERN_SECOND, &ttl);
    CHECK(ttl == 6 * TERN_SECOND);
    EXPECT(TERN_OK, tern_machine_suggest_ttl, machine, &dear, 60 * TERN_SECOND, &ttl);
    CHECK(ttl == 60000 * TERN_SECOND);
    /* What is longer than any lease is without end. */
    EXPECT(TERN_OK, tern_machine_suggest_ttl, machine, &dear, ((uint64_t)1 << 48) - 2, &ttl);
    CHECK(ttl == TERN_FOREVER);
    EXPECT(TERN_OK, tern_machine_suggest_ttl, machine, &cheap, TERN_FOREVER, &ttl);
    CHECK(ttl == TERN_FOREVER);
    EXPECT(TERN_OK, tern_machine_suggest_ttl, machine, &cheap, 1, &ttl);
    CHECK(ttl <= 1);
    ttl = 77;
    EXPECT(TERN_ERR_ZERO_TTL, tern_machine_suggest_ttl, machine, &cheap, 0, &ttl);
    EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_machine_suggest_ttl, machine, &cheap, (uint64_t)1 << 48, &ttl);
    EXPECT(TERN_ERR_TIME_TOO_LARGE, tern_machine_suggest_ttl, machine, &cheap, UINT64_MAX - 1, &ttl);
    CHECK(ttl == 77);
}

static void check_buffer(const tern_machine_t *machine)
{
    tern_machine_info_t info = tern_machine_info_init();
    uint64_t bytes = 77;
    EXPECT(TERN_OK, tern_machine_info, machine, &info);
    EXPECT(TERN_EMPTY, tern_machine_etl_buffer, machine, UINT64_MAX, &bytes);
    EXPECT(TERN_EMPTY, tern_machine_etl_buffer, machine, info.compute_budget, &bytes);
    CHECK(bytes == 77);
    EXPECT(TERN_OK, tern_machine_etl_buffer, machine, 1000, &bytes);
    CHECK(bytes % 1000 == 0 && bytes <= info.compute_budget / 2 && bytes + 1000 > info.compute_budget / 2);
    EXPECT(TERN_OK, tern_machine_etl_buffer, machine, 0, &bytes);
    CHECK(bytes == info.compute_budget / 2);
}

static void check_cost(const tern_machine_t *machine)
{
    tern_rate_t flops = tern_rate_init(), triad = tern_rate_init();
    tern_cost_t cost;
    EXPECT(TERN_OK, tern_machine_rate, machine, TERN_RATE_FLOP64, &flops);
    EXPECT(TERN_OK, tern_machine_rate, machine, TERN_RATE_TRIAD, &triad);
    EXPECT(TERN_OK, tern_machine_normalize, machine, 1000000000, 7, 8, &cost);
    CHECK(cost.flops == flops.per_second && cost.mem_bytes == triad.per_second && cost.peak_mem == 7 && cost.result_bytes == 8);
    EXPECT(TERN_OK, tern_machine_normalize, machine, UINT64_MAX, UINT64_MAX, UINT64_MAX, &cost);
    CHECK(cost.flops == UINT64_MAX && cost.peak_mem == UINT64_MAX && cost.result_bytes == UINT64_MAX);
    EXPECT(TERN_OK, tern_machine_normalize, machine, 0, 0, 0, &cost);
    CHECK(cost.flops == 0 && cost.mem_bytes == 0);
}

static void check_value(const tern_machine_t *machine)
{
    tern_task_t cheap = task_of(tern_cost_copy(1000), TERN_KIND_COPY);
    tern_task_t endless = task_of((tern_cost_t){ UINT64_MAX, 0, 0, 0 }, TERN_KIND_ROOFLINE);
    tern_estimate_t compute, fetch;
    int64_t value = 0;
    EXPECT(TERN_OK, tern_machine_compute_time, machine, &cheap, &compute);
    EXPECT(TERN_OK, tern_machine_fetch_time, machine, 1000, &fetch);
    EXPECT(TERN_OK, tern_machine_cache_value, machine, &cheap, &value);
    CHECK_EQ(value, (int64_t)compute.mid - (int64_t)fetch.mid);
    EXPECT(TERN_OK, tern_machine_cache_value, machine, &endless, &value);
    CHECK_EQ(value, INT64_MAX);
    tern_route_t route = tern_route_init();
    route.round_trip_ns = UINT64_MAX / 4;
    route.bytes_per_second = 1;
    EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
    EXPECT(TERN_OK, tern_machine_cache_value, machine, &cheap, &value);
    CHECK_EQ(value, INT64_MIN + 1); /* as long as can be said, but not infinite */
    EXPECT(TERN_OK, tern_machine_set_route, machine, NULL);
    EXPECT(TERN_OK, tern_machine_cache_value, machine, &cheap, &value);
    CHECK_EQ(value, INT64_MIN);
    uint64_t ttl = 0;
    EXPECT(TERN_OK, tern_machine_suggest_ttl, machine, &cheap, TERN_SECOND, &ttl);
    CHECK(ttl == 1000 * TERN_SECOND); /* it cannot be fetched again */
}

int main(void)
{
    tern_machine_t *machine = read_machine();
    check_disk(machine);
    check_ttl(machine);
    check_buffer(machine);
    check_cost(machine);
    check_value(machine);
    tern_machine_close(machine);
    return finish(__FILE__);
}
