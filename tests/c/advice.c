/* Advice: each choice there can be with two devices that do not exist, and how long claims would wait. */
#include "open.h"

static tern_advice_t advise(const tern_machine_t *machine, tern_cost_t cost, const tern_pool_t *pool, const tern_gpu_claim_t *claim)
{
    tern_advice_t advice = tern_advice_init();
    tern_task_t task = task_of(cost, TERN_KIND_DENSE64);
    EXPECT(TERN_OK, tern_machine_advise, machine, &task, pool, claim, &advice);
    const tern_estimate_t *times[] = { &advice.cpu, &advice.gpu, &advice.fetch };
    const int32_t why_not[] = { advice.why_not_cpu, advice.why_not_gpu, advice.why_not_fetch };
    for (int i = 0; i < 3; i++) {
        CHECK((times[i]->mid == TERN_NEVER) == (why_not[i] != TERN_OBSTACLE_NONE));
        CHECK(times[i]->lo <= times[i]->mid && times[i]->mid <= times[i]->hi);
    }
    CHECK(advice.gpu_now.mid == TERN_NEVER || advice.gpu_wait.mid == TERN_NEVER);
    CHECK(advice.decisive <= 1 && advice.reserved[0] == 0 && advice.reserved[1] == 0 && advice.reserved[2] == 0);
    CHECK(strlen(advice.words) > 0 && strlen(advice.words) < sizeof advice.words - 1);
    return advice;
}

/* Worth the way to a device, and not. */
static tern_cost_t large(void)
{
    return tern_cost_matmul(20000, 20000, 20000, 3200000000);
}

static tern_cost_t small(void)
{
    return tern_cost_matmul(10, 10, 10, 800);
}

static int32_t wait_for(const tern_pool_t *pool, const tern_gpu_claim_t *claim, uint64_t *wait_ns)
{
    int32_t wait = -1;
    EXPECT(TERN_OK, tern_pool_expected_wait, pool, claim, &wait, wait_ns);
    return wait;
}

static void check_choices(tern_machine_t *machine)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_gpu_claim_t claim = tern_gpu_claim_init(), both = tern_gpu_claim_init();
    tern_lease_t lease = 0;
    both.count = 2;
    /* Without a network it is the processor or a device. */
    EXPECT(TERN_OK, tern_machine_set_route, machine, NULL);
    tern_advice_t advice = advise(machine, large(), pool, &claim);
    CHECK_EQ(advice.choice, TERN_CHOICE_GPU_NOW);
    CHECK(advice.wait == TERN_EXPECTED_WAIT_NONE && advice.wait_ns == 0 && advice.gpu_now.mid == advice.gpu.mid);
    CHECK_EQ(advice.why_not_fetch, TERN_OBSTACLE_NETWORK);
    CHECK(strncmp(advice.words, "gpu now", 7) == 0);
    CHECK(advise(machine, large(), pool, &both).gpu.mid < advice.gpu.mid);
    CHECK_EQ(advise(machine, small(), pool, &claim).choice, TERN_CHOICE_CPU);

    /* In a program that has begun with its devices, they are worth it sooner. */
    EXPECT(TERN_OK, tern_machine_set_gpu_start, machine, 0, 0, 0);
    CHECK(advise(machine, large(), pool, &claim).gpu.mid == advice.gpu.mid - 300000000);

    /* One that is held for five more seconds. */
    claim.count = 2;
    claim.ttl = 5 * TERN_SECOND;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    uint64_t wait_ns = 0;
    CHECK_EQ(wait_for(pool, &both, &wait_ns), TERN_EXPECTED_WAIT_ABOUT);
    CHECK(wait_ns > 0 && wait_ns <= 5000000000u);
    advice = advise(machine, large(), pool, &both);
    CHECK_EQ(advice.wait, TERN_EXPECTED_WAIT_ABOUT);
    CHECK(advice.gpu_now.mid == TERN_NEVER && advice.gpu_wait.mid > advice.gpu.mid && advice.wait_ns <= 5000000000u);
    CHECK(advice.choice == (advice.gpu_wait.mid < advice.cpu.mid ? TERN_CHOICE_GPU_WAIT : TERN_CHOICE_CPU));
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    tern_pool_close(pool);

    /* One that is held for ever, by somebody who never held one before. */
    pool = open_pool("fake:1");
    lease = claim_one(pool);
    claim = tern_gpu_claim_init();
    advice = advise(machine, large(), pool, &claim);
    CHECK(advice.wait == TERN_EXPECTED_WAIT_UNKNOWN && advice.wait_ns == TERN_NEVER);
    CHECK(advice.gpu_now.mid == TERN_NEVER && advice.gpu_wait.mid == TERN_NEVER && advice.gpu.mid != TERN_NEVER);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);

    /* More than a device has, and more than there is of anything. */
    advice = advise(machine, (tern_cost_t){ 1, 1, (uint64_t)1 << 40, 1 }, pool, &claim);
    CHECK_EQ(advice.why_not_gpu, TERN_OBSTACLE_DEVICE_MEMORY);
    advice = advise(machine, (tern_cost_t){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX }, pool, &claim);
    CHECK(advice.choice == TERN_CHOICE_INFEASIBLE && advice.decisive == 0);
    advice = advise(machine, (tern_cost_t){ UINT64_MAX, 0, 0, 0 }, pool, &claim);
    CHECK(advice.why_not_cpu == TERN_OBSTACLE_ENDLESS && advice.why_not_gpu == TERN_OBSTACLE_ENDLESS);

    /* And the result may be fetched. */
    tern_route_t route = tern_route_init();
    route.bytes_per_second = UINT64_MAX;
    EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
    CHECK_EQ(advise(machine, (tern_cost_t){ UINT64_MAX, 0, 0, 1 }, pool, &claim).choice, TERN_CHOICE_FETCH);
    tern_pool_close(pool);
}

