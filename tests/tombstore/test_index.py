"""An index that follows what two stores write to one file ranks exactly as one that is built from scratch."""

import shutil
import tempfile
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tombstore import Fact, FactNotFound, ManualClock, MemoryStore, Strategy, ulids
from tombstore.fusion import reciprocal_rank
from tombstore.signals import bm25, keyword, recency, vector, weight

SIGNALS = {
    "vector": vector.make(),
    "keyword": keyword.make(),
    "bm25": bm25.make(),
    "recency": recency.make(),
    "weight": weight.make(),
}
EVERYTHING = Strategy(signals=SIGNALS, weights=dict.fromkeys(SIGNALS, 1.0), fusion=reciprocal_rank)
QUERIES = ("billing polar", "deploy", "")

AGENTS = st.sampled_from(["ann", "ann", "bob"])
TEXTS = st.sampled_from(["billing by lemon", "billing by polar", "deploy on friday", "deploy deploy", "", "team"])
WHO = st.integers(0, 1)


def embed(texts: Any) -> Any:
    return np.array([[len(text) % 7, text.count("o"), text.count("l") - 1] for text in texts], dtype=np.float32)


def said(store: MemoryStore, agent: str) -> list[Any]:
    """All that the store's rankings hold, by ID: rows may differ between two indexes of the same facts."""
    found: list[Any] = []
    for query in QUERIES:
        ranking = store.rank(agent, query, 2)
        found.append((ranking.ids, ranking.fused.tolist()))
        for name, one in ranking.signals.items():
            ids = [ranking.index.ids[row] for row in one.rows]
            found.append((name, ids, one.ranks.tolist(), one.scores.tolist()))
    return found


class TwoStores(RuleBasedStateMachine):
    """Two open stores on one file; ``policy`` says what retiring does."""

    policy = "tombstone"

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock = ManualClock("2026-03-01T00:00:00Z")
        self.stores = [self.opened(ids=ulids(seed)) for seed in (1, 2)]

    def opened(self, **options: Any) -> MemoryStore:
        return MemoryStore(
            self.folder / "store.db",
            clock=self.clock,
            embedder=embed,
            strategy=EVERYTHING,
            policy=self.policy,
            half_life_hours=24,
            **options,
        )

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        shutil.rmtree(self.folder)

    @rule(who=WHO, agent=AGENTS, text=TEXTS)
    def put(self, who: int, agent: str, text: str) -> None:
        self.stores[who].put(agent, text)

    @rule(who=WHO, agent=AGENTS, old=TEXTS, text=TEXTS, action=st.sampled_from(["update", "forget", "pin", "unpin"]))
    def correct(self, who: int, agent: str, old: str, text: str, action: Any) -> None:
        try:
            self.stores[who].reflect(action, agent, target=old, text=text)
        except (FactNotFound, ValueError):
            return

    @rule(who=WHO, agent=AGENTS, hours=st.sampled_from([0, 1, 30, 200]))
    def consolidate(self, who: int, agent: str, hours: int) -> None:
        """200 hours are more than six half-lives of a day: whatever is unpinned and was not accessed goes."""
        self.clock.advance(hours=hours)
        self.stores[who].consolidate(agent)

    @rule(
        who=WHO,
        agent=AGENTS,
        fact_id=st.sampled_from(["i1", "i2", "i3"]),
        text=TEXTS,
        day=st.integers(0, 2),
        by=st.sampled_from(["", "", "agent", "i1"]),
        vector=st.none() | st.lists(st.integers(-2, 2), min_size=3, max_size=3) | st.just([1, 2]),
        kind=st.sampled_from(["", "", "alias"]),
    )
    def take_over(
        self, who: int, agent: str, vector: Any, day: int, by: str, fact_id: str, text: str, kind: str
    ) -> None:
        """IDs come back with other texts after their facts were pruned; before that they are refused."""
        fact = Fact(
            id=fact_id,
            agent_id=agent,
            text=text,
            created_at=self.clock.now - day * 86_400_000_000_000,
            accessed_at=self.clock.now,
            embedding=array("f", vector) if vector else None,
            superseded_by=by,
            kind=kind,
        )
        try:
            self.stores[who].import_facts([fact])
        except ValueError:
            return

    @rule(who=WHO, agent=AGENTS, fact_id=st.sampled_from(["i1", "i2"]), text=TEXTS)
    def come_back(self, who: int, agent: str, fact_id: str, text: str) -> None:
        """Pruned and imported again between two looks of the other store."""
        self.consolidate(who, agent, 200)
        self.take_over(who, agent, None, 0, "", fact_id, text, "")

    @rule(who=WHO, agent=AGENTS)
    def recall(self, who: int, agent: str) -> None:
        """An index need not be asked after every step: often it has several to catch up with."""
        self.check(self.stores[who], agent)

    @invariant()
    def the_first_store_is_up_to_date(self) -> None:
        for agent in ("ann", "bob"):
            self.check(self.stores[0], agent)

    def check(self, store: MemoryStore, agent: str) -> None:
        with self.opened(read_only=True) as fresh:
            assert said(store, agent) == said(fresh, agent)


@pytest.mark.parametrize("policy", ["tombstone", "delete", "weight_zero"])
def test_an_index_that_follows_equals_one_built_from_scratch(policy: str) -> None:
    machine = type(f"TwoStores_{policy}", (TwoStores,), {"policy": policy})
    run_state_machine_as_test(machine, settings=settings(max_examples=8, stateful_step_count=20))


def test_an_id_that_comes_back_with_another_text_is_another_fact(tmp_path: Path) -> None:
    clock = ManualClock("2026-03-01T00:00:00Z")
    fact = Fact(id="f1", agent_id="ann", text="billing", created_at=clock.now, accessed_at=clock.now, weight=0.001)
    with (
        MemoryStore(tmp_path / "store.db", clock=clock) as store,
        MemoryStore(tmp_path / "store.db", clock=clock) as other,
    ):
        store.import_facts([fact, replace(fact, id="f2", text="team", weight=1.0)])
        assert [receipt.ranks["keyword"] for receipt in store.recall_with_receipts("ann", "billing")] == [1, 0]
        other.consolidate("ann")
        other.import_facts([replace(fact, text="deploy", weight=1.0)])
        first, second = store.recall_with_receipts("ann", "deploy")
        assert [(receipt.fact.text, receipt.ranks["keyword"]) for receipt in (first, second)] == [
            ("deploy", 1),
            ("team", 0),
        ]
