"""How long after a correction the first result is clean of the outdated fact."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ steps from retirement to the first question without the fact / Σ facts``; never clean: not in it."""
    return Metric(name="invalidation_latency", kind="mean", good=None, score=_score)


def _score(answer: Answer) -> Score | None:
    return Score(sum(answer.cleared_after), len(answer.cleared_after)) if answer.cleared_after else None
