"""Events, watches, deadlocks and counters: what a table tells."""

import os
import select
import threading
from typing import List

import pytest

from ternlease import (
    Actor,
    Closed,
    EventKind,
    Health,
    LeaseManager,
    LeaseState,
    NotHeld,
    Notice,
    Reason,
    Unsupported,
    Wait,
)


def test_the_history_is_read_as_it_is_made(manager: LeaseManager) -> None:
    manager.claim("a", "gpu0").release()
    with manager.events() as new, manager.events(after=0) as all_of_it:
        assert new.next(0) is None
        lease = manager.claim("b", "gpu0", 9)
        event = new.next(0)
        assert event is not None
        assert (event.kind, event.lease, event.at, event.ticket) == (EventKind.GRANTED, lease.id, 0, None)
        assert event.actor == Actor(os.getuid(), os.getpid())
        lease.release()
        manager.declare("gpu1", 1)
        manager.set_health("gpu1", Health.FAILED)
        kinds = [event.kind.name for event in iter(lambda: all_of_it.next(0), None) if event]
        assert kinds == ["GRANTED", "ENDED", "GRANTED", "ENDED", "HEALTH"]
        last = [event for event in iter(lambda: new.next(0), None) if event][-1]
        assert (last.resource, last.health) == ("gpu1", Health.FAILED)


def test_the_descriptor_of_events_is_readable_while_there_are_some(manager: LeaseManager) -> None:
    with manager.events() as events:
        # It is made when it is first asked for, and says "maybe" then.
        events.fileno()
        assert events.next(0) is None
        assert not select.select([events], [], [], 0)[0]
        manager.claim("a", "gpu0").release()
        assert select.select([events], [], [], 10)[0]
        while events.next(0):
            pass
        assert not select.select([events], [], [], 0)[0]


def test_a_loop_over_events_ends_with_the_manager() -> None:
    manager = LeaseManager(ticks=True)
    seen: List[EventKind] = []
    with manager.events() as events:
        thread = threading.Thread(target=lambda: seen.extend(event.kind for event in events))
        thread.start()
        manager.claim("a", "gpu0").release()
        manager.close()
        thread.join()
        assert seen == [EventKind.GRANTED, EventKind.ENDED]
        with pytest.raises(Closed):
            events.next()


def test_a_watch_tells_of_notices_and_of_the_end(manager: LeaseManager) -> None:
    lease = manager.claim("a", "gpu0")
    with lease.watch() as watch:
        assert watch.next(0) is None
        lease.revoke(Reason.NODE_DRAIN, notice=2)
        assert select.select([watch], [], [], 10)[0]
        assert watch.next() == Notice(LeaseState.HELD, Reason.NODE_DRAIN, 2)
        manager.tick()
        manager.tick()
        assert list(watch) == [Notice(LeaseState.REVOKED, Reason.NODE_DRAIN, 2)]
        assert watch.next() is None
    with pytest.raises(Closed):
        watch.fileno()
    with pytest.raises(NotHeld):
        lease.watch()


def test_a_watch_that_waits_is_woken_when_the_manager_is_closed() -> None:
    manager = LeaseManager(ticks=True)
    lease = manager.claim("a", "gpu0")
    told: List[str] = []
    with lease.watch() as watch:

        def wait() -> None:
            try:
                watch.next()
            except Closed:
                told.append("closed")

        thread = threading.Thread(target=wait)
        thread.start()
        while not manager._waiting:
            assert thread.is_alive()
        manager.close()
        thread.join()
    assert told == ["closed"]


def test_deadlocks_are_found_and_proved(manager: LeaseManager) -> None:
    a, b = manager.claim("x", "gpu0"), manager.claim("y", "gpu1")
    assert manager.deadlocks() == []
    with manager.enqueue("x", "gpu1") as waits:
        manager.want("y", "gpu0")
        (found,) = manager.deadlocks()
        assert found.stuck == ("x", "y")
        assert set(found.cycle) == {Wait("x", waits.id, b.id), Wait("y", None, a.id)}
        manager.lease(found.victim).revoke(Reason.DEADLOCK_VICTIM)
        assert manager.deadlocks() == []
        manager.unwant("y", "gpu0")
    for lease in (a, b):
        if lease.state:
            lease.release()


def test_deadlocks_are_broken_by_themselves() -> None:
    with LeaseManager(ticks=True, break_deadlocks=True) as manager:
        a, b = manager.claim("x", "gpu0"), manager.claim("y", "gpu1")
        with manager.enqueue("x", "gpu1"), manager.enqueue("y", "gpu0"):
            assert {a.state, b.state} == {LeaseState.HELD, LeaseState.REVOKED}


def test_counters(manager: LeaseManager) -> None:
    lease = manager.claim("a", "gpu0")
    assert (manager.active_count(), manager.revocations(), manager.now()) == (1, 0, 0)
    lease.revoke()
    manager.tick()
    assert (manager.active_count(), manager.revocations(), manager.now()) == (0, 1, 1)
    assert manager.count(Reason.OPERATOR) == 1
    assert "ternlease" in manager.metrics()
    assert [info.id for info in manager.leases()] == []


def test_lists_of_any_length(manager: LeaseManager) -> None:
    held = [manager.claim("a", f"gpu{number}") for number in range(100)]
    assert manager.held_by("a") == [lease.id for lease in held] == [info.id for info in manager.leases()]
    assert manager.leases_on("gpu7") == [held[7].id]
    for lease in held:
        lease.release()


def test_what_only_shared_tables_can_do(manager: LeaseManager) -> None:
    with pytest.raises(Unsupported):
        manager.host()
    with pytest.raises(Unsupported):
        manager.processes()
    with manager.claim("a", "gpu0") as lease, pytest.raises(NotImplementedError):
        lease.hand_to(1)


def test_open_house() -> None:
    with LeaseManager(ticks=True, open_house=True) as manager:
        with manager.acquire("gpu0", "a"), manager.acquire("gpu0", "b"):
            assert len(manager.leases_on("gpu0")) == 2
