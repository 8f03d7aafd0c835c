// What a step says: words, numbers, options. And what came of it, as words.
#include "driver.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

std::uint64_t to_number(std::string_view text, std::uint64_t most)
{
    std::uint64_t number = 0;
    if (text == "forever" && most == std::numeric_limits<std::uint64_t>::max())
        return most;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc() || end != text.data() + text.size() || number > most)
        throw nonsense();
    return number;
}

std::int32_t to_integer(std::string_view text)
{
    const bool minus = text.substr(0, 1) == "-";
    const auto size = static_cast<std::int32_t>(to_number(text.substr(minus ? 1 : 0), INT32_MAX));
    return minus ? -size : size;
}

std::vector<std::string_view> split(std::string_view text)
{
    std::vector<std::string_view> parts;
    for (auto end = text.find(','); end != std::string_view::npos; end = text.find(',')) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

std::optional<std::string_view> words::maybe()
{
    if (rest_.empty())
        return std::nullopt;
    const auto end = rest_.find(' ');
    const auto word = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return word;
}

std::string_view words::next()
{
    const auto word = maybe();
    if (!word)
        throw nonsense();
    return *word;
}

tern::timeout words::milliseconds()
{
    const auto word = next();
    if (word == "forever")
        return tern::forever;
    return std::chrono::milliseconds(to_number(word, std::numeric_limits<std::int64_t>::max()));
}

tern::reason words::reason()
{
    const auto word = next();
    for (std::int32_t number = 0; number < 1000; number += 1) // Reasons are numbers below 1000.
        if (word == tern::name(tern::reason{number}) && word != "UNKNOWN")
            return tern::reason{number};
    throw nonsense();
}

std::optional<std::string_view> value_of(std::string_view word, std::string_view key)
{
    if (word.size() <= key.size() || word.substr(0, key.size()) != key || word[key.size()] != '=')
        return std::nullopt;
    return word.substr(key.size() + 1);
}

bool is_small(std::string_view word, std::string_view key, std::uint32_t& number)
{
    const auto value = value_of(word, key);
    if (value)
        number = static_cast<std::uint32_t>(to_number(*value, UINT32_MAX));
    return value.has_value();
}

bool wants::reads(std::string_view word, const labels& labels)
{
    std::uint32_t number = 0;
    if (is_small(word, "count", number)) {
        count = number;
    } else if (is_small(word, "slots", number)) {
        slots = number;
    } else if (is_small(word, "memory", number)) {
        memory_mib = number;
    } else if (const auto value = value_of(word, "priority")) {
        priority = to_integer(*value);
    } else if (const auto value = value_of(word, "notice")) {
        notice = to_number(*value);
    } else if (const auto value = value_of(word, "wait")) {
        wait = to_number(*value);
    } else if (const auto value = value_of(word, "parent")) {
        parent = labels.lease(*value);
    } else if (word == "spare") {
        spare = true;
    } else if (word == "preemptible") {
        preemptible = true;
    } else if (word == "preempt") {
        preempt = true;
    } else {
        return false;
    }
    return true;
}

std::string or_dash(std::string_view text) { return std::string(text.empty() ? "-" : text); }

std::string told(std::uint64_t number) { return number == TERN_FOREVER ? "forever" : std::to_string(number); }

std::string told(const tern::error& error)
{
    std::string text = std::string(tern::name(error.status())).substr(std::string_view("TERN_").size());
    if (error.reason() != tern::reason::none)
        text += std::string(" ") + tern::name(error.reason());
    return text;
}

std::string joined(const std::vector<std::string>& parts, std::string_view between)
{
    std::string text;
    for (const auto& part : parts)
        text += (text.empty() ? "" : std::string(between)) + part;
    return or_dash(text);
}

std::string list(const std::vector<std::string>& told) { return "OK " + joined(told, " "); }

tern::lease_id labels::lease(std::string_view name) const
{
    const auto found = known_.find(std::string(name));
    return found == known_.end() ? tern::lease_id::none : found->second.lease;
}

tern::ticket_id labels::ticket(std::string_view name) const
{
    const auto found = known_.find(std::string(name));
    return found == known_.end() ? tern::ticket_id::none : found->second.ticket;
}

std::string labels::of(tern::lease_id lease) const
{
    const auto found = std::find_if(known_.begin(), known_.end(), [&](auto& each) { return each.second.lease == lease; });
    return lease == tern::lease_id::none ? "-" : found == known_.end() ? "?" : found->first;
}

std::string labels::of(tern::ticket_id ticket) const
{
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](auto& each) { return each.second.ticket == ticket; });
    return ticket == tern::ticket_id::none ? "-" : found == known_.end() ? "?" : found->first;
}
