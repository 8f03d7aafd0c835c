// Two GPUs of a pool, in one lease that gives them back at the end of its scope; a child needs this in its environment to
// see these two and no others. The pool has eight that do not exist; "host" instead takes those of this machine.
//
// Build it: c++ -std=c++17 quick_start.cpp $(pkg-config --cflags --libs ternlease) -o quick_start

#include <iostream>

#include <ternlease.hpp>

int main()
{
    const auto pool = tern::pool::open("process:", tern::pool_options::of("fake:8")).value();
    const auto gpus = pool.claim().count(2).wait().value();
    for (const auto& [name, value] : gpus.env().value().set)
        std::cout << name << '=' << value << '\n';
}
