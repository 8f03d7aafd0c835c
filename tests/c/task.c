/* Tasks: what each member does, what is refused, and what runs teach. */
#include "open.h"

static uint64_t time_of(const tern_machine_t *machine, const tern_task_t *task)
{
    tern_estimate_t time = { 1, 1, 1 };
    EXPECT(TERN_OK, tern_machine_compute_time, machine, task, &time);
    CHECK(time.lo <= time.mid && time.mid <= time.hi);
    return time.mid;
}

static void check_kinds(const tern_machine_t *machine)
{
    const int32_t none[] = { -1, TERN_KIND_BYTES + 1, 256, 65536, INT32_MIN, INT32_MAX };
    tern_estimate_t time = { 7, 7, 7 };
    tern_task_t task = task_of(tern_cost_etl(100000, 100, 10, 1000), TERN_KIND_ROOFLINE);
    for (task.kind = TERN_KIND_ROOFLINE; task.kind <= TERN_KIND_BYTES; task.kind++)
        CHECK(time_of(machine, &task) > 0);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        task.kind = none[i];
        EXPECT(TERN_ERR_BAD_VALUE, tern_machine_compute_time, machine, &task, &time);
    }
    task.kind = TERN_KIND_ROWS;
    for (int bit = 1; bit < 64; bit++) {
        task.flags = (uint64_t)1 << bit;
        EXPECT(TERN_ERR_BAD_VALUE, tern_machine_compute_time, machine, &task, &time);
    }
    CHECK(time.lo == 7 && time.mid == 7 && time.hi == 7);
}

static void check_members(const tern_machine_t *machine)
{
    tern_task_t task = task_of(tern_cost_hash(1000000000), TERN_KIND_HASH);
    tern_machine_info_t info = tern_machine_info_init();
    EXPECT(TERN_OK, tern_machine_info, machine, &info);
    uint64_t one = time_of(machine, &task), untaught = 0;
    task.threads = 1;
    CHECK(time_of(machine, &task) == one);
    task.threads = UINT32_MAX;
    uint64_t all = time_of(machine, &task);
    CHECK(all <= one / info.cores_usable + 1 && all >= one / info.cores_usable - 1);
    task.threads = 0;

    /* One of the two alone says nothing. */
    task.learned_runs = 5;
    CHECK(time_of(machine, &task) == one);
    task.learned_runs = 0;
    task.learned_permille = 3000;
    CHECK(time_of(machine, &task) == one);
    task.learned_runs = 5;
    CHECK(time_of(machine, &task) == 3 * one);
    EXPECT(TERN_OK, tern_machine_untaught_time, machine, &task, &untaught);
    CHECK(untaught == one);

    /* The largest numbers everywhere never end, and nothing is lost on the way. */
    const tern_cost_t most = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
    for (int32_t kind = TERN_KIND_ROOFLINE; kind <= TERN_KIND_BYTES; kind++) {
        task = task_of(most, kind);
        task.threads = task.learned_runs = task.learned_permille = UINT32_MAX;
        task.input_bytes = UINT64_MAX;
        task.flags = TERN_TASK_INPUT;
        CHECK(time_of(machine, &task) == TERN_NEVER);
        task = task_of((tern_cost_t){ 0, 0, 0, 0 }, kind);
        CHECK(time_of(machine, &task) == 0);
    }
}

/* Input that is said, even as nothing, is not what is assumed: a device gets less to carry. */
static void check_input(const tern_machine_t *machine)
{
    tern_pool_t *pool = open_pool("fake:1");
    tern_gpu_claim_t claim = tern_gpu_claim_init();
    tern_advice_t assumed = tern_advice_init(), said = tern_advice_init(), none = tern_advice_init();
    tern_task_t task = task_of(tern_cost_matmul(4000, 4000, 4000, 128000000), TERN_KIND_DENSE64);
    EXPECT(TERN_OK, tern_machine_advise, machine, &task, pool, &claim, &assumed);
    task.input_bytes = 1000;
    EXPECT(TERN_OK, tern_machine_advise, machine, &task, pool, &claim, &said);
    CHECK(memcmp(&said.gpu, &assumed.gpu, sizeof said.gpu) == 0);
    task.flags = TERN_TASK_INPUT;
    EXPECT(TERN_OK, tern_machine_advise, machine, &task, pool, &claim, &said);
    task.input_bytes = 0;
    EXPECT(TERN_OK, tern_machine_advise, machine, &task, pool, &claim, &none);
    CHECK(none.gpu.mid < said.gpu.mid && said.gpu.mid < assumed.gpu.mid);
    tern_pool_close(pool);
}

static void check_learned(void)
{
    const uint64_t odd[][2] = { { 0, 5 }, { 5, 0 }, { TERN_NEVER, 5 }, { 5, TERN_NEVER }, { 0, 0 } };
    tern_task_t task = tern_task_init();
    for (size_t i = 0; i < 5; i++) {
        EXPECT(TERN_OK, tern_learned_record, &task.learned_runs, &task.learned_permille, odd[i][0], odd[i][1]);
        CHECK(task.learned_runs == 0 && task.learned_permille == 1000);
    }
    EXPECT(TERN_OK, tern_learned_record, &task.learned_runs, &task.learned_permille, 1000000, 3000000);
    CHECK(task.learned_runs == 1 && task.learned_permille == 3000);
    EXPECT(TERN_OK, tern_learned_record, &task.learned_runs, &task.learned_permille, 1000000, 3000000);
    CHECK(task.learned_runs == 2 && task.learned_permille == 3000);
    const uint64_t numbers[] = { 1, 2, 1000, UINT64_MAX / 2, UINT64_MAX - 1 };
    uint32_t runs = UINT32_MAX, permille = UINT32_MAX;
    for (size_t i = 0; i < 25; i++) {
        EXPECT(TERN_OK, tern_learned_record, &runs, &permille, numbers[i / 5], numbers[i % 5]);
        CHECK(runs == UINT32_MAX && permille >= 1);
    }
    EXPECT(TERN_ERR_NULL, tern_learned_record, NULL, &permille, 1, 1);
    EXPECT(TERN_ERR_NULL, tern_learned_record, &runs, NULL, 1, 1);
}

int main(void)
{
    tern_machine_t *machine = read_machine();
    check_kinds(machine);
    check_members(machine);
    check_input(machine);
    check_learned();
    tern_machine_close(machine);
    return finish(__FILE__);
}
