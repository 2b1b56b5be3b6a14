"""Instants as whole nanoseconds, RFC 3339 text as Go writes it, and the clocks that are injected.

``datetime`` stops at microseconds, but ties between facts are decided on the exact instant (SPEC 1.2).
"""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

Instant = int
"""Nanoseconds since 1970-01-01T00:00:00Z; negative before. Any year from 1 to 9999."""

Clock = Callable[[], Instant]

SECOND: Instant = 1_000_000_000
HOUR: Instant = 3600 * SECOND

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def system_clock() -> Instant:
    """The machine's clock."""
    return time.time_ns()


class ManualClock:
    """A clock that stands still until it is told to move; what tests and simulations inject."""

    def __init__(self, start: Instant | str) -> None:
        self.now = parse_instant(start) if isinstance(start, str) else start

    def __call__(self) -> Instant:
        """The instant at which the clock stands."""
        return self.now

    def advance(self, *, hours: float = 0, seconds: float = 0) -> None:
        """Move the clock on (or back, with negative spans)."""
        self.now += round(hours * HOUR) + round(seconds * SECOND)


@lru_cache(maxsize=4096)  # a store's times recur: created and accessed, read again and again
def parse_instant(text: str) -> Instant:
    """The instant that an RFC 3339 text names, in any zone. Raises ValueError when it names none in years 1 to 9999."""
    found = _RFC3339.fullmatch(text)
    if not found:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    date, clock, fraction, zone = found.groups()
    try:
        whole = datetime.fromisoformat(f"{date}T{clock}{'+00:00' if zone in 'Zz' else zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"no time in the years 1 to 9999: {text!r}") from None
    seconds = (whole - _EPOCH) // timedelta(seconds=1)
    return seconds * SECOND + int((fraction or "").ljust(9, "0"))


@lru_cache(maxsize=4096)
def format_instant(at: Instant, *, digits: int | None = None) -> str:
    """RFC 3339 in UTC: up to nine fractional digits without trailing zeros (Go), or exactly ``digits`` of them."""
    seconds, nanoseconds = divmod(at, SECOND)
    whole = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    fraction = f"{nanoseconds:09d}"
    fraction = fraction.rstrip("0") if digits is None else fraction[:digits]
    return f"{whole}.{fraction}Z" if fraction else f"{whole}Z"


ZERO_TIME: Instant = parse_instant("0001-01-01T00:00:00Z")
"""Go's zero time, which every fact written since 0.14 carries as ``pinned_at`` (SPEC 1.1)."""
