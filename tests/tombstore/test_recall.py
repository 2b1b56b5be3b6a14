"""Recall: total order, floor, distinct texts, cut, the access that it leaves behind, and receipts."""

import threading
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tombstore import Fact, FactNotFound, ManualClock, MemoryStore, parse_instant
from tombstore.strategies import hybrid

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]

DAYS = [f"2026-02-{day:02}T00:00:00Z" for day in range(1, 29)]


def texts(facts: list[Fact]) -> list[str]:
    return [fact.text for fact in facts]


@pytest.fixture
def two_providers(store: MemoryStore, fact: MakeFact) -> MemoryStore:
    """Two facts about billing, the newer one weaker in words, among two others."""
    store.import_facts(
        [
            fact("f1", "billing provider lemon", at=DAYS[0]),
            fact("f2", "deploy window", at=DAYS[1]),
            fact("f3", "team offsite", at=DAYS[2]),
            fact("f4", "billing address changed last week", at=DAYS[3]),
        ]
    )
    return store


def test_a_result_is_in_order_of_the_fused_scores(two_providers: MemoryStore) -> None:
    """By keyword f1 comes before f4, and by recency f4, f3, f2, f1."""
    ranking = two_providers.rank("ann", "billing provider")
    assert dict(zip(ranking.ids, ranking.fused.tolist(), strict=True)) == {
        "f1": 1 / 61 + 0.5 / 64,
        "f4": 1 / 62 + 0.5 / 61,
        "f3": 0.5 / 62,
        "f2": 0.5 / 63,
    }
    assert ranking.ids == ["f4", "f1", "f3", "f2"]
    assert [fact.id for fact in two_providers.recall("ann", "billing provider")] == ranking.ids


def test_equal_scores_put_the_oldest_first_and_equal_instants_go_by_id(open_store: OpenStore, fact: MakeFact) -> None:
    store = open_store(strategy=hybrid.make(vector_weight=0, keyword_weight=0, recency_weight=0))
    store.import_facts(
        [
            fact("f1", "one", at="2026-02-02T00:00:00Z"),
            fact("f4", "two", at="2026-02-01T00:00:00Z"),
            fact("f2", "three", at="2026-02-01T00:00:00.000000001Z"),
            fact("f3", "four", at="2026-02-01T00:00:00Z"),
        ]
    )
    assert [fact.id for fact in store.recall("ann", "one")] == ["f3", "f4", "f2", "f1"]


def test_weights_0_0_1_give_the_newest_facts(open_store: OpenStore, fact: MakeFact) -> None:
    store = open_store(strategy=hybrid.make(vector_weight=0, keyword_weight=0, recency_weight=1))
    store.import_facts(fact(f"f{n}", f"note {n}", at=DAYS[n]) for n in range(6))
    assert texts(store.recall("ann", "note 0", 3)) == ["note 5", "note 4", "note 3"]


@pytest.mark.parametrize(
    ("k", "expected"), [(0, []), (1, ["f4"]), (2, ["f4", "f1"]), (4, "all"), (50, "all"), (None, "all")]
)
def test_at_most_k_facts_come_back_and_8_when_nothing_is_said(
    k: int | None, expected: Any, two_providers: MemoryStore
) -> None:
    found = two_providers.recall("ann", "billing provider", *([] if k is None else [k]))
    assert [fact.id for fact in found] == (["f4", "f1", "f3", "f2"] if expected == "all" else expected)


def test_the_default_k_is_8(store: MemoryStore) -> None:
    for n in range(10):
        store.put("ann", f"note {n}")
    assert len(store.recall("ann", "")) == len(store.recall_with_receipts("ann", "")) == 8


@pytest.mark.parametrize("recall", ["recall", "recall_with_receipts", "recall_all", "rank"])
def test_a_negative_k_is_refused_and_counts_no_access(recall: str, two_providers: MemoryStore) -> None:
    with pytest.raises(ValueError, match="k is -1"):
        getattr(two_providers, recall)("ann", "billing", -1)
    assert {fact.access_count for fact in two_providers.list_facts()} == {0}


