"""Claims and tickets: several resources, standing in line, giving up."""

import gc
import threading

import pytest

from ternlease import (
    Busy,
    Full,
    Health,
    Impossible,
    InvalidArgument,
    LeaseManager,
    LeaseState,
    ParentNotHeld,
    Reason,
    Refused,
    Status,
    TicketState,
    Timeout,
)


def test_any_two_of_three(manager: LeaseManager) -> None:
    names = ["gpu0", "gpu1", "gpu2"]
    with manager.claim("a", "gpu0", 9), manager.claim("b", names, 9, count=2) as two:
        assert [take.resource for take in two.takes()] == ["gpu1", "gpu2"]
        assert manager.try_claim("c", names, 9) is None
        with pytest.raises(Busy):
            manager.claim("c", names, 9, timeout=0)


def test_by_the_numbers_of_declared_resources(manager: LeaseManager) -> None:
    numbers = [manager.declare("gpu0", 2, 80), manager.declare("gpu1", 2, 80)]
    with manager.claim("a", numbers, 9, count=2, slots=1, memory_mib=60):
        info = manager.resource("gpu1")
        assert (info.used_slots, info.slots, info.used_memory_mib, info.memory_mib) == (1, 2, 60, 80)
        assert manager.try_claim("b", numbers, 9, memory_mib=30) is None
    assert [info.name for info in manager.resources()] == ["gpu0", "gpu1"]


def test_what_cannot_be_is_said_at_once(manager: LeaseManager) -> None:
    manager.declare("gpu0", 1)
    with pytest.raises(Impossible):
        manager.claim("a", "gpu0", 9, slots=2)
    with pytest.raises(InvalidArgument):
        manager.claim("a", ["gpu0", "gpu0"], 9, count=2)
    with pytest.raises(InvalidArgument):
        manager.claim("a", [], 9)
    with pytest.raises(TypeError, match="no option"):
        manager.claim("a", "gpu0", 9, colour="red")  # type: ignore[call-arg]
    with pytest.raises(OverflowError):
        manager.claim("a", "gpu0", 9, count=2**32)
    assert manager.active_count() == manager.pending_claimers() == 0


def test_shared_spare_preemptible_and_children(manager: LeaseManager) -> None:
    with manager.claim("a", "disk", shared=True) as one, manager.claim("b", "disk", shared=True):
        assert one.info().shared
        assert manager.try_claim("c", "disk", exclusive=True) is None
    spare = manager.claim("low", "gpu0", spare=True)
    manager.claim("high", "gpu0", timeout=None).release()
    assert spare.info().reason is Reason.SPARE_RECLAIMED
    cheap = manager.claim("low", "gpu1", preemptible=True, notice=0)
    manager.claim("high", "gpu1", priority=5, preempt=True).release()
    assert cheap.info().reason is Reason.PREEMPTED
    parent = manager.claim("a", "gpu2")
    child = manager.claim("a", "gpu3", parent=parent)
    assert child.info().parent == parent.id
    parent.release()
    assert child.state is LeaseState.EXPIRED
    with pytest.raises(ParentNotHeld):
        manager.claim("a", "gpu3", parent=parent.id)


def test_unhealthy_resources_get_no_new_leases(manager: LeaseManager) -> None:
    manager.declare("gpu0", 1)
    manager.set_health("gpu0", Health.DRAINING)
    assert manager.try_claim("a", "gpu0") is None
    assert manager.resource("gpu0").health is Health.DRAINING
    manager.set_health("gpu0", Health.HEALTHY)
    manager.claim("a", "gpu0").release()


