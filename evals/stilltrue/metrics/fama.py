"""Gold present, less a penalty for forbidden facts present too (arXiv 2604.20006, with ids instead of a judge)."""

from stilltrue.metrics import Metric, Score, returned_facts
from stilltrue.records import Answer


def make() -> Metric:
    """``max(0, P - λ(1 - A))``: P share of gold there, A of forbidden absent, ``λ = #F / (#G + #F)``; needs gold."""
    return Metric(name="fama", kind="mean", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    gold, forbidden = answer.question.gold, answer.question.forbidden
    if not gold:
        return None
    returned = set(returned_facts(answer))
    present = len(gold & returned) / len(gold)
    leaked = len(forbidden & returned) / len(forbidden) if forbidden else 0.0
    return Score(max(0.0, present - len(forbidden) / (len(gold) + len(forbidden)) * leaked))
