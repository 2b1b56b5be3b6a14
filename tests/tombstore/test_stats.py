"""Statistics: what is stored, and the share of tombstones that ADR-007's reversal condition asks for."""

from array import array
from collections.abc import Callable

import pytest

from tombstore import Fact, ManualClock, MemoryStore, Tally, parse_instant
from tombstore.stats import REVERSAL_SHARE

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]


def test_everything_stored_is_counted_and_accesses_of_live_facts_only(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts(
        [
            fact("f1", "", at="2026-01-01T00:00:00Z", access_count=3, weight=0.5, embedding=array("f", [1])),
            fact("f2", "", at="2026-02-01T00:00:00.000000001Z", access_count=5, superseded_by="f1", pinned=True),
            fact("f3", "", access_count=4),
            fact("f4", "", agent_id="bob", weight=0.0),
        ]
    )
    stats = store.stats("ann")
    assert stats.total == Tally(facts=3, tombstones=1)
    assert (stats.total.live, stats.total.share) == (2, 1 / 3)
    assert (stats.pinned, stats.embedded, stats.accesses) == (1, 1, 7)
    assert stats.mean_weight == pytest.approx(2.5 / 3)
    assert stats.oldest_at == parse_instant("2026-01-01T00:00:00Z")
    assert stats.newest_at == parse_instant("2026-03-01T00:00:00Z")
    assert store.stats().total == Tally(facts=4, tombstones=1)
    assert store.stats().mean_weight == pytest.approx(2.5 / 4)


def test_an_unknown_agent_has_nothing_and_no_share(store: MemoryStore) -> None:
    stats = store.stats("nobody")
    assert (stats.total, stats.total.share, stats.oldest_at, stats.newest_at) == (Tally(), None, None, None)
    assert (stats.mean_weight, stats.accesses) == (0.0, 0)
    assert sum(tally.facts for tally in stats.by_age.values()) == 0


@pytest.mark.parametrize(
    ("hours", "bucket"),
    [
        (-5, "under 1 day"),  # from the future
        (0, "under 1 day"),
        (23.999, "under 1 day"),
        (24, "1-7 days"),
        (7 * 24 - 0.001, "1-7 days"),
        (7 * 24, "7-30 days"),
        (30 * 24, "30-90 days"),
        (90 * 24, "90-200 days"),
        (200 * 24 - 0.001, "90-200 days"),
        (200 * 24, "200 days and more"),
        (5000 * 24, "200 days and more"),
    ],
)
def test_an_age_falls_into_one_bucket(hours: float, bucket: str, store: MemoryStore, clock: ManualClock) -> None:
    store.retire("ann", [store.put("ann", "note").id])
    clock.advance(hours=hours)
    by_age = store.stats("ann").by_age
    assert {label: tally for label, tally in by_age.items() if tally.facts} == {bucket: Tally(facts=1, tombstones=1)}
    assert list(by_age) == [
        "under 1 day",
        "1-7 days",
        "7-30 days",
        "30-90 days",
        "90-200 days",
        "200 days and more",
    ]


def test_the_decision_is_reconsidered_above_a_fifth() -> None:
    assert REVERSAL_SHARE == 0.2
