"""Exceptions: one for each sort of thing that a program may want to do about it.

All are `Error`, and tell `status`, `reason`, `message`, `os_errno` and `driver_code`, as the library gave them. Where
Python has an exception for such a thing, ours is one, too: `Timeout` is a TimeoutError.
"""

from typing import Any, Dict, Tuple, Type

from ._enums import Reason, Status


class Error(Exception):
    """Something that the library did not do."""

    status: Status
    reason: Reason
    message: str
    os_errno: int
    driver_code: int

    def __init__(
        self, status: int, reason: int = 0, message: str = "", os_errno: int = 0, driver_code: int = 0
    ) -> None:
        super().__init__(message)
        self.status = Status(status)
        self.reason = Reason(reason)
        self.message = message
        self.os_errno = os_errno
        self.driver_code = driver_code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (int(self.status), int(self.reason), self.message, self.os_errno, self.driver_code)


class Busy(Error):
    """Not free now, and the claim does not wait."""


class Timeout(Error, TimeoutError):
    """The time came first. The claim has left the line."""


class NoDevices(Error):
    """The pool has no devices at all: do without. `pool.absence()` says why there are none."""


class Refused(Error):
    """The claim waited and will not be granted; `reason` says why."""


class NotHeld(Error):
    """The lease is over: stop using what it protects. `reason` says why."""


class ParentNotHeld(Error):
    """The lease that was to be the parent is over."""


class Impossible(Error):
    """The claim asks for more than there is. Waiting would not help."""


class NotFound(Error, LookupError):
    """No such lease, ticket, resource, want or process; `status` says which."""


class NotPermitted(Error, PermissionError):
    """The lease belongs to another user: only that user or root may transfer it."""


class InvalidArgument(Error, ValueError):
    """A name, number, time or URL that is not allowed there."""


class InUse(Error):
    """A resource that is in use cannot change its size."""


class TooDeep(Error):
    """Leases hang at most 16 deep."""


class Full(Error):
    """The table has no room left. Open it with larger limits."""


class Closed(Error, ValueError):
    """It was closed, here or by another thread."""


class ForkedError(Error):
    """The handle was opened before this process was forked. Open a new one in the child."""


class Unsupported(Error, NotImplementedError):
    """This system, or this table, cannot do that."""


class SystemFailure(Error, OSError):
    """The operating system refused; `errno` says why."""

    def __init__(self, *details: Any) -> None:
        super().__init__(*details)
        self.errno = self.os_errno
        self.strerror = self.message


class Stuck(Error):
    """A process that has the lock of a shared table does not go on. Continue or end it."""


class Corrupt(Error):
    """The table's memory does not make sense."""


class LibraryFault(Error):
    """The library has a bug and noticed, now or earlier. Close the handle."""


BY_STATUS: Dict[Status, Type[Error]] = {
    Status.BUSY: Busy,
    Status.TIMEOUT: Timeout,
    Status.EMPTY: NoDevices,
    Status.REFUSED: Refused,
    Status.ERR_CLOSED: Closed,
    Status.ERR_FORKED: ForkedError,
    Status.ERR_POISONED: LibraryFault,
    Status.ERR_PANIC: LibraryFault,
    Status.ERR_BAD_TEXT: InvalidArgument,
    Status.ERR_BAD_VALUE: InvalidArgument,
    Status.ERR_BAD_URL: InvalidArgument,
    Status.ERR_UNSUPPORTED: Unsupported,
    Status.ERR_SYSTEM: SystemFailure,
    Status.ERR_CORRUPT: Corrupt,
    Status.ERR_FULL: Full,
    Status.ERR_STUCK: Stuck,
    Status.ERR_EMPTY_NAME: InvalidArgument,
    Status.ERR_NAME_TOO_LONG: InvalidArgument,
    Status.ERR_ZERO_TTL: InvalidArgument,
    Status.ERR_TIME_TOO_LARGE: InvalidArgument,
    Status.ERR_TOO_FEW_RESOURCES: InvalidArgument,
    Status.ERR_DUPLICATE_RESOURCE: InvalidArgument,
    Status.ERR_ZERO_AMOUNT: InvalidArgument,
    Status.ERR_UNKNOWN_RESOURCE: NotFound,
    Status.ERR_IMPOSSIBLE: Impossible,
    Status.ERR_UNKNOWN_LEASE: NotFound,
    Status.ERR_UNKNOWN_TICKET: NotFound,
    Status.ERR_NOT_HELD: NotHeld,
    Status.ERR_NOT_A_REVOCATION: InvalidArgument,
    Status.ERR_PARENT_NOT_HELD: ParentNotHeld,
    Status.ERR_TOO_DEEP: TooDeep,
    Status.ERR_IN_USE: InUse,
    Status.ERR_UNKNOWN_WANT: NotFound,
    Status.ERR_UNKNOWN_PROCESS: NotFound,
    Status.ERR_OTHER_PRINCIPAL: NotPermitted,
}


def failure(err: Any) -> Error:
    """The exception for what the library said."""
    status = Status(err.status)
    if status is Status.ERR_NULL:
        # The only NULL that this package passes is the handle of what was closed.
        return Closed(Status.ERR_CLOSED, message="it was closed: it cannot be used any more")
    message = err.message.decode("utf-8", "replace")
    return BY_STATUS.get(status, Error)(status, err.reason, message, err.os_errno, err.driver_code)
