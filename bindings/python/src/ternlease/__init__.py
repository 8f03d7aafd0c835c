"""Leases on GPUs and other scarce things: who may use it now, until when, and why not.

import ternlease

with ternlease.GpuPool() as pool:
    with pool.claim(2, timeout=60) as lease:
        subprocess.run(["train"], env=lease.env(), check=True)
"""

from ._c.library import lib as _lib
from ._claim import ClaimOptions, Resources
from ._cost import NEVER, Estimate, FnCost, Learned, Task, TaskLike, nanoseconds
from ._device import Device, DeviceSpeed, DeviceStatus, ExpectedWait, Mig, Squatter
from ._enums import (
    Answer,
    Bottleneck,
    Choice,
    Decision,
    EventKind,
    Health,
    Kind,
    LeaseState,
    Life,
    MachineClass,
    Network,
    Obstacle,
    RateOf,
    Reason,
    ReasonClass,
    RouteKnown,
    Source,
    Status,
    TicketState,
    Vendor,
    WaitKind,
)
from ._errors import (
    Busy,
    Closed,
    Corrupt,
    Error,
    ForkedError,
    Full,
    Impossible,
    InUse,
    InvalidArgument,
    LibraryFault,
    NoDevices,
    NotFound,
    NotHeld,
    NotPermitted,
    ParentNotHeld,
    Refused,
    Stuck,
    SystemFailure,
    Timeout,
    TooDeep,
    Unsupported,
)
from ._events import Events
from ._gpu_claim import GpuClaimOptions
from ._gpu_lease import GpuLease
from ._info import (
    Actor,
    Deadlock,
    Event,
    HostInfo,
    LeaseInfo,
    Notice,
    ProcessInfo,
    ResourceInfo,
    Revocation,
    Take,
    TicketInfo,
    Wait,
)
from ._lease import Lease, LeaseLike
from ._machine import MachCap, MachineInfo, Progress, Rate, Route
from ._managed import Managed
from ._manager import LeaseManager
from ._pool import GpuPool
from ._ticket import Ticket
from ._time import FOREVER, Span
from ._verdict import Advice, Verdict
from ._watch import Watch

__version__ = "0.1.0"


def library_version() -> str:
    """The version of the library that is running, such as "1.2.3"."""
    return str(_lib.tern_version_text().decode())


__all__ = [
    "FOREVER",
    "NEVER",
    "Actor",
    "Advice",
    "Answer",
    "Bottleneck",
    "Busy",
    "Choice",
    "ClaimOptions",
    "Closed",
    "Corrupt",
    "Deadlock",
    "Decision",
    "Device",
    "DeviceSpeed",
    "DeviceStatus",
    "Error",
    "Estimate",
    "Event",
    "EventKind",
    "Events",
    "ExpectedWait",
    "FnCost",
    "ForkedError",
    "Full",
    "GpuClaimOptions",
    "GpuLease",
    "GpuPool",
    "Health",
    "HostInfo",
    "Impossible",
    "InUse",
    "InvalidArgument",
    "Kind",
    "Learned",
    "Lease",
    "LeaseInfo",
    "LeaseLike",
    "LeaseManager",
    "LeaseState",
    "LibraryFault",
    "Life",
    "MachCap",
    "MachineClass",
    "MachineInfo",
    "Managed",
    "Mig",
    "Network",
    "NoDevices",
    "NotFound",
    "NotHeld",
    "NotPermitted",
    "Notice",
    "Obstacle",
    "ParentNotHeld",
    "ProcessInfo",
    "Progress",
    "Rate",
    "RateOf",
    "Reason",
    "ReasonClass",
    "Refused",
    "ResourceInfo",
    "Resources",
    "Revocation",
    "Route",
    "RouteKnown",
    "Source",
    "Span",
    "Squatter",
    "Status",
    "Stuck",
    "SystemFailure",
    "Take",
    "Task",
    "TaskLike",
    "Ticket",
    "TicketInfo",
    "TicketState",
    "Timeout",
    "TooDeep",
    "Unsupported",
    "Vendor",
    "Verdict",
    "Wait",
    "WaitKind",
    "Watch",
    "library_version",
    "nanoseconds",
]
