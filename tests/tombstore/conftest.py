"""What the store's tests share: a clock that stands still, stores that get closed, and models that are written down."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tombstore import Contradiction, Fact, ManualClock, MemoryStore, Summary, parse_instant, ulids

# The same examples in every run, and no time limit: a loaded machine is no failure.
settings.register_profile("tombstore", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("tombstore")

NOW = "2026-03-01T00:00:00Z"

OpenStore = Callable[..., MemoryStore]


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Threads take turns a thousand times more often than usual, so that whoever needs a lock is seen to."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def open_store(clock: ManualClock) -> Iterator[OpenStore]:
    """Opens stores at the test's clock, each with IDs of its own, and closes them in the end."""
    seeds = iter(range(1, 1_000_000))
    with ExitStack() as stores:

        def open_store(path: str | Path = ":memory:", **options: Any) -> MemoryStore:
            return stores.enter_context(MemoryStore(path, **{"clock": clock, "ids": ulids(next(seeds)), **options}))

        yield open_store


@pytest.fixture
def store(open_store: OpenStore) -> MemoryStore:
    return open_store()


def make_fact(fact_id: str, text: str, *, at: str = NOW, **fields: Any) -> Fact:
    created = parse_instant(at)
    return Fact(
        **{"id": fact_id, "agent_id": "ann", "text": text, "created_at": created, "accessed_at": created} | fields
    )


@pytest.fixture
def fact() -> Callable[..., Fact]:
    """A fact of agent ann: ``fact("f1", "text", at="2026-01-01T00:00:00Z", weight=0.5)``."""
    return make_fact


class WrittenDown:
    """An embedder that knows the vectors of the texts given and fails for any other; counts its calls."""

    name = "written down"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self.vectors, self.calls = vectors, list[list[str]]()

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


@pytest.fixture
def written_down() -> type[WrittenDown]:
    return WrittenDown


class Summarizer:
    """Proposes what the test says, or raises it, or calls it with the facts; remembers what it was shown."""

    def __init__(self, proposal: Summary | Exception | Callable[[Sequence[Fact]], Summary]) -> None:
        self.proposal, self.shown = proposal, list[list[Fact]]()

    def __call__(self, facts: Sequence[Fact]) -> Summary:
        self.shown.append(list(facts))
        if isinstance(self.proposal, Exception):
            raise self.proposal
        return self.proposal(facts) if callable(self.proposal) else self.proposal


@pytest.fixture
def summarizer() -> type[Summarizer]:
    return Summarizer


class Detector:
    """As ``Summarizer``, for contradictions."""

    def __init__(self, proposals: Exception | Callable[[Sequence[Fact]], Sequence[Contradiction]]) -> None:
        self.proposals, self.shown = proposals, list[list[Fact]]()

    def __call__(self, facts: Sequence[Fact]) -> Sequence[Contradiction]:
        self.shown.append(list(facts))
        if isinstance(self.proposals, Exception):
            raise self.proposals
        return self.proposals(facts)


@pytest.fixture
def detector() -> type[Detector]:
    return Detector
