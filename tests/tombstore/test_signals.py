"""Each signal ranks by its formula, over live facts alone; expected scores are computed by hand."""

from array import array
from collections.abc import Callable
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tombstore import Fact, ManualClock, MemoryStore, Strategy, parse_instant
from tombstore.clock import ZERO_TIME
from tombstore.fusion import single
from tombstore.index import AgentIndex
from tombstore.signals import Signal, bm25, keyword, recency, vector, weight

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]


def alone(signal: Signal) -> Strategy:
    """A strategy whose ranking is the signal's."""
    return Strategy(signals={"it": signal}, weights={"it": 1.0}, fusion=single)


def scores(store: MemoryStore, query: str, k: int = 8) -> dict[str, float]:
    """Score by ID in the order of the signal's ranks; facts that it does not rank are missing."""
    ranking = store.rank("ann", query, k)
    by_rank = sorted(ranking.rows.tolist(), key=lambda row: ranking.rank("it", row))
    assert [ranking.rank("it", row) for row in by_rank] == list(range(1, len(by_rank) + 1))
    return {ranking.index.ids[row]: ranking.score("it", row) for row in by_rank}


@pytest.fixture
def ranked(open_store: OpenStore) -> Callable[..., dict[str, float]]:
    """``ranked(signal, facts, query)``: what the signal alone makes of the facts."""

    def ranked(signal: Signal, facts: list[Fact], query: str = "", k: int = 8, **options: Any) -> dict[str, float]:
        store = open_store(strategy=alone(signal), **options)
        store.import_facts(facts)
        return scores(store, query, k)

    return ranked


Ranked = Callable[..., dict[str, float]]


# Keyword: sum of tf * ln((N + 1) / (df + 1)) over the query's tokens, divided by (tokens of the fact + 1).


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("billing provider", {"f1": (log(4 / 3) + log(4 / 2)) / (3 + 1), "f3": 2 * log(4 / 3) / (4 + 1)}),
        ("provider", {"f1": log(4 / 2) / 4}),
        ("provider provider", {"f1": 2 * log(4 / 2) / 4}),  # repeats in the query count again
        ("Provider? The provider!", {"f1": 2 * log(4 / 2) / 4}),
        ("team", {}),  # in every live fact: ln(4/4) = 0 ranks nobody
        ("team window", {"f2": log(4 / 2) / 4}),
        ("unheard of", {}),
        ("the of and", {}),
        ("", {}),
    ],
)
def test_keyword_scores(query: str, expected: dict[str, float], ranked: Ranked, fact: MakeFact) -> None:
    facts = [
        fact("f1", "The team billing provider"),
        fact("f2", "team deploy window"),
        fact("f3", "billing team and billing invoices"),
    ]
    found = ranked(keyword.make(), facts, query)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-15)


def test_keyword_counts_neither_retired_facts_nor_aliases_nor_other_agents(ranked: Ranked, fact: MakeFact) -> None:
    facts = [
        fact("f1", "billing provider"),
        fact("f2", "deploy window"),
        fact("f3", "billing provider", superseded_by="f1"),
        fact("f4", "billing: provider", kind="alias"),
        fact("f5", "billing provider", agent_id="bob"),
    ]
    assert ranked(keyword.make(), facts, "billing") == {"f1": pytest.approx(log(3 / 2) / 3, rel=1e-15)}


def test_equal_keyword_scores_put_the_older_fact_first_and_equal_instants_go_by_id(
    ranked: Ranked, fact: MakeFact
) -> None:
    facts = [
        fact("f1", "port two", at="2026-02-03T00:00:00Z"),
        fact("f4", "port six", at="2026-02-02T00:00:00Z"),
        fact("f3", "port ten", at="2026-02-02T00:00:00Z"),
        fact("f2", "port one", at="2026-02-02T00:00:00.000000001Z"),
        fact("f9", "something else"),
    ]
    assert list(ranked(keyword.make(), facts, "port")) == ["f3", "f4", "f2", "f1"]


# Vector: cosine among the 2 * k nearest, ties by ID.


@pytest.fixture
def towards_x(written_down: Any) -> Any:
    return written_down({"x": [2, 0], "zero": [0, 0], "deep": [1, 0, 0]})


def embedded(fact: MakeFact, vectors: dict[str, list[float]], **fields: Any) -> list[Fact]:
    return [fact(fact_id, fact_id, embedding=array("f", numbers), **fields) for fact_id, numbers in vectors.items()]


