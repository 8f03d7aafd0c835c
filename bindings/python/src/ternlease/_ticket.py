"""Tickets: claims in line."""

import os
import warnings
from ctypes import c_int, c_uint64
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, Generic, List, Optional, Type, TypeVar, overload

from ._c import structs
from ._c.calls import call, items, words
from ._c.constants import TRIT_UNKNOWN
from ._c.library import lib
from ._enums import Reason, Status, TicketState
from ._errors import Closed, ForkedError, NotFound, Refused, failure
from ._info import TicketInfo, ticket_info
from ._lease import Lease
from ._managed import Managed
from ._time import Span, seconds
from ._waiting import Patience, until_readable, wait_readable

if TYPE_CHECKING:
    from ._manager import LeaseManager

L = TypeVar("L", bound=Lease)

STATES: Dict[int, TicketState] = {int(state): state for state in TicketState}


class Ticket(Generic[L]):
    """A claim in line, or one that was served at once.

    Wait for it with `wait()` or `await`. It must come to an end: by that, by `cancel()`, or by the end of a `with`
    block, which withdraws what was not taken. One that was forgotten is withdrawn when it is collected, with a
    ResourceWarning.
    """

    def __init__(
        self,
        manager: "LeaseManager",
        adopt: Callable[[c_uint64], L],
        number: Optional[c_uint64] = None,
        pool: Optional[Managed] = None,
    ) -> None:
        self._owned = False
        self._manager = manager
        # Whoever of them is closed, waiting is over.
        self._owners = (manager,) if pool is None else (manager, pool)
        self._adopt = adopt
        # The library writes into these. Should an exception come right after it did, they tell what to give back.
        self._number = number or c_uint64()
        self._granted = c_uint64()
        self._taken: Optional[L] = None
        self._ended = False

    def _ask(self, function: Callable[..., int], *arguments: Any) -> "Ticket[L]":
        """Puts the claim: what the library grants or promises becomes this ticket's."""
        self._owned = True
        try:
            call(function, *arguments, self._granted, self._number, also=(Status.WAITING,))
        except BaseException:
            del arguments
            if self._granted.value or self._number.value:
                self._withdraw()
            self._ended = True
            raise
        return self

    @property
    def id(self) -> Optional[int]:
        """Names the ticket for ever; None of a claim that was served at once."""
        return self._number.value or None

    @property
    def state(self) -> Optional[TicketState]:
        """What it is now; only GRANTED is true. None if nothing is remembered of it."""
        if self._granted.value:
            return TicketState.GRANTED
        err = structs.Error(structs.ERROR_SIZE)
        trit = lib.tern_ticket_state(self._manager._handle, self._number, err)
        if trit == TRIT_UNKNOWN and err.status != Status.ERR_UNKNOWN_TICKET:
            raise failure(err)
        return STATES.get(trit)

    @overload
    def wait(self) -> L: ...

    @overload
    def wait(self, timeout: Optional[Span]) -> Optional[L]: ...

    def wait(self, timeout: Optional[Span] = None) -> Optional[L]:
        """Blocks the thread until the claim is decided: its lease, or `Timeout` or `Refused`.

        None if `timeout`, in real time whatever clock the manager has, is over while the claim is still in line.
        """
        patience = Patience(seconds("timeout", timeout))
        while not self._decided():
            if patience.over:
                return None
            descriptor = c_int(-1)
            try:
                call(lib.tern_ticket_fd, self._manager._handle, self._number, descriptor)
                wait_readable(descriptor.value, patience, *self._owners)
            finally:
                _close(descriptor)
        return self._take()

    def __await__(self) -> Generator[Any, None, L]:
        return self._wait_as_task().__await__()

    async def _wait_as_task(self) -> L:
        while not self._decided():
            descriptor = c_int(-1)
            try:
                call(lib.tern_ticket_fd, self._manager._handle, self._number, descriptor)
                await until_readable(descriptor.value, *self._owners)
            finally:
                _close(descriptor)
        return self._take()

    def _decided(self) -> bool:
        """Was a lease granted? An exception if there will be none."""
        if self._granted.value:
            return True
        if self._ended and not self._number.value:
            raise Refused(Status.REFUSED, Reason.CANCELLED, "the claim was withdrawn")
        err = structs.Error(structs.ERROR_SIZE)
        status = lib.tern_ticket_wait(self._manager._handle, self._number, 0, self._granted, err)
        if status == Status.WAITING:
            if any(owner.closed for owner in self._owners):
                raise Closed(Status.ERR_CLOSED, message="the pool was closed")
            return False
        if status != Status.OK:
            self._ended = status in (Status.TIMEOUT, Status.REFUSED)
            raise failure(err)
        return True

    def _take(self) -> L:
        if self._taken is None:
            self._taken = self._adopt(self._granted)
        return self._taken

    def cancel(self) -> bool:
        """Withdraws the claim, and gives back what it was granted meanwhile. False if it had come to its end before."""
        if self._taken is not None or self._ended:
            return False
        self._ended = True
        if self._granted.value:
            granted, self._granted = self._granted, c_uint64()
            return Lease(self._manager, granted, owned=False)._give_back()
        return call(lib.tern_ticket_cancel, self._manager._handle, self._number, also=(Status.UNCHANGED,)) == 0

    def info(self) -> Optional[TicketInfo]:
        """Everything about it while it waits; None once it is decided."""
        told = structs.TicketInfo()
        status = call(lib.tern_ticket_info, self._manager._handle, self._number, told, also=(Status.EMPTY,))
        return None if status else ticket_info(told, self._manager._clock)

    def resources(self) -> List[str]:
        """The resources that it may be served from while it waits."""
        told = items(structs.Name, lib.tern_ticket_resources, self._manager._handle, self._number)
        return [words(one.text) for one in told]

    def __enter__(self) -> "Ticket[L]":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._withdraw()

    def _withdraw(self) -> bool:
        try:
            return self.cancel()
        except (NotFound, Closed, ForkedError):
            return False

    def __del__(self) -> None:
        if self._owned and self._withdraw():
            warnings.warn(f"withdrawn, as nobody waited for it: {self!r}", ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        return f"<Ticket {self.id or 'of a claim that was served at once'}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Ticket belongs to its process")


def _close(descriptor: c_int) -> None:
    if descriptor.value >= 0:
        os.close(descriptor.value)
