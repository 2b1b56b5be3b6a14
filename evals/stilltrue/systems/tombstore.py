"""The reference store, under any of its retirement policies and recall strategies."""

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tombstore
from stilltrue import plugins
from stilltrue.cache import Cache, Vectors
from stilltrue.records import Listed, Recalled
from tombstore.clock import ZERO_TIME
from tombstore.ids import IdSource
from tombstore.signals import vector
from tombstore.strategies import Strategy

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
STRATEGIES = ("keyword", "bm25", "vector", "hybrid")
"""What a run asks unless told otherwise; there are more."""

_AGENT = "agent"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Recorded:
    """An embedder that knows its texts by heart: every text of a suite is embedded once, whatever is then run on it."""

    def __init__(self, name: str, vectors: Vectors) -> None:
        self.name = name
        # One matrix, which processes can share, instead of thousands of small arrays.
        self._places = {text: place for place, text in enumerate(vectors)}
        self._matrix = np.stack(list(vectors.values()))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (texts, dimension). Raises KeyError for a text that was not embedded beforehand."""
        return self._matrix[[self._places[text] for text in texts]]

    @property
    def digest(self) -> str:
        """SHA-256 over all texts and vectors."""
        return hashlib.sha256("\0".join(self._places).encode() + self._matrix.tobytes()).hexdigest()

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two texts."""
        a, b = self([one, other]).astype(np.float64)
        return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def recorded(texts: Iterable[str], *, model: str | None, cache: Cache, jobs: int = 1) -> Recorded:
    """The texts embedded by a sentence-transformers model (name or path, None: the default). Raises ModelNotFound."""
    embedder = tombstore.embedder(model)
    # A folder's model may have been trained on since: only what its name pins down is kept.
    kept = Cache(None) if model and Path(model).is_dir() else cache
    return Recorded(embedder.name, kept.vectors(embedder.name, texts, partial(_embed, embedder, jobs)))


_WORTH_A_PROCESS = 1000
"""Texts: fewer are embedded in less time than another process takes to load the model."""


def _embed(embedder: tombstore.Embedder, jobs: int, texts: Sequence[str]) -> NDArray[np.float32]:
    """The texts' vectors. A vector depends on its text alone, so the number of processes changes nothing."""
    shares = min(jobs, len(texts) // _WORTH_A_PROCESS)
    if shares < 2:
        return embedder(texts)
    import joblib  # pyright: ignore[reportMissingTypeStubs] - untyped

    delayed: Any = joblib.delayed(embedder)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    run: Any = joblib.Parallel(n_jobs=jobs)
    return np.concatenate(run(delayed(list(share)) for share in np.array_split(np.array(texts, dtype=object), shares)))


def make(
    *,
    policy: str = "tombstone",
    strategy: str = "hybrid",
    embedder: tombstore.Embedder | None = None,
    window_per_k: int | None = None,
) -> "TombstoreSystem":
    """A fresh store in memory. Without an embedder the vector signal ranks nobody.

    ``window_per_k``: another candidate window for the vector signal than the strategy's own.
    """
    clock, ids = tombstore.ManualClock(0), tombstore.ulids(seed=0)
    store = tombstore.MemoryStore(
        clock=clock,
        ids=ids,
        policy=policy,
        strategy=_widened(strategy, window_per_k) if window_per_k else strategy,
        embedder=embedder,
    )
    return TombstoreSystem(store, clock, ids, embedder)


def _widened(strategy: str, window_per_k: int) -> Strategy:
    one: Strategy = plugins.make("tombstore.strategies", strategy)
    return replace(one, signals={**one.signals, "vector": vector.make(window_per_k=window_per_k)})


def uses_vectors(strategy: str) -> bool:
    """Whether a strategy ranks by vectors. Raises UnknownPlugin."""
    return "vector" in plugins.make("tombstore.strategies", strategy).signals


class TombstoreSystem:
    """Drives a MemoryStore through the harness's protocol, as one agent or as the shared namespace."""

    def __init__(
        self,
        store: tombstore.MemoryStore,
        clock: tombstore.ManualClock,
        ids: IdSource,
        embedder: tombstore.Embedder | None,
        namespace: str = _AGENT,
    ) -> None:
        self.store = store
        self._clock, self._ids, self._embedder = clock, ids, embedder
        self._namespace = namespace
        self._shares = False

    @property
    def shared(self) -> "TombstoreSystem":
        """The shared namespace of the same store. From now on recall covers both."""
        self._shares = True
        return TombstoreSystem(self.store, self._clock, self._ids, self._embedder, tombstore.SHARED)

    def remember(self, *, text: str, at: datetime) -> str:
        """Put."""
        self._at(at)
        return self.store.put(self._namespace, text).id

    def load(self, facts: Sequence[tuple[str, datetime]]) -> list[str]:
        """Import the facts as records that a put at their instant would have made."""
        vectors = self._embedder([text for text, _ in facts]) if self._embedder and facts else [None] * len(facts)
        records = [
            self._record(text, _nanoseconds(at), vector) for (text, at), vector in zip(facts, vectors, strict=True)
        ]
        if facts:
            self._at(facts[-1][1])
        self.store.import_facts(records)
        return [record.id for record in records]

    def _record(self, text: str, now: int, vector: NDArray[np.float32] | None) -> tombstore.Fact:
        return tombstore.Fact(
            id=self._ids(now),
            agent_id=self._namespace,
            text=text,
            created_at=now,
            accessed_at=now,
            embedding=None if vector is None else array("f", np.asarray(vector, dtype=np.float32).tobytes()),
            pinned_at=ZERO_TIME,
        )

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