def test_vector_scores_are_cosines_whatever_the_lengths(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = embedded(fact, {"f1": [0, 7], "f2": [3, 4], "f3": [5, 0], "f4": [-1, 0], "f5": [0, 0]})
    found = ranked(vector.make(), facts, "x", embedder=towards_x)
    assert list(found) == ["f3", "f2", "f1", "f5", "f4"]
    assert found == pytest.approx({"f3": 1, "f2": 3 / 5, "f1": 0, "f5": 0, "f4": -1}, rel=1e-7)


def test_equal_similarities_go_by_id_whatever_the_age(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = [
        *embedded(fact, {"f1": [1, 0], "f3": [9, 0]}, at="2026-02-03T00:00:00Z"),
        *embedded(fact, {"f4": [2, 0], "f2": [4, 0]}, at="2026-02-01T00:00:00Z"),
    ]
    assert list(ranked(vector.make(), facts, "x", embedder=towards_x)) == ["f1", "f2", "f3", "f4"]


@pytest.mark.parametrize(("k", "window"), [(0, []), (1, ["f1", "f2"]), (2, ["f1", "f2", "f3", "f4"]), (3, "all")])
def test_the_window_holds_2_k_neighbors_of_equals_those_with_the_lower_ids(
    k: int, window: Any, ranked: Ranked, fact: MakeFact, towards_x: Any
) -> None:
    facts = embedded(fact, {"f5": [1, 1], "f4": [1, 1], "f3": [1, 1], "f2": [1, 1], "f1": [1, 0]})
    expected = ["f1", "f2", "f3", "f4", "f5"] if window == "all" else window
    assert list(ranked(vector.make(), facts, "x", k, embedder=towards_x)) == expected


def test_facts_without_an_embedding_have_no_vector_rank(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = [*embedded(fact, {"f2": [0, 1]}), fact("f1", "x")]
    assert list(ranked(vector.make(), facts, "x", embedder=towards_x)) == ["f2"]


def test_a_live_fact_of_another_dimension_silences_the_signal(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = embedded(fact, {"f1": [1, 0], "f2": [1, 0, 0]})
    assert ranked(vector.make(), facts, "x", embedder=towards_x) == {}
    assert ranked(vector.make(), facts, "deep", embedder=towards_x) == {}
    assert ranked(vector.make(), facts[:1], "deep", embedder=towards_x) == {}


def test_a_retired_fact_of_another_dimension_does_not(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = [*embedded(fact, {"f1": [1, 0]}), *embedded(fact, {"f2": [1, 0, 0]}, superseded_by="agent")]
    assert ranked(vector.make(), facts, "x", embedder=towards_x) == {"f1": 1.0}


def test_without_a_query_vector_nobody_is_ranked(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = embedded(fact, {"f1": [1, 0]})
    assert ranked(vector.make(), facts, "x") == {}
    assert ranked(vector.make(), facts, "a text that the embedder fails for", embedder=towards_x) == {}


def test_a_query_vector_of_zeros_is_equally_near_to_all(ranked: Ranked, fact: MakeFact, towards_x: Any) -> None:
    facts = embedded(fact, {"f2": [1, 0], "f1": [0, 1]})
    assert ranked(vector.make(), facts, "zero", embedder=towards_x) == {"f1": 0.0, "f2": 0.0}


@pytest.mark.parametrize(("k", "count"), [(1, 3), (2, 0)])
def test_the_engine_up_to_0_16_needs_a_full_window(
    k: int, count: int, ranked: Ranked, fact: MakeFact, towards_x: Any
) -> None:
    """Three facts fill a window of 2, not one of 4."""
    facts = embedded(fact, {"f1": [1, 0], "f2": [1, 1], "f3": [0, 1]})
    found = ranked(vector.make(needs_full_window=True), facts, "x", k, embedder=towards_x)
    assert len(found) == min(count, 2 * k)


@given(
    st.lists(st.lists(st.floats(-9, 9, width=32), min_size=5, max_size=5), min_size=1, max_size=12),
    st.lists(st.floats(-9, 9, width=32), min_size=5, max_size=5),
    st.integers(0, 12),
)
def test_equal_vectors_get_the_same_score_to_the_last_bit(
    vectors: list[list[float]], query: list[float], copy_of: int
) -> None:
    vectors = [*vectors, vectors[copy_of % len(vectors)]]
    facts = [
        Fact(id=f"{n:02}", agent_id="ann", text="", created_at=0, accessed_at=0, embedding=array("f", numbers))
        for n, numbers in enumerate(vectors)
    ]

    def embed(texts: Any) -> Any:
        return np.array([query], dtype=np.float32)

    with MemoryStore(strategy=alone(vector.make()), embedder=embed) as store:
        store.import_facts(facts)
        found = scores(store, "anything", k=20)
    assert found[facts[-1].id] == found[facts[copy_of % (len(vectors) - 1)].id]


# Recency: newest first by creation.


def test_recency_is_by_creation_to_the_nanosecond_and_equal_instants_go_by_id(ranked: Ranked, fact: MakeFact) -> None:
    facts = [
        fact("f5", "", at="2026-02-28T12:00:00.000000001Z"),
        fact("f3", "", at="2026-02-28T12:00:00Z"),
        fact("f2", "", at="2026-02-28T12:00:00Z"),
        fact("f4", "", at="2026-02-28T12:00:00.000000002Z"),
        fact("f1", "", at="2025-03-01T00:00:00Z", accessed_at=parse_instant("2026-03-01T00:00:00Z")),
    ]
    found = ranked(recency.make(), facts)
    assert list(found) == ["f4", "f5", "f2", "f3", "f1"]
    assert found["f2"] == -12  # hours before now
    assert found["f1"] == -365 * 24


def test_a_fact_from_the_future_is_newer_still(ranked: Ranked, fact: MakeFact) -> None:
    facts = [fact("f1", "", at="2026-03-01T00:00:00Z"), fact("f2", "", at="2026-03-01T01:30:00Z")]
    assert ranked(recency.make(), facts) == {"f2": 1.5, "f1": 0.0}


def test_a_fact_without_a_creation_time_is_the_oldest(ranked: Ranked, fact: MakeFact) -> None:
    facts = [fact("f1", "", created_at=ZERO_TIME), fact("f2", "", at="1700-01-01T00:00:00Z"), fact("f3", "")]
    assert list(ranked(recency.make(), facts)) == ["f3", "f2", "f1"]


def test_the_half_life_form_halves_per_half_life(ranked: Ranked, fact: MakeFact) -> None:
    facts = [fact("f1", "", at="2026-01-30T00:00:00Z"), fact("f2", "", at="2025-12-31T00:00:00Z"), fact("f3", "")]
    found = ranked(recency.make(half_life_hours=720.0), facts)
    assert found == pytest.approx({"f3": 1, "f1": 1 / 2, "f2": 1 / 4}, rel=1e-15)
    far = [fact("f4", "", at="9999-01-01T00:00:00Z"), fact("f5", "", created_at=ZERO_TIME)]
    assert ranked(recency.make(half_life_hours=720.0), far) == {"f4": inf, "f5": 0.0}


def test_ages_that_coincide_as_numbers_tie_only_in_the_half_life_form(ranked: Ranked, fact: MakeFact) -> None:
    """Half a year ago, one nanosecond is less than the last bit of the age in hours."""
    facts = [fact("f1", "", at="2025-09-01T00:00:00Z"), fact("f2", "", at="2025-09-01T00:00:00.000000001Z")]
    assert list(ranked(recency.make(), facts)) == ["f2", "f1"]
    assert list(ranked(recency.make(half_life_hours=720.0), facts)) == ["f1", "f2"]


@pytest.mark.parametrize("now", ["0001-01-01T00:00:00Z", "1600-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("half_life_hours", [None, 720.0])
def test_any_clock_from_year_1_to_9999_ranks(
    now: str, half_life_hours: float | None, open_store: OpenStore, fact: MakeFact
) -> None:
    store = open_store(clock=ManualClock(now), strategy=alone(recency.make(half_life_hours=half_life_hours)))
    store.import_facts([fact("f1", "", at="1970-01-01T00:00:00Z"), fact("f2", "", at="2026-01-01T00:00:00Z")])
    found = scores(store, "")
    assert set(found) == {"f1", "f2"}
    assert found["f2"] >= found["f1"]


# Weight: the alternative that was rejected.


def test_weight_ranks_by_what_is_stored_now_and_ties_go_to_the_older(open_store: OpenStore, fact: MakeFact) -> None:
    store = open_store(strategy=alone(weight.make()))
    store.import_facts(
        [
            fact("f1", "", weight=0.25),
            fact("f2", "", weight=0.5),
            fact("f3", "", weight=0.5, at="2026-02-28T00:00:00Z", accessed_at=parse_instant("2026-03-01T00:00:00Z")),
            fact("f4", "", weight=0.9, superseded_by="f1"),
            fact("f5", "", weight=1.0, at="2026-01-30T00:00:00Z"),  # one half-life ago
        ]
    )
    assert scores(store, "") == {"f5": 1.0, "f3": 0.5, "f2": 0.5, "f1": 0.25}
    store.consolidate("ann")
    assert list(scores(store, "")) == ["f5", "f3", "f2", "f1"]
    assert scores(store, "") == pytest.approx({"f5": 0.5, "f3": 0.5, "f2": 0.5, "f1": 0.25})


# BM25: rank-bm25's Okapi.


def test_bm25_by_hand(ranked: Ranked, fact: MakeFact) -> None:
    """n = 3, average length 7/3; idf(invoices) = ln(2.5/1.5), billing, in most facts, gets a quarter of the mean."""
    facts = [fact("f1", "polar billing"), fact("f2", "billing billing invoices"), fact("f3", "deploy friday")]
    rare = log(2.5 / 1.5)
    assert ranked(bm25.make(), facts, "invoices") == pytest.approx(
        {"f2": rare * 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 3 / (7 / 3)))}, rel=1e-12
    )
    mean = (4 * rare + log(1.5 / 2.5)) / 5
    assert ranked(bm25.make(), facts, "billing") == pytest.approx(
        {
            "f2": 0.25 * mean * 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 3 / (7 / 3))),
            "f1": 0.25 * mean * 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2 / (7 / 3))),
        },
        rel=1e-12,
    )


def test_bm25_ranks_whoever_shares_a_token_also_at_scores_of_zero_and_less(ranked: Ranked, fact: MakeFact) -> None:
    one = [fact("f1", "polar")]
    assert ranked(bm25.make(), one, "polar") == {"f1": pytest.approx(0.25 * log(0.5 / 1.5), rel=1e-12)}
    two = [*one, fact("f2", "deploy")]
    assert ranked(bm25.make(), two, "polar") == {"f1": 0.0}  # in one of two: ln(1.5/1.5)
    assert ranked(bm25.make(), two, "friday") == {}


def test_bm25_ignores_retired_facts(ranked: Ranked, fact: MakeFact) -> None:
    facts = [fact("f1", "polar billing"), fact("f2", "billing billing invoices"), fact("f3", "deploy friday")]
    retired = [fact("f4", "invoices billing polar friday", superseded_by="f1"), fact("f5", "!", superseded_by="agent")]
    for sparse_above in (0, 100):
        signal = bm25.make(sparse_above=sparse_above)
        for query in ("invoices", "billing polar", "deploy"):
            expected = ranked(signal, facts, query)
            assert ranked(signal, [*retired, *facts], query) == pytest.approx(expected, rel=1e-12)


WORDS = st.sampled_from(["billing", "polar", "invoices", "deploy", "friday", "team", "the", "!", ""])
TEXTS = st.lists(st.tuples(st.lists(WORDS, max_size=6).map(" ".join), st.booleans()), min_size=1, max_size=10)


@given(TEXTS, st.lists(WORDS, max_size=4).map(" ".join))
def test_the_array_form_of_bm25_equals_the_definition_within_1e_9(texts: list[tuple[str, bool]], query: str) -> None:
    """One-fact stores, facts without tokens and retired facts included."""
    facts = [
        Fact(id=f"{n:02}", agent_id="ann", text=text, created_at=n, accessed_at=n, superseded_by="agent" * retired)
        for n, (text, retired) in enumerate(texts)
    ]
    found: list[dict[str, float]] = []
    for sparse_above in (1000, 0):
        with MemoryStore(strategy=alone(bm25.make(sparse_above=sparse_above))) as store:
            store.import_facts(facts)
            found.append(scores(store, query))
    definition, sparse = found
    assert sparse == pytest.approx(definition, abs=1e-9, rel=0)
    assert all(sparse[one] >= sparse[other] - 1e-9 for one, other in zip(definition, [*definition][1:], strict=False))


def test_above_2000_facts_bm25_takes_the_array_form(
    open_store: OpenStore, fact: MakeFact, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = list[int]()

    def counting(index: AgentIndex, *rest: Any) -> Any:
        taken.append(len(index))
        return sparse(index, *rest)

    sparse = bm25.sparse
    monkeypatch.setattr(bm25, "sparse", counting)
    store = open_store(strategy=alone(bm25.make()))
    store.import_facts(fact(f"f{n:04}", f"note {n}") for n in range(2000))
    assert list(scores(store, "1234")) == ["f1234"]
    assert taken == []
    store.import_facts([fact("g", "one more")])
    assert list(scores(store, "1234")) == ["f1234"]
    assert taken == [2001]
