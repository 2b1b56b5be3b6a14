"""Every retirement policy, strategy and signal keeps its contract, and each policy does what its name says."""

from array import array
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tombstore import Fact, FactNotFound, ManualClock, MemoryStore, Policy, Strategy, plugins
from tombstore.fusion import reciprocal_rank
from tombstore.policies import Retire, drop_retired, live, stored

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]

POLICIES = plugins.names("tombstore.policies")
STRATEGIES = plugins.names("tombstore.strategies")
SIGNALS = plugins.names("tombstore.signals")

OLD, NEW = "billing by Lemon", "billing by Polar"

# After OLD was replaced by NEW: what is recalled, what is stored; and both again after a consolidation cycle.
AFTER_AN_UPDATE: dict[str, tuple[set[str], set[str], set[str], set[str]]] = {
    "tombstone": ({NEW}, {OLD, NEW}, {NEW}, {OLD, NEW}),
    "tombstone_window": ({NEW}, {OLD, NEW}, {NEW}, {OLD, NEW}),
    "postfilter": ({NEW}, {OLD, NEW}, {NEW}, {OLD, NEW}),
    "weight_zero": ({OLD, NEW}, {OLD, NEW}, {NEW}, {NEW}),
    "append_only": ({OLD, NEW}, {OLD, NEW}, {OLD, NEW}, {OLD, NEW}),
    "bitemporal": ({OLD, NEW}, {OLD, NEW}, {OLD, NEW}, {OLD, NEW}),
    "demote": ({OLD, NEW}, {OLD, NEW}, {OLD, NEW}, {OLD, NEW}),
    "weight_aware": ({NEW}, {OLD, NEW}, {NEW}, {NEW}),
    "delete": ({NEW}, {NEW}, {NEW}, {NEW}),
    "overwrite": ({NEW}, {NEW}, {NEW}, {NEW}),
    "separate_bucket": ({NEW}, {NEW}, {NEW}, {NEW}),
}


def texts(facts: list[Fact]) -> set[str]:
    return {fact.text for fact in facts}


def embed(texts: Any) -> Any:
    return np.array([[len(text) % 5, text.count("l"), 1] for text in texts], dtype=np.float32)


# Policies


def test_every_policy_is_in_the_table() -> None:
    assert sorted(AFTER_AN_UPDATE) == POLICIES


