"""Counts over stored facts: what ADR-007's 20 % condition is measured with."""

from dataclasses import dataclass

from tombstore.clock import HOUR, Instant
from tombstore.journal import Journal

REVERSAL_SHARE = 0.20
"""ADR-007 is reconsidered when tombstones exceed this share of a typical store."""

# Upper bounds in days of the age buckets.
_BUCKETS = ((1, "under 1 day"), (7, "1-7 days"), (30, "7-30 days"), (90, "30-90 days"), (200, "90-200 days"))
_OLDER = "200 days and more"


@dataclass(slots=True)
class Tally:
    """How many facts, and how many of them are retired."""

    facts: int = 0
    tombstones: int = 0

    @property
    def live(self) -> int:
        """Facts that are not retired."""
        return self.facts - self.tombstones

    @property
    def share(self) -> float | None:
        """Tombstones / facts, None for an empty store."""
        return self.tombstones / self.facts if self.facts else None

    def count(self, retired: bool) -> None:
        """Count one fact."""
        self.facts += 1
        self.tombstones += retired


@dataclass(frozen=True, slots=True)
class Stats:
    """A census of one agent or of a whole store. Times in nanoseconds, None when there are no facts.

    ``by_age``: since creation. ``mean_weight`` is over all facts, ``accesses`` over live ones.
    """

    total: Tally
    by_age: dict[str, Tally]
    pinned: int
    embedded: int
    oldest_at: Instant | None
    newest_at: Instant | None
    mean_weight: float
    accesses: int


def statistics(journal: Journal, agent_id: str | None, now: Instant) -> Stats:
    """Count the facts of one agent, or of all."""
    names = "created_at, superseded_by <> '', pinned, weight, access_count, embedding IS NOT NULL"
    total, by_age = Tally(), {label: Tally() for label in empty_buckets()}
    pinned = embedded = accesses = 0
    weight_sum, created = 0.0, list[Instant]()
    for created_at, retired, is_pinned, weight, count, has_vector in journal.columns(agent_id, names):
        total.count(retired)
        by_age[age_bucket(now - created_at)].count(retired)
        pinned += is_pinned
        embedded += has_vector
        accesses += 0 if retired else count
        weight_sum += weight
        created.append(created_at)
    oldest, newest = (min(created), max(created)) if created else (None, None)
    mean = weight_sum / total.facts if total.facts else 0.0
    return Stats(total, by_age, pinned, embedded, oldest, newest, mean, accesses)


def age_bucket(age: Instant) -> str:
    """The label of the bucket that an age in nanoseconds falls into."""
    return next((label for days, label in _BUCKETS if age < days * 24 * HOUR), _OLDER)


def empty_buckets() -> dict[str, int]:
    """A count of 0 for every age bucket, youngest first."""
    return dict.fromkeys([*(label for _, label in _BUCKETS), _OLDER], 0)
