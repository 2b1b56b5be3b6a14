"""The reference store, under any of its retirement policies and recall strategies."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

import tombstore
from stilltrue import plugins
from stilltrue.records import Listed, Recalled

POLICIES = (
    "tombstone",
    "append_only",
    "weight_zero",
    "postfilter",
    "tombstone_window",
    "delete",
    "demote",
    "weight_aware",
    "overwrite",
    "bitemporal",
    "separate_bucket",
)
STRATEGIES = ("keyword", "bm25", "vector", "recency", "hybrid", "hybrid_without_recency", "weighted")

_AGENT = "agent"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Remembered:
    """An embedder that embeds each text once: a run asks for the same few hundred texts thousands of times."""

    def __init__(self, embedder: tombstore.Embedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (texts, dimension)."""
        for text in texts:
            if text not in self._vectors:
                self._vectors[text] = self._embedder([text])[0]
        return np.stack([self._vectors[text] for text in texts])


def make(
    *, policy: str = "tombstone", strategy: str = "hybrid", embedder: tombstore.Embedder | None = None
) -> "TombstoreSystem":
    """A fresh store in memory. Without an embedder the vector signal ranks nobody."""
    clock = tombstore.ManualClock(0)
    store = tombstore.MemoryStore(
        clock=clock, ids=tombstore.ulids(seed=0), policy=policy, strategy=strategy, embedder=embedder
    )
    return TombstoreSystem(store, clock)


def grid(
    policies: Sequence[str], strategies: Sequence[str], *, embedder: str | None = None
) -> Iterator[tuple[str, str, Callable[[], "TombstoreSystem"]]]:
    """Every strategy with every policy: (policy, strategy, opener). Wrong names raise UnknownPlugin at once.

    ``embedder`` is a sentence-transformers model by name or path, None for the default; it is shared and loaded only
    when a strategy ranks by vectors. Raises ModelNotFound when it can't be loaded.
    """
    for policy in policies:
        plugins.make("tombstore.policies", policy)
    uses_vectors = {name: "vector" in plugins.make("tombstore.strategies", name).signals for name in strategies}
    shared = Remembered(tombstore.embedder(embedder)) if any(uses_vectors.values()) else None
    if shared:
        shared(["Does the model load?"])  # now: a store keeps facts without a vector when its embedder fails
    for strategy in strategies:
        for policy in policies:
            fitting = shared if uses_vectors[strategy] else None
            yield policy, strategy, partial(make, policy=policy, strategy=strategy, embedder=fitting)


class TombstoreSystem:
    """Drives a MemoryStore through the harness's protocol, as one agent or as the shared namespace."""

    def __init__(self, store: tombstore.MemoryStore, clock: tombstore.ManualClock, namespace: str = _AGENT) -> None:
        self.store = store
        self._clock = clock
        self._namespace = namespace
        self._shares = False

    @property
    def shared(self) -> "TombstoreSystem":
        """The shared namespace of the same store. From now on recall covers both."""
        self._shares = True
        return TombstoreSystem(self.store, self._clock, tombstore.SHARED)

    def remember(self, *, text: str, at: datetime) -> str:
        """Put."""
        self._at(at)
        return self.store.put(self._namespace, text).id

    def recall(self, *, query: str, k: int, at: datetime) -> list[Recalled]:
        """Recall with receipts, whose fused score is the score; over both namespaces without scores."""
        self._at(at)
        if self._shares:
            return [Recalled(fact.text, fact.id) for fact in self.store.recall_all(self._namespace, query, k)]
        receipts = self.store.recall_with_receipts(self._namespace, query, k)
        return [Recalled(one.fact.text, one.fact.id, one.fused) for one in receipts]

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> list[Recalled]:
        """Recall over the facts that were valid then."""
        self._at(at)
        facts = self.store.recall_as_of(self._namespace, query, _nanoseconds(as_of), k)
        return [Recalled(fact.text, fact.id) for fact in facts]

    def update(self, *, target: str, text: str, at: datetime) -> str:
        """Reflect "update". When the target is gone (pruned), the correction is simply stored, as an agent would do."""
        self._at(at)
        try:
            added = self.store.reflect("update", self._namespace, text=text, target=target).added
        except tombstore.FactNotFound:
            return self.store.put(self._namespace, text).id
        return added.id if added else ""

    def forget(self, *, target: str, at: datetime) -> None:
        """Reflect "forget"; nothing to do when the target is gone."""
        self._at(at)
        with suppress(tombstore.FactNotFound):
            self.store.reflect("forget", self._namespace, target=target)

    def pin(self, *, target: str, at: datetime) -> None:
        """Reflect "pin"."""
        self._at(at)
        self.store.reflect("pin", self._namespace, target=target)

    def unpin(self, *, target: str, at: datetime) -> None:
        """Reflect "unpin"."""
        self._at(at)
        self.store.reflect("unpin", self._namespace, target=target)

    def consolidate(self, *, at: datetime, if_due: bool) -> None:
        """Consolidate or maybe_consolidate, the agent's facts and the shared ones."""
        self._at(at)
        for namespace in (self._namespace, tombstore.SHARED) if self._shares else (self._namespace,):
            if if_due:
                self.store.maybe_consolidate(namespace)
            else:
                self.store.consolidate(namespace)

    def list_facts(self) -> list[Listed]:
        """List, retired facts included, of the agent and of the shared namespace."""
        facts = [f for name in (self._namespace, tombstore.SHARED) for f in self.store.list_facts(name)]
        return [Listed(fact.text, fact.id, not fact.live) for fact in facts]

    def export(self) -> list[tombstore.Fact]:
        """All facts of the agent and of the shared namespace, as records."""
        return [f for name in (self._namespace, tombstore.SHARED) for f in self.store.list_facts(name)]

    def reimport(self, dump: list[tombstore.Fact], *, at: datetime) -> None:
        """Import: known IDs are left as they are, unknown ones come in."""
        self._at(at)
        self.store.import_facts(dump)

    def snapshot(self, *, target: str) -> list[tombstore.Fact]:
        """The records with that text."""
        return [fact for fact in self.store.list_facts(self._namespace) if fact.text == target]

    def write_back(self, record: list[tombstore.Fact], *, at: datetime) -> None:
        """Write the records back whole."""
        self._at(at)
        for fact in record:
            self.store.write_back(fact)

    def lies_in_files(self, *, text: str) -> bool:
        """Whether the text stands in the database, as bytes."""
        return self.store.holds_bytes(text)

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def _at(self, at: datetime) -> None:
        self._clock.now = _nanoseconds(at)


def _nanoseconds(at: datetime) -> int:
    since = at - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
