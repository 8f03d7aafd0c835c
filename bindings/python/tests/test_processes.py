"""Processes: tables that several share, multiprocessing by spawn, and what is left of a handle after fork()."""

import multiprocessing
import os
import subprocess
import sys
import warnings
from multiprocessing.connection import Connection
from typing import Any, Callable, List, Tuple

import pytest
from conftest import start_python

from ternlease import (
    Busy,
    Error,
    ForkedError,
    GpuPool,
    LeaseManager,
    LeaseState,
    Life,
    MachCap,
    NotFound,
    Reason,
    Timeout,
)

spawn = multiprocessing.get_context("spawn")


def test_two_managers_of_one_table(host_url: str) -> None:
    with LeaseManager(host_url) as one, LeaseManager(host_url) as other:
        with one.claim("a", "gpu0") as lease:
            assert other.lease(lease.id).state is LeaseState.HELD
            with pytest.raises(Busy):
                other.acquire("gpu0", "b")
        host = one.host()
        assert host.path == host_url[len("host:") :]
        assert not host.corrupt
        me = [process for process in one.processes() if process.pid == os.getpid()]
        assert me
        assert me[0].life is Life.LIVES


def claim_in_a_child(url: str, pipe: Connection) -> None:
    """Waits for what the parent gives back; tells which device it got, and the error of a claim in vain."""
    with GpuPool(url, devices="fake:1") as pool:
        try:
            pool.claim(timeout=0.01)
        except Timeout as error:
            pipe.send(error)
        with pool.claim(holder="child", timeout=60) as lease:
            pipe.send(lease.devices[0].place)
            pipe.recv()


def test_a_spawned_child_gets_what_the_parent_gives_back(host_url: str) -> None:
    ours, theirs = spawn.Pipe()
    with GpuPool(host_url, devices="fake:1") as pool:
        lease = pool.claim(holder="parent")
        child = spawn.Process(target=claim_in_a_child, args=(host_url, theirs))
        child.start()
        assert isinstance(ours.recv(), Timeout)
        while not pool.pending_claimers():
            assert child.is_alive()
        lease.release()
        assert ours.recv() == 0
        assert [info.holder for info in pool.manager.leases()] == ["child"]
        ours.send("done")
        child.join()
        assert child.exitcode == 0
        assert pool.manager.active_count() == 0


def test_what_a_killed_process_held_is_given_back(host_url: str) -> None:
    program = "import sys, ternlease; m = ternlease.LeaseManager(sys.argv[1]); m.claim('b', 'gpu0').detach()"
    with LeaseManager(host_url) as manager:
        with start_python(program + "; print(1, flush=True); input()", host_url) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "1\n"
            (number,) = manager.leases_on("gpu0")
            with manager.enqueue("a", "gpu0") as ticket:
                child.kill()
                ticket.wait().release()
        assert manager.lease(number).info().reason is Reason.HOLDER_DIED


def test_a_lease_is_handed_to_another_process(host_url: str) -> None:
    program = "import sys, ternlease; m = ternlease.LeaseManager(sys.argv[1]); print(1, flush=True); input(); m.close()"
    with LeaseManager(host_url) as manager:
        with start_python(program, host_url) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "1\n"
            lease = manager.claim("a", "gpu0")
            with pytest.raises(NotFound):
                lease.hand_to(2**31 - 1)
            lease.hand_to(child.pid)
            number = lease.id
            del lease
            assert manager.lease(number).state is LeaseState.HELD
            child.communicate("\n")
        with manager.claim("b", "gpu0"):
            assert manager.lease(number).state is LeaseState.EXPIRED


def test_a_lease_is_kept_for_children(host_url: str) -> None:
    with LeaseManager(host_url) as manager:
        lease = manager.claim("a", "gpu0")
        descriptor = lease.keep_for_children()
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[descriptor])
        os.close(descriptor)
        number = lease.id
        del lease
        assert manager.lease(number).state is LeaseState.HELD
        child.communicate(b"\n")
        with manager.claim("b", "gpu0"):
            assert manager.lease(number).state is LeaseState.EXPIRED


def in_a_forked_child(do: Callable[[], List[str]]) -> List[str]:
    """Forks, does something in the child, and gives what it tells."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn that threads are running, which is just what this is about.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            told = do()
        except BaseException as error:
            told = [f"not expected: {error!r}"]
        os.write(writer, "\n".join(told).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read().split("\n")
    assert os.waitpid(child, 0)[1] == 0
    return told


def outcome(call: Callable[[], Any]) -> str:
    try:
        return f"{call()!r}"
    except Error as error:
        return type(error).__name__


@pytest.mark.parametrize("home", ["process:", "host:"])
def test_an_inherited_handle_is_refused_in_a_forked_child(home: str, host_url: str) -> None:
    url = host_url if home == "host:" else home
    manager = LeaseManager(url)
    pool = GpuPool.on(manager, devices="fake:2")
    machine = MachCap.read(benchmarks=False, network=False)
    events = manager.events()
    lease = manager.claim("a", "gpu0")
    devices = pool.claim()
    ticket = manager.enqueue("b", "gpu0")
    watch = lease.watch()
    held: List[Any] = [lease, devices, ticket, watch, events, pool, machine, manager]

    def use() -> List[str]:
        calls: Tuple[Callable[[], Any], ...] = (
            lambda: lease.state,
            lease.renew,
            lease.release,
            lambda: manager.acquire("gpu9", "b"),
            manager.metrics,
            lambda: ticket.state,
            ticket.wait,
            pool.try_claim,
            lambda: devices.devices,
            lambda: events.next(0),
            machine.info,
        )
        told = [outcome(call) for call in calls]
        # Neither closing nor forgetting them does anything to what the parent has.
        with lease, devices, ticket:
            pass
        for one in held:
            if hasattr(one, "close"):
                one.close()
        held.clear()
        return told

    assert set(in_a_forked_child(use)) == {ForkedError.__name__}
    assert manager.states([lease, devices]) == [LeaseState.HELD, LeaseState.HELD]
    assert manager.pending_claimers() == 1
    ticket.cancel()
    for one in held:
        if hasattr(one, "close"):
            one.close()


def test_a_forked_child_that_forgets_everything_releases_nothing(host_url: str) -> None:
    manager = LeaseManager(host_url)
    held = [manager.claim("a", "gpu0")]
    number = held[0].id

    def forget() -> List[str]:
        nonlocal manager
        warnings.simplefilter("ignore")
        held.clear()
        del manager
        with LeaseManager(host_url) as own:
            return [str(int(own.lease(number).state or 0))]

    assert in_a_forked_child(forget) == ["1"]
    assert held[0].state is LeaseState.HELD
    held[0].release()
    manager.close()


def test_a_forked_child_opens_its_own(host_url: str) -> None:
    with LeaseManager(host_url) as manager, manager.claim("a", "gpu0"):

        def open_anew() -> List[str]:
            with LeaseManager(host_url) as own:
                return [
                    outcome(lambda: own.acquire("gpu0", "b")),
                    outcome(lambda: own.acquire("gpu1", "b").detach() > 0),
                ]

        assert in_a_forked_child(open_anew) == ["Busy", "True"]
