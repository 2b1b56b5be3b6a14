"""Recall as of an instant: what was valid then, whatever happened since."""

from collections.abc import Callable
from typing import Any

import pytest

from tombstore import Fact, ManualClock, MemoryStore, parse_instant, plugins

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]


def day(number: int) -> int:
    return parse_instant(f"2026-03-{number:02}T00:00:00Z")


def texts(facts: list[Fact]) -> list[str]:
    return [fact.text for fact in facts]


@pytest.fixture
def history(clock: ManualClock) -> Callable[[MemoryStore], MemoryStore]:
    """Stripe from the 1st, Lemon from the 3rd, Polar from the 5th; another fact from the 2nd, forgotten on the 6th."""

    def history(store: MemoryStore) -> MemoryStore:
        clock.now = day(1)
        store.put("ann", "billing by Stripe")
        clock.now = day(2)
        store.put("ann", "deploy on Fridays")
        clock.now = day(3)
        store.reflect("update", "ann", target="billing by Stripe", text="billing by Lemon")
        clock.now = day(5)
        store.reflect("update", "ann", target="billing by Lemon", text="billing by Polar")
        clock.now = day(6)
        store.reflect("forget", "ann", target="deploy on Fridays")
        clock.now = day(9)
        return store

    return history


HISTORY = {
    day(1) - 1: [],
    day(1): ["billing by Stripe"],
    day(2): ["billing by Stripe", "deploy on Fridays"],
    day(3) - 1: ["billing by Stripe", "deploy on Fridays"],
    day(3): ["billing by Lemon", "deploy on Fridays"],  # from its retirement on, a fact is over
    day(5): ["billing by Polar", "deploy on Fridays"],
    day(6): ["billing by Polar"],
    day(9): ["billing by Polar"],
    parse_instant("9999-12-31T00:00:00Z"): ["billing by Polar"],
}


@pytest.mark.parametrize("policy", ["tombstone", "tombstone_window", "postfilter", "bitemporal", "demote"])
def test_a_fact_is_valid_from_its_creation_until_its_retirement(
    policy: str, open_store: OpenStore, history: Callable[[MemoryStore], MemoryStore]
) -> None:
    store = history(open_store(policy=policy))
    assert {at: sorted(texts(store.recall_as_of("ann", "billing", at))) for at in HISTORY} == HISTORY


def test_it_ranks_as_at_that_instant_and_writes_nothing(
    open_store: OpenStore, history: Callable[[MemoryStore], MemoryStore]
) -> None:
    """What was retired since ranked like any other then, also under a policy that demotes it today."""
    for policy in ("tombstone", "demote"):
        store = history(open_store(policy=policy))
        facts, events = store.list_facts(), store.events()
        assert texts(store.recall_as_of("ann", "billing", day(4))) == ["billing by Lemon", "deploy on Fridays"]
        assert texts(store.recall_as_of("ann", "deploy", day(4), 1)) == ["deploy on Fridays"]
        assert store.recall_as_of("ann", "deploy", day(4), 0) == []
        assert store.recall_as_of("nobody", "deploy", day(4)) == []
        assert (store.list_facts(), store.events()) == (facts, events)


def test_now_it_agrees_with_recall_under_tombstones(
    open_store: OpenStore, history: Callable[[MemoryStore], MemoryStore], clock: ManualClock
) -> None:
    store = history(open_store())
    for query in ("billing", "deploy", ""):
        assert texts(store.recall_as_of("ann", query, clock.now)) == texts(store.recall("ann", query))


def test_plain_recall_under_bitemporal_gives_what_is_over_too(
    open_store: OpenStore, history: Callable[[MemoryStore], MemoryStore]
) -> None:
    assert len(history(open_store(policy="bitemporal")).recall("ann", "billing")) == 4


def test_a_fact_that_came_in_retired_is_over_from_then_on(
    store: MemoryStore, fact: MakeFact, clock: ManualClock
) -> None:
    store.import_facts(
        [
            fact("f1", "billing by Lemon", at="2026-01-01T00:00:00Z", superseded_by="f2"),
            fact("f2", "billing by Polar", at="2026-01-02T00:00:00Z"),
        ]
    )
    assert texts(store.recall_as_of("ann", "billing", clock.now)) == ["billing by Polar"]


def test_an_id_that_came_back_is_not_over_because_its_first_life_was(
    store: MemoryStore, fact: MakeFact, clock: ManualClock
) -> None:
    store.import_facts([fact("f1", "billing by Lemon", weight=0.001)])
    store.retire("ann", ["f1"])
    store.consolidate("ann")
    store.import_facts([fact("f1", "billing by Polar")])
    assert texts(store.recall_as_of("ann", "billing", clock.now)) == ["billing by Polar"]


@pytest.mark.parametrize("strategy", plugins.names("tombstore.strategies"))
def test_every_strategy_can_be_asked_about_the_past(
    strategy: str, open_store: OpenStore, history: Callable[[MemoryStore], MemoryStore], written_down: Any
) -> None:
    vectors = {"billing by Stripe": [1, 0], "billing by Lemon": [1, 0], "billing by Polar": [1, 0]}
    vectors |= {"deploy on Fridays": [0, 1], "billing": [1, 0]}
    store = history(open_store(strategy=strategy, embedder=written_down(vectors)))
    found = texts(store.recall_as_of("ann", "billing", day(4), 1))
    assert found == ["billing by Lemon"]


# Writing a record back


def test_a_record_is_written_back_but_for_text_time_and_id(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts([fact("f1", "note", confidence="verified")])
    record = fact("f1", "other text", at="2020-01-01T00:00:00Z", access_count=5, weight=0.25, pinned=True, pinned_at=7)
    assert store.write_back(record)
    stored = store.get("ann", "f1")
    assert (stored.text, stored.created_at, stored.confidence) == ("note", day(1), "verified")
    assert (stored.access_count, stored.weight, stored.pinned, stored.pinned_at) == (5, 0.25, True, 7)
    assert stored.accessed_at == parse_instant("2020-01-01T00:00:00Z")


def test_a_late_record_neither_creates_nor_brings_back(store: MemoryStore, fact: MakeFact) -> None:
    early = store.put("ann", "note")
    store.retire("ann", [early.id])
    assert not store.write_back(early)
    assert store.get("ann", early.id).superseded_by == "agent"
    assert not store.write_back(fact("f9", "never stored"))
    assert len(store.list_facts()) == 1


def test_a_record_with_a_marker_retires_and_a_later_marker_replaces_it(store: MemoryStore) -> None:
    early = store.put("ann", "note")
    for by in ("f1", "f2", "f2"):
        assert store.write_back(early.retired(by))
        assert store.get("ann", early.id).superseded_by == by
    assert store.recall("ann", "note") == []
    assert [event.detail for event in store.audit_trail(early.id)] == [{}, {"by": "f1"}, {"by": "f2"}]


# What lies in the file


def test_the_file_tells_what_it_still_holds(open_store: OpenStore, tmp_path: Any) -> None:
    store = open_store(tmp_path / "store.db")
    store.put("ann", "the staging password is swordfish")
    store.reflect("forget", "ann", target="the staging password is swordfish")
    assert store.holds_bytes("swordfish")
    assert not store.holds_bytes("swordfishes")
