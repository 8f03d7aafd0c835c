"""Events: the history of a table, as it is made."""

from ctypes import c_int
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterator, Optional

from ._c import handles, structs
from ._c.calls import call, whole
from ._c.constants import FOREVER as FROM_NOW_ON
from ._c.library import lib
from ._enums import Status
from ._errors import Closed
from ._info import Event, event
from ._managed import Managed
from ._time import Span, seconds
from ._waiting import Patience, until_readable, wait_readable

if TYPE_CHECKING:
    from ._manager import LeaseManager


class Events(Managed):
    """A reader of events, with a place in the history of its own.

    Ask with `next()`, or loop over it with `for` or `async for`, which end when the reader or its manager is closed;
    `fileno()` is for event loops of other kinds.
    """

    _handle: Optional[Any]

    def __init__(self, manager: "LeaseManager", after: Optional[int]) -> None:
        self._clock = manager._clock
        reader = handles.Events()
        cursor = FROM_NOW_ON if after is None else whole("after", after)
        call(lib.tern_events_open, manager._handle, cursor, reader)
        super().__init__(reader)

    def fileno(self) -> int:
        """Readable while there may be something to read, until `next(0)` has said that there is nothing."""
        descriptor = c_int(-1)
        call(lib.tern_events_fd, self._handle, descriptor)
        return descriptor.value

    def next(self, timeout: Optional[Span] = None) -> Optional[Event]:
        """Waits for the next event, in real time; None if there was none. `Closed` once the manager is, too."""
        patience = Patience(seconds("timeout", timeout))
        while True:
            found = self._read()
            if found is not None or patience.over:
                return found
            # Until the wait is over, its descriptor must not become another file's.
            kept = self._handle
            try:
                wait_readable(self.fileno(), patience, self)
            finally:
                del kept

    def _read(self) -> Optional[Event]:
        told = structs.Event()
        status = call(lib.tern_events_next, self._handle, told, also=(Status.EMPTY,))
        return None if status else event(told, self._clock)

    def __iter__(self) -> Iterator[Event]:
        self.fileno()
        while True:
            try:
                found = self.next()
            except Closed:
                return
            if found is not None:
                yield found

    async def __aiter__(self) -> AsyncIterator[Event]:
        self.fileno()
        while True:
            try:
                found = self._read()
            except Closed:
                return
            if found is not None:
                yield found
                continue
            kept = self._handle
            try:
                await until_readable(self.fileno(), self)
            finally:
                del kept

    def __repr__(self) -> str:
        return f"<Events{' closed' if self.closed else ''}>"
