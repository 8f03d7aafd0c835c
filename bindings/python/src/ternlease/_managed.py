"""What is opened and must be closed."""

import warnings
from types import TracebackType
from typing import Any, Callable, Optional, Set, Type, TypeVar

T = TypeVar("T", bound="Managed")


class Managed:
    """Something to be closed: by `close()`, or by the end of a `with` block.

    Closing twice is allowed, from any thread; whoever waits with it on another thread or in a task is woken. Using it
    afterwards raises `Closed`. If it was forgotten, it is closed when it is collected, with a ResourceWarning.
    """

    _handle: Optional[Any] = None
    _waiting: Set[Callable[[], None]]

    def __init__(self, handle: Any) -> None:
        self._waiting = set()
        self._handle = handle

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._handle is None

    def close(self) -> None:
        """Closes it. The last call that is running on another thread ends first."""
        self._handle = None
        for wake in list(self._waiting):
            wake()

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle is not None:
            warnings.warn(f"not closed: {self!r}", ResourceWarning, source=self, stacklevel=2)
            self.close()

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} belongs to its process: open another one there")
