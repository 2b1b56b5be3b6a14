"""summary.md: verdicts first, then the grid; short enough for a CI job's summary."""

import re
from pathlib import Path

from stilltrue.report.answers import answers
from stilltrue.report.tables import HEADLINES, cell, contestants, find, grid_rows, legal, unit
from stilltrue.results import Results

_MOST_CHANGES = 50
_MARKS = {"pass": "✅ pass", "fail": "❌ fail", "inconclusive": "❔ inconclusive"}


def write(results: Results, folder: Path) -> Path:
    """Write the file."""
    path = folder / "summary.md"
    path.write_text(text(results), encoding="utf-8")
    return path


def text(results: Results) -> str:
    """The summary as Markdown."""
    verdicts = [(one.gate, _MARKS[one.verdict], one.reason) for one in results.verdicts]
    return "\n".join(
        [
            "# stilltrue",
            "",
            *table(("gate", "verdict", "why"), verdicts),
            "",
            *_changed(results),
            *_answers(results),
            f"## Policies × strategies, k = {results.run['options']['k']}",
            "",
            "Over all families, with 95 % intervals. Lower is better, except for live_hit and audit_completeness.",
            "",
            *grid(results),
            "",
        ]
    )


def _changed(results: Results) -> list[str]:
    """The cases that differ from the baseline, by name."""
    if not results.changed:
        return []
    cells = [
        (f"{one.family}/{one.case}", one.metric, one.contestant, "worse" if one.worse else "not worse")
        for one in results.changed[:_MOST_CHANGES]
    ]
    more = len(results.changed) - _MOST_CHANGES
    rest = ["", f"... and {more} more, in results.json"] if more > 0 else []
    return ["## Changed since the baseline", "", *table(("case", "metric", "row", "now"), cells), *rest, ""]


def _answers(results: Results) -> list[str]:
    """The reader's questions, a line each."""
    lines = [
        (
            one.question,
            "; ".join(f"{policy} {figure} {one.unit} with {strategy}" for policy, strategy, figure in one.worst)
            or "none",
            ", ".join(one.clean) or "none",
        )
        for one in answers(results)
    ]
    return [
        "## Answers",
        "",
        *table(("question", "yes, with the strategy where the figure is highest", "no, 0 with every strategy"), lines),
        "",
    ]


def grid(results: Results) -> list[str]:
    """The lines of the main table."""
    rows = grid_rows(results)
    lines = [
        (policy, strategy, *(cell(find(rows, policy=policy, strategy=strategy, metric=name)) for name in HEADLINES))
        for policy, strategy in contestants(results)
    ]
    return table(("policy", "strategy", *(f"{name} ({unit(name)})" for name in HEADLINES)), lines)


def table(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> list[str]:
    """A Markdown table; cells are shown as themselves whatever they hold."""
    return [_line(head), _line(("---",) * len(head)), *(_line(tuple(map(escaped, cells))) for cells in lines)]


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """The text on one line, with Markdown and HTML in it shown as itself."""
    return re.sub(r"([\\`*<>|~&\[\]])", r"\\\1", legal(" ".join(text.split())))
