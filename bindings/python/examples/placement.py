"""Where to do it: here, on a GPU, or by fetching the result from somebody who has it?"""

from ternlease import FnCost, GpuPool, Kind, MachCap, Route, Task


def main() -> None:
    with MachCap.read(benchmarks=False, network=False) as machine:  # without `benchmarks`: measured, in 0.3 s
        machine.route = Route(round_trip_ns=2_000_000, bytes_per_second=125_000_000)
        for name, task in (
            ("hash 64 KiB", Task(FnCost.hash(65_536), Kind.HASH)),
            ("load and sort 1 GB", Task(FnCost.copy(10**9) + FnCost.sort(125_000_000, 8, 8), Kind.SORT)),
        ):
            verdict = machine.verdict(task)
            print(f"{name}: {'fetch it' if verdict else 'do it here'}")
        with GpuPool("process:", devices="fake:2") as pool:
            task = Task(FnCost.matmul(20_000, 20_000, 20_000, 3_200_000_000), Kind.DENSE32)
            print("matmul 20k:", machine.advise(task, pool, 2).choice.name)


if __name__ == "__main__":
    main()
