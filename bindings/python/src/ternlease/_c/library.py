"""Finds and loads the shared library: TERN_LIBRARY, else the one in this package, else the system's."""

import ctypes
import os
from pathlib import Path
from typing import Any

from . import handles, structs
from .functions import PROTOTYPES

# The version of the C header that this package was written for, and the name of the libraries that fit it.
VERSION_NUMBER = 1000
LIBRARY_NAME = "libternlease.so.0.1"


def library_path() -> str:
    """Where the library is; a bare name is left to the system's loader."""
    told = os.environ.get("TERN_LIBRARY")
    if told:
        return told
    bundled = Path(__file__).parent.parent / LIBRARY_NAME
    return str(bundled) if bundled.exists() else LIBRARY_NAME


def load(path: str) -> Any:
    """Loads the library and checks that it is one that this package can use."""
    try:
        library = ctypes.CDLL(path)
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot use libternlease: {error}. TERN_LIBRARY says where it is", path=path) from error
    err = structs.Error(structs.ERROR_SIZE)
    if library.tern_abi_check(VERSION_NUMBER, err) != 0:
        raise ImportError(f"libternlease does not fit this package: {err.message.decode()}", path=path)
    return library


lib = load(library_path())

handles.Manager.close_it = lib.tern_manager_close
handles.Events.close_it = lib.tern_events_close
handles.Deadlocks.close_it = lib.tern_deadlocks_close
handles.Pool.close_it = lib.tern_pool_close
handles.Machine.close_it = lib.tern_machine_close
