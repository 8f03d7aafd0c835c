"""The driver for Python: does what the lines on its standard input say, and tells what came of it.

../README.md says which lines there are. The package is found by PYTHONPATH, the library by TERN_LIBRARY.
"""

import sys
from datetime import timedelta
from typing import Any, Callable, Dict, Iterable, List, Optional

from answers import Nonsense, event_words, listed, or_dash, reason_named, trit
from costs import Costs
from labels import Labels
from pools import Pools
from words import Words

import ternlease


class Driver:
    """What is open, and a method `do_VERB` for each verb."""

    def __init__(self) -> None:
        self.costs = Costs()
        self.pools = Pools(self)
        self.labels = Labels()
        self._manager: Optional[ternlease.LeaseManager] = None
        self._events: Optional[ternlease.Events] = None
        self._watches: Dict[str, ternlease.Watch] = {}

    def step(self, line: str) -> str:
        """Does one step, and gives its answer."""
        words = Words(line)
        verb = words.next().replace("-", "_")
        for place in (self, self.pools, self.costs):
            do: Optional[Callable[[Words], str]] = getattr(place, f"do_{verb}", None)
            if do is not None:
                return do(words)
        raise Nonsense

    @property
    def manager(self) -> ternlease.LeaseManager:
        if self._manager is None:
            raise Nonsense
        return self._manager

    # ---- The library

    def do_version(self, words: Words) -> str:
        return f"OK {ternlease.library_version()}"

    def do_status(self, words: Words) -> str:
        number = words.number()
        return f"OK TERN_{ternlease.Status(number).name}" if number in list(ternlease.Status) else "OK -"

    def do_reason(self, words: Words) -> str:
        number = words.number()
        if number not in list(ternlease.Reason):
            return "OK -"
        reason = ternlease.Reason(number)
        kind = reason.reason_class
        return f"OK {reason.name} {kind.name if kind else '-'}"

    # ---- Managers

    def do_open(self, words: Words) -> str:
        opened = ternlease.LeaseManager(
            words.next(),
            ticks=words.has("ticks"),
            open_house=words.has("open-house"),
            break_deadlocks=words.has("break-deadlocks"),
            **{limit: words.option_number(limit) or 0 for limit in ("leases", "tickets", "resources", "history")},
        )
        self.do_close(words)
        self._manager = opened
        return "OK"

    def do_close(self, words: Words) -> str:
        self.pools.close()
        for watch in self._watches.values():
            watch.close()
        for opened in (self._events, self._manager):
            if opened is not None:
                opened.close()
        self.costs.close()
        self.labels = Labels()
        self._manager, self._events, self._watches = None, None, {}
        return "OK"

    def span(self, word: Optional[str]) -> Any:
        """A time as the binding takes it: the words count in the manager's own unit."""
        if word == "forever":
            return None
        number = int(word or 0)
        return number if self.manager.ticks else timedelta(microseconds=number)

    def time(self, told: float) -> str:
        """A time that the binding tells, in the manager's own unit."""
        if told == ternlease.FOREVER:
            return "forever"
        return str(told if self.manager.ticks else round(told * 1e6))

    def do_tick(self, words: Words) -> str:
        for _ in range(words.number() if words.more() else 1):
            self.manager.tick()
        return f"OK {self.time(self.manager.now())}"

    def do_declare(self, words: Words) -> str:
        self.manager.declare(words.next(), words.number(), words.number())
        return "OK"

    def do_health(self, words: Words) -> str:
        self.manager.set_health(words.next(), ternlease.Health(words.number()))
        return "OK"

    def do_acquire(self, words: Words) -> str:
        label, resource, holder = words.next(), words.next(), words.next()
        self.labels.give_lease(label, self.manager.acquire(resource, holder, self.span(words.next())))
        return "OK"

    def options(self, words: Words) -> Dict[str, Any]:
        """The options that claims of both kinds have."""
        options: Dict[str, Any] = {"timeout": self.span(words.option("wait"))}
        for name, option in (("slots", "slots"), ("memory", "memory_mib"), ("priority", "priority")):
            number = words.option_number(name)
            if number is not None:
                options[option] = number
        for flag in ("exclusive", "shared", "spare", "preemptible", "preempt"):
            if words.has(flag):
                options[flag] = True
        if words.option("notice") is not None:
            options["notice"] = self.span(words.option("notice"))
        parent = words.option("parent")
        if parent is not None:
            options["parent"] = self.lease(parent)
        return options

    def claim_arguments(self, words: Words) -> List[Any]:
        holder, ttl = words.next(), self.span(words.next())
        return [holder, words.next().split(","), ttl]

    def do_claim(self, words: Words) -> str:
        label = words.next()
        arguments = self.claim_arguments(words)
        count = words.option_number("count")
        lease = self.manager.claim(*arguments, count=1 if count is None else count, **self.options(words))
        self.labels.give_lease(label, lease)
        return "OK"

    def do_enqueue(self, words: Words) -> str:
        label = words.next()
        arguments = self.claim_arguments(words)
        count = words.option_number("count")
        ticket = self.manager.enqueue(*arguments, count=1 if count is None else count, **self.options(words))
        return self.enqueued(label, ticket)

    def enqueued(self, label: str, ticket: "ternlease.Ticket[Any]") -> str:
        if ticket.id is None:
            self.labels.give_lease(label, ticket.wait())
            return "OK"
        self.labels.give_ticket(label, ticket)
        return "WAITING"

    def ticket(self, label: str) -> "ternlease.Ticket[Any]":
        return self.labels.tickets.get(label) or self.manager.ticket(0)

    def lease(self, label: str) -> ternlease.Lease:
        return self.labels.leases.get(label) or self.manager.lease(0)

    def do_wait(self, words: Words) -> str:
        label = words.next()
        word = words.next()
        lease = self.ticket(label).wait(None if word == "forever" else int(word) / 1000)
        if lease is None:
            return "WAITING"
        self.labels.give_lease(label, lease, keep_ticket=True)
        return "OK"

    def do_cancel(self, words: Words) -> str:
        return "OK" if self.ticket(words.next()).cancel() else "UNCHANGED"

    def do_ticket(self, words: Words) -> str:
        label, _ = words.next(), self.manager
        return trit(self.ticket(label).state)

    def do_state(self, words: Words) -> str:
        label, _ = words.next(), self.manager
        return trit(self.lease(label).state)

    def do_states(self, words: Words) -> str:
        return " ".join(trit(state) for state in self.manager.states(self.lease(label) for label in words.rest()))

    def do_renew(self, words: Words) -> str:
        lease = self.lease(words.next())
        if not words.more():
            return f"OK {self.time(lease.renew())}"
        word = words.next()
        return f"OK {self.time(lease.renew(ternlease.FOREVER if word == 'forever' else self.span(word)))}"

    def do_renew_all(self, words: Words) -> str:
        return f"OK {self.manager.renew_all(self.lease(label) for label in words.rest())}"

    def do_release(self, words: Words) -> str:
        self.lease(words.next()).release()
        return "OK"

    def do_revoke(self, words: Words) -> str:
        lease, reason = self.lease(words.next()), reason_named(words.next())
        done = lease.revoke(reason, by=words.option("by") or "", notice=self.span(words.option("notice")))
        return f"{'OK' if done.changed else 'UNCHANGED'} {self.time(done.at)}"

    def do_info(self, words: Words) -> str:
        lease = self.lease(words.next())
        info = lease.info()
        flags = [flag for flag in ("revoking", "spare", "preemptible", "shared") if getattr(info, flag)]
        takes = [f"{take.resource}:{take.slots}:{take.memory_mib}" for take in lease.takes()]
        return (
            f"OK state={trit(info.state)} holder={info.holder} ttl={self.time(info.ttl)}"
            f" granted={self.time(info.granted_at)} end={self.time(info.end)} reason={info.reason.name}"
            f" priority={info.priority} flags={or_dash(','.join(flags))} parent={self.labels.of_lease(info.parent)}"
            f" by={or_dash(info.revoker)} takes={or_dash(','.join(takes))}"
        )

    def do_ticket_info(self, words: Words) -> str:
        ticket = self.ticket(words.next())
        info = ticket.info()
        if info is None:
            return "EMPTY"
        return (
            f"OK holder={info.holder} place={info.place} queued={self.time(info.queued_at)} count={info.count}"
            f" of={or_dash(','.join(ticket.resources()))} priority={info.priority}"
        )

    def do_resource(self, words: Words) -> str:
        info = self.manager.resource(words.next())
        return (
            f"OK slots={info.used_slots}/{info.slots} memory={info.used_memory_mib}/{info.memory_mib}"
            f" shared={info.shared} health={trit(info.health)} declared={'yes' if info.declared else 'no'}"
        )

    def do_resources(self, words: Words) -> str:
        return listed(info.name for info in self.manager.resources())

    def do_find(self, words: Words) -> str:
        label = words.next()
        found = self.manager.leases_on(words.next())
        if not found:
            return "EMPTY"
        self.labels.give_lease(label, self.manager.lease(found[0]))
        return "OK"

    def labelled(self, leases: Iterable[int]) -> str:
        return listed(self.labels.of_lease(lease) for lease in leases)

    def do_on(self, words: Words) -> str:
        return self.labelled(self.manager.leases_on(words.next()))

    def do_held(self, words: Words) -> str:
        return self.labelled(self.manager.held_by(words.next()))

    def do_leases(self, words: Words) -> str:
        return self.labelled(info.id for info in self.manager.leases())

    def do_tickets(self, words: Words) -> str:
        return listed(self.labels.of_ticket(info.id) for info in self.manager.tickets())

    def do_counts(self, words: Words) -> str:
        manager = self.manager
        return (
            f"OK active={manager.active_count()} pending={manager.pending_claimers()}"
            f" revocations={manager.revocations()}"
        )

    def do_counted(self, words: Words) -> str:
        return f"OK {self.manager.count(reason_named(words.next()))}"

    def do_want(self, words: Words) -> str:
        self.manager.want(words.next(), words.next())
        return "OK"

    def do_unwant(self, words: Words) -> str:
        self.manager.unwant(words.next(), words.next())
        return "OK"

    def do_deadlocks(self, words: Words) -> str:
        found = []
        for deadlock in self.manager.deadlocks():
            cycle = [
                f"{wait.worker}:{self.labels.of_ticket(wait.ticket)}>{self.labels.of_lease(wait.lease)}"
                for wait in deadlock.cycle
            ]
            victim = self.labels.of_lease(deadlock.victim)
            found.append(f"victim={victim} stuck={','.join(deadlock.stuck)} cycle={','.join(cycle)}")
        return f"OK {or_dash(' ; '.join(found))}"

    def do_events(self, words: Words) -> str:
        if self._events is None:
            self._events = self.manager.events()
            return "OK -"
        told: List[str] = []
        while True:
            event = self._events.next(0)
            if event is None:
                return f"OK {or_dash('; '.join(told))}"
            told.append(event_words(event, self.labels, self.time))

    def do_watch(self, words: Words) -> str:
        label = words.next()
        watch = self.lease(label).watch()
        if label in self._watches:
            self._watches[label].close()
        self._watches[label] = watch
        return "OK"

    def do_notice(self, words: Words) -> str:
        label, milliseconds = words.next(), words.number()
        if label not in self._watches:
            raise Nonsense
        notice = self._watches[label].next(milliseconds / 1000)
        return "TIMEOUT" if notice is None else f"OK {trit(notice.state)} {notice.reason.name}"

    def do_processes(self, words: Words) -> str:
        return f"OK {len(self.manager.processes())}"


def answer(driver: Driver, line: str) -> str:
    """The answer to a step, whatever came of it."""
    try:
        return driver.step(line)
    except ternlease.Error as error:
        return error.status.name + (f" {error.reason.name}" if error.reason else "")
    except (Nonsense, ValueError, TypeError, OverflowError):
        return "?"


def main() -> None:
    driver = Driver()
    for line in sys.stdin:
        print(answer(driver, line.rstrip("\n")), flush=True)
    driver.do_close(Words(""))


if __name__ == "__main__":
    main()
