"""How the library is called: errors become exceptions, lists and texts are fetched whole."""

from ctypes import Structure, c_size_t, create_string_buffer, sizeof
from operator import index
from typing import Any, Callable, List, Tuple, TypeVar

from .._enums import Status
from .._errors import failure
from .structs import ERROR_SIZE, Error

T = TypeVar("T")

# In exceptions, tracebacks and frames keep whatever their variables name. So none names a handle while it raises: a
# kept exception would keep the handle open.


def call(function: Callable[..., int], *arguments: Any, also: Tuple[Status, ...] = ()) -> int:
    """Calls a function whose last argument is an error. Its status, if it is one of `also`; an exception otherwise."""
    err = Error(ERROR_SIZE)
    status = function(*arguments, err)
    if status == 0 or status in also:
        return status
    del arguments
    raise failure(err)


def items(kind: Any, function: Callable[..., int], *arguments: Any) -> List[Any]:
    """What a function lists, however many there are."""
    capacity = 16
    needed = c_size_t()
    while True:
        found = (kind * capacity)()
        if issubclass(kind, Structure):
            found[0].struct_size = sizeof(kind)
        err = Error(ERROR_SIZE)
        status = function(*arguments, found, capacity, needed, err)
        if status == Status.OK:
            return list(found[: needed.value])
        if status != Status.MORE:
            del arguments
            raise failure(err)
        capacity = needed.value


def text(function: Callable[..., int], *arguments: Any) -> str:
    """What a function tells as text, however long it is."""
    capacity = 1024
    needed = c_size_t()
    while True:
        buffer = create_string_buffer(capacity)
        err = Error(ERROR_SIZE)
        status = function(*arguments, buffer, capacity, needed, err)
        if status == Status.OK:
            return words(buffer.value)
        if status != Status.MORE:
            del arguments
            raise failure(err)
        capacity = needed.value


def words(told: bytes) -> str:
    """Text of the library. What was cut in the middle of a letter ends with a mark for that."""
    return told.decode("utf-8", "replace")


def encoded(name: str, value: str) -> Tuple[bytes, int]:
    """A text as the library takes it: its bytes, and how many."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    raw = value.encode()
    return raw, len(raw)


def whole(name: str, value: int, bits: int = 64) -> int:
    """A whole number that fits: ctypes would cut it without a word."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not a bool")
    number = index(value)
    if not 0 <= number < 1 << bits:
        raise OverflowError(f"{name} must be from 0 to 2**{bits} - 1, not {number}")
    return number


def signed(name: str, value: int, bits: int = 32) -> int:
    """As whole(), for numbers that may be negative."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not a bool")
    number = index(value)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise OverflowError(f"{name} must be from -2**{bits - 1} to 2**{bits - 1} - 1, not {number}")
    return number
