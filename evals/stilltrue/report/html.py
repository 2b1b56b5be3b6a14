"""report.html: one self-contained page, from the verdicts down to the single query. No network."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from stilltrue.report.answers import answers
from stilltrue.report.curves import figures, script
from stilltrue.report.tables import HEADLINES, cell, contestants, dose_rows, families, find, grid_rows, legal, unit
from stilltrue.results import RETRIEVAL, Results, Row


def write(results: Results, folder: Path) -> Path:
    """Write the file."""
    path = folder / "report.html"
    path.write_text(render(results), encoding="utf-8")
    return path


def render(results: Results) -> str:
    """The page. Every text is escaped by the template engine, wherever it comes from."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("stilltrue.report").joinpath("report.html.j2").read_text(encoding="utf-8"))
    page = template.render(
        run=results.run,
        verdicts=results.verdicts,
        metrics=[(name, unit(name)) for name in HEADLINES],
        grid=_grid(results),
        policies=_policies(results),
        heat=_heat(results),
        cases=_cases(results),
        answers=answers(results),
        changed=results.changed,
        curves=figures(results),
        plotly=script() if dose_rows(results) else "",
    )
    return legal(page)


@dataclass(frozen=True, slots=True)
class _Cell:
    """A figure as text, and as a bar in percent of its column's worst."""

    text: str
    bar: float


def _grid(results: Results) -> list[dict[str, Any]]:
    rows = grid_rows(results)
    highest = {name: max((r.value or 0.0 for r in rows if r.metric == name), default=0.0) for name in HEADLINES}
    return [
        {
            "policy": policy,
            "strategy": strategy,
            "cells": [
                _cell(find(rows, policy=policy, strategy=strategy, metric=name), highest[name]) for name in HEADLINES
            ],
        }
        for policy, strategy in contestants(results)
    ]


def _cell(row: Row | None, highest: float) -> _Cell:
    value = row.value if row and row.value is not None else 0.0
    return _Cell(cell(row), round(100 * value / highest, 1) if highest else 0.0)


def _policies(results: Results) -> list[str]:
    return list(dict.fromkeys(policy for policy, _ in contestants(results)))


def _heat(results: Results) -> list[dict[str, Any]]:
    """Leak and displacement per family and policy, with the last strategy of the run (the fullest one by default)."""
    strategy = contestants(results)[-1][1] if contestants(results) else ""
    return [
        {
            "metric": metric,
            "strategy": strategy,
            "family": family,
            "cells": [
                _cell(find(results.rows, policy=policy, strategy=strategy, metric=metric, family=family), 1.0)
                for policy in _policies(results)
            ],
        }
        for metric in ("stale_leak", "displaced")
        for family in families(results)
    ]


def _cases(results: Results) -> list[dict[str, Any]]:
    """Every query under that same strategy, with its different results and the policies that gave each."""
    wanted = contestants(results)[-1][1] if contestants(results) else ""
    cases: dict[tuple[str, int], dict[str, Any]] = {}
    for record in results.queries:
        if (record["study"], record["system"], record["strategy"]) != (RETRIEVAL, "tombstore", wanted):
            continue
        case = cases.setdefault((record["scenario"], record["number"]), {**record, "answers": []})
        answer = {"unsupported": record["unsupported"], **_answer(record)}
        same = next((one for one in case["answers"] if one["what"] == answer), None)
        if same:
            same["policies"].append(record["policy"])
        else:
            case["answers"].append({"policies": [record["policy"]], "what": answer})
    return list(cases.values())


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    hits = [
        {"text": text, "state": _state(record, fact)}
        for fact, text in zip(record["returned"], record["returned_texts"], strict=True)
    ]
    displaced = record["displaced_directly_facts"] + record["displaced_indirectly_facts"]
    return {"hits": hits, "displaced": displaced, "shrink": record["shrink"]}


def _state(record: dict[str, Any], fact: str | None) -> str:
    if fact in record["gold"]:
        return "gold"
    if fact in record["retired"] or fact in record["implied"]:
        return "stale"
    return "other"
