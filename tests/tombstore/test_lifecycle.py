"""Consolidation: decay, then what a model proposes and code applies, then pruning."""

from collections.abc import Callable
from math import exp, inf, log, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tombstore import Contradiction, Fact, ManualClock, MemoryStore, ReadOnlyStore, Summary, parse_instant
from tombstore.clock import HOUR, ZERO_TIME
from tombstore.detection import applicable
from tombstore.lifecycle import decayed_weight, weakest_half

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]
Fake = Callable[..., Any]

NOW = parse_instant("2026-03-01T00:00:00Z")


def texts(facts: Any) -> list[str]:
    return [fact.text for fact in facts]


# Decay


@pytest.mark.parametrize(
    ("weight", "half_lives", "expected"),
    [
        (1.0, 0, 1.0),
        (1.0, 1, 1 / 2),
        (1.0, 2, 1 / 4),
        (1.0, 3, 1 / 8),
        (0.25, 1, 0.25),
        (0.25, 4, 1 / 16),
        (0.5, -9, 0.5),  # the last access is still to come
        (1.0, -1e9, 1.0),
    ],
)
def test_a_weight_is_what_the_time_since_the_last_access_allows_at_most(
    weight: float, half_lives: float, expected: float
) -> None:
    assert decayed_weight(weight, half_lives * 48, 48) == pytest.approx(expected, rel=1e-15)


WEIGHTS = st.floats(0, 1) | st.floats(0, 3)
ACCESSES = st.integers(NOW - 400 * 24 * HOUR, NOW + 90 * 24 * HOUR)


@given(st.lists(st.tuples(WEIGHTS, ACCESSES), min_size=1, max_size=8), st.sampled_from([1.0, 48.0, 720.0]))
def test_a_cycle_decays_every_fact_by_that_formula(facts: list[tuple[float, int]], half_life: float) -> None:
    with MemoryStore(clock=ManualClock(NOW), half_life_hours=half_life) as store:
        store.import_facts(
            Fact(id=f"{n}", agent_id="ann", text="", created_at=0, accessed_at=at, weight=weight, pinned=False)
            for n, (weight, at) in enumerate(facts)
        )
        cycle = store.consolidate("ann")
        left = {fact.id: fact.weight for fact in store.list_facts()}
    expected = {f"{n}": decayed_weight(weight, (NOW - at) / HOUR, half_life) for n, (weight, at) in enumerate(facts)}
    assert cycle.decayed == sum(expected[f"{n}"] < weight for n, (weight, _) in enumerate(facts))
    # Well away from the floor, which is exact and has its own tests.
    assert left == pytest.approx({fact_id: weight for fact_id, weight in expected.items() if weight >= 0.01}, rel=1e-15)


@pytest.mark.parametrize(
    ("accessed", "weight"),
    [
        ("2026-01-30T00:00:00Z", 0.5),
        ("2026-02-28T23:59:00Z", exp(-log(2) / 720 / 60)),
        ("2026-03-01T00:00:00.000000001Z", 1.0),
        ("2500-01-01T00:00:00Z", 1.0),  # centuries ahead
        ("9999-12-31T00:00:00Z", 1.0),
    ],
)
def test_decay_reads_the_access_time_and_a_time_in_the_future_takes_nothing(
    accessed: str, weight: float, store: MemoryStore, fact: MakeFact
) -> None:
    store.import_facts([fact("f1", "", at="2020-01-01T00:00:00Z", accessed_at=parse_instant(accessed))])
    store.consolidate("ann")
    assert store.get("ann", "f1").weight == pytest.approx(weight, rel=1e-15)


