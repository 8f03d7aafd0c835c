/* Routes: what is said is what is found, transfers teach, and nothing is fetched where no way leads. */
#include "open.h"

static tern_route_t found(const tern_machine_t *machine)
{
    tern_route_t route = tern_route_init();
    EXPECT(TERN_OK, tern_machine_route, machine, &route);
    return route;
}

static void check_said(const tern_machine_t *machine)
{
    tern_route_t route = tern_route_init();
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_set_route, machine, &route); /* nothing arrives */
    route.bytes_per_second = 1;
    EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
    CHECK(found(machine).hits_permille == 1000 && found(machine).known == TERN_ROUTE_DECLARED);
    for (int32_t known = TERN_ROUTE_DECLARED; known <= TERN_ROUTE_LEARNED; known++) {
        route = tern_route_init();
        route.round_trip_ns = UINT64_MAX;
        route.bytes_per_second = UINT64_MAX;
        route.query_ns = UINT64_MAX;
        route.hits_permille = 1 + (uint32_t)known;
        route.known = known;
        EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
        tern_route_t is = found(machine);
        CHECK(memcmp(&is, &route, sizeof is) == 0);
    }
    const uint32_t hits[] = { 1001, 65536, 65537, UINT32_MAX };
    const int32_t none[] = { -1, 3, INT32_MIN, INT32_MAX };
    tern_route_t before = found(machine), bad;
    for (int i = 0; i < 4; i++) {
        bad = before;
        bad.hits_permille = hits[i];
        EXPECT(TERN_ERR_BAD_VALUE, tern_machine_set_route, machine, &bad);
        bad = before;
        bad.known = none[i];
        EXPECT(TERN_ERR_BAD_VALUE, tern_machine_set_route, machine, &bad);
    }
    tern_route_t is = found(machine);
    CHECK(memcmp(&is, &before, sizeof is) == 0);
}

static void check_taught(const tern_machine_t *machine)
{
    tern_route_t route = tern_route_init();
    tern_estimate_t before, after;
    route.round_trip_ns = 2000000;
    route.bytes_per_second = 125000000;
    EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
    EXPECT(TERN_OK, tern_machine_fetch_time, machine, 12500000, &before);
    CHECK(before.mid == 104000000);
    EXPECT(TERN_OK, tern_machine_record_fetch, machine, 12500000, 0);
    EXPECT(TERN_OK, tern_machine_record_fetch, machine, 12500000, TERN_NEVER);
    CHECK_EQ(found(machine).known, TERN_ROUTE_DECLARED);
    EXPECT(TERN_OK, tern_machine_record_fetch, machine, 12500000, 204000000);
    CHECK_EQ(found(machine).known, TERN_ROUTE_LEARNED);
    EXPECT(TERN_OK, tern_machine_fetch_time, machine, 12500000, &after);
    CHECK(after.mid > 150000000 && after.mid < 204000000);
    const uint64_t numbers[] = { 0, 1, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX };
    for (int i = 0; i < 25; i++) {
        EXPECT(TERN_OK, tern_machine_record_fetch, machine, numbers[i / 5], numbers[i % 5]);
        EXPECT(TERN_OK, tern_machine_fetch_time, machine, numbers[i / 5], &after);
        CHECK(after.lo <= after.mid && after.mid <= after.hi && found(machine).bytes_per_second > 0);
    }
}

static void check_none(const tern_machine_t *machine)
{
    tern_route_t route = tern_route_init();
    tern_estimate_t time = { 0, 0, 0 };
    EXPECT(TERN_OK, tern_machine_set_route, machine, NULL);
    EXPECT(TERN_EMPTY, tern_machine_route, machine, &route);
    EXPECT(TERN_EMPTY, tern_machine_record_fetch, machine, 1, 1);
    EXPECT(TERN_OK, tern_machine_fetch_time, machine, 0, &time);
    CHECK(time.lo == TERN_NEVER && time.mid == TERN_NEVER && time.hi == TERN_NEVER);
}

int main(void)
{
    tern_machine_t *machine = read_machine();
    check_said(machine);
    check_taught(machine);
    check_none(machine);
    tern_machine_close(machine);
    return finish(__FILE__);
}
