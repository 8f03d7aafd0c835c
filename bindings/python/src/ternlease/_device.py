"""Devices: what they are, how they are, and how fast."""

from dataclasses import dataclass
from typing import Any, Optional, Tuple

from ._c import constants as c
from ._c.calls import words
from ._enums import Health, Vendor, WaitKind
from ._time import RealClock


@dataclass(frozen=True)
class Mig:
    """Which part of a device it is."""

    gpu_instance: int
    compute_instance: int
    profile: str
    parent: str
    """The UUID of the whole device."""


@dataclass(frozen=True)
class Device:
    """What a device is. None is not known."""

    place: int
    """Its place in the pool, from 0."""
    key: str
    """Its name as a resource in the table."""
    name: str
    vendor: Vendor
    index: int
    """Its number among the devices of its vendor, in the order of PCI addresses."""
    uuid: str
    pci: str
    """Where it sits, as CUDA reads it: "0000:07:00.0"."""
    memory_mib: Optional[int]
    compute: Optional[Tuple[int, int]]
    """Its compute capability, as NVIDIA counts it: (8, 6)."""
    numa: Optional[int]
    island: Optional[int]
    """Devices of one vendor with the same number have fast links among each other."""
    mig: Optional[Mig]


def device(place: int, told: Any) -> Device:
    """A device, as the library tells of it."""
    known = told.known
    return Device(
        place=place,
        key=words(told.key),
        name=words(told.name),
        vendor=Vendor(told.vendor),
        index=told.index,
        uuid=words(told.uuid),
        pci=words(told.pci),
        memory_mib=told.memory_mib if known & c.DEVICE_MEMORY else None,
        compute=(told.compute_major, told.compute_minor) if known & c.DEVICE_COMPUTE else None,
        numa=told.numa if known & c.DEVICE_NUMA else None,
        island=told.island if known & c.DEVICE_ISLAND else None,
        mig=Mig(told.gpu_instance, told.compute_instance, words(told.mig_profile), words(told.mig_parent))
        if known & c.DEVICE_MIG
        else None,
    )


@dataclass(frozen=True)
class DeviceStatus:
    """How a device is, and who uses it."""

    health: Health
    trouble: str
    """Why it is not healthy."""
    lease: Optional[int]
    """The oldest lease on it."""
    lease_count: int
    slots: int
    leased_slots: int
    leased_memory_mib: int
    used_memory_mib: Optional[int]
    """Memory that is in use; None: not known."""
    busy_percent: Optional[int]
    squatter_count: int
    """How many processes compute on it although it has no lease."""
    idle: float
    """For how many seconds it has been leased without being used."""
    seen: float
    """How many seconds ago it was looked at; FOREVER: nobody watches it."""


def device_status(told: Any) -> DeviceStatus:
    """How a device is, as the library tells of it."""
    return DeviceStatus(
        health=Health(told.health),
        trouble=words(told.trouble),
        lease=told.lease or None,
        lease_count=told.lease_count,
        slots=told.slots,
        leased_slots=told.leased_slots,
        leased_memory_mib=told.leased_memory_mib,
        used_memory_mib=told.used_memory_mib if told.known & c.DEVICE_USED_MEMORY else None,
        busy_percent=told.busy_percent if told.known & c.DEVICE_BUSY else None,
        squatter_count=told.squatter_count,
        idle=RealClock.told(told.idle_us),
        seen=RealClock.told(told.seen_us),
    )


@dataclass(frozen=True)
class Squatter:
    """A process on a device without a lease: evidence, whom to ask, never whom to trust."""

    pid: int
    user: str
    command: str
    memory_mib: Optional[int]


@dataclass(frozen=True)
class DeviceSpeed:
    """How fast a device is, by what its driver tells. None is not known."""

    flop64: Optional[int]
    """Floating-point operations with 8-byte numbers per second."""
    flop32: Optional[int]
    flop16_matrix: Optional[int]
    """With 2-byte numbers, by the units made for matrices."""
    memory: Optional[int]
    """Bytes per second to and from its memory."""
    link: Optional[int]
    """Bytes per second between the machine's memory and its own."""
    cores: Optional[int]
    multiprocessors: Optional[int]
    core_mhz: Optional[int]
    memory_mhz: Optional[int]
    memory_bits: Optional[int]
    pcie_generation: Optional[int]
    pcie_lanes: Optional[int]


def device_speed(told: Any) -> DeviceSpeed:
    """How fast a device is, as the library tells of it."""

    def known(flag: int, value: int) -> Optional[int]:
        return value if told.known & flag else None

    return DeviceSpeed(
        flop64=told.flop64 or None,
        flop32=told.flop32 or None,
        flop16_matrix=told.flop16_matrix or None,
        memory=told.memory or None,
        link=told.link or None,
        cores=known(c.SPEED_CORES, told.cores),
        multiprocessors=known(c.SPEED_MULTIPROCESSORS, told.multiprocessors),
        core_mhz=known(c.SPEED_CORE_MHZ, told.core_mhz),
        memory_mhz=known(c.SPEED_MEMORY_MHZ, told.memory_mhz),
        memory_bits=known(c.SPEED_MEMORY_BITS, told.memory_bits),
        pcie_generation=known(c.SPEED_PCIE_GENERATION, told.pcie_generation),
        pcie_lanes=known(c.SPEED_PCIE_LANES, told.pcie_lanes),
    )


@dataclass(frozen=True)
class ExpectedWait:
    """How long a claim would wait, as far as that can be told."""

    kind: WaitKind
    nanoseconds: Optional[int]
    """None: it cannot be told."""
