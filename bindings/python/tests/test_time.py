"""Times: seconds on real clocks, whole numbers of ticks on others."""

import math
from datetime import timedelta

import pytest

from ternlease import FOREVER, InvalidArgument, LeaseManager, Status
from ternlease._time import RealClock, microseconds


def test_seconds_become_microseconds() -> None:
    for given, expected in (
        (1, 1_000_000),
        (0.5, 500_000),
        (0.0000001, 1),
        (0, 0),
        (0.0, 0),
        (1e-6, 1),
        (timedelta(milliseconds=3), 3000),
        (None, 2**64 - 1),
        (FOREVER, 2**64 - 1),
        (1e300, 2**64 - 2),
        (1.7e308, 2**64 - 2),
        (10**300, 2**64 - 2),
        (timedelta.max, 2**64 - 2),
    ):
        assert microseconds("ttl", given) == expected


def test_what_is_no_length_of_time() -> None:
    for wrong in (-1, -0.1, -1e-9, -math.inf, math.nan, timedelta(-1)):
        with pytest.raises(ValueError, match="ttl"):
            microseconds("ttl", wrong)
    for other in ("1", b"1", True, [1]):
        with pytest.raises(TypeError):
            microseconds("ttl", other)  # type: ignore[arg-type]


def test_seconds_come_back_exactly() -> None:
    for number in (1, 999_999, 2**48 - 1, 123_456_789_012):
        assert microseconds("at", RealClock.told(number)) == number


def test_a_real_clock(real: LeaseManager) -> None:
    with real.acquire("gpu0", "a", 60) as lease:
        info = lease.info()
        assert info.ttl == 60
        assert info.end - info.granted_at == pytest.approx(60)
        assert real.now() >= info.granted_at
        assert lease.renew(timedelta(hours=1)) > info.end
    with real.acquire("gpu0", "a") as lease:
        assert lease.info().ttl == lease.info().end == FOREVER
    for wrong, status in ((0, Status.ERR_ZERO_TTL), (2**48, Status.ERR_TIME_TOO_LARGE)):
        with pytest.raises(InvalidArgument) as refused:
            real.acquire("gpu0", "a", wrong)
        assert refused.value.status is status


def test_ticks_are_whole_numbers(manager: LeaseManager) -> None:
    for wrong in (1.5, timedelta(seconds=1), True, "1"):
        with pytest.raises(TypeError):
            manager.acquire("gpu0", "a", wrong)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        manager.acquire("gpu0", "a", -1)
    with manager.acquire("gpu0", "a", FOREVER) as lease:
        assert lease.info().end == FOREVER