@pytest.mark.parametrize("policy", POLICIES)
def test_what_comes_back_after_an_update(policy: str, open_store: OpenStore) -> None:
    store = open_store(policy=policy, embedder=embed)
    store.put("ann", OLD)
    change = store.reflect("update", "ann", target=OLD, text=NEW)
    assert change.added is not None
    at_once = texts(store.recall("ann", "billing")), texts(store.list_facts("ann"))
    assert store.consolidate("ann").faults == []
    later = texts(store.recall("ann", "billing")), texts(store.list_facts("ann"))
    assert (*at_once, *later) == AFTER_AN_UPDATE[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_forgotten_fact_comes_back_under_the_same_policies(policy: str, open_store: OpenStore) -> None:
    store = open_store(policy=policy)
    store.put("ann", OLD)
    store.put("ann", "deploy on Fridays")
    store.reflect("forget", "ann", target=OLD)
    comes_back = OLD in AFTER_AN_UPDATE[policy][0]
    assert texts(store.recall("ann", "billing")) == {"deploy on Fridays"} | ({OLD} if comes_back else set())


@pytest.mark.parametrize("policy", POLICIES)
def test_a_correction_touches_nothing_but_its_target(policy: str, open_store: OpenStore) -> None:
    store = open_store(policy=policy)
    others = [store.put("ann", "deploy on Fridays"), store.put("bob", OLD)]
    store.put("ann", OLD)
    added = store.reflect("update", "ann", target=OLD, text=NEW).added
    assert [store.get(fact.agent_id, fact.id) for fact in others] == others
    assert added is not None
    assert store.get("ann", added.id) == added
    with pytest.raises(FactNotFound):
        store.reflect("update", "ann", target="billing by nobody", text=NEW)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_is_made_without_arguments_and_takes_no_others(policy: str) -> None:
    assert isinstance(plugins.make("tombstore.policies", policy), Policy)
    with pytest.raises(TypeError, match="no_such_option"):
        plugins.make("tombstore.policies", policy, no_such_option=1)


def test_a_tombstone_frees_its_slot_and_a_filter_after_the_cut_does_not(
    open_store: OpenStore, clock: ManualClock
) -> None:
    """The retired facts are the newest and match best."""
    found: dict[str, list[str]] = {}
    for policy in ("tombstone", "postfilter"):
        store = open_store(policy=policy)
        store.put("ann", "billing by hand")
        store.put("ann", "deploy on Fridays")
        clock.advance(hours=1)
        for text in ("billing billing one", "billing billing two"):
            store.retire("ann", [store.put("ann", text).id])
        found[policy] = [fact.text for fact in store.recall("ann", "billing", 2)]
    assert found == {"tombstone": ["billing by hand", "deploy on Fridays"], "postfilter": []}


def test_under_a_filter_retired_facts_count_in_the_statistics(open_store: OpenStore) -> None:
    """Two of two live facts hold the word: ln(3/3) = 0. With a retired one that doesn't, it is ln(4/3)."""
    scores: dict[str, float] = {}
    for policy in ("tombstone", "postfilter"):
        store = open_store(policy=policy)
        first = store.put("ann", "billing one")
        store.put("ann", "billing two")
        store.retire("ann", [store.put("ann", "deploy").id])
        ranking = store.rank("ann", "billing")
        scores[policy] = ranking.score("keyword", ranking.ids.index(first.id))
    assert scores == {"tombstone": 0.0, "postfilter": pytest.approx(np.log(4 / 3) / 3)}


def test_a_zeroed_weight_marks_nothing_and_is_pruned_by_the_next_cycle(open_store: OpenStore) -> None:
    store = open_store(policy="weight_zero")
    fact = store.put("ann", OLD)
    store.reflect("forget", "ann", target=OLD)
    assert (store.get("ann", fact.id).weight, store.get("ann", fact.id).live) == (0.0, True)
    assert store.consolidate("ann").pruned == [fact.id]


def test_append_only_reports_success_and_writes_only_the_new_fact(open_store: OpenStore) -> None:
    store = open_store(policy="append_only")
    old = store.put("ann", OLD)
    change = store.reflect("update", "ann", target=OLD, text=NEW)
    assert change.changed == (old,)
    assert store.get("ann", old.id) == old
    assert [event.kind for event in store.events()] == ["put", "put"]


def test_a_demoted_fact_keeps_a_share_of_its_score_and_its_part_in_the_statistics(
    open_store: OpenStore, fact: MakeFact
) -> None:
    """The retired f1 is the better match, 1/61 + .5/62 against 1/62 + .5/61 for f2: halved, it comes after it."""
    found: dict[float, Any] = {}
    for factor in (1.0, 0.5, 0.25):
        store = open_store(policy=plugins.make("tombstore.policies", "demote", factor=factor))
        store.import_facts(
            [
                fact("f1", "billing billing", at="2026-02-01T00:00:00Z", superseded_by="f2"),
                fact("f2", "billing by hand", at="2026-02-02T00:00:00Z"),
                fact("f3", "deploy", at="2026-01-01T00:00:00Z"),
            ]
        )
        ranking = store.rank("ann", "billing")
        found[factor] = dict(zip(ranking.ids, ranking.fused.tolist(), strict=True))
    first, second, third = 1 / 61 + 0.5 / 62, 1 / 62 + 0.5 / 61, 0.5 / 63
    assert found[1.0] == {"f2": second, "f1": first, "f3": third}
    assert found[0.5] == {"f2": second, "f1": first / 2, "f3": third}
    assert found[0.25] == {"f2": second, "f3": third, "f1": first / 4}
    assert list(found[0.25]) == ["f2", "f3", "f1"]


def test_a_demoted_fact_with_a_negative_score_goes_down_too(open_store: OpenStore, fact: MakeFact) -> None:
    """In a store where every fact holds the word, BM25 is negative: twice as negative, not half."""
    store = open_store(policy="demote", strategy="bm25")
    store.import_facts([fact("f1", "billing", superseded_by="f2"), fact("f2", "billing")])
    ranking = store.rank("ann", "billing")
    assert ranking.ids == ["f2", "f1"]
    assert ranking.fused[0] < 0
    assert ranking.fused[1] == 2 * ranking.fused[0]


def test_weight_aware_recall_lets_a_live_fact_fade(open_store: OpenStore, fact: MakeFact) -> None:
    """ADR-007's reason against it: the best match, unread for two half-lives, loses to whatever was read."""
    store = open_store(policy="weight_aware")
    store.import_facts(
        [fact("f1", "billing by Polar", weight=0.25), fact("f2", "deploy"), fact("f3", "gone", weight=0.0)]
    )
    ranking = store.rank("ann", "billing")
    assert dict(zip(ranking.ids, ranking.fused.tolist(), strict=True)) == {
        "f2": 0.5 / 62,
        "f1": (1 / 61 + 0.5 / 61) * 0.25,
    }
    assert ranking.ids == ["f2", "f1"]


def test_overwriting_leaves_no_event_that_tells_the_old_text(open_store: OpenStore) -> None:
    told: dict[str, bool] = {}
    for policy in ("overwrite", "delete"):
        store = open_store(policy=policy)
        old = store.put("ann", OLD)
        store.reflect("update", "ann", target=OLD, text=NEW)
        told[policy] = any(OLD in str(event.detail) for event in store.events())
        assert [event.kind for event in store.audit_trail(old.id)] == ["put", "delete"]
    assert told == {"overwrite": False, "delete": True}


def test_a_separate_bucket_holds_the_marked_fact_under_its_own_name(open_store: OpenStore) -> None:
    store = open_store(policy="separate_bucket")
    old = store.put("ann", OLD)
    added = store.reflect("update", "ann", target=OLD, text=NEW).added
    assert added is not None
    assert store.agents() == ["ann", "ann/retired"]
    assert store.list_facts("ann/retired") == [replace(old, agent_id="ann/retired", superseded_by=added.id)]
    assert store.recall("ann/retired", "billing") == []
    assert [(event.agent_id, event.kind) for event in store.audit_trail(old.id)] == [
        ("ann", "put"),
        ("ann", "delete"),
        ("ann/retired", "put"),
    ]


def test_a_policy_of_ones_own_is_five_decisions(open_store: OpenStore) -> None:
    """Here: retiring is only announced, the oldest scores best, and recall gives the last fact of the cut only."""
    retired = list[str]()

    def retire(journal: Any, facts: Any, by: str, at: int, cause: str) -> None:
        retired.extend(f"{fact.text}: {by}, {cause}" for fact in facts)

    own: Retire = retire
    store = open_store(
        policy=Policy(
            retire=own,
            eligible=stored,
            window=live,
            rescore=lambda index, _: -index.columns.order.astype(np.float64),
            after_cut=lambda _, rows: rows[-1:],
        )
    )
    for text in ("one", "two", "three"):
        store.put("ann", text)
    store.reflect("forget", "ann", target="one")
    assert retired == ["one: agent, reflect:forget"]
    assert store.rank("ann", "three").fused.tolist() == [0, -1, -2]
    assert [fact.text for fact in store.recall("ann", "three", 2)] == ["two"]


WORDS = st.sampled_from(["billing", "polar", "lemon", "deploy", "team", "the"])
FACTS = st.lists(st.tuples(st.lists(WORDS, max_size=4).map(" ".join), st.booleans(), st.integers(0, 3)), max_size=12)


def _reads_markers(name: str) -> bool:
    policy: Policy = plugins.make("tombstore.policies", name)
    return policy.eligible is live or policy.after_cut is drop_retired


READ_MARKERS = [name for name in POLICIES if _reads_markers(name)]


def test_these_policies_read_the_marker() -> None:
    assert READ_MARKERS == ["delete", "overwrite", "postfilter", "separate_bucket", "tombstone", "tombstone_window"]


@pytest.mark.parametrize("policy", READ_MARKERS)
@given(st.sampled_from(STRATEGIES), FACTS, st.lists(WORDS, max_size=3).map(" ".join), st.integers(0, 9))
def test_no_retired_fact_is_ever_returned(
    policy: str, strategy: str, facts: list[tuple[str, bool, int]], query: str, k: int
) -> None:
    with MemoryStore(policy=policy, strategy=strategy, embedder=embed, clock=ManualClock(10**18)) as store:
        store.import_facts(
            Fact(id=f"f{n}", agent_id="ann", text=text, created_at=hour, accessed_at=hour, superseded_by="agent" * gone)
            for n, (text, gone, hour) in enumerate(facts)
        )
        found = store.recall("ann", query, k)
    assert all(fact.live for fact in found)
    assert len(found) <= k
    assert len(texts(found)) == len(found)


# Strategies


@pytest.fixture
def three(fact: MakeFact) -> list[Fact]:
    return [
        fact("f1", "billing by Polar", at="2026-02-01T00:00:00Z"),
        fact("f2", "deploy on Fridays", at="2026-02-02T00:00:00Z"),
        fact("f3", "team offsite in Porto", at="2026-02-03T00:00:00Z"),
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_but_recency_puts_the_only_match_first_and_all_explain_themselves(
    strategy: str, open_store: OpenStore, written_down: Any, three: list[Fact]
) -> None:
    vectors = {"f1": [1, 0], "f2": [0, 1], "f3": [-1, 0]}
    store = open_store(strategy=strategy, embedder=written_down({"billing provider": [1, 0]}))
    store.import_facts(replace(fact, embedding=array("f", vectors[fact.id])) for fact in three)
    first = next(one for one in store.recall_with_receipts("ann", "billing provider") if one.fact.id == "f1")
    assert strategy == "recency" or store.rank("ann", "billing provider").ids[0] == "f1"
    made: Strategy = plugins.make("tombstore.strategies", strategy)
    assert list(first.ranks) == list(made.signals) == list(made.weights)
    assert all(first.ranks[name] == (3 if name == "recency" else 1) for name in made.signals)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_a_match_age_decides_or_nobody_is_returned(
    strategy: str, open_store: OpenStore, three: list[Fact]
) -> None:
    """The newest where recency takes part; a fusion without it ties all facts, which puts the oldest first."""
    store = open_store(strategy=strategy)
    store.import_facts(three)
    found = [fact.id for fact in store.recall("ann", "quite unrelated", 2)]
    assert found == {"vector": [], "keyword": [], "bm25": [], "hybrid_without_recency": ["f1", "f2"]}.get(
        strategy, ["f3", "f2"]
    )


def test_the_default_strategy_is_the_hybrid_one_with_weights_1_1_and_a_half(
    open_store: OpenStore, three: list[Fact]
) -> None:
    """By name, by default, and made as a plug-in, the same scores come out."""
    scores: list[Any] = []
    for options in ({}, {"strategy": "hybrid"}, {"strategy": plugins.make("tombstore.strategies", "hybrid")}):
        store = open_store(**options)
        store.import_facts(three)
        ranking = store.rank("ann", "billing")
        scores.append(dict(zip(ranking.ids, ranking.fused.tolist(), strict=True)))
    assert scores == [{"f1": 1 / 61 + 0.5 / 63, "f3": 0.5 / 61, "f2": 0.5 / 62}] * 3


def test_the_weighted_strategy_sums_scaled_scores(open_store: OpenStore, three: list[Fact]) -> None:
    """The only keyword match scales to 1; recency, two days apart, to 0, 1/2 and 1, at half weight."""
    store = open_store(strategy="weighted")
    store.import_facts(three)
    ranking = store.rank("ann", "billing")
    assert dict(zip(ranking.ids, ranking.fused.tolist(), strict=True)) == {"f1": 1.0, "f3": 0.5, "f2": 0.25}


# Signals


@pytest.mark.parametrize("signal", SIGNALS)
@given(FACTS, st.lists(WORDS, max_size=3).map(" ".join))
def test_every_signal_ranks_eligible_rows_once_with_ranks_from_1_and_falling_scores(
    signal: str, facts: list[tuple[str, bool, int]], query: str
) -> None:
    strategy = Strategy({"it": plugins.make("tombstore.signals", signal)}, {"it": 1.0}, reciprocal_rank)
    with MemoryStore(strategy=strategy, embedder=embed, clock=ManualClock(10**18)) as store:
        for text, gone, _ in facts:
            added = store.put("ann", text)
            if gone:
                store.retire("ann", [added.id])
        ranking = store.rank("ann", query, 20)
        alive = {fact.id for fact in store.list_facts(state="live")}
    if not alive:
        assert ranking.ids == []
        return
    ranked = ranking.signals["it"]
    ids = [ranking.index.ids[row] for row in ranked.rows]
    assert set(ids) <= alive
    assert len(set(ids)) == len(ids)
    assert ranked.ranks.tolist() == list(range(1, len(ids) + 1))
    assert ranked.scores.tolist() == sorted(ranked.scores.tolist(), reverse=True)
    assert np.isfinite(ranked.scores).all()
