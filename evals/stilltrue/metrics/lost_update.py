"""Share of queries to which neither the old nor the new fact comes back, however many results are asked for."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ G = R ∩ F = ∅]``, R at a k of the store's size, over the queries with both sets, about now."""
    return Metric(name="lost_update", kind="share", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    question = answer.question
    if not question.gold or not question.forbidden or question.as_of:
        return None
    return Score(float((question.gold | question.forbidden).isdisjoint(hit.fact for hit in answer.reachable)))
