// Costs, what was learned of them, and what follows for a machine.
#include "driver.hpp"

#include <algorithm>
#include <array>

template <std::size_t Count>
static std::array<std::uint64_t, Count> numbers(words& step)
{
    std::array<std::uint64_t, Count> read{};
    for (auto& number : read)
        number = step.number();
    return read;
}

/// A cost by its four numbers.
static tern::cost four_numbers(words& step)
{
    const auto [flops, mem_bytes, peak_mem, result_bytes] = numbers<4>(step);
    return {flops, mem_bytes, peak_mem, result_bytes};
}

static tern::cost made_of(words& step)
{
    const auto of = step.next();
    if (of == "then" || of == "par" || of == "both") {
        const auto one = four_numbers(step);
        const auto other = four_numbers(step);
        return of == "then" ? one + other : of == "par" ? one.par(other) : one.both(other);
    }
    if (of == "repeat") {
        const auto one = four_numbers(step);
        return one.repeat(step.number());
    }
    if (of == "scan") {
        const auto [bytes, result] = numbers<2>(step);
        return tern::cost::scan(bytes, result);
    }
    if (of == "sort") {
        const auto [items, item_bytes, result] = numbers<3>(step);
        return tern::cost::sort(items, item_bytes, result);
    }
    if (of == "hash")
        return tern::cost::hash(step.number());
    if (of == "matmul") {
        const auto [m, n, k, result] = numbers<4>(step);
        return tern::cost::matmul(m, n, k, result);
    }
    if (of == "etl") {
        const auto [rows, row_bytes, ops, result] = numbers<4>(step);
        return tern::cost::etl(rows, row_bytes, ops, result);
    }
    if (of == "copy")
        return tern::cost::copy(step.number());
    throw nonsense();
}

std::string driver::cost(words step)
{
    const auto cost = made_of(step);
    return "OK " + std::to_string(cost.flops) + ' ' + std::to_string(cost.mem_bytes) + ' ' +
           std::to_string(cost.peak_mem) + ' ' + std::to_string(cost.result_bytes);
}

std::string driver::nanoseconds(words step)
{
    const auto work = step.number();
    return "OK " + ::told(tern::time_of(work, step.number()).count());
}

std::string driver::learned(words step)
{
    tern::learned learned;
    learned.runs = step.small();
    learned.permille = step.small();
    const tern::nanos predicted(step.number());
    learned.record(predicted, tern::nanos(step.number())).value();
    return "OK " + std::to_string(learned.runs) + ' ' + std::to_string(learned.permille);
}

std::string driver::read_machine(words)
{
    tern::machine_options how;
    how.no_benchmarks = true;
    how.no_network = true;
    machine_ = tern::machine();
    machine_ = tern::machine::read(".", how).value();
    return "OK";
}

std::string driver::route(words step)
{
    const auto first = step.next();
    if (first == "none") {
        machine().set_route(std::nullopt).value();
        return "OK";
    }
    tern::route way;
    way.round_trip = tern::nanos(to_number(first));
    way.bytes_per_second = step.number();
    way.hits_permille = step.small();
    machine().set_route(way).value();
    return "OK";
}

std::string driver::verdict(words step)
{
    tern::task task(four_numbers(step));
    std::uint32_t threads = 0;
    while (const auto word = step.maybe()) {
        if (const auto kind = value_of(*word, "kind"))
            task.kind(static_cast<tern::kind>(to_number(*kind, INT32_MAX)));
        else if (is_small(*word, "threads", threads))
            task.threads(threads);
        else
            throw nonsense();
    }
    auto verdict = machine().verdict(task).value();
    std::replace(verdict.words.begin(), verdict.words.end(), ' ', '_');
    const bool impossible = verdict.answer == tern::answer::impossible;
    return "OK " + (impossible ? "unknown" : trit(verdict.answer)) + ' ' + verdict.words;
}