def test_a_ticket_is_served_in_its_turn(manager: LeaseManager) -> None:
    holder = manager.claim("a", "gpu0")
    with manager.enqueue("b", "gpu0", 9) as second, manager.enqueue("c", "gpu0", 9) as third:
        assert [info.id for info in manager.tickets()] == [second.id, third.id]
        info = third.info()
        assert info is not None
        assert (info.place, info.holder, third.resources()) == (2, "c", ["gpu0"])
        assert [ticket.state for ticket in (second, third)] == [TicketState.IN_LINE] * 2
        assert second.wait(0) is None
        assert second.wait(0.001) is None
        holder.release()
        assert second.state is TicketState.GRANTED
        lease = second.wait()
        assert second.wait() is lease
        assert not second.cancel()
        assert second.info() is None
        lease.release()
    assert manager.active_count() == manager.pending_claimers() == 0


def test_a_claim_that_is_served_at_once(manager: LeaseManager) -> None:
    with manager.enqueue("a", "gpu0", 9) as ticket:
        assert (ticket.id, ticket.state) == (None, TicketState.GRANTED)
    assert manager.active_count() == 0
    with pytest.raises(Refused) as refused:
        ticket.wait()
    assert refused.value.reason is Reason.CANCELLED
    with manager.enqueue("a", "gpu0", 9) as ticket:
        lease = ticket.wait()
    assert lease.state is LeaseState.HELD
    lease.release()


def test_waiting_in_vain(manager: LeaseManager) -> None:
    with manager.claim("a", "gpu0"):
        ticket = manager.enqueue("b", "gpu0", timeout=3)
        for _ in range(3):
            manager.tick()
        assert ticket.state is TicketState.DENIED
        with pytest.raises(Timeout) as late:
            ticket.wait()
        assert isinstance(late.value, TimeoutError)
        assert late.value.reason is Reason.WAIT_TIMED_OUT
        gone = manager.enqueue("b", "gpu0")
        assert gone.cancel()
        assert not gone.cancel()
        with pytest.raises(Refused):
            gone.wait()


def test_waiting_in_vain_on_a_real_clock(real: LeaseManager) -> None:
    with real.claim("a", "gpu0"), pytest.raises(Timeout):
        real.claim("b", "gpu0", timeout=0.01)
    assert real.pending_claimers() == 0


def test_what_was_granted_and_not_taken_is_given_back(manager: LeaseManager) -> None:
    holder = manager.claim("a", "gpu0")
    ticket = manager.enqueue("b", "gpu0")
    holder.release()
    assert manager.held_by("b")
    assert ticket.cancel()
    assert not manager.held_by("b")


@pytest.mark.filterwarnings("default::ResourceWarning")
def test_a_forgotten_ticket_is_withdrawn_with_a_warning(manager: LeaseManager) -> None:
    with manager.claim("a", "gpu0"):
        ticket = manager.enqueue("b", "gpu0")
        assert ticket.id is not None
        with pytest.warns(ResourceWarning, match="withdrawn"):
            del ticket
            gc.collect()
        assert manager.pending_claimers() == 0


def test_a_ticket_by_its_number(manager: LeaseManager) -> None:
    with manager.claim("a", "gpu0") as holder, manager.enqueue("b", "gpu0") as ticket:
        assert ticket.id is not None
        same = manager.ticket(ticket.id)
        assert same.state is TicketState.IN_LINE
        holder.release()
        same.wait().release()
    assert manager.ticket(0).state is None


def test_a_thread_that_waits_is_served(real: LeaseManager) -> None:
    holder = real.claim("a", "gpu0")
    served = threading.Event()

    def wait() -> None:
        with real.claim("b", "gpu0"):
            served.set()

    thread = threading.Thread(target=wait)
    thread.start()
    while not real.pending_claimers():
        assert thread.is_alive()
    holder.release()
    thread.join()
    assert served.is_set()


def test_a_full_table(manager: LeaseManager) -> None:
    with LeaseManager(ticks=True, leases=1, tickets=1, resources=4) as small, small.claim("a", "gpu0"):
        with pytest.raises(Full) as full:
            small.claim("a", "gpu1")
        assert full.value.status is Status.ERR_FULL
