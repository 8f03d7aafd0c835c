"""What several tests need."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Callable, Iterator, Optional, Type

import pytest

from ternlease import GpuPool, LeaseManager

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def manager() -> Iterator[LeaseManager]:
    """A table that counts ticks."""
    with LeaseManager(ticks=True) as opened:
        yield opened


@pytest.fixture
def real() -> Iterator[LeaseManager]:
    """A table with a real clock."""
    with LeaseManager("process:") as opened:
        yield opened


@pytest.fixture
def pool() -> Iterator[GpuPool]:
    """Four devices that do not exist."""
    with GpuPool("process:", devices="fake:4") as opened:
        yield opened


@pytest.fixture
def host_url(tmp_path: Path) -> str:
    """A table of this test's own that processes share."""
    return f"host:{tmp_path}/table"


class Child(subprocess.Popen[str]):
    """A process that a test has to do with: it does not outlive one that fails."""

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if error is not None:
            self.kill()
        super().__exit__(kind, error, trace)


def start_python(program: str, *arguments: str) -> Child:
    """Another Python that runs a program, to be talked with by its pipes."""
    return Child(
        [sys.executable, "-W", "error", "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )


def open_descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd"))


def comes_true(condition: Callable[[], bool]) -> bool:
    """Does it, sooner or later? A thread of the library may still be tidying up."""
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True
