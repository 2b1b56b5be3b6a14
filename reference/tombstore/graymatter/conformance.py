"""Replays golden files, which hold what the original engine answered, and reports where this store differs."""

import json
import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from tombstore.clock import ManualClock, format_instant
from tombstore.fact import SHARED, Fact, fact_from_json
from tombstore.recall import Ranking
from tombstore.store import MemoryStore
from tombstore.variants import VARIANTS

Record: TypeAlias = Mapping[str, Any]

ULPS = 4
"""How many units in the last place keyword scores and weights may differ by: libm differs between platforms."""


class InvalidGolden(ValueError):
    """A file that is no golden file, or of an engine that is not known."""


@dataclass(frozen=True, slots=True)
class Conformance:
    """How many rows of a golden file were replayed and matched, and where the first difference is."""

    file: str
    checked: int
    matched: int
    first_difference: str | None


def conform(path: str | Path) -> Conformance:
    """Rebuild the file's store, replay every recall and lifecycle step, compare. Raises InvalidGolden, OSError."""
    golden = _read(Path(path))
    try:
        differences = list(_replay(golden))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise InvalidGolden(f"{path}: not a golden file ({type(error).__name__}: {error})") from error
    found = [difference for difference in differences if difference]
    return Conformance(str(path), len(differences), len(differences) - len(found), found[0] if found else None)


def _read(path: Path) -> Record:
    try:
        golden = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidGolden(f"{path}: not JSON ({error})") from None
    golden: Record = golden if isinstance(golden, dict) else {}
    if not {"engine", "facts", "now"} <= golden.keys():
        raise InvalidGolden(f"{path}: not a golden file (it needs engine, facts and now)")
    if golden["engine"] not in VARIANTS:
        known = ", ".join(name for name in VARIANTS if name != "reference")
        raise InvalidGolden(f"{path}: unknown engine {golden['engine']!r}; known: {known}")
    return cast("Record", golden)


def _replay(golden: Record) -> Iterator[str]:
    """One item a row: where and how it differs, or an empty string."""
    # Where the engine's order was arbitrary, only the rows marked as stable say anything.
    counts = golden["engine"] != "v0.8.0"
    for number, row in enumerate(golden.get("recalls", ()), start=1):
        if row.get("stable_over_16_runs", counts):
            difference = _recall_difference(golden, row)
            place = f"recall {number} (query {row['query']!r}, k = {row['top_k']})"
            yield difference and f"{place}: {difference}"
    yield from _lifecycle_differences(golden, golden.get("lifecycle", ()) if counts else ())


def _lifecycle_differences(golden: Record, steps: Sequence[Record]) -> Iterator[str]:
    with ExitStack() as stores:
        store = clock = None
        for number, step in enumerate(steps, start=1):
            if store is None or clock is None or step["step"].startswith("fresh store"):
                stores.close()
                store, clock = stores.enter_context(_rebuilt(golden, **_maintenance(step)))
            clock.now = _instant(step["now"])
            # A sequence keeps its store, so only the first step's settings could apply: they are the same throughout.
            maybe = "MaybeConsolidate" in (step.get("call") or step["step"])
            (store.maybe_consolidate if maybe else store.consolidate)(golden["agent"])
            difference = _state_difference(step["after"], store.list_facts(golden["agent"]))
            yield difference and f"step {number} ({step['step']}): {difference}"


def _maintenance(step: Record) -> dict[str, Any]:
    given = {"half_life_hours": step.get("half_life_hours"), "consolidate_threshold": step.get("threshold")}
    return {name: value for name, value in given.items() if value is not None}


@contextmanager
def _rebuilt(golden: Record, **settings: Any) -> Generator[tuple[MemoryStore, ManualClock], None, None]:
    clock = ManualClock(golden["now"])
    settings = {"half_life_hours": golden.get("half_life_hours", 0), **settings}
    with MemoryStore(clock=clock, variant=golden["engine"], embedder=_Recorded.of(golden), **settings) as store:
        store.import_facts(fact_from_json(fact) for fact in golden["facts"])
        yield store, clock


class _Recorded:
    """The embeddings that the golden file gives for its queries."""

    name = "recorded"

    def __init__(self, embeddings: Mapping[str, Sequence[float]]) -> None:
        self._embeddings = embeddings

    @classmethod
    def of(cls, golden: Record) -> "_Recorded | None":
        return cls(golden["query_embeddings"]) if golden.get("query_embeddings") else None

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._embeddings[text] for text in texts], dtype=np.float32)


