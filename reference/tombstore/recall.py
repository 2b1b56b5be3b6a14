"""Ranking and picking: fusion, total order, floor, distinct texts, cut; and the receipts that explain a result."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tombstore.clock import HOUR, Instant
from tombstore.fact import Fact
from tombstore.fusion import RRF_K
from tombstore.index import AgentIndex, Floats, Rows
from tombstore.policies import Policy
from tombstore.signals import Field, Query, Ranked
from tombstore.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Ranking:
    """All candidates of a query, best first, before floor and cut. ``fused`` is aligned with ``rows``."""

    index: AgentIndex
    rows: Rows
    fused: Floats
    signals: Mapping[str, Ranked]

    @property
    def ids(self) -> list[str]:
        """The candidates' fact IDs, best first."""
        return [self.index.ids[row] for row in self.rows]

    def rank(self, signal: str, row: int) -> int:
        """The row's rank in a signal, 1 is best; 0 when the signal doesn't rank it or wasn't asked."""
        return self.placed(signal, row)[0]

    def score(self, signal: str, row: int) -> float:
        """The row's score in a signal, 0 when it has none."""
        return self.placed(signal, row)[1]

    def placed(self, signal: str, row: int) -> tuple[int, float]:
        """The row's rank and score in a signal."""
        if (one := self.signals.get(signal)) is None:
            return 0, 0.0
        at = (one.rows == row).nonzero()[0]
        return (int(one.ranks[at[0]]), float(one.scores[at[0]])) if len(at) else (0, 0.0)


def rank(index: AgentIndex, query: Query, strategy: Strategy, policy: Policy) -> Ranking:
    """Rank an agent's facts. Retired facts leave here, before any statistic, when the policy says so."""
    columns = index.columns
    field = Field(index, policy.eligible(columns), policy.window(columns))
    if not field.eligible.any():
        return Ranking(index, np.zeros(0, dtype=np.int64), np.zeros(0), {})
    signals = {name: signal(field, query) for name, signal in strategy.signals.items()}
    fused = policy.rescore(index, strategy.fusion(signals, strategy.weights, field.eligible))
    rows = np.flatnonzero(~np.isnan(fused))
    best = np.lexsort((columns.order[rows], -fused[rows]))
    return Ranking(index, rows[best], fused[rows[best]], signals)


def pick(ranking: Ranking, policy: Policy, *, k: int, min_relevance: float, distinct_texts: bool) -> Rows:
    """The result's rows: down to ``min_relevance`` times the best score, each text once, at most ``k``."""
    rows = ranking.rows
    if min_relevance and len(rows) and ranking.fused[0] > 0:
        below = np.flatnonzero(ranking.fused < min_relevance * ranking.fused[0])
        rows = rows[: below[0]] if len(below) else rows
    picked = _distinct(ranking.index, rows, k) if distinct_texts else rows[:k]
    return policy.after_cut(ranking.index.columns, picked)


def _distinct(index: AgentIndex, rows: Rows, k: int) -> Rows:
    """The first ``k`` rows with different texts; the best-ranked copy stands for the others."""
    seen: dict[str, int] = {}
    for row in map(int, rows):
        if len(seen) == k:
            break
        seen.setdefault(index.texts[row], row)
    return np.array(list(seen.values()), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Why a fact was returned: rank per signal (0: not ranked), fused score, and the facts that it replaced."""

    fact: Fact
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    fused: float
    age_days: float
    supersedes: tuple[str, ...]
    rrf_k: int = RRF_K


def receipt(ranking: Ranking, row: int, fact: Fact, now: Instant, supersedes: list[str]) -> Receipt:
    """The receipt of one returned row. Age is in days since creation, two decimals."""
    placed = {name: ranking.placed(name, row) for name in ranking.signals}
    return Receipt(
        fact=fact,
        ranks={name: rank for name, (rank, _) in placed.items()},
        scores={name: score for name, (_, score) in placed.items()},
        fused=float(ranking.fused[np.flatnonzero(ranking.rows == row)[0]]),
        age_days=round((now - fact.created_at) / (24 * HOUR), 2),
        supersedes=tuple(supersedes),
    )
