"""How many facts that were retired explicitly the system still shows as live."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #(T ∩ listed as live) / Σ #T``, for systems that list their facts."""
    return Metric(name="missed_retirement", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    retired = answer.question.retired
    if answer.holdings is None or not retired:
        return None
    return Score(len(retired & answer.holdings.live), len(retired))
