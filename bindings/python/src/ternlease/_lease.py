"""Leases: the right to use a resource for a while."""

import ctypes
import warnings
from ctypes import c_int, c_int8, c_uint64
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Type, TypeVar, Union

from ._c import structs
from ._c.calls import call, encoded, items, signed, whole, words
from ._c.constants import TRIT_UNKNOWN
from ._c.library import lib, library_path
from ._enums import LeaseState, Reason, Status
from ._errors import Closed, ForkedError, NotFound, NotHeld, failure
from ._info import LeaseInfo, Revocation, Take, lease_info
from ._time import Span
from ._watch import Watch

if TYPE_CHECKING:
    from ._manager import LeaseManager

L = TypeVar("L", bound="Lease")

# Asking for a state takes no lock, so it need not let other threads run; and what is a ctypes value already need not be
# checked. Both together make it half as long. All else is called with types that are checked.
_state = ctypes.PyDLL(library_path()).tern_lease_state
_state.restype = c_int8

STATES: Dict[int, LeaseState] = {int(state): state for state in LeaseState}


class Lease:
    """The right to use something for a while.

    Use it in a `with` block, which gives it back, or call `release()`. One that was forgotten is given back when it is
    collected, with a ResourceWarning; `detach()` is for those who keep only its number.
    """

    __slots__ = ("__weakref__", "_manager", "_number", "_owned")

    def __init__(self, manager: "LeaseManager", number: c_uint64, owned: bool) -> None:
        self._manager = manager
        self._number = number
        self._owned = owned

    @property
    def id(self) -> int:
        """Names the lease for ever, and only grows: it is also the fencing token of what the lease protects."""
        return self._number.value

    @property
    def manager(self) -> "LeaseManager":
        """The manager of the table that the lease is in."""
        return self._manager

    @property
    def state(self) -> Optional[LeaseState]:
        """What it is now; only HELD is true. None if nothing is remembered of it."""
        trit = _state(self._manager._handle, self._number, None)
        if trit == TRIT_UNKNOWN:
            return self._unknown()
        return STATES[trit]

    def _unknown(self) -> Optional[LeaseState]:
        err = structs.Error(structs.ERROR_SIZE)
        trit = lib.tern_lease_state(self._manager._handle, self._number, err)
        if trit == TRIT_UNKNOWN and err.status != Status.ERR_UNKNOWN_LEASE:
            raise failure(err)
        return STATES.get(trit)

    def renew(self, ttl: Optional[Span] = None) -> float:
        """Moves the end to now + its ttl, or + another one from now on. The new end; `NotHeld` if it is over."""
        end, err = c_uint64(), structs.Error(structs.ERROR_SIZE)
        manager = self._manager
        if ttl is None:
            status = lib.tern_lease_renew(manager._handle, self._number, end, err)
        else:
            length = manager._clock.span("ttl", ttl)
            status = lib.tern_lease_renew_for(manager._handle, self._number, length, end, err)
        if status:
            raise failure(err)
        return manager._clock.told(end.value)

    def release(self) -> None:
        """Gives it back. Whoever is first in line has what it frees before this returns. `NotHeld` if it was over."""
        self._owned = False
        err = structs.Error(structs.ERROR_SIZE)
        if lib.tern_lease_release(self._manager._handle, self._number, err):
            raise failure(err)

    def revoke(self, reason: Reason = Reason.OPERATOR, *, by: str = "", notice: Span = 0) -> Revocation:
        """Takes it away, at once or after a notice. `NotHeld` if it was over."""
        clock = self._manager._clock
        at = c_uint64()
        status = call(
            lib.tern_lease_revoke,
            self._manager._handle,
            self._number,
            signed("reason", reason),
            *encoded("by", by),
            clock.span("notice", notice),
            at,
            also=(Status.UNCHANGED,),
        )
        return Revocation(at=clock.told(at.value), changed=status == Status.OK)

    def info(self) -> LeaseInfo:
        """Everything about it, while it is held or remembered."""
        told = structs.LeaseInfo()
        call(lib.tern_lease_info, self._manager._handle, self._number, told)
        return lease_info(told, self._manager._clock)

    def takes(self) -> List[Take]:
        """What it takes, or took."""
        told = items(structs.Take, lib.tern_lease_takes, self._manager._handle, self._number)
        return [Take(words(one.resource), one.slots, one.memory_mib) for one in told]

    def watch(self) -> Watch:
        """Tells of notices of its revocation, and of its end."""
        return Watch(self._manager, self.id)

    def hand_to(self, pid: int) -> None:
        """Hands it to another process that uses the same shared table: it ends with that one, not with this one."""
        call(lib.tern_lease_hand_to, self._manager._handle, self._number, whole("pid", pid, 32))
        self._owned = False

    def keep_for_children(self) -> int:
        """Makes it one of a tree of processes: held while any of them has the descriptor open that this gives.

        Python closes descriptors in the programs it starts: name it in `pass_fds`. It is yours to close.
        """
        descriptor = c_int(-1)
        call(lib.tern_lease_keep_for_children, self._manager._handle, self._number, descriptor)
        self._owned = False
        return descriptor.value

    def detach(self) -> int:
        """From now on nobody gives it back but you: its number. `manager.lease(number)` is the way back."""
        self._owned = False
        return self.id

    def __enter__(self: L) -> L:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        # Over by now, or gone with its manager: that is for the block to find out, who used it.
        self._give_back()

    async def __aenter__(self: L) -> L:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._give_back()

    def _give_back(self) -> bool:
        try:
            self.release()
        except (NotHeld, NotFound, Closed, ForkedError):
            return False
        return True

    def __del__(self) -> None:
        if self._owned and self._give_back():
            warnings.warn(f"not given back: {self!r}", ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} belongs to its process: send its id, or hand it over with hand_to()")


# Wherever a lease is named: itself, or its number.
LeaseLike = Union[Lease, int]


def numbered(name: str, number: int) -> c_uint64:
    """A number of a lease or ticket."""
    return c_uint64(whole(name, number))


def lease_id(name: str, lease: LeaseLike) -> int:
    """The number of a lease."""
    return lease.id if isinstance(lease, Lease) else whole(name, lease)
