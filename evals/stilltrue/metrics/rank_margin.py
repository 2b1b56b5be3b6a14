"""By how many ranks the current fact leads its best outdated sibling."""

from stilltrue.metrics import Metric, Score, ranks, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``rank of the best forbidden - rank of the best gold``, absent = k + 1, over the queries with both sets."""
    return Metric(name="rank_margin", kind="mean", good=None, score=_score)


def _score(answer: Answer) -> Score | None:
    question = answer.question
    if not question.gold or not question.forbidden:
        return None
    found, absent = ranks(returned_facts(answer)), answer.k + 1
    stale = min(found.get(fact, absent) for fact in question.forbidden)
    return Score(stale - min(found.get(fact, absent) for fact in question.gold))
