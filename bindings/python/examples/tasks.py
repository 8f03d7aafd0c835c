"""Ten tasks share two GPUs in an event loop, without threads. One loses patience and leaves the line."""

import asyncio
from typing import List

from ternlease import EventKind, GpuPool, LeaseManager


async def job(pool: GpuPool, name: str, done: List[str]) -> None:
    async with await pool.claim_async(holder=name):
        await asyncio.sleep(0.001)  # the work
        done.append(name)


async def count_grants(manager: LeaseManager) -> int:
    grants = 0
    with manager.events() as events:
        async for event in events:
            grants += event.kind is EventKind.GRANTED
            if grants == 10:
                break
    return grants


async def main() -> None:
    done: List[str] = []
    with GpuPool("process:", devices="fake:2") as pool:
        grants = asyncio.ensure_future(count_grants(pool.manager))
        await asyncio.sleep(0)
        async with await pool.claim_async(2, holder="first"):
            try:
                await asyncio.wait_for(pool.claim_async(holder="impatient"), 0.01)
            except asyncio.TimeoutError:
                print("the impatient one left; in line:", pool.pending_claimers())
            jobs = [asyncio.ensure_future(job(pool, f"job-{number}", done)) for number in range(9)]
            await asyncio.sleep(0)
        await asyncio.gather(*jobs)
        print(len(done), "jobs are done;", await grants, "leases were granted")


if __name__ == "__main__":
    asyncio.run(main())
