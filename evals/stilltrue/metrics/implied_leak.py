"""Share of queries that return a fact which went stale with nobody saying so: only a detector can help."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ T* ≠ ∅]`` over the queries with implied facts."""
    return Metric(name="implied_leak", kind="share", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    if not answer.question.implied:
        return None
    return Score(float(not answer.question.implied.isdisjoint(returned_facts(answer))))
