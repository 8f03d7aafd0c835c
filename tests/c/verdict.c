/* Verdicts: each answer there can be, with all that it rests on, and the largest numbers. */
#include "open.h"

static tern_verdict_t verdict_of(const tern_machine_t *machine, tern_cost_t cost, int32_t kind)
{
    tern_verdict_t verdict = tern_verdict_init();
    tern_task_t task = task_of(cost, kind);
    EXPECT(TERN_OK, tern_machine_verdict, machine, &task, &verdict);
    const tern_estimate_t *times[] = { &verdict.t_compute, &verdict.t_fetch };
    const int can[] = { verdict.can_compute, verdict.can_fetch };
    const int32_t why_not[] = { verdict.why_not_compute, verdict.why_not_fetch };
    for (int i = 0; i < 2; i++) {
        CHECK(can[i] == (times[i]->mid != TERN_NEVER) && can[i] == (why_not[i] == TERN_OBSTACLE_NONE));
        CHECK(times[i]->lo <= times[i]->mid && times[i]->mid <= times[i]->hi);
    }
    CHECK(verdict.decisive <= 1 && verdict.can_store <= 1 && memchr(verdict.words, 0, sizeof verdict.words) != NULL);
    CHECK(verdict.trit == (verdict.answer == TERN_ANSWER_IMPOSSIBLE ? TERN_TRIT_UNKNOWN : verdict.answer));
    CHECK(verdict.bias_permille >= 700 && verdict.bias_permille <= 3000);
    for (size_t i = 0; i < sizeof verdict.reserved; i++)
        CHECK_EQ(verdict.reserved[i], 0);
    return verdict;
}

static const tern_cost_t endless = { UINT64_MAX, 0, 0, 1000 };
static const tern_cost_t too_large = { 1, 1, UINT64_MAX, 1000 };
static const tern_cost_t no_room = { 1000, 1000, 0, UINT64_MAX };
static const tern_cost_t most = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };

static void check_with_network(const tern_machine_t *machine)
{
    tern_verdict_t verdict = verdict_of(machine, tern_cost_copy(1000), TERN_KIND_COPY);
    CHECK(verdict.trit == TERN_COMPUTE && verdict.score_ns < 0 && verdict.decisive == 1);
    CHECK(verdict.score_ns == (int64_t)verdict.t_compute.mid - (int64_t)verdict.t_fetch.mid);
    CHECK_EQ(verdict.bottleneck, TERN_BOTTLENECK_MEMORY);
    CHECK_TEXT(verdict.words, "compute");

    verdict = verdict_of(machine, (tern_cost_t){ (uint64_t)1 << 60, 0, 0, 1000 }, TERN_KIND_ROOFLINE);
    CHECK(verdict.trit == TERN_FETCH && verdict.score_ns > 0 && verdict.decisive == 1);
    CHECK_EQ(verdict.bottleneck, TERN_BOTTLENECK_COMPUTE);
    CHECK_TEXT(verdict.words, "fetch");

    verdict = verdict_of(machine, endless, TERN_KIND_ROOFLINE);
    CHECK(verdict.answer == TERN_ANSWER_FETCH && verdict.score_ns == INT64_MAX);
    CHECK_EQ(verdict.why_not_compute, TERN_OBSTACLE_ENDLESS);
    CHECK_TEXT(verdict.words, "must fetch (computing never ends)");

    verdict = verdict_of(machine, too_large, TERN_KIND_ROOFLINE);
    CHECK_EQ(verdict.why_not_compute, TERN_OBSTACLE_MEMORY);
    CHECK_TEXT(verdict.words, "must fetch (insufficient RAM)");

    verdict = verdict_of(machine, no_room, TERN_KIND_ROOFLINE);
    CHECK(verdict.answer == TERN_ANSWER_COMPUTE && verdict.score_ns == INT64_MIN && verdict.can_store == 0);
    CHECK_EQ(verdict.why_not_fetch, TERN_OBSTACLE_DISK);
    CHECK_TEXT(verdict.words, "must compute (insufficient disk)");

    for (int32_t kind = TERN_KIND_ROOFLINE; kind <= TERN_KIND_BYTES; kind++) {
        verdict = verdict_of(machine, most, kind);
        CHECK(verdict.answer == TERN_ANSWER_IMPOSSIBLE && verdict.score_ns == 0 && verdict.decisive == 0);
        CHECK_TEXT(verdict.words, "impossible (insufficient RAM, insufficient disk)");
        verdict = verdict_of(machine, (tern_cost_t){ 0, 0, 0, 0 }, kind);
        CHECK(verdict.answer == TERN_ANSWER_COMPUTE && verdict.bottleneck == TERN_BOTTLENECK_NONE);
    }

    /* Both take no time. */
    tern_route_t route = tern_route_init();
    route.bytes_per_second = UINT64_MAX;
    EXPECT(TERN_OK, tern_machine_set_route, machine, &route);
    verdict = verdict_of(machine, (tern_cost_t){ 0, 0, 0, 0 }, TERN_KIND_ROOFLINE);
    CHECK(verdict.answer == TERN_ANSWER_BREAK_EVEN && verdict.trit == TERN_BREAK_EVEN && verdict.score_ns == 0);
    CHECK_TEXT(verdict.words, "break-even");
}

static void check_without_network(const tern_machine_t *machine)
{
    EXPECT(TERN_OK, tern_machine_set_route, machine, NULL);
    tern_verdict_t verdict = verdict_of(machine, tern_cost_copy(1000), TERN_KIND_COPY);
    CHECK(verdict.answer == TERN_ANSWER_COMPUTE && verdict.score_ns == INT64_MIN && verdict.decisive == 1);
    CHECK_EQ(verdict.why_not_fetch, TERN_OBSTACLE_NETWORK);
    CHECK_TEXT(verdict.words, "must compute (no network)");
    verdict = verdict_of(machine, most, TERN_KIND_DENSE64);
    CHECK(verdict.trit == TERN_TRIT_UNKNOWN && verdict.score_ns == 0);
    CHECK_TEXT(verdict.words, "impossible (insufficient RAM, no network)");
}

static void check_json(const tern_machine_t *machine)
{
    char json[2048];
    size_t needed = 0;
    tern_task_t task = task_of(most, TERN_KIND_SORT);
    EXPECT(TERN_OK, tern_machine_verdict_json, machine, &task, json, sizeof json, &needed);
    CHECK(needed == strlen(json) + 1);
    CHECK(strstr(json, "\"t_compute\": null") && strstr(json, "\"why_not_fetch\": \"no network\"") && strstr(json, "\"trit\": null"));
    CHECK(strstr(json, "inf") == NULL && strstr(json, "NaN") == NULL);
    EXPECT(TERN_MORE, tern_machine_verdict_json, machine, &task, json, needed - 1, &needed);
    CHECK(strlen(json) == needed - 2);
    task.kind = TERN_KIND_BYTES + 1;
    json[0] = 'x';
    EXPECT(TERN_ERR_BAD_VALUE, tern_machine_verdict_json, machine, &task, json, sizeof json, &needed);
    CHECK(json[0] == 'x');
}

int main(void)
{
    tern_machine_t *machine = read_machine();
    check_with_network(machine);
    check_without_network(machine);
    check_json(machine);
    tern_machine_close(machine);
    return finish(__FILE__);
}
