"""A table that workers use, and somebody who looks on."""

import time
from typing import List, NamedTuple, Optional

from etcd import Etcd, Kept
from exclusion import Devices
from worker import Worker


class Counts(NamedTuple):
    """What a shared table says of itself."""

    active: int
    pending: int
    resources: int
    # Of a host: how many processes use it.
    processes: Optional[int]
    # Of a cluster: what its server keeps of it.
    kept: Optional[Kept]


class Table:
    """One home; for `process:`, the tables of all its workers."""

    def __init__(self, home: str, url: str, looker: Optional[Worker] = None, etcd: Optional[Etcd] = None) -> None:
        self.home = home
        self.url = url
        self.devices = Devices()
        self.looker = looker
        self.etcd = etcd
        # How long the one lives that is killed, in seconds. What it had on etcd is free only after its session.
        self.mean_life = 5.0 if etcd else 1.0
        self.killed = 0
        self.seen: List[Counts] = []
        self.died = self.revoked = 0
        if looker:
            self._ask(f"open {url}")

    @property
    def is_shared(self) -> bool:
        return self.looker is not None

    def _ask(self, step: str) -> List[str]:
        assert self.looker
        words = self.looker.answer_to(step).split(" ")
        if words[0] != "OK":
            raise EOFError(f"{self.looker.name}: {step!r} was answered {' '.join(words)!r}")
        return words[1:]

    def look(self) -> None:
        """What it says now."""
        if self.looker:
            self.seen.append(self._counts())

    def _counts(self) -> Counts:
        active, pending, revoked = (int(word.split("=")[1]) for word in self._ask("counts"))
        self.revoked = revoked
        self.died = int(self._ask("counted HOLDER_DIED")[0])
        processes = int(self._ask("processes")[0]) if self.home == "host" else None
        resources = self._ask("resources")
        kept = self.etcd.kept() if self.etcd else None
        return Counts(active, pending, 0 if resources == ["-"] else len(resources), processes, kept)

    def end(self, patience: float) -> List[str]:
        """Words if anything is left in it after all others have ended, and the sessions of the killed."""
        if not self.looker:
            return []
        deadline = time.monotonic() + patience
        while not self._is_empty():
            if time.monotonic() > deadline:
                return [f"the table of {self.home} is not empty in the end: {self._counts()}"]
            time.sleep(0.05)
        problem = self.looker.end()
        return [problem] if problem else []

    def _is_empty(self) -> bool:
        counts = self._counts()
        alone = counts.processes in (None, 1)
        return alone and counts.active == 0 and counts.pending == 0
