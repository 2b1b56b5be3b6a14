"""Share of queries that return at least one fact that answers them now."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ G ≠ ∅]`` over the queries with a gold set."""
    return Metric(name="live_hit", kind="share", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    if not answer.question.gold:
        return None
    return Score(float(not answer.question.gold.isdisjoint(returned_facts(answer))))
