"""The structs of the C header, field by field: what those that may grow have in common."""

from ctypes import Structure, sizeof
from typing import Any


class Sized(Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(sizeof(self), **fields)
