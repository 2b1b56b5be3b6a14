"""The figures in the README, held against the run in reports/: `nox -s figures`, after `nox -s evals`."""

import json
import re
from pathlib import Path

import pytest

from stilltrue.report import markdown
from stilltrue.results import Results, Row

# Embeddings differ in their last bits from processor to processor, which can move one of 971 queries: 0.1 points.
TOLERANCE = 0.2

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run() -> Results:
    document = json.loads((ROOT / "reports/results.json").read_text(encoding="utf-8"))
    return Results(run=document["run"], rows=[Row(**row) for row in document["rows"]])


def test_the_readme_shows_the_table_that_the_run_prints(run: Results) -> None:
    quoted = re.search(r"<!-- figures: .*? -->\n(.*?)\n<!-- end of figures -->", README, flags=re.DOTALL)
    assert quoted
    head, line, *rows = markdown.grid(run)
    printed = "\n".join([head, line, *(row for row in rows if "| hybrid |" in row)])
    number = r"\d+\.\d+"
    assert re.sub(number, "#", quoted[1]) == re.sub(number, "#", printed)
    pairs = zip(re.findall(number, quoted[1]), re.findall(number, printed), strict=True)
    assert [(ours, theirs) for ours, theirs in pairs if abs(float(ours) - float(theirs)) > TOLERANCE] == []


def test_every_single_figure_in_the_readmes_text_is_the_runs(run: Results) -> None:
    figures = re.findall(r"(\d+\.\d) %[^<%]*<!-- figure: (\w+), (\w+), (\w+), ([\w*=.]+) -->", README)
    assert len(figures) == README.count("<!-- figure: ")
    for figure, metric, policy, strategy, family in figures:
        study, _, dose = family.partition("=")
        if dose:
            (value,) = (
                row.value
                for row in run.rows
                if (row.study, row.dose, row.metric, row.policy, row.strategy)
                == (study, float(dose), metric, policy, strategy)
            )
        else:
            value = run.value(metric, policy=policy, strategy=strategy, family=family)
        assert value is not None
        assert abs(100 * value - float(figure)) <= TOLERANCE
