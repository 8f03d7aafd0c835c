"""Every language on every home at the same time, for a while: is everything right, and what they use flat?

scripts/soak builds what this needs and starts it. Prints figures, a line for each check, and last "N passed, N failed".
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Dict, List

import report
from etcd import Etcd
from soak import Soak
from tables import Table
from worker import Worker

# What every process of a soak has in its environment, and no other.
MARK = "TERN_SOAK"
HERE = Path(__file__).resolve().parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--homes", default="process,host,etcd")
    parser.add_argument("--drivers", required=True, type=Path, help="directory of the drivers")
    parser.add_argument("--languages", required=True, help="names of the drivers, separated by spaces")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument(
        "--leak",
        default="",
        help="as well, workers that leak memory, descriptors or threads: to see that it is noticed",
    )
    parser.add_argument("--samples", type=Path, help="a file for all that was seen of workers, as CSV")
    return parser.parse_args()


def tables(homes: List[str], folder: Path, language: str, program: List[str]) -> List[Table]:
    """One for each home, with somebody of this language who looks on."""
    made = []
    for home in homes:
        if home == "process":
            made.append(Table("process", "process:"))
            continue
        looks = Worker(f"looker-{home}", language, home, program)
        if home == "host":
            made.append(Table("host", f"host:{folder}/table", looks))
        else:
            server = os.environ["TERN_TEST_ETCD"]
            # So many processes may keep each other from answering for seconds, which is no fault.
            made.append(Table("etcd", f"etcd://{server}/soak?timeout=30", looks, Etcd(server, "soak")))
    return made


def leaky(what: str) -> List[str]:
    """A driver in Python that leaks."""
    modules = HERE.parent.parent / "bindings" / "python" / "src"
    library = f"{os.environ['TERN_PREFIX']}/lib/libternlease.so"
    return ["env", f"PYTHONPATH={modules}", f"TERN_LIBRARY={library}", sys.executable, str(HERE / "leaky.py"), what]


def left_behind(folder: Path) -> List[str]:
    """Files that nobody named, and processes that should have ended."""
    found = [f"{file} was left behind" for file in folder.iterdir() if file.name != "table"]
    mark = f"{MARK}={os.environ[MARK]}".encode()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                environment = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if mark in environment:
                found.append(f"process {process.name} was left behind")
    return found


def main() -> int:
    told = arguments()
    os.environ[MARK] = str(os.getpid())
    # With an arena for each thread, what was freed in one is of no use to the others: that settles only after hours,
    # and a small leak could hide in it.
    os.environ.setdefault("MALLOC_ARENA_MAX", "1")
    drivers: Dict[str, List[str]] = {name: [str(told.drivers / name)] for name in told.languages.split()}
    folder = Path(f"/dev/shm/ternlease-soak-{os.getpid()}")
    folder.mkdir()
    print(f"soak: {told.minutes:g} minutes, seed {told.seed}, {' '.join(drivers)} on {told.homes}", flush=True)
    soak = Soak(drivers, told.seed, told.minutes * 60)
    try:
        soak.tables = tables(told.homes.split(","), folder, *next(iter(drivers.items())))
        for table in soak.tables:
            for language, program in drivers.items():
                soak.add_lasting(language, table, program)
            if table.is_shared:
                soak.add_mortal(table)
        for what in filter(None, told.leak.split(",")):
            soak.add_lasting(f"leaks-{what}", soak.tables[0], leaky(what))
        soak.run()
        soak.end()
        soak.failures += left_behind(folder)
    finally:
        soak.kill_all()
        shutil.rmtree(folder)
    if told.samples:
        told.samples.write_text(report.all_samples(soak.samples))
    checks = report.checks(soak.samples, soak.tables, soak.failures)
    print(report.of_workers(soak.samples), report.of_tables(soak.tables), "\n".join(checks), sep="\n\n")
    failed = sum(line.startswith("FAILED") for line in checks)
    print(f"\n{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
