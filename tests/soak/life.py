"""What workers do: rounds of steps in random order, each answer of which must be one that can be."""

import random
from typing import Callable, Dict, Generator, List

from exclusion import Devices
from worker import Life

# Steps, and in the end an answer.
Asking = Generator[str, str, str]

HOUR = 3_600_000_000
DEVICES = [f"gpu{number}" for number in range(8)]
# Both devices of a pool.
POOL = "pool"


class Wrong(Exception):
    """An answer that cannot be."""


class Plan:
    """The life of one worker on one table."""

    def __init__(self, name: str, url: str, devices: Devices, seed: int, over: Callable[[], bool]) -> None:
        self.name = name
        self.url = url
        self.devices = devices
        self.random = random.Random(seed)
        self.over = over
        self.has_pool = False

    def life(self) -> Life:
        """Opens the table, uses it for some rounds, closes it; again and again until it is over."""
        while not self.over():
            yield from self.ask(f"open {self.url}", "OK")
            self.has_pool = self.random.random() < 0.5
            if self.has_pool:
                yield from self.ask("pool devices=fake:2", "OK")
            # A watch is kept until the table is closed.
            yield from self.watch()
            # On etcd, who listens hears of everything: not all should.
            listens = self.random.random() < 0.3
            for _ in range(self.random.randrange(20, 80)):
                if self.over():
                    break
                yield from self.random.choice(self.rounds())()
                if listens:
                    yield from self.ask("events", "OK")
            self.devices.gives_back_all(self.name)
            yield from self.ask("close", "OK")

    def rounds(self) -> List[Callable[[], Life]]:
        common = [
            self.hold,
            self.hold_several,
            self.stand_in_line,
            self.stand_in_line,
            self.go_away,
            self.let_run_out,
            self.look,
        ]
        if self.has_pool:
            common += [self.use_pool]
        # Now and then: who revokes all the time leaves nothing to hold, and a machine is read in milliseconds.
        return common * 3 + [self.take_away, self.decide]

    def ask(self, step: str, *allowed: str) -> Asking:
        """One step; its answer begins with one of these."""
        answer = yield step
        if answer.split(" ")[0] not in allowed:
            raise Wrong(f"{self.name}: {step!r} was answered {answer!r}")
        return answer

    def some(self, count: int) -> List[str]:
        return self.random.sample(DEVICES, count)

    def seen(self, devices: List[str]) -> Dict[str, int]:
        return {device: self.devices.seen(device) for device in devices}

    # ---- Rounds

    def hold(self) -> Life:
        """One device, now or not at all."""
        devices = self.some(1)
        seen = self.seen(devices)
        if (yield from self.ask(f"acquire a {devices[0]} {self.name} {HOUR}", "OK", "BUSY")) == "OK":
            self.devices.granted(self.name, seen)
            yield from self.use_and_release("a", devices)

    def hold_several(self) -> Life:
        """All of several devices or none, for a second at most in line."""
        devices = self.some(3)
        seen = self.seen(devices)
        step = f"claim a {self.name} {HOUR} {','.join(devices)} count=3 wait=1000000"
        if (yield from self.ask(step, "OK", "TIMEOUT")) == "OK":
            self.devices.granted(self.name, seen)
            yield from self.use_and_release("a", devices)

    def stand_in_line(self) -> Life:
        """By a ticket, which is waited for."""
        devices = self.some(2)
        seen = self.seen(devices)
        step = f"enqueue t {self.name} {HOUR} {','.join(devices)} count=2 wait=1000000"
        answer = yield from self.ask(step, "OK", "WAITING")
        if answer == "WAITING":
            yield from self.ask("ticket-info t", "OK", "EMPTY")
            answer = yield from self.ask("wait t 60000", "OK", "TIMEOUT")
        if answer == "OK":
            self.devices.granted(self.name, seen)
            yield from self.use_and_release("t", devices)

    def go_away(self) -> Life:
        """By a ticket that is cancelled, unless it was served before that."""
        answer = yield from self.ask(
            f"enqueue t {self.name} {HOUR} {','.join(self.some(2))} count=2 wait=forever", "OK", "WAITING"
        )
        if answer == "WAITING":
            if (yield from self.ask("cancel t", "OK", "UNCHANGED")) == "OK":
                return
            yield from self.ask("wait t 60000", "OK")
        yield from self.ask("release t", "OK", "ERR_NOT_HELD", "ERR_UNKNOWN_LEASE")

    def let_run_out(self) -> Life:
        """For some milliseconds, and then nobody gives it back."""
        ttl = self.random.randrange(1_000, 20_000)
        if (yield from self.ask(f"acquire short {self.some(1)[0]} {self.name} {ttl}", "OK", "BUSY")) == "OK":
            yield from self.ask("renew short", "OK", "ERR_NOT_HELD", "ERR_UNKNOWN_LEASE")
            yield from self.ask("states short a t", "+1", "0", "-1", "unknown")

    def use_and_release(self, label: str, devices: List[str]) -> Life:
        # Whoever takes it away meanwhile may do so.
        yield from self.ask(f"state {label}", "+1", "-1", "unknown")
        yield from self.ask(f"renew {label}", "OK", "ERR_NOT_HELD", "ERR_UNKNOWN_LEASE")
        yield from self.ask(f"renew-all {label}", "OK")
        yield from self.ask(f"info {label}", "OK", "ERR_UNKNOWN_LEASE")
        self.devices.gives_back(self.name, devices)
        yield from self.ask(f"release {label}", "OK", "ERR_NOT_HELD", "ERR_UNKNOWN_LEASE")

    def take_away(self) -> Life:
        """Somebody's lease, whoever that is."""
        device = self.some(1)[0]
        if (yield from self.ask(f"find theirs {device}", "OK", "EMPTY")) == "OK":
            # It may be on others as well.
            for other in DEVICES:
                self.devices.is_revoked(other)
            yield from self.ask(
                f"revoke theirs OPERATOR by={self.name}", "OK", "UNCHANGED", "ERR_NOT_HELD", "ERR_UNKNOWN_LEASE"
            )

    def watch(self) -> Life:
        """A lease that is taken away from oneself: the watch says so."""
        if (yield from self.ask(f"acquire w own-{self.name} {self.name} {HOUR}", "OK", "BUSY")) == "OK":
            yield from self.ask("watch w", "OK")
            yield from self.ask("revoke w OVER_USE", "OK")
            answer = yield from self.ask("notice w 60000", "OK")
            if answer != "OK -1 OVER_USE":
                raise Wrong(f"{self.name}: the watch says {answer!r}")

    def use_pool(self) -> Life:
        """Both devices of a pool."""
        seen = self.seen([POOL])
        step = f"gpu g holder={self.name} count=2 wait=1000000"
        if (yield from self.ask(step, "OK", "TIMEOUT")) == "OK":
            self.devices.granted(self.name, seen)
            yield from self.ask("devices g", "OK")
            yield from self.ask("env g", "OK")
            self.devices.gives_back(self.name, [POOL])
            yield from self.ask("gpu-release g", "OK")
        yield from self.ask("snapshot", "OK")

    def look(self) -> Life:
        """Everything that is only asked."""
        device = self.some(1)[0]
        for step in ("counts", "resources", "leases", "tickets", f"on {device}", f"held {self.name}", "deadlocks"):
            yield from self.ask(step, "OK")
        yield from self.ask(f"resource {device}", "OK", "ERR_UNKNOWN_RESOURCE")
        yield from self.ask(f"want {self.name} {device}", "OK", "ERR_UNKNOWN_RESOURCE")
        yield from self.ask(f"unwant {self.name} {device}", "OK", "ERR_UNKNOWN_WANT", "ERR_UNKNOWN_RESOURCE")

    def decide(self) -> Life:
        """What something would cost here."""
        yield from self.ask("machine", "OK")
        yield from self.ask("verdict 1000000 1000000 1000000 8", "OK")
