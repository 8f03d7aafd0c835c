"""The figures of a soak, and what they come to."""

from statistics import median
from typing import Dict, List

from samples import MIB, Sample, fifth, leak_that_shows, makes_progress, slope, what_is_not_flat
from tables import Table
from worker import Worker

# Names of a table that nobody uses any more go when there is need of room.
RESOURCES_SLACK = 16
# Changes since the last whole copy of the table have a key each on etcd: up to 256, then none again.
KEYS_SLACK = 280


def aligned(rows: List[List[str]]) -> str:
    """The first two columns to the left, numbers to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            word.ljust(width) if place < 2 else word.rjust(width)
            for place, (word, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    )


def span(numbers: List[int]) -> str:
    """From the least to the most."""
    return f"{min(numbers)}..{max(numbers)}"


def of_workers(samples: Dict[Worker, List[Sample]]) -> str:
    """One line for each that lasted."""
    head = "language,home,operations,per second,MiB at 20 %,at 100 %,MiB per hour,leak seen from B/op"
    rows = [[*head.split(","), "descriptors", "threads", "verdict"]]
    for worker, told in samples.items():
        if len(told) < 10:
            rows.append([worker.language, worker.home, str(worker.operations), *["-"] * 7, "ended early"])
            continue
        seconds = told[-1].at - told[0].at
        leak = leak_that_shows(told)
        rows.append(
            [
                worker.language,
                worker.home,
                str(worker.operations),
                f"{told[-1].operations / seconds:.0f}",
                f"{median(it.memory for it in fifth(told, 2)[:3]) / MIB:.1f}",
                f"{told[-1].memory / MIB:.1f}",
                f"{slope(told, lambda it: it.memory) * 3600 / MIB:+.1f}",
                "-" if leak is None else f"{leak:.0f}",
                span([it.descriptors for it in told]),
                span([it.threads for it in told]),
                "not flat" if what_is_not_flat(told) else "flat",
            ]
        )
    return aligned(rows)


def all_samples(samples: Dict[Worker, List[Sample]]) -> str:
    """As CSV, for those who want to see how it went."""
    lines = ["language,home," + ",".join(Sample._fields)]
    for worker, told in samples.items():
        lines += [",".join(map(str, (worker.language, worker.home, *it))) for it in told]
    return "\n".join(lines) + "\n"


def of_tables(tables: List[Table]) -> str:
    """One line for each that is shared."""
    head = "table,,grants checked,killed,ended by death,revoked,leases,in line,resources,processes"
    rows = [[*head.split(","), "keys", "sessions", "KiB in use"]]
    for table in tables:
        if not table.is_shared or not table.seen:
            continue
        kept = [it.kept for it in table.seen if it.kept]
        processes = [it.processes for it in table.seen if it.processes is not None]
        rows.append(
            [
                table.home,
                "",
                *map(str, (table.devices.checked, table.killed, table.died, table.revoked)),
                span([it.active for it in table.seen]),
                span([it.pending for it in table.seen]),
                span([it.resources for it in table.seen]),
                span(processes) if processes else "-",
                span([it.keys for it in kept]) if kept else "-",
                span([it.sessions for it in kept]) if kept else "-",
                span([it.bytes_in_use // 1024 for it in kept]) if kept else "-",
            ]
        )
    return aligned(rows)


def checks(samples: Dict[Worker, List[Sample]], tables: List[Table], failures: List[str]) -> List[str]:
    """A line for each thing that had to be so: it begins with `ok` or with `FAILED`."""
    told = []
    for worker, seen in samples.items():
        name = f"{worker.language} on {worker.home}"
        problems = what_is_not_flat(seen) if len(seen) >= 10 else ["it ended early"]
        told.append(f"FAILED  {name}: not flat: {', '.join(problems)}" if problems else f"ok      {name}: flat")
        if not problems and not makes_progress(seen):
            told.append(f"FAILED  {name}: it did nothing for a fifth of the time")
    for table in tables:
        if table.is_shared:
            told.append(of_table(table))
    told += [f"FAILED  {failure}" for failure in failures]
    if not failures:
        told.append("ok      every answer was right, no device was held twice, everything ended and nothing was left")
    return told


def of_table(table: Table) -> str:
    """Is what the table itself keeps flat?"""
    name = f"the table of {table.home}"
    if len(table.seen) < 10:
        return f"FAILED  {name}: nobody looked at it"
    resources = table_growth([it.resources for it in table.seen])
    keys = table_growth([it.kept.keys if it.kept else 0 for it in table.seen])
    if resources > RESOURCES_SLACK or keys > KEYS_SLACK:
        return f"FAILED  {name}: not flat: it grew by {resources:.0f} resources and {keys:.0f} keys"
    return f"ok      {name}: flat"


def table_growth(counts: List[int]) -> float:
    """As with workers: the last fifth, less the second."""
    width = len(counts) // 5
    return median(counts[-width:]) - median(counts[width : 2 * width])
