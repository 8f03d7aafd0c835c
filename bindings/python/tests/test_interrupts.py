"""Signals get through to a thread that waits, and leave nothing behind."""

import select
import signal

import pytest
from conftest import Child, start_python

from ternlease import LeaseManager

BEGIN = """
import signal, sys, threading, ternlease
signal.signal(signal.SIGINT, signal.default_int_handler)
manager = ternlease.LeaseManager(sys.argv[1])
def ready():
    print("ready", flush=True)
"""

# What waits, for ever if nobody interrupts it; each says that it is about to.
WAITS = {
    "claim": "ready(); manager.claim('waiter', 'gpu0')",
    "ticket": "with manager.enqueue('waiter', 'gpu0') as ticket: ready(); ticket.wait()",
    "events": "events = manager.events(); ready(); list(events)",
    "watch": "watch = manager.lease(manager.leases_on('gpu0')[0]).watch(); ready(); watch.next()",
}

END = """
    print("not interrupted")
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("interrupted", flush=True)
    print(manager.pending_claimers(), flush=True)
"""


def send_until_told(child: Child, number: signal.Signals) -> None:
    """Sends a signal until the child says something.

    One that comes between Python's last look for signals and the system call that waits is noticed with the next.
    """
    assert child.stdout is not None
    for _ in range(60):
        child.send_signal(number)
        told, _, _ = select.select([child.stdout], [], [], 1)
        if told:
            return
    raise AssertionError("it notices no signal")


@pytest.mark.parametrize("how", WAITS)
def test_control_c_ends_a_wait(how: str, host_url: str) -> None:
    with LeaseManager(host_url) as manager, manager.claim("holder", "gpu0"):
        program = f"import warnings; warnings.simplefilter('ignore')\n{BEGIN}\ntry:\n    {WAITS[how]}\n{END}"
        with start_python(program, host_url) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            if how in ("claim", "ticket"):
                while not manager.pending_claimers():
                    assert child.poll() is None
            send_until_told(child, signal.SIGINT)
            told, errors = child.communicate(timeout=60)
        assert told.split() == ["interrupted", "0"], errors


def test_a_handler_runs_while_a_thread_waits_and_the_wait_goes_on(host_url: str) -> None:
    program = f"""{BEGIN}
def handle(*_):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    print("handled", flush=True)
signal.signal(signal.SIGUSR1, handle)
ready()
with manager.claim("waiter", "gpu0"):
    print("served", flush=True)
manager.close()
"""
    with LeaseManager(host_url) as manager, manager.claim("holder", "gpu0") as lease:
        with start_python(program, host_url) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            while not manager.pending_claimers():
                assert child.poll() is None
            send_until_told(child, signal.SIGUSR1)
            assert child.stdout.readline() == "handled\n"
            lease.release()
            assert child.stdout.readline() == "served\n"
            assert child.wait() == 0


def test_other_threads_run_while_one_waits(host_url: str) -> None:
    program = f"""{BEGIN}
holder = manager.claim("holder", "own")
thread = threading.Thread(target=lambda: manager.claim("waiter", "own").release())
thread.start()
while not manager.pending_claimers():
    pass
holder.release()
thread.join()
manager.close()
ready()
"""
    with start_python(program, host_url) as child:
        told, errors = child.communicate(timeout=60)
        assert told == "ready\n", errors
