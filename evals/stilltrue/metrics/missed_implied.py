"""How many facts that went stale with nobody saying so the system still shows as live."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #(T* ∩ listed as live) / Σ #T*``, for systems that list their facts."""
    return Metric(name="missed_implied", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    implied = answer.question.implied
    if answer.holdings is None or not implied:
        return None
    return Score(len(implied & answer.holdings.live), len(implied))
