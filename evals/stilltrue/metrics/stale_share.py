"""How much of what is returned is retired."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """Mean of ``#(R ∩ T) / #R`` over the queries with a forbidden set; an empty R counts 0 (see empty_results)."""
    return Metric(name="stale_share", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    if not answer.question.forbidden:
        return None
    returned = returned_facts(answer)
    stale = sum(fact in answer.question.retired for fact in returned)
    return Score(stale / len(returned) if returned else 0.0)
