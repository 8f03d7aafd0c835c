"""Who has which device, as far as it is certain: the check that nobody else has it at the same time."""

from typing import Dict, Iterable, List


class Devices:
    """The devices of one table.

    A worker has a device for certain from when it heard so until it is about to give it back or to be killed, or until
    anybody is about to revoke it. A lease that may have ended by itself is not entered.
    """

    def __init__(self) -> None:
        self._holders: Dict[str, str] = {}
        self._revocations: Dict[str, int] = {}
        self.checked = 0
        self.violations: List[str] = []

    def seen(self, device: str) -> int:
        """How often somebody asked to revoke it: to be looked at before it is asked for."""
        return self._revocations.get(device, 0)

    def granted(self, worker: str, seen: Dict[str, int]) -> None:
        """The worker heard that it has all of these, which it asked for when so many revocations had been seen."""
        for device, revocations in seen.items():
            if self.seen(device) != revocations:
                # Perhaps it was this lease that was revoked.
                continue
            holder = self._holders.get(device)
            if holder is not None and holder != worker:
                self.violations.append(f"{device} was given to {worker} while {holder} had it")
            self.checked += 1
            self._holders[device] = worker

    def gives_back(self, worker: str, devices: Iterable[str]) -> None:
        """The worker is about to ask for that."""
        for device in devices:
            if self._holders.get(device) == worker:
                del self._holders[device]

    def gives_back_all(self, worker: str) -> None:
        """The worker is about to be closed or killed."""
        self.gives_back(worker, [device for device, holder in self._holders.items() if holder == worker])

    def is_revoked(self, device: str) -> None:
        """Somebody is about to ask for that."""
        self._revocations[device] = self.seen(device) + 1
        self._holders.pop(device, None)
