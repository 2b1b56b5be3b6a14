"""Of the gold facts that the store without its retired facts returns, how many are missing."""

from stilltrue.metrics import Metric, Score, displaced_facts, reachable_gold
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #((R' ∩ G) \\ R) / Σ #(R' ∩ G)``."""
    return Metric(name="displaced_fact_rate", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    reachable = reachable_gold(answer)
    return Score(len(displaced_facts(answer)), reachable) if reachable else None
