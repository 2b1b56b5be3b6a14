"""The reference store, under any of its retirement policies and recall strategies."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

import tombstore
from stilltrue import plugins
from stilltrue.records import Recalled

POLICIES = ("tombstone", "append_only", "weight_zero", "postfilter", "tombstone_window", "delete")
STRATEGIES = ("keyword", "bm25", "vector", "hybrid")

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
    """Drives a MemoryStore through the harness's protocol."""

    def __init__(self, store: tombstore.MemoryStore, clock: tombstore.ManualClock) -> None:
        self.store = store
        self._clock = clock

    def _at(self, at: datetime) -> None:
        since = at - _EPOCH
        self._clock.now = ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000

    def remember(self, *, text: str, at: datetime) -> str:
        """Put."""
        self._at(at)
        return self.store.put(_AGENT, text).id

    def recall(self, *, query: str, k: int, at: datetime) -> list[Recalled]:
        """Recall with receipts; the score is the fused one."""
        self._at(at)
        receipts = self.store.recall_with_receipts(_AGENT, query, k)
        return [Recalled(one.fact.text, one.fact.id, one.fused) for one in receipts]

    def update(self, *, target: str, text: str, at: datetime) -> str:
        """Reflect "update". When the target is gone (pruned), the correction is simply stored, as an agent would do."""
        self._at(at)
        try:
            added = self.store.reflect("update", _AGENT, text=text, target=target).added
        except tombstore.FactNotFound:
            return self.store.put(_AGENT, text).id
        return added.id if added else ""

    def forget(self, *, target: str, at: datetime) -> None:
        """Reflect "forget"; nothing to do when the target is gone."""
        self._at(at)
        try:
            self.store.reflect("forget", _AGENT, target=target)
        except tombstore.FactNotFound:
            return

    def pin(self, *, target: str, at: datetime) -> None:
        """Reflect "pin"."""
        self._at(at)
        self.store.reflect("pin", _AGENT, target=target)

    def unpin(self, *, target: str, at: datetime) -> None:
        """Reflect "unpin"."""
        self._at(at)
        self.store.reflect("unpin", _AGENT, target=target)

    def consolidate(self, *, at: datetime, if_due: bool) -> None:
        """Consolidate or maybe_consolidate."""
        self._at(at)
        if if_due:
            self.store.maybe_consolidate(_AGENT)
        else:
            self.store.consolidate(_AGENT)

    def close(self) -> None:
        """Close the store."""
        self.store.close()
