"""Pools: devices claimed alone, together and in parts; what a child sees."""

import subprocess
import sys
from typing import List

import pytest
from conftest import comes_true

from ternlease import (
    Busy,
    Error,
    GpuPool,
    Health,
    Impossible,
    InvalidArgument,
    LeaseManager,
    LeaseState,
    NoDevices,
    NotFound,
    Status,
    Timeout,
    Vendor,
    WaitKind,
)


def places(pool: GpuPool, number: int) -> List[int]:
    return [device.place for device in pool.lease(number).devices]


def test_devices_in_one_lease(pool: GpuPool) -> None:
    assert pool.capacity == len(pool.devices) == 4
    with pool.claim(2, holder="trainer", ttl=60) as lease:
        assert [device.place for device in lease.devices] == [0, 1]
        first = lease.devices[0]
        assert first == pool.device(0) == pool.devices[0]
        assert (first.vendor, first.memory_mib, first.compute) == (Vendor.NVIDIA, 81920, (8, 0))
        assert lease.info().holder == "trainer"
        assert pool.leases_on(0) == [lease.id]
        assert [status.lease for status in pool.snapshot()] == [lease.id, lease.id, None, None]
        assert pool.status(0).health is Health.HEALTHY
        assert pool.squatters(0) == []
        assert lease.pool is pool
    assert lease.state is LeaseState.EXPIRED
    assert pool.manager.active_count() == 0


def test_now_or_not_at_all(pool: GpuPool) -> None:
    with pool.claim(3):
        assert pool.try_claim(2) is None
        with pytest.raises(Busy):
            pool.claim(2, timeout=0)
        with pytest.raises(Timeout):
            pool.claim(2, timeout=0.01)
        last = pool.try_claim()
        assert last is not None
        assert pool.try_claim() is None
        last.release()
    with pytest.raises(Impossible):
        pool.try_claim(5)


def test_only_such_devices(pool: GpuPool) -> None:
    with pool.claim(devices=["nvidia:2"]) as lease:
        assert places(pool, lease.id) == [2]
    with pool.claim(devices=pool.devices[1].uuid, min_memory_mib=40_000, min_compute=(8, 0)) as lease:
        assert places(pool, lease.id) == [1]
    with pytest.raises(NotFound):
        pool.claim(devices=["nvidia:9"])
    with pytest.raises(Impossible):
        pool.claim(vendor=Vendor.AMD)
    with pytest.raises(InvalidArgument) as zero:
        pool.claim(ttl=0)
    assert zero.value.status is Status.ERR_ZERO_TTL
    with pytest.raises(TypeError, match="no option"):
        pool.claim(exclusive=True)  # type: ignore[call-arg]


def test_a_machine_without_devices_is_no_special_case() -> None:
    with GpuPool("process:", devices="none") as pool:
        assert pool.capacity == 0
        assert pool.try_claim() is None
        assert pool.try_claim(2, min_memory_mib=1) is None
        with pytest.raises(NoDevices) as none:
            pool.claim()
        assert none.value.status is Status.EMPTY
        assert pool.expected_wait().kind is WaitKind.NO_DEVICES
        assert isinstance(pool.absence(), str)


def test_parts_of_a_device() -> None:
    with GpuPool("process:", devices="fake:1", slots=2) as pool, pool.claim(slots=1), pool.claim(slots=1):
        assert pool.try_claim(slots=1) is None
        assert pool.status(0).leased_slots == 2


def test_what_a_child_sees(pool: GpuPool) -> None:
    with pool.claim(2) as lease:
        assert lease.env_changes() == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0,1"}
        assert lease.env_changes(by_uuid=True)["CUDA_VISIBLE_DEVICES"] == ",".join(
            device.uuid for device in lease.devices
        )
        assert lease.env({"A": "b"})["A"] == "b"
        program = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
        seen = subprocess.run([sys.executable, "-c", program], env=lease.env(), capture_output=True, check=True)
        assert seen.stdout.decode().strip() == "0,1"


def test_a_ticket_for_devices(pool: GpuPool) -> None:
    with pool.claim(4, ttl=60) as all_of_them, pool.enqueue(2) as ticket:
        assert pool.pending_claimers() == 1
        wait = pool.expected_wait_of(ticket)
        assert wait.kind is WaitKind.ABOUT
        assert wait.nanoseconds is not None
        all_of_them.release()
        with ticket.wait() as lease:
            assert len(lease.devices) == 2
    assert pool.expected_wait(4).kind is WaitKind.NONE


def test_kept_alive(pool: GpuPool) -> None:
    with pool.claim(ttl=4, keep_alive=True) as lease:
        end = lease.info().end
        assert comes_true(lambda: lease.info().end > end)
        assert lease.state is LeaseState.HELD


def test_keep_alive_needs_a_real_clock_and_leaves_nothing_behind(manager: LeaseManager) -> None:
    with GpuPool.on(manager, devices="fake:1") as pool:
        with pytest.raises(Error):
            pool.claim(ttl=5, keep_alive=True)
        assert manager.active_count() == 0


def test_a_pool_on_a_manager(manager: LeaseManager) -> None:
    with GpuPool.on(manager, devices="fake:2") as pool:
        assert pool.manager is manager
        lease = pool.claim(ttl=3)
        manager.tick()
        assert lease.renew() == 4
        with pytest.raises(TypeError, match="ticks"):
            pool.claim(ttl=1.5)
        parent = manager.claim("a", "licence")
        child = pool.claim(parent=parent)
        parent.release()
        assert child.state is LeaseState.EXPIRED
    assert not manager.closed
    assert lease.state is LeaseState.HELD
    lease.release()


def test_claim_for_no_device_is_an_error(pool: GpuPool, manager: LeaseManager) -> None:
    """To the library zero is "not said", which is one: a caller who computes 0 does not mean one."""
    for claim in (pool.claim, pool.try_claim, pool.enqueue, pool.expected_wait):
        with pytest.raises(InvalidArgument, match="at least 1"):
            claim(0)
    with pytest.raises(InvalidArgument, match="at least 1"):
        manager.claim("trainer", ["gpu0"], count=0)
    with pool.claim(4) as lease:
        assert len(lease.devices) == 4


def test_bad_pools() -> None:
    with pytest.raises(InvalidArgument):
        GpuPool("process:", devices="nonsense")
    with pytest.raises(InvalidArgument):
        GpuPool("nowhere:")
    with pytest.raises(OverflowError):
        GpuPool("process:", devices="fake:1", slots=-1)
    with GpuPool("process:", devices="fake:1") as pool:
        with pytest.raises(InvalidArgument):
            pool.device(1)
        with pytest.raises(NotFound):
            _ = pool.lease(1).devices
        with pytest.raises(NotFound):
            pool.lease(1).env()


def test_speed_is_told_where_it_is_known(pool: GpuPool) -> None:
    speed = pool.speed(0)
    assert speed.memory is None or speed.memory > 0
