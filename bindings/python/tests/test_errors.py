"""Exceptions: which is which, and that they survive being sent to another process."""

import pickle

import pytest

import ternlease
from ternlease import Error, LeaseManager, Reason, Status
from ternlease._errors import BY_STATUS


def test_all_are_one_kind_and_some_are_also_pythons_own() -> None:
    for kind in set(BY_STATUS.values()):
        assert issubclass(kind, Error)
        assert getattr(ternlease, kind.__name__) is kind
    assert issubclass(ternlease.Timeout, TimeoutError)
    assert issubclass(ternlease.NotFound, LookupError)
    assert issubclass(ternlease.InvalidArgument, ValueError)
    assert issubclass(ternlease.SystemFailure, OSError)


def test_they_can_be_pickled() -> None:
    for status, kind in BY_STATUS.items():
        error = kind(status, Reason.QUOTA, "what to do", 2, 7)
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is kind
        assert (copy.status, copy.reason, copy.message, copy.os_errno, copy.driver_code) == (
            status,
            Reason.QUOTA,
            "what to do",
            2,
            7,
        )
        assert str(copy) == "what to do"


def test_numbers_of_a_newer_library_are_kept() -> None:
    new = Status(-999)
    assert (new, new.name) == (-999, "UNKNOWN_-999")
    with pytest.raises(ValueError, match="nonsense"):
        Status("nonsense")  # type: ignore[arg-type]


def test_an_error_says_what_happened_and_what_to_do(manager: LeaseManager) -> None:
    with pytest.raises(Error) as raised:
        LeaseManager("nowhere:")
    assert raised.value.status is Status.ERR_BAD_URL
    assert raised.value.message == str(raised.value) != ""
    with pytest.raises(ternlease.SystemFailure) as refused:
        LeaseManager("host:/nowhere/at/all")
    assert refused.value.errno == 2


def test_message_of_a_pool_without_devices_names_no_function_of_c() -> None:
    with ternlease.GpuPool("process:", devices="none") as pool, pytest.raises(ternlease.NoDevices) as raised:
        pool.claim()
    assert str(raised.value) == "the pool has no devices; the pool's absence says why"
