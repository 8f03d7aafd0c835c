"""The enumerations and trits of the library, with the numbers and names that they have in every language."""

from enum import IntEnum
from typing import Optional, Type, TypeVar

T = TypeVar("T", bound="Number")


class Number(IntEnum):
    """A number with a name. One that a newer library knows and this package does not is kept, as UNKNOWN_<number>."""

    @classmethod
    def _missing_(cls: Type[T], value: object) -> Optional[T]:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member


class Trit(IntEnum):
    """One of three answers: +1, 0 or -1. Only +1 is true, so that `if lease.state:` means what it says."""

    def __bool__(self) -> bool:
        return self.value > 0


class LeaseState(Trit):
    """What a lease is."""

    HELD = 1
    EXPIRED = 0
    REVOKED = -1


class TicketState(Trit):
    """What a claim in line is."""

    GRANTED = 1
    IN_LINE = 0
    DENIED = -1


class Health(Trit):
    """How a resource is."""

    HEALTHY = 1
    DRAINING = 0
    FAILED = -1


class Decision(Trit):
    """A result is to be fetched, or computed; or it makes no difference."""

    FETCH = 1
    BREAK_EVEN = 0
    COMPUTE = -1


class Status(Number):
    """What became of a call."""

    OK = 0
    BUSY = 1
    TIMEOUT = 2
    EMPTY = 3
    WAITING = 4
    REFUSED = 5
    UNCHANGED = 6
    MORE = 7
    ERR_NULL = -1
    ERR_BAD_HANDLE = -2
    ERR_CLOSED = -3
    ERR_FORKED = -4
    ERR_POISONED = -5
    ERR_PANIC = -6
    ERR_BAD_STRUCT = -7
    ERR_BAD_TEXT = -8
    ERR_BAD_VALUE = -9
    ERR_BAD_URL = -10
    ERR_UNSUPPORTED = -11
    ERR_VERSION = -12
    ERR_SYSTEM = -13
    ERR_CORRUPT = -14
    ERR_FULL = -15
    ERR_STUCK = -16
    ERR_EMPTY_NAME = -20
    ERR_NAME_TOO_LONG = -21
    ERR_ZERO_TTL = -22
    ERR_TIME_TOO_LARGE = -23
    ERR_TOO_FEW_RESOURCES = -24
    ERR_DUPLICATE_RESOURCE = -25
    ERR_ZERO_AMOUNT = -26
    ERR_UNKNOWN_RESOURCE = -27
    ERR_IMPOSSIBLE = -28
    ERR_UNKNOWN_LEASE = -29
    ERR_UNKNOWN_TICKET = -30
    ERR_NOT_HELD = -31
    ERR_NOT_A_REVOCATION = -32
    ERR_PARENT_NOT_HELD = -33
    ERR_TOO_DEEP = -34
    ERR_IN_USE = -35
    ERR_UNKNOWN_WANT = -36
    ERR_UNKNOWN_PROCESS = -37
    ERR_OTHER_PRINCIPAL = -38


class Reason(Number):
    """Why a lease is over, or a claim was refused."""

    NONE = 0
    DEADLOCK_VICTIM = 101
    PREEMPTED = 102
    SPARE_RECLAIMED = 103
    QUOTA = 104
    MAX_DURATION = 201
    BUDGET = 202
    NO_PROGRESS = 301
    OVER_USE = 302
    IGNORED_NOTICE = 303
    BAD_TOKEN = 304
    DEVICE_FAULT = 401
    NODE_DRAIN = 402
    RECONFIGURED = 403
    OPERATOR = 501
    SUPERSEDED = 502
    PARENT_REVOKED = 503
    SHUTDOWN = 504
    TIMED_OUT = 601
    RELEASED = 602
    HOLDER_DIED = 603
    ENGINE_LOST = 604
    WAIT_TIMED_OUT = 701
    CANCELLED = 702
    PARENT_ENDED = 703

    @property
    def reason_class(self) -> "Optional[ReasonClass]":
        """What it asks a holder to do; None of NONE."""
        return ReasonClass(self.value // 100) if self.value else None


class ReasonClass(Number):
    """What a class of reasons asks a holder to do."""

    CONTENTION = 1
    LIMIT = 2
    CONDUCT = 3
    RESOURCE = 4
    AUTHORITY = 5
    ENDED = 6
    REFUSED = 7


class EventKind(Number):
    """What happened."""

    GRANTED = 1
    RENEWED_LATE = 2
    REVOKING = 3
    ENDED = 4
    QUEUED = 5
    REFUSED = 6
    HEALTH = 7
    DIED = 8
    ROLLED_BACK = 9


class Life(Number):
    """How a process is."""

    LIVES = 1
    DYING = 2
    GONE = 3
    TREE = 4


class Vendor(Number):
    """Who made a device."""

    ANY = 0
    NVIDIA = 1
    AMD = 2
    INTEL = 3
    OTHER = 4


class Kind(Number):
    """What sort of work a cost is made of, and so by which of a machine's rates it is measured."""

    ROOFLINE = 0
    DENSE64 = 1
    DENSE32 = 2
    STREAM = 3
    COPY = 4
    ROWS = 5
    PARSE = 6
    SORT = 7
    HASH = 8
    BYTES = 9


class MachineClass(Number):
    """What sort of machine it is."""

    CONSTRAINED = 1
    LAPTOP = 2
    SERVER = 3
    DESKTOP = 4


class Network(Number):
    """The network, as far as the operating system knows it."""

    NONE = 0
    UNKNOWN = 1
    CARD = 2


class RateOf(Number):
    """What is done in a second: operations or bytes; by one thread, or by all that this process may use."""

    FLOP64 = 0
    FLOP64_ALL = 1
    FLOP32 = 2
    READ = 3
    READ_ALL = 4
    TRIAD = 5
    TRIAD_ALL = 6
    COPY = 7
    COPY_ALL = 8
    SCALAR = 9
    PARSE = 10
    HASH = 11
    COMPARE = 12
    SHIFT = 13
    BYTES = 14
    DISK_WRITE = 15
    DISK_READ = 16


class Source(Number):
    """Where a figure comes from, and so how far it may be trusted."""

    MEASURED = 1
    ROUGH = 2
    ESTIMATED = 3


class RouteKnown(Number):
    """How far a route is known."""

    DECLARED = 0
    ASSUMED = 1
    LEARNED = 2


class Answer(Number):
    """What to do about a result that somebody else may have."""

    COMPUTE = -1
    BREAK_EVEN = 0
    FETCH = 1
    IMPOSSIBLE = 2


class Obstacle(Number):
    """Why something cannot be done here."""

    NONE = 0
    MEMORY = 1
    ENDLESS = 2
    NETWORK = 3
    DISK = 4
    NO_DEVICE = 5
    DEVICE_MEMORY = 6
    DEVICE_SPEED = 7


class Bottleneck(Number):
    """What a computation waits for."""

    NONE = 0
    COMPUTE = 1
    MEMORY = 2


class Choice(Number):
    """Where to do a task."""

    INFEASIBLE = 0
    CPU = 1
    GPU_NOW = 2
    GPU_WAIT = 3
    FETCH = 4


class WaitKind(Number):
    """How long a claim would wait, as far as that can be told."""

    NONE = 0
    ABOUT = 1
    UNKNOWN = 2
    NO_DEVICES = 3
