"""How many retired facts are live again that had been gone: after a re-read, a re-import, a late write, a cycle."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #(T ∩ listed as live ∩ not live at the question before) / Σ #T``, for systems that list their facts."""
    return Metric(name="resurrection", kind="mean", good=0.0, score=_score)


def _score(answer: Answer) -> Score | None:
    retired = answer.question.retired
    if answer.holdings is None or not retired:
        return None
    return Score(len(retired & answer.holdings.revived), len(retired))
