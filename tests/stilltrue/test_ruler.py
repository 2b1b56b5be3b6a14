"""The ruler is tested first: the last section of METRICS.md, on the suite that comes along."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tombstore
from stilltrue.records import Family
from stilltrue.results import Results
from stilltrue.run import scenario_answers
from stilltrue.scenarios import Suite
from stilltrue.systems.tombstore import POLICIES
from stilltrue.systems.tombstore import make as reference

LEXICAL = ("keyword", "bm25")


def figures(
    results: Results, metric: str, *, system: str = "tombstore", policy: str = "-"
) -> dict[tuple[str, str], float]:
    """By strategy and family, ``*`` for all families; what nothing could be scored for is left out."""
    return {
        (row.strategy, row.family): row.value
        for row in results.rows
        if (row.metric, row.system, row.policy) == (metric, system, policy) and row.value is not None
    }


def test_the_oracle_is_perfect_on_every_family(lexical: Results, core: Suite) -> None:
    for metric, good in (("stale_leak", 0), ("stale_share", 0), ("displaced", 0), ("shrink", 0), ("live_hit", 1)):
        found = figures(lexical, metric, system="oracle")
        assert set(found.values()) == {good}, metric
        assert len(found) == len(core.families) + 1


def test_the_null_system_is_empty_and_at_the_floor(lexical: Results) -> None:
    for metric, floor in (("empty_results", 1), ("live_hit", 0), ("stale_leak", 0)):
        assert set(figures(lexical, metric, system="null").values()) == {floor}, metric


def test_a_memory_that_ignores_corrections_leaks_on_every_family_with_every_strategy(
    lexical: Results, core: Suite
) -> None:
    found = figures(lexical, "stale_leak", policy="append_only")
    assert set(found) == {
        (strategy, name) for strategy in LEXICAL for name in ("*", *(f.family for f in core.families))
    }
    assert min(found.values()) > 1 / 2


@pytest.mark.parametrize("policy", ["tombstone", "tombstone_window", "delete", "postfilter"])
def test_a_memory_without_the_retired_facts_or_with_a_filter_never_leaks(lexical: Results, policy: str) -> None:
    for metric in ("stale_leak", "stale_leak_relevant", "stale_share"):
        assert set(figures(lexical, metric, policy=policy).values()) == {0.0}


def test_filtering_after_the_cut_shrinks_and_displaces_with_every_strategy(lexical: Results, core: Suite) -> None:
    shrink, displaced = (figures(lexical, metric, policy="postfilter") for metric in ("shrink", "displaced"))
    for strategy in LEXICAL:
        for family in core.families:
            assert shrink[strategy, family.family] > 0 or "shrink" not in family.reveals
            assert displaced[strategy, family.family] > 0 or "displacement" not in family.reveals


def test_filtering_after_the_cut_displaces_exactly_what_ignoring_corrections_displaces(lexical: Results) -> None:
    # Both rank all facts; what one shows of the retired ones, the other leaves empty.
    lost = {policy: displaced(lexical, policy) for policy in ("postfilter", "append_only")}
    assert lost["postfilter"] == lost["append_only"] != {}


def displaced(results: Results, policy: str) -> dict[tuple[str, str, int], list[str]]:
    return {
        (record["strategy"], record["scenario"], record["number"]): facts
        for record in results.queries
        if record["policy"] == policy
        and (facts := sorted(record["displaced_directly_facts"] + record["displaced_indirectly_facts"]))
    }


@pytest.mark.parametrize("policy", ["tombstone", "delete"])
@pytest.mark.parametrize("strategies", ["lexical", "dense"])
def test_the_reference_returns_exactly_what_it_would_without_the_retired_facts(
    request: pytest.FixtureRequest, core: Suite, strategies: str, policy: str
) -> None:
    results: Results = request.getfixturevalue(strategies)
    asked = [record for record in results.queries if record["policy"] == policy]
    assert len(asked) == 2 * core.questions
    assert [record["returned"] for record in asked] == [record["counterfactual"] for record in asked]
    assert any(record["retired"] and record["returned"] for record in asked)


def test_the_originals_vector_window_displaces_where_the_vectors_are_and_nowhere_else(
    dense: Results, lexical: Results
) -> None:
    assert {strategy for strategy, *_ in displaced(dense, "tombstone_window")} == {"vector", "hybrid"}
    assert displaced(lexical, "tombstone_window") == {}


# Weight-zeroing leaks until pruned


def leaks(made: Family, policy: str) -> list[bool]:
    asked = scenario_answers(made, made.scenarios[0], None, lambda _: reference(policy=policy, strategy="bm25"), k=5)
    return [bool(one.question.retired & {hit.fact for hit in one.returned}) for one in asked]


ASK = {"ask": {"query": "What does billing run on?", "gold": [], "forbidden": ["lemon"]}}


def corrected(**lemon: Any) -> list[dict[str, Any]]:
    return [
        {"remember": {"id": "lemon", "text": "Billing runs on Lemon Squeezy.", **lemon}},
        {"remember": {"id": "owner", "text": "Refunds are up to Ines."}},
        {"update": {"target": "lemon", "id": "polar", "text": "Billing runs on Polar now."}},
        ASK,
    ]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("weight_zero", [True, True, False]), ("append_only", [True, True, True]), ("tombstone", [False, False, False])],
)
def test_weight_zeroing_leaks_until_a_consolidation_prunes(
    family: Callable[..., Family], policy: str, expected: list[bool]
) -> None:
    below_threshold = [{"consolidate": {"if_due": True}}, ASK]  # 3 facts of the 20 that make a cycle due
    pruned = [{"consolidate": {}}, ASK]
    assert leaks(family(*corrected(), *below_threshold, *pruned), policy) == expected


def test_weight_zeroing_a_pinned_fact_leaks_for_good(family: Callable[..., Family]) -> None:
    years = [{"advance": "1000d"}, {"consolidate": {}}, ASK]
    assert leaks(family(*corrected(pinned=True), *years), "weight_zero") == [True, True]
    assert leaks(family(*corrected(pinned=True), *years), "tombstone") == [False, False]


def test_on_the_suite_weight_zeroing_leaks_everywhere_but_less_than_ignoring_corrections(lexical: Results) -> None:
    weight_zero, append_only = (
        figures(lexical, "stale_leak", policy=policy) for policy in ("weight_zero", "append_only")
    )
    assert all(0 < weight_zero[place] <= append_only[place] for place in append_only)
    assert all(weight_zero[strategy, "*"] < append_only[strategy, "*"] for strategy in LEXICAL)


# Saturation


SATURATED = """\
family: saturated
question: Is there a question that no policy can get wrong?
scenarios:
  - id: nobody-finds-it
    domain: test
    steps:
      - {at: 2026-01-05T09:00Z, remember: {id: old, text: "Lemon Squeezy handles invoices."}}
      - {remember: {id: gate, text: "The gate opens at seven."}}
      - {remember: {id: tea, text: "Tea is in the left cupboard."}}
      - {update: {target: old, id: new, text: "Polar handles invoices."}}
      - {ask: {query: "When does the gate open?", gold: [gate], forbidden: [old]}}
