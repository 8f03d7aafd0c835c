"""Watches: being told when something happens to a lease."""

import os
from ctypes import c_int
from typing import TYPE_CHECKING, AsyncIterator, Iterator, Optional

from ._c import structs
from ._c.calls import call
from ._c.library import lib
from ._enums import LeaseState, Reason, Status
from ._errors import Closed, NotFound
from ._info import Notice, lease_info
from ._managed import Managed
from ._time import Span, seconds
from ._waiting import Patience, until_readable, wait_readable

if TYPE_CHECKING:
    from ._manager import LeaseManager


class Descriptor:
    """A descriptor of ours, closed with the last reference to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        os.set_blocking(number, False)

    def __del__(self) -> None:
        os.close(self.number)


class Watch(Managed):
    """What happens to one lease: notices of its revocation, and its end, which is the last.

    Ask with `next()`, or loop over it with `for` or `async for`; `fileno()` is for event loops of other kinds.
    """

    _handle: Optional[Descriptor]

    def __init__(self, manager: "LeaseManager", lease: int) -> None:
        descriptor = c_int(-1)
        call(lib.tern_lease_watch_fd, manager._handle, lease, descriptor)
        self._manager = manager
        self._lease = lease
        self._over = False
        super().__init__(Descriptor(descriptor.value))

    def fileno(self) -> int:
        """Readable when there is something to be told by `next(0)`."""
        if self._handle is None:
            raise Closed(Status.ERR_CLOSED, message="the watch was closed")
        return self._handle.number

    def next(self, timeout: Optional[Span] = None) -> Optional[Notice]:
        """Waits for what happens next, in real time; None if nothing did, or the end was told before."""
        patience = Patience(seconds("timeout", timeout))
        while not self._over:
            if self._rung() or self._manager.closed:
                return self._look()
            if patience.over:
                break
            # Until the wait is over, its descriptor must not become another file's.
            kept = self._handle
            try:
                wait_readable(self.fileno(), patience, self, self._manager)
            finally:
                del kept
        return None

    def _rung(self) -> bool:
        """Did something happen since the last time?"""
        try:
            os.read(self.fileno(), 8)
        except BlockingIOError:
            return False
        return True

    def _look(self) -> Notice:
        told = structs.LeaseInfo()
        try:
            call(lib.tern_lease_info, self._manager._handle, self._lease, told)
        except NotFound:
            self._over = True
            return Notice(None, Reason.NONE, 0)
        info = lease_info(told, self._manager._clock)
        self._over = info.state is not LeaseState.HELD
        return Notice(info.state, info.reason, info.end)

    def __iter__(self) -> Iterator[Notice]:
        self.fileno()
        while True:
            try:
                notice = self.next()
            except Closed:
                return
            if notice is None:
                return
            yield notice

    async def __aiter__(self) -> AsyncIterator[Notice]:
        self.fileno()
        while not self._over:
            try:
                rung = self._rung() or self._manager.closed
                notice = self._look() if rung else None
            except Closed:
                return
            if notice is not None:
                yield notice
                continue
            kept = self._handle
            try:
                await until_readable(self.fileno(), self, self._manager)
            finally:
                del kept

    def __repr__(self) -> str:
        return f"<Watch of lease {self._lease}>"
