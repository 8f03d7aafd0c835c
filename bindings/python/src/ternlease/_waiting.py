"""Waiting for a descriptor, as a thread or as a task, until it is readable or what it belongs to is closed.

Threads wait in poll(), where other threads run and signals are seen: Ctrl-C gets through. Tasks leave the waiting to
their event loop.
"""

import asyncio
import math
import os
import select
import threading
import time
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from ._managed import Managed

# The longest time that poll() takes, in milliseconds.
LONGEST = 2**31 - 1


@contextmanager
def woken_by(wake: Callable[[], None], *owners: Managed) -> Iterator[bool]:
    """Calls `wake` when an owner is closed. Tells whether all are open."""
    try:
        for owner in owners:
            owner._waiting.add(wake)
        yield not any(owner.closed for owner in owners)
    finally:
        for owner in owners:
            owner._waiting.discard(wake)


class Waker:
    """A pipe that wakes a thread which waits in poll()."""

    def __init__(self) -> None:
        # A signal handler may close what this thread is just about to stop waiting for.
        self._lock = threading.RLock()
        self._open = True
        self.descriptor, self._end = os.pipe()

    def wake(self) -> None:
        """Makes it readable; nothing if whoever waited has ended already."""
        with self._lock:
            if self._open:
                os.write(self._end, b"x")

    def close(self) -> None:
        """Ends it. Not while somebody wakes: the descriptor might be another file's by then."""
        with self._lock:
            self._open = False
            os.close(self.descriptor)
            os.close(self._end)


class Patience:
    """How long to wait, in all."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds

    @property
    def over(self) -> bool:
        """Is there no time left?"""
        return self._deadline is not None and time.monotonic() >= self._deadline

    def milliseconds(self) -> int:
        """What is left for poll(), rounded up."""
        if self._deadline is None:
            return LONGEST
        return min(LONGEST, max(0, math.ceil((self._deadline - time.monotonic()) * 1000)))


def wait_readable(descriptor: int, patience: Patience, *owners: Managed) -> None:
    """Blocks the thread until the descriptor is readable, an owner is closed, or the time is over."""
    waker = Waker()
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.register(waker.descriptor, select.POLLIN)
        with woken_by(waker.wake, *owners) as all_open:
            while all_open and not poll.poll(patience.milliseconds()) and not patience.over:
                pass
    finally:
        waker.close()


async def until_readable(descriptor: int, *owners: Managed) -> None:
    """Suspends the task until the descriptor is readable or an owner is closed."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def set_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(set_ready)
        except RuntimeError:
            # The loop was closed with this task in it: nobody waits any more.
            pass

    with woken_by(wake, *owners) as all_open:
        if not all_open:
            return
        loop.add_reader(descriptor, set_ready)
        try:
            await ready
        finally:
            loop.remove_reader(descriptor)