"""


def test_a_family_on_which_every_policy_scores_the_same_fails_validation(
    stilltrue: Callable[..., Any], write: Callable[..., Path]
) -> None:
    folder = write({"saturated.yaml": SATURATED})
    result = stilltrue("validate", folder)
    assert result.exit_code == 1
    assert "fail  ruler: saturation: every policy scores the same on saturated" in result.stdout
    assert stilltrue("validate", "--static", folder).exit_code == 0


def test_every_family_of_the_suite_distinguishes_policies(lexical: Results) -> None:
    assert {one.gate: one.verdict for one in lexical.verdicts}["ruler: saturation"] == "pass"


# Order of insertion


NOTES = ("red door", "red tea", "green door", "red door again", "blue tea", "red")


def facts_in(numbers: tuple[int, ...]) -> list[tombstore.Fact]:
    """The notes in that order, with IDs and times of their own: two at each instant, two of them retired."""
    made = [
        tombstore.Fact(
            id=f"id-{(7 * number) % 6}",
            agent_id="ann",
            text=NOTES[number],
            created_at=tombstore.parse_instant(f"2026-01-0{1 + number // 2}T00:00:00Z"),
            accessed_at=tombstore.parse_instant("2026-01-04T00:00:00Z"),
            superseded_by="agent" if number in (1, 3) else "",
        )
        for number in range(len(NOTES))
    ]
    return [made[number] for number in numbers]


def recalled(numbers: tuple[int, ...], policy: str, strategy: str, k: int) -> list[tuple[str, float]]:
    clock = tombstore.ManualClock("2026-02-01T00:00:00Z")
    with tombstore.MemoryStore(clock=clock, policy=policy, strategy=strategy) as store:
        store.import_facts(facts_in(numbers))
        return [(one.fact.id, one.fused) for one in store.recall_with_receipts("ann", "red door tea", k)]


SORTED = tuple(range(len(NOTES)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("strategy", [*LEXICAL, "hybrid", "weighted"])
@given(order=st.permutations(SORTED), k=st.integers(3, 6))
def test_the_order_of_insertion_changes_nothing(policy: str, strategy: str, order: list[int], k: int) -> None:
    assert recalled(tuple(order), policy, strategy, k) == recalled(SORTED, policy, strategy, k) != []


def test_facts_that_tie_in_everything_but_their_ids_come_in_one_order() -> None:
    found: set[tuple[str, ...]] = set()
    for order in permutations("abc"):
        with tombstore.MemoryStore(clock=tombstore.ManualClock(0)) as store:
            store.import_facts(
                tombstore.Fact(id=name, agent_id="ann", text=f"same {name}", created_at=0, accessed_at=0)
                for name in order
            )
            found.add(tuple(fact.id for fact in store.recall("ann", "same", 3)))
    assert len(found) == 1
