"""The lock on a run's results: which query fails where, so that a later run names the cases that changed."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from stilltrue.gates import REFERENCE
from stilltrue.results import RETRIEVAL, Change, Results, Verdict

SCHEMA = 1
GATE = "baseline"

_FAILS = {"stale_leak": 1, "displaced": 1, "shrink": 1, "live_hit": 0}
"""The metrics that are locked, and whether a case fails by scoring (a leak, a lost slot) or by not scoring (no hit)."""

_NEEDED = {"suite", "metrics", "k", "embeddings", "cases"}

Cases: TypeAlias = dict[str, dict[str, str]]
"""Outcomes by case and metric: ``.`` fine, ``x`` failed, ``-`` not scored."""


class BaselineMismatch(ValueError):
    """The baseline is about another suite or other options than the run, or it isn't a baseline at all."""


def document(results: Results) -> dict[str, Any]:
    """The lock, as one JSON-ready object: outcomes by contestant, family and metric, a character per case."""
    cases: dict[str, dict[str, None]] = {}
    outcomes: dict[str, dict[str, dict[str, str]]] = {}
    for record in _locked(results.queries):
        cases.setdefault(record["family"], {}).setdefault(_case(record))
        of_family = outcomes.setdefault(_contestant(record), {}).setdefault(record["family"], dict.fromkeys(_FAILS, ""))
        for metric in _FAILS:
            of_family[metric] += _outcome(metric, record[metric])
    return {
        "schema": SCHEMA,
        **_identity(results.run),
        "versions": results.run["versions"],
        "embeddings": results.run["embeddings"],
        "cases": {family: list(names) for family, names in cases.items()},
        "outcomes": outcomes,
    }


def write(results: Results, path: Path) -> None:
    """Write the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document(results), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """The lock. Raises BaselineMismatch when the file is no such thing, OSError."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BaselineMismatch(f"{path}: not a baseline: {error}") from error
    try:
        if found["schema"] == SCHEMA and found["outcomes"] and found.keys() >= _NEEDED:
            return found
    except (KeyError, TypeError, IndexError):
        pass
    raise BaselineMismatch(f"{path}: not a baseline of schema {SCHEMA}; make one with --update-baseline")


def check_comparable(locked: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Raises BaselineMismatch when the run asked other queries or in another way than the baseline's."""
    for name, ours in _identity(run).items():
        theirs = locked[name]
        if theirs != ours:
            raise BaselineMismatch(
                f"the baseline's {name} is {theirs}, this run's is {ours}: their cases can't be compared; "
                "after a deliberate change, lock the new results with --update-baseline"
            )


def changes(locked: Mapping[str, Any], results: Results) -> list[Change]:
    """The cases that turned out differently, of contestants and cases that both have."""
    return list(_changes(locked, document(results)))


def verdict(locked: Mapping[str, Any], results: Results, changed: Sequence[Change]) -> Verdict:
    """Fails when the reference got worse on some case. Changes of the controls are named, and no failure.

    A lost hit counts by itself when both runs ranked by the same vectors. Otherwise another processor's last bits can
    move single cases, and only a significant loss (exact McNemar, 5 %) counts.
    """
    reference = [one for one in changed if one.contestant.startswith(f"tombstore/{REFERENCE}/")]
    worse = [one for one in reference if one.worse]
    regressions = [one for one in worse if one.metric != "live_hit"]
    lost = [one for one in worse if one.metric == "live_hit"]
    if lost and (locked["embeddings"] == results.run["embeddings"] or _significant(reference)):
        regressions += lost
    told = f"{len(changed)} cases changed, {sum(one.worse for one in changed)} for the worse"
    if regressions:
        named = ", ".join(f"{one.family}/{one.case} ({one.metric}, {one.contestant})" for one in regressions[:5])
        more = f" and {len(regressions) - 5} more" if len(regressions) > 5 else ""
        return Verdict(GATE, "fail", f"the reference got worse on {named}{more}; {told}")
    return Verdict(GATE, "pass", told if changed else f"no case changed in {_compared(locked, results)} outcomes")


def _significant(changed: Sequence[Change]) -> bool:
    from stilltrue.paired import mcnemar

    worse = Counter(one.worse for one in changed if one.metric == "live_hit")
    return worse[True] > worse[False] and mcnemar(worse[True], worse[False]) < 0.05


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for contestant, families in after["outcomes"].items():
        for family, metrics in families.items():
            known = before["outcomes"].get(contestant, {}).get(family)
            if known is None or before["cases"][family] != after["cases"][family]:
                continue
            for metric, outcomes in metrics.items():
                for case, old, new in zip(after["cases"][family], known[metric], outcomes, strict=True):
                    if old != new:
                        yield Change(contestant, family, case, metric, worse=new == "x")


def _compared(locked: Mapping[str, Any], results: Results) -> int:
    known = locked["outcomes"]
    return sum(one["family"] in known.get(_contestant(one), {}) for one in _locked(results.queries)) * len(_FAILS)


def _locked(queries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (record for record in queries if record["study"] == RETRIEVAL and record["system"] == "tombstore")


def _identity(run: Mapping[str, Any]) -> dict[str, Any]:
    return {"suite": run["suite"], "metrics": run["metrics"], "k": run["options"]["k"]}


def _contestant(record: Mapping[str, Any]) -> str:
    return f"{record['system']}/{record['policy']}/{record['strategy']}"


def _case(record: Mapping[str, Any]) -> str:
    return f"{record['scenario']}#{record['number']}"


def _outcome(metric: str, value: float | None) -> str:
    return "-" if value is None else "x" if (value > 0) == bool(_FAILS[metric]) else "."
