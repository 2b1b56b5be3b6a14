"""How many of the facts that answer a query now it returns."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``#(R ∩ G) / #G``, mean over the queries with a gold set."""
    return Metric(name="live_recall", kind="mean", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    gold = answer.question.gold
    return Score(len(gold.intersection(returned_facts(answer))) / len(gold)) if gold else None
