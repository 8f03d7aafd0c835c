"""All workers at the same time, and whoever kills and looks."""

import itertools
import random
import selectors
import time
from typing import Dict, List, Set

from exclusion import Devices
from life import Plan, Wrong
from samples import Sample, look_at
from tables import Table
from worker import PATIENCE, Worker

# For so long a worker that was killed holds what it had on etcd.
MORTAL_SESSION = 5


class Soak:
    """Workers that last, whose memory is looked at, and on each shared table one that is killed and replaced."""

    def __init__(self, drivers: Dict[str, List[str]], seed: int, seconds: float) -> None:
        self.tables: List[Table] = []
        self.drivers = drivers
        self.seconds = seconds
        self.random = random.Random(seed)
        self.begun = time.monotonic()
        self.until = self.begun + seconds
        self.selector = selectors.DefaultSelector()
        self.lasting: List[Worker] = []
        self.mortal: Dict[Table, Worker] = {}
        self.next_death: Dict[Table, float] = {}
        self.next_language = itertools.cycle(drivers)
        self.samples: Dict[Worker, List[Sample]] = {}
        self.failures: List[str] = []

    def over(self) -> bool:
        return time.monotonic() >= self.until

    # ---- Workers

    def add_lasting(self, language: str, table: Table, program: List[str]) -> None:
        worker = Worker(f"{language}-{table.home}", language, table.home, program)
        self.lasting.append(worker)
        self.samples[worker] = []
        self.begin(worker, table, table.url)

    def add_mortal(self, table: Table) -> None:
        language = next(self.next_language)
        worker = Worker(f"mortal-{table.home}", language, table.home, self.drivers[language])
        self.mortal[table] = worker
        self.next_death[table] = time.monotonic() + self.random.uniform(0.2, 2 * table.mean_life)
        self.begin(worker, table, table.url + (f"&session_ttl={MORTAL_SESSION}" if table.etcd else ""))

    def begin(self, worker: Worker, table: Table, url: str) -> None:
        devices = table.devices if table.is_shared else Devices()
        worker.begin(Plan(worker.name, url, devices, self.random.getrandbits(32), self.over).life())
        self.selector.register(worker, selectors.EVENT_READ)

    def kill_one(self, table: Table) -> None:
        worker = self.mortal.pop(table)
        self.selector.unregister(worker)
        table.devices.gives_back_all(worker.name)
        worker.kill()
        table.killed += 1

    # ---- Time

    def run(self) -> None:
        """For the time that was given, and until all have finished what they were doing."""
        every = min(1.0, self.seconds / 100)
        next_look = self.begun
        next_compaction = self.begun
        while self.selector.get_map():
            self.listen()
            now = time.monotonic()
            if now < self.until and now >= next_look:
                next_look = now + every
                self.look(now)
            if now >= next_compaction:
                next_compaction = now + 10
                for table in self.tables:
                    if table.etcd:
                        table.etcd.compact()
            if now < self.until:
                self.let_die(now)

    def listen(self) -> None:
        for key, _ in self.selector.select(0.05):
            worker = key.fileobj
            assert isinstance(worker, Worker)
            try:
                if not worker.hear():
                    self.selector.unregister(worker)
            except (EOFError, Wrong, BrokenPipeError) as problem:
                self.give_up(worker, str(problem))
        for key in list(self.selector.get_map().values()):
            if isinstance(key.fileobj, Worker) and key.fileobj.is_late:
                self.give_up(key.fileobj, f"{key.fileobj.name} does not answer {key.fileobj.step!r}")

    def give_up(self, worker: Worker, why: str) -> None:
        self.failures.append(f"{why} ({worker.language}, after {worker.operations} operations)")
        self.selector.unregister(worker)
        for table in self.tables:
            table.devices.gives_back_all(worker.name)
        worker.kill()

    def look(self, now: float) -> None:
        for worker in self.lasting:
            sample = look_at(worker.pid, now, worker.operations)
            if sample:
                self.samples[worker].append(sample)
        for table in self.tables:
            table.look()

    def let_die(self, now: float) -> None:
        for table, at in self.next_death.items():
            if now >= at:
                if table in self.mortal and self.mortal[table] in self.watched():
                    self.kill_one(table)
                self.add_mortal(table)

    def watched(self) -> Set[object]:
        return {key.fileobj for key in self.selector.get_map().values()}

    # ---- The end

    def end(self) -> None:
        """All end well, and leave nothing behind."""
        for worker in [*self.lasting, *self.mortal.values()]:
            problem = worker.end() if worker.process.poll() is None else None
            if problem:
                self.failures.append(problem)
        for table in self.tables:
            self.failures += table.end(PATIENCE)
            self.failures += table.devices.violations

    def kill_all(self) -> None:
        """Whatever went wrong."""
        for worker in [*self.lasting, *self.mortal.values(), *(it.looker for it in self.tables if it.looker)]:
            if worker.process.poll() is None:
                worker.kill()