def _recall_difference(golden: Record, row: Record) -> str:
    options: Record = row.get("variant") or {}
    # Without weights the store's own defaults are what is checked.
    weights = _weights(options.get("weights"))
    strategy = VARIANTS[golden["engine"]].hybrid(golden.get("half_life_hours") or 720, weights) if weights else "hybrid"
    agent, query, k = golden["agent"], row["query"], row["top_k"]
    with _rebuilt(golden, strategy=strategy) as (store, _):
        differences = [
            _ranking_difference(row[key], store.rank(namespace, query, k))
            for key, namespace in (("ranking", agent), ("ranking_agent", agent), ("ranking_shared", SHARED))
            if row.get(key) is not None
        ]
        if any(fact["agent_id"] == SHARED for fact in golden["facts"]):
            recalled = store.recall_all(agent, query, k)
        else:
            recalled = store.recall(agent, query, k, min_relevance=options.get("min_relevance") or 0.0)
        differences.append(_difference("results", row["result_texts"], [fact.text for fact in recalled]))
        if "access_after" in row:
            differences.append(_state_difference(row["access_after"], store.list_facts(agent)))
    return next(filter(None, differences), "")


def _weights(given: Any) -> tuple[float, float, float] | None:
    """Vector, keyword and recency weights from an object, in any case of its keys, or a list; None: the defaults."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        by_name = {name.lower(): float(weight) for name, weight in cast("Mapping[str, Any]", given).items()}
        return by_name.get("vector", 0.0), by_name.get("keyword", 0.0), by_name.get("recency", 0.0)
    vector, keyword, recency = map(float, given)
    return vector, keyword, recency


def _ranking_difference(expected: Sequence[Record], ranking: Ranking) -> str:
    if difference := _difference("order", [row["id"] for row in expected], ranking.ids):
        return difference
    for row, index_row, fused in zip(expected, ranking.rows.tolist(), ranking.fused.tolist(), strict=True):
        checks: list[tuple[str, Any, Any, Callable[[Any, Any], bool]]] = [
            (f"{name} rank", row[f"{name}_rank"], ranking.rank(name, index_row), _same)
            for name in ("vector", "keyword", "recency")
        ]
        checks.append(("fused score", row["score_17g"], f"{fused:.17g}", _same))
        checks.append(("keyword score", row["keyword_score_17g"], ranking.score("keyword", index_row), _close))
        if difference := _first_difference(row["id"], checks):
            return difference
    return ""


def _state_difference(expected: Sequence[Record], facts: Sequence[Fact]) -> str:
    if difference := _difference("facts left", [row["id"] for row in expected], [fact.id for fact in facts]):
        return difference
    for row, fact in zip(expected, facts, strict=True):
        checks: list[tuple[str, Any, Any, Callable[[Any, Any], bool]]] = [
            ("access count", row["access_count"], fact.access_count, _same),
            ("last access", row["accessed_at"], format_instant(fact.accessed_at), _same),
            ("marker", row["superseded_by"], fact.superseded_by, _same),
            ("weight", row["weight_17g"], fact.weight, _close),
        ]
        if difference := _first_difference(fact.id, checks):
            return difference
    return ""


def _first_difference(fact_id: str, checks: Sequence[tuple[str, Any, Any, Callable[[Any, Any], bool]]]) -> str:
    for name, expected, got, agree in checks:
        if not agree(expected, got):
            return f"{name} of {fact_id}: expected {expected}, got {got if isinstance(got, str) else repr(got)}"
    return ""


def _difference(what: str, expected: Sequence[str], got: Sequence[str]) -> str:
    for place, (one, other) in enumerate(zip(expected, got, strict=False), start=1):
        if one != other:
            return f"{what}, place {place}: expected {one!r}, got {other!r}"
    return "" if len(expected) == len(got) else f"{what}: expected {len(expected)}, got {len(got)}"


def _same(expected: object, got: object) -> bool:
    return expected == got


def _close(expected: str, got: float) -> bool:
    return abs(float(expected) - got) <= ULPS * max(math.ulp(float(expected)), math.ulp(got))


def _instant(text: str) -> int:
    return ManualClock(text).now
