"""Closing: once, twice, by another thread, in the middle of a call; and using what is closed."""

import gc
import pickle
import threading
from typing import Any, Callable, List

import pytest

from ternlease import Busy, Closed, Events, GpuPool, LeaseManager, MachCap, Managed, Status


def opened() -> List[Managed]:
    manager = LeaseManager("process:")
    return [
        GpuPool("process:", devices="fake:1"),
        MachCap.read(benchmarks=False, network=False),
        manager.events(),
        manager.lease(manager.acquire("gpu0", "a").detach()).watch(),
        manager,
    ]


def test_closing_twice_is_allowed() -> None:
    for one in opened():
        assert not one.closed
        one.close()
        one.close()
        assert one.closed
        assert "closed" in repr(one) or "Watch" in repr(one)


def test_using_what_is_closed_is_a_clear_error(manager: LeaseManager) -> None:
    lease = manager.claim("a", "gpu0")
    ticket = manager.enqueue("b", "gpu0")
    pool = GpuPool.on(manager, devices="fake:1")
    gpu = pool.claim()
    pool.close()
    manager.close()
    calls: List[Callable[[], Any]] = [
        lambda: lease.state,
        lease.renew,
        lease.release,
        lease.revoke,
        lease.info,
        lease.takes,
        lease.watch,
        lambda: ticket.state,
        ticket.wait,
        ticket.cancel,
        ticket.info,
        lambda: manager.acquire("gpu0", "a"),
        lambda: manager.claim("a", "gpu0"),
        lambda: manager.states([lease]),
        lambda: manager.renew_all([lease]),
        manager.leases,
        manager.deadlocks,
        manager.events,
        manager.metrics,
        manager.tick,
        pool.claim,
        pool.try_claim,
        pool.snapshot,
        lambda: pool.capacity,
        lambda: gpu.devices,
        gpu.env,
    ]
    for call in calls:
        with pytest.raises(Closed) as closed:
            call()
        assert closed.value.status is Status.ERR_CLOSED
        assert isinstance(closed.value, ValueError)


def test_a_kept_exception_keeps_nothing_open() -> None:
    manager = LeaseManager("process:")
    events = manager.events()
    manager.claim("a", "gpu0").detach()
    kept: List[BaseException] = []
    for call in (
        lambda: manager.acquire("gpu0", "b"),
        lambda: manager.claim("b", "gpu0", timeout=0),
        lambda: manager.claim("b", "gpu0", timeout=0.001),
        lambda: manager.held_by(""),
        lambda: manager.lease(1).takes(),
        lambda: manager.lease(1).watch(),
    ):
        try:
            call()
        except Exception as error:
            kept.append(error)
    assert len(kept) >= 5
    manager.close()
    with pytest.raises(Closed):
        # Says so only if the table is gone.
        while events.next(0):
            pass
    events.close()


@pytest.mark.filterwarnings("default::ResourceWarning")
def test_what_was_forgotten_is_closed_with_a_warning() -> None:
    manager = LeaseManager("process:")
    events = manager.events()
    with pytest.warns(ResourceWarning, match="not closed: <LeaseManager>"):
        del manager
        gc.collect()
    with pytest.raises(Closed):
        events.next(0)
    events.close()


def test_nothing_that_is_open_can_be_sent_elsewhere() -> None:
    for one in opened():
        with pytest.raises(TypeError, match="process"):
            pickle.dumps(one)
        one.close()
    with LeaseManager("process:") as manager, manager.acquire("gpu0", "a") as lease:
        with pytest.raises(TypeError, match="id"):
            pickle.dumps(lease)


def test_closing_wakes_whoever_waits() -> None:
    for wait in (
        lambda pool: pool.claim(),
        lambda pool: pool.manager.claim("b", pool.devices[0].key),
        lambda pool: pool.enqueue().wait(),
        lambda pool: pool.enqueue().wait(3600),
    ):
        pool = GpuPool("process:", devices="fake:1")
        pool.claim().detach()
        raised: List[type] = []

        def run(wait: Any = wait, pool: GpuPool = pool, raised: List[type] = raised) -> None:
            try:
                wait(pool)
            except Exception as error:
                raised.append(type(error))

        thread = threading.Thread(target=run)
        thread.start()
        while not pool.manager._waiting:
            assert thread.is_alive()
        pool.close()
        thread.join()
        assert raised == [Closed]


def test_closing_a_pool_on_a_manager_wakes_whoever_waits_for_its_devices(manager: LeaseManager) -> None:
    pool = GpuPool.on(manager, devices="fake:1")
    held = pool.claim()
    raised: List[type] = []

    def run() -> None:
        try:
            pool.claim()
        except Exception as error:
            raised.append(type(error))

    thread = threading.Thread(target=run)
    thread.start()
    while not pool._waiting:
        assert thread.is_alive()
    pool.close()
    thread.join()
    assert raised == [Closed]
    assert manager.pending_claimers() == 0
    held.release()


def test_closing_an_event_reader_wakes_its_loop(manager: LeaseManager) -> None:
    events: Events = manager.events()
    seen: List[Any] = []
    thread = threading.Thread(target=lambda: seen.extend(events))
    thread.start()
    while not events._waiting:
        assert thread.is_alive()
    events.close()
    thread.join()
    assert seen == []


def test_closing_in_the_middle_of_calls_on_other_threads() -> None:
    for _ in range(20):
        manager = LeaseManager("process:")
        begun = threading.Barrier(5)

        def work(manager: LeaseManager = manager, begun: threading.Barrier = begun) -> None:
            begun.wait()
            try:
                while True:
                    try:
                        with manager.acquire("gpu0", "a") as lease:
                            lease.renew()
                            assert manager.metrics()
                    except Busy:
                        pass
            except Closed:
                pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        closers = [threading.Thread(target=manager.close) for _ in range(2)]
        for thread in closers + threads:
            if thread in closers:
                thread.start()
            thread.join()
