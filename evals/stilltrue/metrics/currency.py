"""Share of queries whose result is right as it stands: the current fact is in it and no outdated one is."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[R ∩ F = ∅ and R ∩ G ≠ ∅]`` over the queries with both sets."""
    return Metric(name="currency", kind="share", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    question = answer.question
    if not question.gold or not question.forbidden:
        return None
    returned = set(returned_facts(answer))
    return Score(float(not returned & question.forbidden and bool(returned & question.gold)))
