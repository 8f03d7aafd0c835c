"""Leases: granted, renewed, given back, taken away."""

import gc

import pytest

from ternlease import (
    FOREVER,
    Busy,
    InvalidArgument,
    LeaseManager,
    LeaseState,
    NotFound,
    NotHeld,
    Reason,
    Status,
    Take,
)


def test_a_lease_from_its_grant_to_its_end(manager: LeaseManager) -> None:
    with manager.acquire("gpu0", "trainer", 10) as lease:
        assert lease.state is LeaseState.HELD
        assert manager.held_by("trainer") == [lease.id]
        with pytest.raises(Busy) as busy:
            manager.acquire("gpu0", "other", 10)
        assert busy.value.status is Status.BUSY
        manager.tick()
        assert lease.renew() == 11
        assert lease.renew(ttl=100) == 101
        assert lease.renew(ttl=FOREVER) == FOREVER
    info = lease.info()
    assert (info.state, info.reason) == (LeaseState.EXPIRED, Reason.RELEASED)
    with pytest.raises(NotHeld) as over:
        lease.renew()
    assert (over.value.status, over.value.reason) == (Status.ERR_NOT_HELD, Reason.RELEASED)
    with pytest.raises(NotHeld):
        lease.release()


def test_a_lease_runs_out(manager: LeaseManager) -> None:
    lease = manager.acquire("gpu0", "trainer", 2)
    manager.tick()
    manager.tick()
    assert lease.state is LeaseState.EXPIRED
    assert lease.info().reason is Reason.TIMED_OUT


def test_only_held_is_true(manager: LeaseManager) -> None:
    lease = manager.acquire("gpu0", "trainer", 2)
    assert lease.state
    lease.revoke()
    assert lease.state == -1
    assert not lease.state


def test_what_is_not_known_has_no_state(manager: LeaseManager) -> None:
    assert manager.lease(12345).state is None
    with pytest.raises(NotFound) as unknown:
        manager.lease(12345).release()
    assert unknown.value.status is Status.ERR_UNKNOWN_LEASE
    assert isinstance(unknown.value, LookupError)


def test_a_block_gives_back_whatever_happens(manager: LeaseManager) -> None:
    with pytest.raises(KeyError), manager.acquire("gpu0", "trainer", 10):
        raise KeyError
    manager.acquire("gpu0", "other", 10).release()


def test_a_block_with_a_lease_that_is_over_ends_quietly(manager: LeaseManager) -> None:
    with manager.acquire("gpu0", "trainer", 10) as lease:
        lease.revoke()
    with manager.acquire("gpu0", "trainer", 10) as lease:
        lease.release()


def test_revoked_at_once_and_with_notice(manager: LeaseManager) -> None:
    lease = manager.acquire("gpu0", "trainer")
    told = lease.revoke(Reason.QUOTA, by="ops", notice=5)
    assert (told.at, told.changed) == (5, True)
    info = lease.info()
    assert (info.state, info.revoking, info.reason, info.revoker) == (LeaseState.HELD, True, Reason.QUOTA, "ops")
    assert not lease.revoke(notice=9).changed
    early = manager.acquire("gpu2", "trainer")
    early.revoke(Reason.QUOTA, notice=5)
    early.release()
    info = early.info()
    assert (info.state, info.reason, info.acknowledged) == (LeaseState.REVOKED, Reason.QUOTA, True)
    assert info.ended_by is None
    assert lease.revoke().at == 0
    assert lease.state is LeaseState.REVOKED
    with manager.acquire("gpu1", "trainer") as kept, pytest.raises(InvalidArgument):
        kept.revoke(Reason.RELEASED)


@pytest.mark.filterwarnings("default::ResourceWarning")
def test_a_forgotten_lease_is_given_back_with_a_warning(manager: LeaseManager) -> None:
    lease = manager.acquire("gpu0", "trainer")
    number = lease.id
    with pytest.warns(ResourceWarning, match="not given back"):
        del lease
        gc.collect()
    assert manager.lease(number).state is LeaseState.EXPIRED


def test_a_detached_lease_is_nobodys_to_give_back(manager: LeaseManager) -> None:
    number = manager.acquire("gpu0", "trainer").detach()
    gc.collect()
    assert manager.lease(number).state is LeaseState.HELD
    manager.lease(number).release()


def test_many_in_one_call(manager: LeaseManager) -> None:
    a, b = manager.acquire("gpu0", "a", 5), manager.acquire("gpu1", "b", 5)
    b.revoke()
    assert manager.states([a, b, a.id, 999]) == [LeaseState.HELD, LeaseState.REVOKED, LeaseState.HELD, None]
    assert manager.states([]) == []
    manager.tick()
    assert manager.renew_all([a, b, 999]) == 1
    assert a.info().end == 6
    assert manager.renew_all([]) == 0
    a.release()


def test_numbers_that_do_not_fit_are_refused(manager: LeaseManager) -> None:
    for wrong in (-1, 2**64):
        with pytest.raises(OverflowError):
            manager.lease(wrong)
        with pytest.raises(OverflowError):
            manager.states([wrong])
    with pytest.raises(TypeError):
        manager.states(["gpu0"])  # type: ignore[list-item]


def test_names_that_are_not_allowed(manager: LeaseManager) -> None:
    for name, status in (
        ("", Status.ERR_EMPTY_NAME),
        ("x" * 256, Status.ERR_NAME_TOO_LONG),
        ("a\0b", Status.ERR_BAD_TEXT),
    ):
        with pytest.raises(InvalidArgument) as wrong:
            manager.acquire(name, "trainer", 1)
        assert wrong.value.status is status
        assert isinstance(wrong.value, ValueError)
    with pytest.raises(TypeError):
        manager.acquire(b"gpu0", "trainer", 1)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        manager.acquire("\ud800", "trainer", 1)
    with manager.acquire("Größe", "名前", 1) as lease:
        assert lease.info().holder == "名前"
        assert lease.takes() == [Take("Größe", 1, 0)]
