// Drift: everything that ternlease.h has is used by the headers of C++: functions, enumerators, constants, members. This
// reads the headers as texts, so that what is added to C and forgotten in C++ fails here. And their README shows a program
// that runs.
#include "check.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

using names = std::set<std::string>;

static std::string include_directory()
{
    const std::string here = __FILE__;
    return here.substr(0, here.rfind('/') + 1) + "../../include/";
}

static std::string read(const std::filesystem::path& path)
{
    std::ifstream file(path);
    CHECK(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Without comments: what they speak of is not there.
static std::string code_of(const std::string& text)
{
    std::string code;
    for (std::size_t at = 0; at < text.size();) {
        if (text.compare(at, 2, "//") == 0)
            at = std::min(text.find('\n', at), text.size());
        else if (text.compare(at, 2, "/*") == 0)
            at = text.find("*/", at) + 2;
        else
            code += text[at++];
    }
    return code;
}

static std::string in_c() { return code_of(read(include_directory() + "ternlease.h")); }

static std::string in_cpp()
{
    std::string all;
    for (const auto& file : std::filesystem::directory_iterator(include_directory() + "ternlease"))
        all += code_of(read(file.path()));
    return all;
}

/// The first group of everything that matches.
static names matches(const std::string& text, const char* pattern)
{
    names found;
    const std::regex wanted(pattern);
    for (std::sregex_iterator it(text.begin(), text.end(), wanted), end; it != end; ++it)
        found.insert((*it)[1].str());
    return found;
}

/// What is not among them, one to a line.
static std::string missing(const names& wanted, const names& found, const names& exceptions)
{
    std::string lines;
    for (const auto& name : wanted)
        if (found.count(name) == 0 && exceptions.count(name) == 0)
            lines += name + '\n';
    for (const auto& name : exceptions)
        if (wanted.count(name) == 0 || found.count(name) != 0)
            lines += name + " is no exception\n";
    return lines;
}

static void nothing_is_missing(const std::string& lines)
{
    std::fputs(lines.c_str(), stderr);
    CHECK(lines.empty());
}

static void every_function_is_called()
{
    const auto declared = matches(in_c(), "\\b(tern_[a-z0-9_]+)\\(");
    CHECK(declared.size() > 100 && declared.count("tern_lease_renew") == 1);
    const names exceptions = {
        "tern_error_init",        // tern::error has a quicker way.
        "tern_gpu_lease_release", // A lease of a pool is released as any other: it knows its manager.
    };
    nothing_is_missing(missing(declared, matches(in_cpp(), "\\b(tern_[a-z0-9_]+)\\b"), exceptions));
}

static void every_constant_is_used()
{
    const auto defined = matches(in_c(), "#define (TERN_[A-Z0-9_]+)");
    CHECK(defined.size() > 40 && defined.count("TERN_CLAIM_SPARE") == 1);
    const names exceptions = {
        "TERN_VERSION_MAJOR", "TERN_VERSION_MINOR", "TERN_VERSION_PATCH", // Of the header that includes them.
        "TERN_STR", "TERN_ENUM_BEGIN", "TERN_ENUM_END",                   // How things are written in C.
        "TERN_MILLISECOND", "TERN_SECOND",                                // std::chrono
        "TERN_NAME_MAX",                                                  // The library counts.
        "TERN_FETCH", "TERN_BREAK_EVEN", "TERN_COMPUTE",                  // tern::answer, by the same numbers.
    };
    nothing_is_missing(missing(defined, matches(in_cpp(), "\\b(TERN_[A-Z0-9_]+)\\b"), exceptions));
}

static std::string lower(std::string text)
{
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// What stands between two texts; empty if they are not there.
static std::string between(const std::string& text, const std::string& begin, const std::string& end)
{
    const auto found = text.find(begin);
    if (found == std::string::npos)
        return "";
    const auto from = found + begin.size();
    return text.substr(from, text.find(end, from) - from);
}

/// Every enumeration of C is one in C++, of the same name, and every enumerator one in it, by its number in C.
static void every_enumerator_has_its_name()
{
    const auto c = in_c();
    const auto cpp = in_cpp();
    const auto enumerations = matches(c, "TERN_ENUM_BEGIN\\(tern_([a-z_]+)_t\\)");
    CHECK(enumerations.size() > 15 && enumerations.count("status") == 1);
    std::string lines;
    for (const auto& enumeration : enumerations) {
        const auto known = between(cpp, "enum class " + enumeration + " :", "};");
        for (const auto& name : matches(between(c, "(tern_" + enumeration + "_t)", "TERN_ENUM_END"), "(TERN_[A-Z0-9_]+) =")) {
            const auto own = matches(known, ("([a-z0-9_]+) = " + name + ",").c_str());
            const auto end = own.empty() ? "" : own.begin()->substr(0, own.begin()->find_last_not_of('_') + 1);
            if (end.empty() || lower(name).find(end, name.size() - end.size()) == std::string::npos)
                lines += enumeration + ": " + name + '\n';
        }
    }
    nothing_is_missing(lines);
}

static void every_member_is_read_or_written()
{
    const auto c = in_c();
    const auto used = matches(in_cpp(), "\\.([a-z0-9_]+)\\b");
    std::string lines;
    const auto structs = matches(c, "typedef struct (tern_[a-z_]+_t) \\{");
    CHECK(structs.size() > 20);
    for (const auto& name : structs) {
        names members = matches(between(c, "typedef struct " + name + " {", "}"), "\\b([a-z0-9_]+)(?:\\[[0-9]+\\])?;");
        for (const char* always : {"struct_size", "reserved", "reserved2"})
            members.erase(always);
        if (name == "tern_verdict_t")
            members.erase("trit"); // The answer says more.
        if (name == "tern_text_t")
            members.clear(); // Made by a list of both.
        CHECK(!members.empty() || name == "tern_text_t");
        for (const auto& member : members)
            if (used.count(member) == 0)
                lines += name + '.' + member + '\n';
    }
    nothing_is_missing(lines);
}

static void the_readme_shows_the_example()
{
    const auto shown = between(read(include_directory() + "README.md"), "```cpp\n", "```");
    const auto example = read(include_directory() + "../examples/cpp/quick_start.cpp");
    CHECK(!shown.empty() && example.find("\n" + shown) != std::string::npos);
}

static void whatever_is_missing_is_noticed()
{
    CHECK(missing({"a", "b"}, {"a"}, {}) == "b\n" && missing({"a", "b"}, {"a"}, {"b"}).empty());
    CHECK(missing({"a"}, {"a"}, {"a", "b"}) == "a is no exception\nb is no exception\n");
    CHECK(code_of("a /* b */ c // d\ne") == "a  c \ne");
}

int main()
{
    return check::run({
        {"whatever is missing is noticed", whatever_is_missing_is_noticed},
        {"every function is called", every_function_is_called},
        {"every constant is used", every_constant_is_used},
        {"every enumerator has its name", every_enumerator_has_its_name},
        {"every member is read or written", every_member_is_read_or_written},
        {"the README shows the example", the_readme_shows_the_example},
    });
}