def test_an_unknown_agent_has_no_facts_and_no_error(two_providers: MemoryStore) -> None:
    assert two_providers.recall("nobody", "billing") == []
    assert two_providers.recall_with_receipts("nobody", "billing") == []
    assert two_providers.rank("nobody", "billing").ids == []


@pytest.mark.parametrize("query", ["", "the of and", "数据库", "quite unrelated"])
def test_a_query_that_matches_nothing_gives_the_newest_facts(query: str, two_providers: MemoryStore) -> None:
    assert [fact.id for fact in two_providers.recall("ann", query)] == ["f4", "f3", "f2", "f1"]


# Floor. Best: 1/62 + 0.5/61 = 0.0243; f1: 1/61 + 0.5/64 = 0.0242 (99.5 %); f3, f2: 0.0081, 0.0079 (33 %).


@pytest.mark.parametrize(
    ("floor", "expected"),
    [
        (0.0, ["f4", "f1", "f3", "f2"]),
        (0.30, ["f4", "f1", "f3", "f2"]),
        (0.34, ["f4", "f1"]),
        (0.99, ["f4", "f1"]),
        (1.0, ["f4"]),
        (1.0001, []),
    ],
)
def test_the_floor_cuts_at_a_share_of_the_best_score(
    floor: float, expected: list[str], two_providers: MemoryStore
) -> None:
    found = two_providers.recall("ann", "billing provider", min_relevance=floor)
    assert [fact.id for fact in found] == expected
    receipts = two_providers.recall_with_receipts("ann", "billing provider", min_relevance=floor)
    assert [receipt.fact.id for receipt in receipts] == expected


def test_a_floor_of_1_keeps_exact_ties_of_the_best(open_store: OpenStore, fact: MakeFact) -> None:
    store = open_store(strategy="keyword")
    store.import_facts(
        [fact("f1", "port one"), fact("f2", "port two"), fact("f3", "a port of three, no less"), fact("f4", "x")]
    )
    assert [fact.id for fact in store.recall("ann", "port", min_relevance=1.0)] == ["f1", "f2"]


def test_a_best_score_of_zero_cuts_nobody(open_store: OpenStore, fact: MakeFact) -> None:
    store = open_store(strategy=hybrid.make(vector_weight=0, keyword_weight=0, recency_weight=0))
    store.import_facts([fact("f1", "one"), fact("f2", "two")])
    assert len(store.recall("ann", "one", min_relevance=1.0)) == 2


# Distinct texts.


@pytest.fixture
def three_copies(open_store: OpenStore, fact: MakeFact) -> Callable[[str], MemoryStore]:
    def three_copies(variant: str) -> MemoryStore:
        store = open_store(variant=variant)
        store.import_facts(
            [
                fact("f1", "port is 8080", at=DAYS[0]),
                fact("f2", "port is 8080", at=DAYS[1]),
                fact("f3", "port is 8080", at=DAYS[2]),
                fact("f4", "Port is 8080", at=DAYS[3]),
                fact("f5", "deploy window", at=DAYS[4]),
            ]
        )
        return store

    return three_copies


def test_a_text_takes_one_slot_and_its_best_ranked_copy_is_the_one_accessed(
    three_copies: Callable[[str], MemoryStore],
) -> None:
    """Keyword ties go oldest first: f1 1/61 + .5/65, f2 1/62 + .5/64, f3 1/63 + .5/63, f4 1/64 + .5/62; f5 .5/61."""
    store = three_copies("reference")
    assert [fact.id for fact in store.recall("ann", "port", 3)] == ["f1", "f4", "f5"]
    assert {fact.id: fact.access_count for fact in store.list_facts()} == {"f1": 1, "f2": 0, "f3": 0, "f4": 1, "f5": 1}


def test_up_to_0_15_copies_took_slots(three_copies: Callable[[str], MemoryStore]) -> None:
    store = three_copies("v0.11")
    assert [fact.id for fact in store.recall("ann", "port", 3)] == ["f1", "f2", "f3"]


# Access.


