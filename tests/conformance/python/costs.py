"""Steps about costs, and what a machine says of them."""

from typing import Any, Callable, Dict, Optional, Tuple

from answers import Nonsense, trit
from words import Words

from ternlease import NEVER, FnCost, Kind, Learned, MachCap, Route, Task, nanoseconds

# How many numbers each way to make a cost takes.
MADE: Dict[str, Tuple[Callable[..., FnCost], int]] = {
    "scan": (FnCost.scan, 2),
    "sort": (FnCost.sort, 3),
    "hash": (FnCost.hash, 1),
    "matmul": (FnCost.matmul, 4),
    "etl": (FnCost.etl, 4),
    "copy": (FnCost.copy, 1),
}
COMBINED: Dict[str, Callable[[FnCost, FnCost], FnCost]] = {
    "then": FnCost.then,
    "par": FnCost.par,
    "both": FnCost.both,
}


class Costs:
    """A method `do_VERB` for each verb."""

    def __init__(self) -> None:
        self._machine: Optional[MachCap] = None

    def close(self) -> None:
        """Closes the machine, if there is one."""
        if self._machine is not None:
            self._machine.close()
        self._machine = None

    @property
    def machine(self) -> MachCap:
        if self._machine is None:
            raise Nonsense
        return self._machine

    def do_cost(self, words: Words) -> str:
        how = words.next()
        if how in MADE:
            make, count = MADE[how]
            cost = make(*[words.number() for _ in range(count)])
        elif how in COMBINED:
            cost = COMBINED[how](_cost(words), _cost(words))
        elif how == "repeat":
            cost = _cost(words).repeat(words.number())
        else:
            raise Nonsense
        return f"OK {cost.flops} {cost.mem_bytes} {cost.peak_mem} {cost.result_bytes}"

    def do_nanoseconds(self, words: Words) -> str:
        time = nanoseconds(words.number(), words.number())
        return "OK forever" if time == NEVER else f"OK {time}"

    def do_learned(self, words: Words) -> str:
        learned = Learned(words.number(), words.number()).record(words.number(), words.number())
        return f"OK {learned.runs} {learned.permille}"

    def do_machine(self, words: Words) -> str:
        read = MachCap.read(benchmarks=False, network=False)
        self.close()
        self._machine = read
        return "OK"

    def do_route(self, words: Words) -> str:
        machine = self.machine
        first = words.next()
        if first == "none":
            machine.route = None
        else:
            machine.route = Route(int(first), words.number(), hits_permille=words.number())
        return "OK"

    def do_verdict(self, words: Words) -> str:
        options: Dict[str, Any] = {"kind": Kind(words.option_number("kind") or 0)}
        threads = words.option_number("threads")
        if threads is not None:
            options["threads"] = threads
        verdict = self.machine.verdict(Task(_cost(words), **options))
        return f"OK {trit(verdict.trit)} {verdict.words.replace(' ', '_')}"


def _cost(words: Words) -> FnCost:
    """A cost by its four numbers."""
    return FnCost(words.number(), words.number(), words.number(), words.number())
