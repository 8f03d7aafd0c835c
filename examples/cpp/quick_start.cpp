// Two GPUs of a pool, in one lease that gives them back at the end of its scope; a child needs this in its environment to
// see these two and no others. All programs of this machine share the pool. TERNLEASE_DEVICES=fake:8 in the environment
// pretends that there are eight devices.
//
// Build it: c++ -std=c++17 quick_start.cpp $(pkg-config --cflags --libs ternlease) -o quick_start

#include <iostream>

#include <ternlease.hpp>

int main()
{
    const auto pool = tern::pool::open().value();
    const auto gpus = pool.claim().count(2).wait().value();
    for (const auto& [name, value] : gpus.env().value().set)
        std::cout << name << '=' << value << '\n';
}
