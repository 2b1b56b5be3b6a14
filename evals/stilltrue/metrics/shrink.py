"""Result slots lost because retired facts were taken out after the cut."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """Mean of ``max(0, min(k, live candidates) - #R)``, in slots. What R' holds is ``min(k, live candidates)``."""
    return Metric(name="shrink", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    return Score(max(0, len(answer.counterfactual) - len(answer.returned)))
