"""Times: seconds where the clock is real, whole numbers where somebody counts ticks.

`FOREVER` (infinity) is without end, in both directions; where a length of time is asked for, so is None.
"""

import math
from datetime import timedelta
from typing import Optional, Union

from ._c.calls import whole
from ._c.constants import FOREVER as ENDLESS

FOREVER = math.inf

# Seconds that have no parts in a float, and need no rounding.
LARGE = 2.0**53

# A length of time: seconds or a timedelta; ticks where the manager counts those.
Span = Union[int, float, timedelta]


def microseconds(name: str, value: Optional[Span]) -> int:
    """A length of time for the library. Rounded, but what is not nothing does not become nothing."""
    if value is None:
        return ENDLESS
    if isinstance(value, timedelta):
        exact = value // timedelta(microseconds=1)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be seconds or a timedelta, not {type(value).__name__}")
    elif math.isnan(value) or value < 0:
        exact = -1
    elif value == FOREVER:
        return ENDLESS
    elif isinstance(value, int) or value > LARGE:
        exact = int(value) * 1_000_000
    else:
        exact = round(value * 1e6) or math.ceil(value)
    if exact < 0:
        raise ValueError(f"{name} must be a length of time, not {value}")
    # As long as can be said, but never by mistake without end.
    return min(exact, ENDLESS - 1)


def seconds(name: str, value: Optional[Span]) -> Optional[float]:
    """A length of real time, for those who wait here and not in the library; None: as long as it takes."""
    number = microseconds(name, value)
    return None if number == ENDLESS else number / 1e6


class RealClock:
    """Seconds since the machine started; the library counts microseconds."""

    ticks = False
    span = staticmethod(microseconds)

    @staticmethod
    def told(number: int) -> float:
        """A time that the library tells."""
        return FOREVER if number == ENDLESS else number / 1e6


class TickClock:
    """Calls of tick()."""

    ticks = True

    @staticmethod
    def span(name: str, value: Optional[Span]) -> int:
        """A length of time for the library."""
        if value is None or value == FOREVER:
            return ENDLESS
        if not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number of ticks, not {type(value).__name__}: this manager counts")
        return min(whole(name, value), ENDLESS - 1)

    @staticmethod
    def told(number: int) -> float:
        """A time that the library tells."""
        return FOREVER if number == ENDLESS else number


Clock = Union[RealClock, TickClock]
