"""How many retired facts the system can still show, with text and marker."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ #(T ∩ listed as retired) / Σ #T`` over facts too young to be pruned, for systems that list."""
    return Metric(name="audit_completeness", kind="mean", good=1.0, score=_score)


def _score(answer: Answer) -> Score | None:
    retired = answer.question.retired & answer.question.traceable
    if answer.holdings is None or not retired:
        return None
    return Score(len(retired & answer.holdings.retired), len(retired))