def test_a_fact_without_an_access_time_has_been_idle_for_ever(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts([fact("f1", "", accessed_at=ZERO_TIME)])
    assert store.consolidate("ann").pruned == ["f1"]


def test_decay_does_not_compound_over_many_cycles(store: MemoryStore, clock: ManualClock) -> None:
    store.put("ann", "note")
    for _ in range(72):
        clock.advance(hours=10)
        store.consolidate("ann")
    assert store.list_facts()[0].weight == pytest.approx(0.5, rel=1e-15)


def test_an_access_stops_decay_and_never_raises_a_weight(store: MemoryStore, clock: ManualClock) -> None:
    store.put("ann", "note")
    clock.advance(hours=720)
    store.consolidate("ann")
    store.recall("ann", "note")
    clock.advance(hours=360)
    store.consolidate("ann")
    assert store.list_facts()[0].weight == 0.5
    clock.advance(hours=720)
    store.consolidate("ann")
    assert store.list_facts()[0].weight == pytest.approx(2**-1.5, rel=1e-15)


def test_a_cycle_is_one_agents_and_an_unknown_agents_does_nothing(store: MemoryStore, clock: ManualClock) -> None:
    store.put("ann", "note")
    store.put("bob", "note")
    clock.advance(hours=720)
    assert store.consolidate("ann").decayed == 1
    assert [fact.weight for fact in store.list_facts("bob")] == [1.0]
    nobody = store.consolidate("nobody")
    assert (nobody.decayed, nobody.pruned, nobody.faults) == (0, [], [])
    assert store.events("nobody") == []


@pytest.mark.parametrize("half_life", [-1.0, nan, -inf])
def test_a_half_life_is_0_or_more(half_life: float) -> None:
    with pytest.raises(ValueError, match="half_life_hours is"):
        MemoryStore(half_life_hours=half_life)


def test_an_endless_half_life_never_decays(open_store: OpenStore, clock: ManualClock) -> None:
    store = open_store(half_life_hours=inf)
    store.put("ann", "note")
    clock.advance(hours=1e6)
    assert store.consolidate("ann").decayed == 0
    assert store.list_facts()[0].weight == 1.0


# Pruning


def test_pruning_deletes_unpinned_facts_below_the_floor_live_or_retired(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts(
        [
            fact("f1", "live", weight=0.0099999),
            fact("f2", "retired", weight=0.0, superseded_by="agent"),
            fact("f3", "pinned", weight=0.0, pinned=True),
            fact("f4", "at the floor", weight=0.01),
            fact("f5", "bob's", weight=0.0, agent_id="bob"),
        ]
    )
    assert sorted(store.consolidate("ann").pruned) == ["f1", "f2"]
    assert sorted(f.id for f in store.list_facts()) == ["f3", "f4", "f5"]


def test_pinned_and_then_retired_is_kept_until_unpinned(store: MemoryStore, clock: ManualClock) -> None:
    fact = store.put("ann", "note", pinned=True)
    store.retire("ann", [fact.id])
    clock.advance(hours=10 * 720)
    assert store.consolidate("ann").pruned == []
    store.reflect("unpin", "ann", target="note")
    assert store.consolidate("ann").pruned == [fact.id]


def test_nothing_but_pruning_deletes(open_store: OpenStore, summarizer: Fake, detector: Fake) -> None:
    model = summarizer(lambda facts: Summary("both", [fact.id for fact in facts]))
    finder = detector(lambda facts: [Contradiction(facts[-1].id, facts[0].id, 1.0)])
    store = open_store(consolidate_threshold=1, summarizer=model, detector=finder, detect=True)
    ids = {store.put("ann", f"{n}").id for n in range(6)}
    store.reflect("update", "ann", target="5", text="five")
    store.reflect("forget", "ann", target="4")
    store.consolidate("ann")
    assert ids <= {fact.id for fact in store.list_facts()}


def test_below_the_threshold_maybe_consolidate_writes_nothing(store: MemoryStore, clock: ManualClock) -> None:
    store.put("ann", "note")
    clock.advance(hours=720)
    events = store.events()
    cycle = store.maybe_consolidate("ann")
    assert (cycle.ran, cycle.decayed) == (False, 0)
    assert (store.events(), store.list_facts()[0].weight) == (events, 1.0)


def test_the_default_threshold_is_20(store: MemoryStore) -> None:
    for n in range(19):
        store.put("ann", f"{n}")
    assert not store.maybe_consolidate("ann").ran
    store.put("ann", "19")
    assert store.maybe_consolidate("ann").ran


# Summaries


def test_the_batch_is_the_weakest_half_rounded_down_equals_oldest_first(fact: MakeFact) -> None:
    facts = [
        fact("f5", "", weight=0.9),
        fact("f2", "", weight=0.5, at="2026-01-02T00:00:00Z"),
        fact("f4", "", weight=0.5, at="2026-01-01T00:00:00Z"),
        fact("f3", "", weight=0.5, at="2026-01-01T00:00:00Z"),
        fact("f1", "", weight=1.0),
    ]
    assert [f.id for f in weakest_half(facts)] == ["f3", "f4"]
    assert [f.id for f in weakest_half(facts[:4])] == ["f3", "f4"]
    assert weakest_half(facts[:1]) == []


def test_a_summary_is_a_new_live_fact_and_what_it_consumed_points_to_it(
    open_store: OpenStore, summarizer: Fake, written_down: Fake, clock: ManualClock
) -> None:
    embedder = written_down({"one": [1, 0], "two": [1, 0], "three": [1, 0], "four": [1, 0], " one and two ": [0, 1]})
    model = summarizer(lambda facts: Summary(" one and two ", [fact.id for fact in facts]))
    store = open_store(consolidate_threshold=3, summarizer=model, embedder=embedder)
    for text in ("one", "two", "three", "four"):
        store.put("ann", text, confidence="verified")
    clock.advance(hours=720)
    cycle = store.consolidate("ann")
    assert (cycle.summarized, cycle.faults) == (2, [])
    (summary,) = [fact for fact in store.list_facts() if fact.text == " one and two "]
    assert (summary.live, summary.pinned, summary.confidence, summary.weight) == (True, False, "", 1.0)
    assert list(summary.embedding or []) == [0.0, 1.0]
    assert {fact.text: (fact.superseded_by, fact.weight) for fact in store.list_facts() if fact != summary} == {
        "one": (summary.id, 0.5),  # it keeps its weight
        "two": (summary.id, 0.5),
        "three": ("", 0.5),
        "four": ("", 0.5),
    }


def test_facts_outside_the_batch_are_not_consumed(open_store: OpenStore, summarizer: Fake) -> None:
    ids = list[str]()
    store = open_store(consolidate_threshold=1, summarizer=summarizer(lambda _: Summary("all", ids)))
    ids += [store.put("ann", f"{n}").id for n in range(4)]
    assert store.consolidate("ann").summarized == 2
    assert texts(store.list_facts("ann", state="retired")) == ["0", "1"]


def test_a_single_fact_is_not_worth_a_summary(open_store: OpenStore, summarizer: Fake) -> None:
    model = summarizer(Summary("one", []))
    store = open_store(consolidate_threshold=0, summarizer=model)
    store.put("ann", "one")
    assert store.consolidate("ann").faults == []
    assert model.shown == []


def test_the_summarizer_sees_weights_after_decay(
    open_store: OpenStore, summarizer: Fake, clock: ManualClock, fact: MakeFact
) -> None:
    model = summarizer(Summary("", []))
    store = open_store(consolidate_threshold=1, summarizer=model)
    store.import_facts([fact("f1", "idle"), fact("f2", "weak", weight=0.6, accessed_at=NOW + 720 * HOUR)])
    clock.advance(hours=720)
    store.consolidate("ann")
    assert [[(f.id, f.weight) for f in batch] for batch in model.shown] == [[("f1", 0.5)]]


@pytest.mark.parametrize("meanwhile", ["retired", "replaced", "pinned", "gone"])
def test_a_fact_that_changed_while_the_model_was_thinking_is_not_consumed(
    meanwhile: str, open_store: OpenStore, summarizer: Fake
) -> None:
    def thinking(facts: list[Fact]) -> Summary:
        if meanwhile == "retired":
            store.retire("ann", [facts[0].id])
        elif meanwhile == "replaced":
            store.reflect("update", "ann", target="one", text="uno")
        elif meanwhile == "pinned":
            store.reflect("pin", "ann", target="one")
        else:
            store._journal.delete("ann", [facts[0].id])  # as another process's pruning would
        return Summary("one and two", [fact.id for fact in facts])

    store = open_store(consolidate_threshold=3, summarizer=summarizer(thinking))
    first, *_ = [store.put("ann", text) for text in ("one", "two", "three", "four")]
    assert store.consolidate("ann").summarized == 1
    (summary,) = [fact for fact in store.list_facts() if fact.text == "one and two"]
    assert store.replaced_by("ann", summary.id) == [fact.id for fact in store.list_facts() if fact.text == "two"]
    assert first.id not in store.replaced_by("ann", summary.id)


def test_when_all_changed_meanwhile_the_summary_is_discarded(open_store: OpenStore, summarizer: Fake) -> None:
    def thinking(facts: list[Fact]) -> Summary:
        store.retire("ann", [fact.id for fact in facts])
        return Summary("one and two", [fact.id for fact in facts])

    store = open_store(consolidate_threshold=3, summarizer=summarizer(thinking))
    for text in ("one", "two", "three", "four"):
        store.put("ann", text)
    cycle = store.consolidate("ann")
    assert (cycle.summarized, len(cycle.faults)) == (0, 1)
    assert "one and two" not in texts(store.list_facts())


@pytest.mark.parametrize(
    ("proposal", "fault"),
    [
        (RuntimeError("quota"), "summarize: RuntimeError: quota"),
        (Summary("", ["x"]), "summarize: InvalidProposal: a summary needs a text"),
        (lambda _: None, "summarize: AttributeError"),
        (lambda _: Summary("text", [{"id": "unhashable"}]), "summarize: TypeError"),
        (lambda _: Summary("text", 7), "summarize: TypeError"),
    ],
    ids=["raises", "blank", "no summary", "no IDs", "no list"],
)
def test_a_fault_of_the_model_is_reported_and_the_cycle_completes(
    proposal: Any, fault: str, open_store: OpenStore, summarizer: Fake, fact: MakeFact, clock: ManualClock
) -> None:
    store = open_store(consolidate_threshold=1, summarizer=summarizer(proposal))
    store.import_facts([fact("f1", "below the floor", weight=0.001), fact("f2", "two"), fact("f3", "three")])
    clock.advance(hours=720)
    cycle = store.consolidate("ann")
    assert len(cycle.faults) == 1
    assert cycle.faults[0].startswith(fault)
    assert (cycle.decayed, cycle.summarized, cycle.pruned) == (2, 0, ["f1"])
    assert [event.detail for event in store.events() if event.kind == "fault"] == [{"fault": cycle.faults[0]}]
    assert store.list_facts(state="retired") == []


def test_a_failing_embedder_of_the_summary_is_no_fault(
    open_store: OpenStore, summarizer: Fake, written_down: Fake
) -> None:
    model = summarizer(lambda facts: Summary("both", [fact.id for fact in facts]))
    store = open_store(consolidate_threshold=1, summarizer=model, embedder=written_down({}))
    store.put("ann", "one")
    store.put("ann", "two")
    assert store.consolidate("ann").summarized == 1


def test_the_original_shows_retired_facts_to_the_summarizer_and_points_them_anew(
    open_store: OpenStore, summarizer: Fake, fact: MakeFact
) -> None:
    """SPEC 10.1 no. 4, kept as a variant so that the harness can show it; the reference never does."""
    shown: dict[str, list[str]] = {}
    markers: dict[str, str] = {}
    for variant in ("reference", "v0.19-scan"):
        model = summarizer(lambda facts: Summary("summary", [fact.id for fact in facts]))
        store = open_store(variant=variant, consolidate_threshold=1, summarizer=model)
        store.import_facts(
            [
                fact("f1", "old", weight=0.1, superseded_by="f2"),
                fact("f2", "new", weight=0.9),
                fact("f3", "other", weight=0.8),
                fact("f4", "more"),
            ]
        )
        store.consolidate("ann")
        shown[variant] = [f.id for f in model.shown[0]]
        markers[variant] = store.get("ann", store.get("ann", "f1").superseded_by).text
    assert shown == {"reference": ["f3"], "v0.19-scan": ["f1", "f3"]}
    assert markers == {"reference": "new", "v0.19-scan": "summary"}


# Detection


def pair(older: str, newer: str, score: float = 0.9) -> Contradiction:
    return Contradiction(older, newer, score)


@pytest.mark.parametrize(
    ("proposals", "retired"),
    [
        ([], {}),
        ([pair("f1", "f2")], {"f1": "f2"}),
        ([pair("f2", "f1")], {}),  # the newer one is not retired for the older
        ([pair("f1", "f1")], {}),
        ([pair("f1", "unknown"), pair("unknown", "f3")], {}),
        ([pair("f1", "f2", 0.5), pair("f1", "f3", 0.9)], {"f1": "f2"}),  # the first that holds
        ([pair("f1", "unknown"), pair("f1", "f3")], {"f1": "f3"}),
        ([pair("f1", "f2"), pair("f2", "f3")], {"f1": "f2", "f2": "f3"}),
        ([pair("f3", "f4")], {"f3": "f4"}),  # of one instant: by ID
        ([pair("f4", "f3")], {}),
        ([pair("pinned", "f2")], {}),
        ([pair("f1", "pinned new")], {"f1": "pinned new"}),
    ],
)
def test_only_an_older_unpinned_fact_yields_to_a_newer_one_that_was_shown(
    proposals: list[Contradiction], retired: dict[str, str], fact: MakeFact
) -> None:
    facts = [
        fact("f1", "", at="2026-01-01T00:00:00Z"),
        fact("f2", "", at="2026-01-02T00:00:00Z"),
        fact("f3", "", at="2026-01-03T00:00:00Z"),
        fact("f4", "", at="2026-01-03T00:00:00Z"),
        fact("pinned", "", at="2026-01-01T00:00:00Z", pinned=True),
        fact("pinned new", "", at="2026-01-09T00:00:00Z", pinned=True),
    ]
    assert applicable(proposals, facts) == retired


@pytest.fixture
def detecting(open_store: OpenStore, summarizer: Fake, detector: Fake, fact: MakeFact) -> Callable[..., Any]:
    """A store of three facts, f1 the oldest, f4 retired, with the detector given."""

    def detecting(proposals: Any) -> tuple[MemoryStore, Any]:
        model = detector(proposals)
        store = open_store(detector=model, detect=True, summarizer=summarizer(Summary("", [])))
        store.import_facts(fact(f"f{n}", f"port is {n}", at=f"2026-01-0{n}T00:00:00Z") for n in (1, 2, 3))
        store.import_facts([fact("f4", "retired", superseded_by="f1")])
        return store, model

    return detecting


def test_a_detected_contradiction_retires_the_older_fact_with_a_pointer_and_tells_its_score(
    detecting: Callable[..., Any],
) -> None:
    """The event names the pair that was applied, not one that was refused before it."""
    store, model = detecting(lambda _: [pair("f1", "f4", 0.99), pair("f1", "f3", 0.75), pair("f3", "f1")])
    assert store.consolidate("ann").contradicted == 1
    assert [[f.id for f in batch] for batch in model.shown] == [["f3", "f2", "f1"]]
    assert {f.id: f.superseded_by for f in store.list_facts()} == {"f1": "f3", "f2": "", "f3": "", "f4": "f1"}
    propose, retire = [event for event in store.events() if event.cause == "consolidate:detector"]
    assert (propose.kind, propose.fact_id, dict(propose.detail)) == ("propose", "f1", {"newer": "f3", "score": 0.75})
    assert (retire.kind, retire.fact_id, dict(retire.detail)) == ("retire", "f1", {"by": "f3"})


def test_a_chain_of_contradictions_stays_followable(detecting: Callable[..., Any]) -> None:
    store, _ = detecting(lambda _: [pair("f1", "f2"), pair("f2", "f3")])
    assert store.consolidate("ann").contradicted == 2
    assert store.replaced_by("ann", "f3") == ["f2", "f1", "f4"]


@pytest.mark.parametrize("meanwhile", ["older retired", "newer retired", "older pinned"])
def test_a_pair_that_changed_while_the_detector_was_looking_is_left_alone(
    meanwhile: str, detecting: Callable[..., Any]
) -> None:
    def looking(facts: list[Fact]) -> list[Contradiction]:
        if meanwhile == "older pinned":
            store.reflect("pin", "ann", target="port is 1")
        else:
            store.reflect("forget", "ann", target="port is 1" if meanwhile == "older retired" else "port is 2")
        return [pair("f1", "f2")]

    store, _ = detecting(looking)
    assert store.consolidate("ann").contradicted == 0
    assert store.get("ann", "f1").superseded_by == ("agent" if meanwhile == "older retired" else "")
    assert [event for event in store.events() if event.kind == "propose"] == []


def test_a_fault_of_the_detector_is_reported_and_changes_nothing(detecting: Callable[..., Any]) -> None:
    for proposals, fault in ((OSError("offline"), "detect: OSError: offline"), (lambda _: None, "detect: TypeError")):
        store, _ = detecting(proposals)
        cycle = store.consolidate("ann")
        assert [text[: len(fault)] for text in cycle.faults] == [fault]
        assert cycle.contradicted == 0
        assert [f.id for f in store.list_facts(state="live")] == ["f3", "f2", "f1"]


def test_both_models_may_fail_in_one_cycle(open_store: OpenStore, summarizer: Fake, detector: Fake) -> None:
    store = open_store(
        consolidate_threshold=1,
        summarizer=summarizer(RuntimeError("first")),
        detector=detector(RuntimeError("second")),
        detect=True,
    )
    store.put("ann", "one")
    store.put("ann", "two")
    assert store.consolidate("ann").faults == ["summarize: RuntimeError: first", "detect: RuntimeError: second"]


def test_a_read_only_store_does_not_consolidate(open_store: OpenStore, tmp_path: Any) -> None:
    with open_store(tmp_path / "store.db") as store:
        store.put("ann", "note")
    store = open_store(tmp_path / "store.db", read_only=True, consolidate_threshold=1)
    for consolidate in (store.consolidate, store.maybe_consolidate):
        with pytest.raises(ReadOnlyStore):
            consolidate("ann")
