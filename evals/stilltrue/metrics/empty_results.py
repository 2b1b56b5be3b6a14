"""Share of queries that return nothing at all."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``[R = ∅]``. A strategy that doesn't know the words of a query may rightly return nothing."""
    return Metric(name="empty_results", kind="share", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    return Score(float(not answer.returned))
