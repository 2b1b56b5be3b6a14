"""Fact IDs: ULIDs (48 bits of milliseconds, 80 of randomness, Crockford base 32) that increase within one source."""

import random
import secrets
from collections.abc import Callable
from threading import Lock
from typing import TypeAlias

from tombstore.clock import Instant

IdSource: TypeAlias = Callable[[Instant], str]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80


def ulids(seed: int | None = None) -> IdSource:
    """A source of ULIDs for the instants given, for several threads. With a seed the IDs are the same in every run."""
    draw = secrets.randbits if seed is None else random.Random(seed).getrandbits  # noqa: S311 - reproducible on purpose
    last, lock = 0, Lock()

    def ulid(at: Instant) -> str:
        nonlocal last
        milliseconds = min(max(at // 1_000_000, 0), 2**48 - 1)
        # Within a millisecond, and when the clock steps back, the last ID plus one: order of writing stays visible.
        with lock:
            last = value = max(milliseconds << _RANDOM_BITS | draw(_RANDOM_BITS - 1), last + 1)
        return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))

    return ulid
