/* Costs: the numbers that every language gives, by the lines of tests/vectors/fncost.csv; and times. */
#include "check.h"

/* Reads one expression, "(then (copy 7) (hash 9))", from *at, and moves *at behind it. */
static tern_cost_t evaluate(const char **at)
{
    enum { MOST = 4 };
    char op[16] = "";
    tern_cost_t costs[MOST], made = { 0, 0, 0, 0 };
    uint64_t numbers[MOST] = { 0, 0, 0, 0 };
    int cost_count = 0, number_count = 0, len = 0;
    CHECK_EQ(sscanf(*at, "(%15[a-z]%n", op, &len), 1);
    *at += len;
    for (; **at != ')'; *at += **at == ' ') {
        CHECK(cost_count < MOST && number_count < MOST && **at != 0);
        if (**at == '(') {
            costs[cost_count++] = evaluate(at);
        } else if (**at != ' ') {
            CHECK_EQ(sscanf(*at, "%" SCNu64 "%n", &numbers[number_count++], &len), 1);
            *at += len;
        }
    }
    ++*at;
    const uint64_t *n = numbers;
#define IS(name, of_costs, of_numbers) (strcmp(op, name) == 0 && cost_count == of_costs && number_count == of_numbers)
    if (IS("new", 0, 4))
        return (tern_cost_t){ n[0], n[1], n[2], n[3] };
    if (IS("scan", 0, 2))
        return tern_cost_scan(n[0], n[1]);
    if (IS("sort", 0, 3))
        return tern_cost_sort(n[0], n[1], n[2]);
    if (IS("hash", 0, 1))
        return tern_cost_hash(n[0]);
    if (IS("matmul", 0, 4))
        return tern_cost_matmul(n[0], n[1], n[2], n[3]);
    if (IS("etl", 0, 4))
        return tern_cost_etl(n[0], n[1], n[2], n[3]);
    if (IS("copy", 0, 1))
        return tern_cost_copy(n[0]);
    if (IS("then", 2, 0))
        return tern_cost_then(costs[0], costs[1]);
    if (IS("par", 2, 0))
        return tern_cost_par(costs[0], costs[1]);
    if (IS("both", 2, 0))
        return tern_cost_both(costs[0], costs[1]);
    if (IS("repeat", 1, 1))
        return tern_cost_repeat(costs[0], n[0]);
#undef IS
    CHECK(!"there is such an operation");
    return made;
}

static void check_vectors(void)
{
    char path[4096], line[4096];
    const char *slash = strrchr(__FILE__, '/');
    int count = 0;
    snprintf(path, sizeof path, "%.*s../vectors/fncost.csv", slash ? (int)(slash - __FILE__ + 1) : 0, __FILE__);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(fgets(line, sizeof line, file) != NULL);
    CHECK_TEXT(line, "name,expr,flops,mem_bytes,peak_mem,result_bytes\n");
    for (; fgets(line, sizeof line, file); count++) {
        const char *at = strchr(line, ',');
        tern_cost_t should = { 0, 0, 0, 0 };
        CHECK(at != NULL);
        at++;
        tern_cost_t is = evaluate(&at);
        CHECK_EQ(sscanf(at, ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64, &should.flops, &should.mem_bytes,
                        &should.peak_mem, &should.result_bytes),
                 4);
        if (memcmp(&is, &should, sizeof is) != 0)
            fprintf(stderr, "%s", line);
        CHECK(memcmp(&is, &should, sizeof is) == 0);
    }
    /* Lines may be added, none may be lost. */
    CHECK_EQ(count, 94);
    fclose(file);
}

static void check_times(void)
{
    const uint64_t max = UINT64_MAX;
    const struct {
        uint64_t work, rate, time;
    } times[] = {
        { 0, 0, 0 },
        { 0, max, 0 },
        { 1, 0, TERN_NEVER },
        { 1, 1000000000, 1 },
        { 1, 1000000001, 1 },
        { 2000000000, 178740000000, 11189438 },
        { max, 1, TERN_NEVER },
        { max, max, TERN_NEVER },
        { max - 1, max, 1000000000 },
        { max - 1, 1000000000, max - 1 },
        { max - 1, 999999999, TERN_NEVER },
        { 18446744073, 1, 18446744073000000000u },
        { 18446744074, 1, TERN_NEVER },
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        CHECK(tern_nanoseconds(times[i].work, times[i].rate) == times[i].time);
}

int main(void)
{
    CHECK_EQ(sizeof(tern_cost_t), 32);
    check_vectors();
    check_times();
    return finish(__FILE__);
}
