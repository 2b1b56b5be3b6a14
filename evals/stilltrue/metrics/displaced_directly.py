"""The part of displaced_fact_rate for which a retired fact sits at or above the missing fact's place."""

from stilltrue.metrics import Metric, Score, directly_displaced, reachable_gold
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #direct / Σ #(R' ∩ G)``."""
    return Metric(name="displaced_directly", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    reachable = reachable_gold(answer)
    return Score(len(directly_displaced(answer)), reachable) if reachable else None
