"""A driver that leaks, to see that a soak notices. It is told what: memory, descriptors or threads."""

import os
import sys
import threading
from pathlib import Path
from typing import Any, List

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conformance" / "python"))
import driver

kept: List[Any] = []


def leak(what: str, release: int) -> None:
    """So much that a soak of seconds shows it, and not more than a process may have."""
    if what == "memory":
        kept.append(bytearray(b"x") * 50_000)
    elif release % 10 == 0 and len(kept) < 500:
        kept.append(os.dup(0) if what == "descriptors" else sleeper())


def sleeper() -> threading.Thread:
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    return thread


class Leaky(driver.Driver):
    """Loses something with leases that it releases."""

    releases = 0

    def do_release(self, words: Any) -> str:
        self.releases += 1
        leak(sys.argv[1], self.releases)
        return super().do_release(words)


driver.Driver = Leaky  # type: ignore[misc]
driver.main()
