// Costs: the numbers that every language gives, by the lines of tests/vectors/fncost.csv; and times.
#include "check.hpp"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

using tern::cost;

// An identity: four numbers and nothing else, as in C.
static_assert(sizeof(cost) == 32 && std::is_trivially_copyable_v<cost> && std::is_standard_layout_v<cost>);
static_assert(cost{1, 2, 3, 4} == cost::of(tern_cost_t{1, 2, 3, 4}) && cost{1, 2, 3, 4} != cost{1, 2, 3, 5});

static std::uint64_t to_number(const std::string& text) { return std::stoull(text); }

/// Reads one expression, "( then ( copy 7 ) ( hash 9 ) )".
static cost evaluate(std::istream& words)
{
    std::string op;
    std::vector<cost> costs;
    std::vector<std::uint64_t> n;
    words >> op;
    for (std::string word; words >> word && word != ")";) {
        if (word == "(")
            costs.push_back(evaluate(words));
        else
            n.push_back(to_number(word));
    }
    const auto is = [&](const char* name, std::size_t of_costs, std::size_t of_numbers) {
        return op == name && costs.size() == of_costs && n.size() == of_numbers;
    };
    if (is("new", 0, 4))
        return {n[0], n[1], n[2], n[3]};
    if (is("scan", 0, 2))
        return cost::scan(n[0], n[1]);
    if (is("sort", 0, 3))
        return cost::sort(n[0], n[1], n[2]);
    if (is("hash", 0, 1))
        return cost::hash(n[0]);
    if (is("matmul", 0, 4))
        return cost::matmul(n[0], n[1], n[2], n[3]);
    if (is("etl", 0, 4))
        return cost::etl(n[0], n[1], n[2], n[3]);
    if (is("copy", 0, 1))
        return cost::copy(n[0]);
    if (is("par", 2, 0))
        return costs[0].par(costs[1]);
    if (is("both", 2, 0))
        return costs[0].both(costs[1]);
    if (is("repeat", 1, 1))
        return costs[0].repeat(n[0]);
    CHECK(is("then", 2, 0));
    CHECK(costs[0] + costs[1] == costs[0].then(costs[1]));
    return costs[0].then(costs[1]);
}

static std::string spaced(const std::string& expression)
{
    std::string text;
    for (const char c : expression)
        text += c == '(' || c == ')' ? std::string(" ") + c + ' ' : std::string(1, c);
    return text;
}

static void all_vectors()
{
    const std::string here = __FILE__;
    std::ifstream file(here.substr(0, here.rfind('/') + 1) + "../vectors/fncost.csv");
    std::string line;
    CHECK(std::getline(file, line) && line == "name,expr,flops,mem_bytes,peak_mem,result_bytes");
    int count = 0;
    for (; std::getline(file, line); count += 1) {
        std::vector<std::string> fields;
        std::istringstream row(line);
        for (std::string field; std::getline(row, field, ',');)
            fields.push_back(field);
        CHECK(fields.size() == 6);
        std::istringstream words(spaced(fields[1]));
        std::string bracket;
        words >> bracket;
        const cost expected{to_number(fields[2]), to_number(fields[3]), to_number(fields[4]), to_number(fields[5])};
        CHECK(bracket == "(" && evaluate(words) == expected);
    }
    CHECK(count >= 94); // Lines may be added, none may be lost.
}

static void work_takes_its_time()
{
    CHECK(tern::time_of(1000, 1000000000).count() == 1000 && tern::time_of(1, 3).count() == 333333334);
    CHECK(tern::time_of(0, 5).count() == 0 && tern::time_of(1, 0).is_forever() && tern::time_of(UINT64_MAX, 9).is_forever());
}

int main()
{
    return check::run({
        {"all vectors", all_vectors},
        {"work takes its time", work_takes_its_time},
    });
}
