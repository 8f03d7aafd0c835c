"""Handles: pointers that close what they point to when the last reference is gone.

The library must not be closed while a call is running. Every call holds a reference to its handle, so closing means to
forget the handle: if a call is running on another thread, the last of them closes.
"""

from ctypes import c_void_p
from typing import Any, Callable


def _nothing(_handle: Any) -> None:
    """What closes a handle until the library is loaded."""


class Handle(c_void_p):
    """A handle of the library; of NULL before it is opened."""

    close_it: Callable[[Any], None] = staticmethod(_nothing)

    def __del__(self) -> None:
        self.close_it(self)


class Manager(Handle):
    """tern_manager_t"""


class Events(Handle):
    """tern_events_t"""


class Deadlocks(Handle):
    """tern_deadlocks_t"""


class Pool(Handle):
    """tern_pool_t"""


class Machine(Handle):
    """tern_machine_t"""
