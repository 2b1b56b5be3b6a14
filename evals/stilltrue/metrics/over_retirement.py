"""How many facts that should have survived the system shows as retired."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #(surviving ∩ listed as retired) / Σ #surviving``, for systems that list their facts."""
    return Metric(name="over_retirement", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    surviving = answer.question.surviving
    if answer.holdings is None or not surviving:
        return None
    return Score(len(surviving & answer.holdings.retired), len(surviving))