def test_a_recall_counts_as_an_access_of_what_it_returned(two_providers: MemoryStore, clock: ManualClock) -> None:
    before = {fact.id: fact for fact in two_providers.list_facts()}
    clock.advance(hours=1)
    two_providers.recall("ann", "billing provider", 2)
    now = {fact.id: fact for fact in two_providers.list_facts()}
    at = parse_instant("2026-03-01T01:00:00Z")
    assert {fact_id: (fact.access_count, fact.accessed_at == at) for fact_id, fact in now.items()} == {
        "f1": (1, True),
        "f2": (0, False),
        "f3": (0, False),
        "f4": (1, True),
    }
    assert (now["f2"], now["f3"]) == (before["f2"], before["f3"])
    assert {fact.weight for fact in now.values()} == {1.0}
    two_providers.recall("ann", "billing provider", 1)
    assert two_providers.get("ann", "f4").access_count == 2


def test_what_is_returned_is_the_fact_before_this_access(two_providers: MemoryStore) -> None:
    assert [fact.access_count for fact in two_providers.recall("ann", "billing", 1)] == [0]
    assert [fact.access_count for fact in two_providers.recall("ann", "billing", 1)] == [1]


def test_accesses_change_no_order(two_providers: MemoryStore) -> None:
    first = texts(two_providers.recall("ann", "billing provider"))
    assert all(texts(two_providers.recall("ann", "billing provider")) == first for _ in range(20))


def test_rank_counts_no_access(two_providers: MemoryStore) -> None:
    two_providers.rank("ann", "billing provider")
    assert {fact.access_count for fact in two_providers.list_facts()} == {0}


# Receipts.


def test_a_receipt_tells_ranks_scores_age_and_what_was_replaced(
    open_store: OpenStore, fact: MakeFact, written_down: Any
) -> None:
    store = open_store(embedder=written_down({"billing": [1, 0]}))
    store.import_facts(
        [
            fact("f1", "billing by stripe", at=DAYS[0], superseded_by="f2"),
            fact("f2", "billing by lemon", at=DAYS[1], superseded_by="f3"),
            fact("f3", "billing by polar", at=DAYS[26], embedding=array("f", [3, 4])),
            fact("f4", "deploy window", at=DAYS[27], embedding=array("f", [2, 0])),
            fact("f5", "team offsite", at="2026-02-27T23:22:48Z"),
        ]
    )
    first, second, third = store.recall_with_receipts("ann", "billing")
    assert [first.fact.id, second.fact.id, third.fact.id] == ["f3", "f4", "f5"]
    assert dict(first.ranks) == {"vector": 2, "keyword": 1, "recency": 3}
    assert dict(second.ranks) == {"vector": 1, "keyword": 0, "recency": 1}
    assert dict(third.ranks) == {"vector": 0, "keyword": 0, "recency": 2}
    assert first.fused == 1 / 62 + 1 / 61 + 0.5 / 63
    assert second.fused == 1 / 61 + 0.5 / 61
    assert first.scores["vector"] == pytest.approx(3 / 5)
    assert first.scores["recency"] == -48.0  # hours
    assert second.scores["keyword"] == 0.0
    assert (first.age_days, second.age_days, third.age_days) == (2.0, 1.0, 1.03)
    assert (first.supersedes, second.supersedes) == (("f2", "f1"), ())
    assert first.rrf_k == 60


def test_receipts_and_recall_agree_and_count_the_same_access(two_providers: MemoryStore) -> None:
    receipts = two_providers.recall_with_receipts("ann", "billing provider", 3)
    assert [receipt.fact.id for receipt in receipts] == ["f4", "f1", "f3"]
    assert [fact.access_count for fact in two_providers.recall("ann", "billing provider", 3)] == [1, 1, 1]


# Shared namespace.


@pytest.fixture
def with_shared(open_store: OpenStore, fact: MakeFact) -> Callable[[str], MemoryStore]:
    def with_shared(variant: str) -> MemoryStore:
        store = open_store(variant=variant)
        store.import_facts(
            [
                fact("f1", "release on tuesdays", at=DAYS[0]),
                fact("f2", "release notes by hand", at=DAYS[1]),
                fact("g1", "release notes by hand", at=DAYS[0], agent_id="__shared__"),
                fact("g2", "release freeze in december", at=DAYS[1], agent_id="__shared__"),
                fact("h1", "release by bob", agent_id="bob"),
            ]
        )
        return store

    return with_shared


