"""Share of questions about a past instant that are answered with what was valid then."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ F = ∅ and (R ∩ G ≠ ∅ or G = ∅)]`` over the queries with ``as_of``; half-open intervals."""
    return Metric(name="history_recall", kind="share", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    question = answer.question
    if question.as_of is None:
        return None
    returned = set(returned_facts(answer))
    return Score(float(not returned & question.forbidden and (not question.gold or bool(returned & question.gold))))
