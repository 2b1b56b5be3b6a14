"""``stilltrue compare``: two contestants on the same queries, within a run or between runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stilltrue.cli.output import AsJson, fail, print_json, print_table, user_errors
from stilltrue.gates import REFERENCE

if TYPE_CHECKING:
    import pandas as pd

    from stilltrue.metrics import Metric
    from stilltrue.paired import Comparison
    from stilltrue.runs import Run

NEEDS_ARGUMENTS = True

METRICS = ("stale_leak", "displaced", "live_hit", "shrink")


def run(
    runs: Annotated[list[Path], typer.Argument(help="Folders that `stilltrue evals` wrote; two: run against run.")],
    row: Annotated[
        list[str] | None,
        typer.Option(
            help="POLICY/STRATEGY, or SYSTEM/POLICY/STRATEGY; repeatable. In one run: each against each other; between "
            "runs: each with itself. Default: the reference's policy against all others under the fullest strategy."
        ),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help=f"Repeatable. Default: {', '.join(METRICS)}.")] = None,
    family: Annotated[list[str] | None, typer.Option(help="Only the queries of this family; repeatable.")] = None,
    cases: Annotated[bool, typer.Option("--cases", help="Name the queries that differ.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap intervals.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare rows on the same queries: exact McNemar, paired clustered bootstrap, Holm over all comparisons.

    Runs of different suites are not compared.

    Example: stilltrue compare reports --row tombstone/hybrid --row postfilter/hybrid --metric displaced --cases
    """
    from stilltrue import paired, plugins
    from stilltrue.plugins import UnknownPlugin
    from stilltrue.runs import NotARun, load_run

    with user_errors(NotARun, UnknownPlugin):
        loaded = [load_run(path) for path in runs]
        metrics: list[Metric] = [plugins.make(plugins.METRICS, name) for name in metric or METRICS]
    _check_comparable(loaded)
    pairs = list(_pairs(loaded, row))
    if not pairs:
        fail("nothing to compare: name two rows with --row, or give two runs")
    comparisons: list[Comparison] = []
    differing: list[pd.DataFrame] = []
    for each in metrics:
        for one, two in pairs:
            first, second = one.only(family), two.only(family)
            found = paired.compare(each, first.answers, second.answers, names=(first.name, second.name), seed=seed)
            if found:
                comparisons.append(found)
                differing.append(paired.differing(each, first.answers, second.answers))
    comparisons = paired.holm(comparisons)
    if as_json:
        print_json({"comparisons": comparisons})
        return
    _show(comparisons)
    if cases:
        for one, queries in zip(comparisons, differing, strict=True):
            _show_cases(one, queries)


@dataclass(frozen=True)
class _Side:
    """One side of a comparison: what it is called, and its answers."""

    name: str
    answers: "pd.DataFrame"

    def only(self, families: list[str] | None) -> "_Side":
        return _Side(self.name, self.answers[self.answers["family"].isin(families)]) if families else self


def _check_comparable(loaded: "list[Run]") -> None:
    first, *others = loaded
    for other in others:
        for what in ("suite", "metrics"):
            if first.run[what] != other.run[what]:
                fail(
                    f"{first.path} and {other.path} can't be compared, their {what} differ: "
                    f"{first.run[what]} and {other.run[what]}"
                )


def _pairs(loaded: "list[Run]", rows: list[str] | None) -> "Iterator[tuple[_Side, _Side]]":
    first, *others = loaded
    known = {_named(*one): one for one in first.contestants()}
    named = [_resolved(row, list(known)) for row in rows or ()]
    if others:
        for row in named or known:
            for other in others:
                if known[row] in other.contestants():
                    yield (
                        _Side(f"{row} in {first.path}", first.answers(*known[row])),
                        _Side(f"{row} in {other.path}", other.answers(*known[row])),
                    )
        return
    for one, two in combinations(named, 2) if named else _against_the_reference(list(known)):
        yield _Side(one, first.answers(*known[one])), _Side(two, first.answers(*known[two]))


def _against_the_reference(known: list[str]) -> Iterator[tuple[str, str]]:
    """The reference's policy against each other one, under the last strategy that the run asked."""
    stores = [row for row in known if row.count("/") == 1]
    strategy = stores[-1].rpartition("/")[2] if stores else ""
    reference = f"{REFERENCE}/{strategy}"
    if reference in stores:
        yield from ((reference, row) for row in stores if row != reference and row.endswith(f"/{strategy}"))


def _resolved(row: str, known: list[str]) -> str:
    from stilltrue.documents import did_you_mean

    name = row.removeprefix("tombstore/")
    if name not in known:
        fail(f"the run has no row {row!r}{did_you_mean(name, known)}; it has: {', '.join(known)}")
    return name


def _named(system: str, policy: str, strategy: str) -> str:
    """How a row is called: the reference store's by policy and strategy alone."""
    return f"{policy}/{strategy}" if system == "tombstore" else f"{system}/{policy}/{strategy}"


def _show(comparisons: "list[Comparison]") -> None:
    print_table(
        ("metric", "A", "B", "n", "A scores", "B scores", "A minus B (95 %)", "only A", "only B", "p (Holm)"),
        [
            (
                one.metric,
                one.first,
                one.second,
                str(one.n),
                f"{one.first_value:.3f}",
                f"{one.second_value:.3f}",
                f"{one.difference:+.3f}{_interval(one)}",
                "" if one.only_first is None else str(one.only_first),
                "" if one.only_second is None else str(one.only_second),
                "" if one.p_holm is None else f"{one.p_holm:.2g}",
            )
            for one in comparisons
        ],
        title="Same queries; p: exact McNemar, Holm over all lines",
    )


def _interval(one: "Comparison") -> str:
    return "" if one.low is None or one.high is None else f" ({one.low:+.3f} to {one.high:+.3f})"


def _show_cases(one: "Comparison", differing: "pd.DataFrame") -> None:
    print_table(
        ("query", "asked", "A", "B"),
        [
            (f"{family}/{scenario}#{number}", str(query), f"{ours:g}", f"{theirs:g}")
            for family, scenario, number, query, ours, theirs in differing.itertuples(index=False)
        ],
        title=f"{one.metric}: {one.first} against {one.second}, {len(differing)} queries differ",
    )
