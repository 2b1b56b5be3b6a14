"""The questions that a reader comes with, answered by the run: which policy leaks, displaces, shrinks, over-retires?"""

from dataclasses import dataclass

from stilltrue.report.tables import cell, grid_rows, unit
from stilltrue.results import Results, Row

QUESTIONS = (
    ("stale_leak", "Which returns retired facts?"),
    ("displaced_directly", "Which lets a retired fact take a live one's place (displaced directly)?"),
    ("displaced_indirectly", "Which loses a live fact because of retired ones that aren't in the result (indirectly)?"),
    ("shrink", "Which returns less than it could?"),
    ("over_retirement", "Which retires facts that still hold?"),
    ("resurrection", "Which lets retired facts come back to life?"),
    ("history_recall", "Which can still say what was true at a past instant?"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The policies for which the figure is above 0 with some strategy, worst first, and those for which it never is.

    ``worst``: policy, strategy and figure with its interval; ``clean`` names the others; ``unit`` is that of figures.
    """

    metric: str
    question: str
    worst: tuple[tuple[str, str, str], ...]
    clean: tuple[str, ...]
    unit: str


def answers(results: Results) -> list[Answer]:
    """One answer a question, over all families."""
    return [_answer(metric, question, results) for metric, question in QUESTIONS]


def _answer(metric: str, question: str, results: Results) -> Answer:
    worst: dict[str, Row] = {}
    scored = [row for row in grid_rows(results) if row.metric == metric and row.value is not None]
    for row in scored:
        if row.value and row.value > (worst[row.policy].value or 0.0 if row.policy in worst else 0.0):
            worst[row.policy] = row
    ordered = sorted(worst.values(), key=lambda row: -(row.value or 0.0))
    return Answer(
        metric=metric,
        question=question,
        worst=tuple((row.policy, row.strategy, cell(row)) for row in ordered),
        clean=tuple(dict.fromkeys(row.policy for row in scored if row.policy not in worst)),
        unit=unit(metric),
    )
