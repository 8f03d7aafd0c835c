"""How long calls take through this package: lines of NAME NANOSECONDS, each the best of several rounds."""

import timeit
from typing import Any, Callable

import ternlease

ROUNDS = 9
MANY = 1000


def best(call: Callable[[], Any], times: int) -> float:
    """Nanoseconds per call."""
    return min(timeit.repeat(call, number=times, repeat=ROUNDS)) / times * 1e9


def tell(name: str, nanoseconds: float) -> None:
    print(f"{name} {nanoseconds:.1f}", flush=True)


def main() -> None:
    # The cheapest call there is; the public interface tells the version as text.
    tell("bare", best(ternlease._lib.tern_version, 100_000))  # type: ignore[attr-defined]
    with ternlease.LeaseManager("process:") as manager:
        lease = manager.acquire("gpu0", "bench", 3600)
        tell("state", best(lambda: lease.state, 100_000))
        tell("renew", best(lease.renew, 50_000))
        leases = [manager.acquire(f"r{number}", "bench", 3600) for number in range(MANY)]
        tell("states_1000", best(lambda: manager.states(leases), 100) / MANY)
        tell("renew_1000", best(lambda: manager.renew_all(leases), 100) / MANY)
        for one in [lease, *leases]:
            one.detach()
    with ternlease.GpuPool("process:", devices="fake:8") as pool:

        def claim_release() -> None:
            claimed = pool.try_claim()
            assert claimed is not None
            claimed.release()

        tell("claim_release", best(claim_release, 20_000))


if __name__ == "__main__":
    main()
