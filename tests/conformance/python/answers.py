"""Answers, in the words that all drivers have in common."""

from typing import TYPE_CHECKING, Callable, Iterable, Optional

import ternlease
from ternlease import EventKind

if TYPE_CHECKING:
    from labels import Labels


class Nonsense(Exception):
    """The step makes no sense, or what it needs is not open."""


def trit(value: Optional[int]) -> str:
    """+1, 0, -1 or unknown."""
    if value is None:
        return "unknown"
    return "0" if value == 0 else f"{int(value):+d}"


def or_dash(text: str) -> str:
    """A text, or a dash for none."""
    return text or "-"


def listed(words: Iterable[str]) -> str:
    """OK and the words, or a dash if there are none."""
    return f"OK {or_dash(' '.join(words))}"


def reason_named(name: str) -> ternlease.Reason:
    """The reason of this name."""
    if name not in ternlease.Reason.__members__:
        raise Nonsense
    return ternlease.Reason[name]


def event_words(event: ternlease.Event, labels: "Labels", time: Callable[[float], str]) -> str:
    """What happened, in words."""
    lease, ticket, reason = labels.of_lease(event.lease), labels.of_ticket(event.ticket), event.reason.name
    return {
        EventKind.GRANTED: f"granted {lease}" + (f" {ticket}" if event.ticket else ""),
        EventKind.RENEWED_LATE: f"renewed-late {lease} {time(event.until)}",
        EventKind.REVOKING: f"revoking {lease} {reason} {time(event.until)}",
        EventKind.ENDED: f"ended {lease} {reason} {time(event.duration)}",
        EventKind.QUEUED: f"queued {ticket}",
        EventKind.REFUSED: f"refused {ticket} {reason} {time(event.duration)}",
        EventKind.HEALTH: f"health {event.resource} {trit(event.health)}",
        EventKind.DIED: "died",
        EventKind.ROLLED_BACK: "rolled-back",
    }.get(event.kind, "?")
