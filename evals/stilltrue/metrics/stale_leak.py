"""Share of queries that return at least one retired fact."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ T ≠ ∅]`` over the queries with a forbidden set."""
    return Metric(name="stale_leak", kind="share", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    if not answer.question.forbidden:
        return None
    return Score(float(not answer.question.retired.isdisjoint(returned_facts(answer))))
