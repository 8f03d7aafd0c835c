"""The driver's own names for leases and tickets."""

from typing import Any, Dict, Optional

import ternlease


class Labels:
    """What each label means. Leases and tickets are kept here, so that nobody collects them."""

    def __init__(self) -> None:
        self.leases: Dict[str, ternlease.Lease] = {}
        self.tickets: Dict[str, ternlease.Ticket[Any]] = {}

    def give_lease(self, label: str, lease: ternlease.Lease, keep_ticket: bool = False) -> None:
        """Gives the label to a lease; a ticket of that label has it no more, unless it became this lease."""
        lease.detach()
        self.leases[label] = lease
        if not keep_ticket:
            self.tickets.pop(label, None)

    def give_ticket(self, label: str, ticket: "ternlease.Ticket[Any]") -> None:
        """Gives the label to a ticket."""
        self.leases.pop(label, None)
        self.tickets[label] = ticket

    def of_lease(self, lease: Optional[int]) -> str:
        """The label of a lease; a dash for none."""
        if not lease:
            return "-"
        return next((label for label, known in self.leases.items() if known.id == lease), "?")

    def of_ticket(self, ticket: Optional[int]) -> str:
        """The label of a ticket; a dash for none."""
        if not ticket:
            return "-"
        return next((label for label, known in self.tickets.items() if known.id == ticket), "?")
