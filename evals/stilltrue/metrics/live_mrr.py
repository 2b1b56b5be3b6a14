"""How high the first fact stands that answers the query now."""

from stilltrue.metrics import Metric, Score, ranks, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``1 / rank of the first gold fact``, 0 when there is none, mean over the queries with a gold set."""
    return Metric(name="live_mrr", kind="mean", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    if not answer.question.gold:
        return None
    gold = [rank for fact, rank in ranks(returned_facts(answer)).items() if fact in answer.question.gold]
    return Score(1 / min(gold) if gold else 0.0)
