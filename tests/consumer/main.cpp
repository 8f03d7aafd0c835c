// As main.c, with the C++ header.
#include <chrono>
#include <cstdio>
#include <ternlease.hpp>

int main()
{
    using namespace std::chrono_literals;
    auto manager = tern::manager::open("process:").value();
    auto lease = manager.claim("me").of({"gpu0", "gpu1"}).ttl(60s).wait(5s).value();
    lease.renew().value();
    std::printf("ternlease %s\n", tern::version());
}