static void check_no_devices(const tern_machine_t *machine)
{
    tern_pool_t *pool = open_pool("none");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    uint64_t wait_ns = 0;
    tern_advice_t advice = advise(machine, small(), pool, &claim);
    CHECK(advice.wait == TERN_EXPECTED_WAIT_NO_DEVICES && advice.why_not_gpu == TERN_OBSTACLE_NO_DEVICE);
    CHECK_EQ(wait_for(pool, &claim, &wait_ns), TERN_EXPECTED_WAIT_NO_DEVICES);
    CHECK(wait_ns == TERN_NEVER);
    CHECK_EQ(wait_for(pool, &claim, NULL), TERN_EXPECTED_WAIT_NO_DEVICES);
    tern_pool_close(pool);
}

static void check_tickets(void)
{
    tern_pool_t *pool = open_pool("fake:1");
    tern_manager_t *manager = NULL;
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_lease_t lease = 0, none = 0;
    tern_ticket_t tickets[2] = { 0, 0 };
    int32_t wait = 77;
    uint64_t first = 77, second = 77;
    claim.ttl = 60 * TERN_SECOND;
    claim.wait = TERN_FOREVER;
    EXPECT(TERN_OK, tern_pool_claim, pool, &claim, &lease);
    for (int i = 0; i < 2; i++)
        EXPECT(TERN_WAITING, tern_pool_enqueue, pool, &claim, &none, &tickets[i]);
    EXPECT(TERN_OK, tern_pool_expected_wait_of, pool, tickets[0], &wait, &first);
    CHECK(wait == TERN_EXPECTED_WAIT_ABOUT && first > 0 && first <= 60000000000u);
    EXPECT(TERN_OK, tern_pool_expected_wait_of, pool, tickets[1], &wait, &second);
    CHECK(wait == TERN_EXPECTED_WAIT_ABOUT && second > first && second <= 120000000000u);
    EXPECT(TERN_OK, tern_gpu_lease_release, pool, lease);
    EXPECT(TERN_OK, tern_pool_expected_wait_of, pool, tickets[0], &wait, &first);
    CHECK(wait == TERN_EXPECTED_WAIT_NONE && first == 0);

    /* Of something else the pool knows nothing. */
    EXPECT(TERN_OK, tern_pool_manager, pool, &manager);
    acquire(manager, "licence", "ann", TERN_FOREVER);
    EXPECT(TERN_OK, tern_pool_expected_wait_of, pool, enqueue(manager, "licence", "bob"), &wait, &first);
    CHECK(wait == TERN_EXPECTED_WAIT_UNKNOWN && first == TERN_NEVER);
    const tern_ticket_t forged[] = { 0, UINT64_MAX, tickets[0] + 1000 };
    for (int i = 0; i < 3; i++)
        EXPECT(TERN_ERR_UNKNOWN_TICKET, tern_pool_expected_wait_of, pool, forged[i], &wait, &first);
    tern_manager_close(manager);
    tern_pool_close(pool);
}

/* A claim that could never be granted, a task that is none, and handles in each other's places. */
static void check_refused(tern_machine_t *machine)
{
    tern_pool_t *pool = open_pool("fake:2");
    tern_task_t task = task_of(small(), TERN_KIND_DENSE64), none = task;
    tern_gpu_claim_t claim = tern_gpu_claim_init(), bad = tern_gpu_claim_init();
    tern_advice_t advice = tern_advice_init();
    char json[2048] = "x";
    size_t needed = 77;
    int32_t wait = 77;
    none.kind = -1;
    bad.count = 3;
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_advise, machine, &none, pool, &claim, &advice);
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_machine_advise, machine, &task, pool, &bad, &advice);
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_machine_advise_json, machine, &task, pool, &bad, json, sizeof json, &needed);
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_expected_wait, pool, &bad, &wait, NULL);
    bad = tern_gpu_claim_init();
    bad.slots = 2;
    EXPECT(TERN_ERR_IMPOSSIBLE, tern_pool_expected_wait, pool, &bad, &wait, NULL);
    bad = tern_gpu_claim_init();
    bad.flags = (uint64_t)1 << 40;
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_advise, machine, &task, pool, &bad, &advice);
    EXPECT(TERN_ERR_BAD_VALUE, tern_pool_expected_wait, pool, &bad, &wait, NULL);
    EXPECT(TERN_ERR_BAD_HANDLE, tern_machine_advise, machine, &task, (tern_pool_t *)(void *)machine, &claim, &advice);
    EXPECT(TERN_ERR_BAD_HANDLE, tern_machine_advise, (tern_machine_t *)(void *)pool, &task, pool, &claim, &advice);
    CHECK(advice.choice == 0 && advice.words[0] == 0 && json[0] == 'x' && needed == 77 && wait == 77);
    EXPECT(TERN_OK, tern_machine_advise_json, machine, &task, pool, &claim, json, sizeof json, &needed);
    CHECK(needed == strlen(json) + 1 && strstr(json, "\"choice\": ") && strstr(json, "\"wait_seconds\": 0"));
    tern_pool_close(pool);
    EXPECT(TERN_ERR_CLOSED, tern_machine_advise, machine, &task, pool, &claim, &advice);
}

int main(void)
{
    tern_machine_t *machine = read_machine();
    check_choices(machine);
    check_no_devices(machine);
    check_tickets();
    check_refused(machine);
    tern_machine_close(machine);
    return finish(__FILE__);
}
