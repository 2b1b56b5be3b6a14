"""Share of queries that return a retired fact about the very thing that was asked."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ F ≠ ∅]`` over the queries with a forbidden set."""
    return Metric(name="stale_leak_relevant", kind="share", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    if not answer.question.forbidden:
        return None
    return Score(float(not answer.question.forbidden.isdisjoint(returned_facts(answer))))
