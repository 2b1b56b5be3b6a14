"""Share of queries in which a gold fact is missing that the same store without its retired facts returns."""

from stilltrue.metrics import Metric, Score, displaced_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``[(R' ∩ G) \\ R ≠ ∅]`` over the queries with a gold set."""
    return Metric(name="displaced", kind="share", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    return Score(float(bool(displaced_facts(answer)))) if answer.question.gold else None