def test_recall_all_fuses_the_agents_list_and_the_shared_one(with_shared: Callable[[str], MemoryStore]) -> None:
    """Own: f2, f1 by recency (release is in both, so no keyword). Shared: g2, g1. By hand: 1/61 + 1/62; 1/61; 1/62."""
    store = with_shared("reference")
    assert texts(store.recall("ann", "release")) == ["release notes by hand", "release on tuesdays"]
    assert texts(store.recall_shared("release")) == ["release freeze in december", "release notes by hand"]
    found = store.recall_all("ann", "release")
    assert texts(found) == ["release notes by hand", "release freeze in december", "release on tuesdays"]
    assert [fact.agent_id for fact in found] == ["ann", "__shared__", "ann"]
    assert texts(store.recall_all("ann", "release", 1)) == ["release notes by hand"]


def test_recall_all_up_to_0_14_appended_the_shared_list(with_shared: Callable[[str], MemoryStore]) -> None:
    store = with_shared("v0.11")
    assert texts(store.recall_all("ann", "release")) == [
        "release notes by hand",
        "release on tuesdays",
        "release freeze in december",
    ]


def test_recall_all_accesses_both_namespaces_and_no_other(with_shared: Callable[[str], MemoryStore]) -> None:
    store = with_shared("reference")
    store.recall_all("ann", "release")
    counts = {fact.id: fact.access_count for fact in store.list_facts()}
    assert counts == {"f1": 1, "f2": 1, "g1": 1, "g2": 1, "h1": 0}


# Aliases, get, threads.


def test_vocabulary_entries_are_never_returned(two_providers: MemoryStore, fact: MakeFact) -> None:
    two_providers.import_facts([fact("f9", "alias: billing = invoices", kind="alias")])
    assert "f9" not in [fact.id for fact in two_providers.recall("ann", "billing alias invoices", 50)]
    assert two_providers.get("ann", "f9").kind == "alias"


def test_get_gives_one_fact_and_names_what_it_has_not(two_providers: MemoryStore) -> None:
    assert two_providers.get("ann", "f2").text == "deploy window"
    for agent, fact_id in (("ann", "f7"), ("bob", "f2")):
        with pytest.raises(FactNotFound, match=f"{agent} has no fact {fact_id}"):
            two_providers.get(agent, fact_id)


def test_a_ranking_stays_readable_when_its_facts_are_gone(
    open_store: OpenStore, fact: MakeFact, clock: ManualClock
) -> None:
    store = open_store()
    store.import_facts(fact(f"f{n:03}", f"note {n}") for n in range(100))
    ranking = store.rank("ann", "note 7")
    before = ranking.ids
    clock.advance(hours=8 * 720)  # a weight of 1/256, below the floor
    store.put("ann", "note 7 again")
    assert len(store.consolidate("ann").pruned) == 100
    assert texts(store.recall("ann", "note 7")) == ["note 7 again"]
    store.put("ann", "and another")
    assert texts(store.recall("ann", "note 7")) == ["note 7 again", "and another"]
    assert ranking.ids == before


@pytest.mark.usefixtures("restless_threads")
def test_threads_recall_and_put_at_the_same_time(open_store: OpenStore, fact: MakeFact, tmp_path: Any) -> None:
    """The first recall builds the index; whoever comes in between must wait for it rather than read half of it."""
    path = tmp_path / "store.db"
    with open_store(path) as store:
        store.import_facts(fact(f"f{n:04}", f"note {n} word{n % 7}") for n in range(2000))
    store, start = open_store(path), threading.Barrier(6)

    def recall(_: int) -> list[str]:
        start.wait()
        return [fact.id for fact in store.recall("ann", "word3", 3)]

    def put(n: int) -> list[str]:
        start.wait()
        return [store.put("bob", f"{n}.{m}").text for m in range(20)]

    with ThreadPoolExecutor(6) as threads:
        recalled, written = threads.map(recall, range(3)), threads.map(put, range(3))
    assert list(recalled) == [["f0003", "f0010", "f0017"]] * 3
    assert sorted(texts(store.list_facts("bob"))) == sorted(text for group in written for text in group)
    assert [store.get("ann", fact_id).access_count for fact_id in ("f0003", "f0010", "f0017")] == [3, 3, 3]
