"""The part of displaced_fact_rate that no returned fact explains: corpus statistics, list ranks, candidate windows."""

from stilltrue.metrics import Metric, Score, directly_displaced, displaced_facts, reachable_gold
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #indirect / Σ #(R' ∩ G)``."""
    return Metric(name="displaced_indirectly", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    reachable = reachable_gold(answer)
    return Score(len(displaced_facts(answer) - directly_displaced(answer)), reachable) if reachable else None
