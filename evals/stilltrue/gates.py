"""Verdicts: does the reference hold, and does the ruler measure (the last section of METRICS.md)?"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stilltrue.records import Failure, Family
from stilltrue.results import RETRIEVAL, TOTALS, Outcome, Row, Verdict

REFERENCE = "tombstone"
"""The reference's default policy."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The figures of a run by system, policy, strategy, family and metric."""

    rows: Sequence[Row]

    def select(
        self, metric: str, *, system: str = "tombstore", policy: str | None = None, family: str | None = None
    ) -> list[Row]:
        """The rows of a metric that could be scored. ``family`` None: the ones over all (generated) families."""
        return [
            row
            for row in self.rows
            if (row.study, row.metric, row.system) == (RETRIEVAL, metric, system)
            and (row.family in TOTALS if family is None else row.family == family)
            and policy in (None, row.policy)
            and row.value is not None
        ]

    def worst(self, metric: str, *, policy: str, family: str | None = None) -> Row | None:
        """The row with the highest value, over the strategies."""
        return max(self.select(metric, policy=policy, family=family), key=lambda row: row.value or 0.0, default=None)


def verdicts(rows: Sequence[Row], families: Sequence[Family]) -> list[Verdict]:
    """Every gate that the run's policies allow to judge."""
    grid = Grid(rows)
    explicit = [family for family in families if family.corrections == "explicit"]
    return [verdict for gate in _GATES for verdict in gate(grid, explicit)]


def retrieval(grid: Grid, _families: Sequence[Family]) -> Iterator[Verdict]:
    """The reference with its default policy: no leak, no displacement, no lost slot, and it does answer."""
    if any((row.system, row.policy) == ("tombstore", REFERENCE) for row in grid.rows):
        yield judge("retrieval", grid.rows, system="tombstore", policy=REFERENCE)


def judge(gate: str, rows: Sequence[Row], *, system: str, policy: str) -> Verdict:
    """The retrieval gate for any system and policy. A system that never returns a gold fact doesn't pass."""
    grid = Grid(rows)
    found = {
        metric: grid.select(metric, system=system, policy=policy)
        for metric in ("stale_leak", "displaced", "shrink", "live_hit")
    }
    for row in [row for metric in ("stale_leak", "displaced", "shrink") for row in found[metric]]:
        if row.value:
            return Verdict(gate, "fail", f"{_named(row)} is {row.value:.3f}, expected 0")
    for row in found["live_hit"]:
        if not row.value:
            return Verdict(gate, "fail", f"{_named(row)} is 0: it never returns a fact that answers the query")
    if unscored := [metric for metric, among in found.items() if not among]:
        return Verdict(gate, "inconclusive", f"no query could be scored for {', '.join(unscored)}")
    asked = min(row.n for row in found["stale_leak"])
    return Verdict(
        gate, "pass", f"no stale fact returned and no live fact displaced in {asked} queries, every strategy"
    )


def oracle(grid: Grid, _families: Sequence[Family]) -> Iterator[Verdict]:
    """The oracle is perfect; otherwise a scenario or a metric is wrong."""
    for metric, good in (("stale_leak", 0.0), ("displaced", 0.0), ("live_hit", 1.0)):
        for row in grid.select(metric, system="oracle"):
            if row.value != good:
                yield Verdict("ruler: oracle", "fail", f"{metric} of the oracle is {row.value}, expected {good}")
                return
    if grid.select("live_hit", system="oracle"):
        yield Verdict("ruler: oracle", "pass", "the oracle leaks nothing, displaces nothing and always hits")


def empty_system(grid: Grid, _families: Sequence[Family]) -> Iterator[Verdict]:
    """A system that returns nothing never passes the retrieval gate."""
    if grid.select("empty_results", system="null"):
        found = judge("retrieval", grid.rows, system="null", policy="-")
        outcome: Outcome = "fail" if found.verdict == "pass" else "pass"
        yield Verdict("ruler: empty system", outcome, f"the empty system gets {found.verdict!r}: {found.reason}")


def append_only(grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """A memory that ignores corrections leaks on every family that claims to test it."""
    yield from _must_show("append_only", "stale_leak", "leak", grid, families)


def weight_zero(grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """The 0.9 defect leaks until pruned, on every family that claims to test it."""
    yield from _must_show("weight_zero", "stale_leak", "leak", grid, families)


def postfilter(grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """Filtering after the cut leaks nothing but loses slots or displaces."""
    leak = grid.worst("stale_leak", policy="postfilter")
    if leak and leak.value:
        yield Verdict("control: postfilter, leak", "fail", f"{_named(leak)} is {leak.value:.3f}, expected 0")
    else:
        yield from _must_show("postfilter", "shrink", "shrink", grid, families)
        yield from _must_show("postfilter", "displaced", "displacement", grid, families)


def window(grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """The original's vector window, which retired facts use up, displaces live ones."""
    if any(row.strategy in ("vector", "hybrid") for row in grid.select("displaced", policy="tombstone_window")):
        yield from _must_show("tombstone_window", "displaced", "displacement", grid, families)


def eager(grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """Whoever retires look-alikes too over-retires, on every family that claims to show it."""
    claiming = [family.family for family in families if "over_retirement" in family.reveals]
    rows = {name: grid.select("over_retirement", system="eager", family=name) for name in claiming}
    clean = [name for name, found in rows.items() if not any(row.value for row in found)]
    gate = "control: eager, over_retirement"
    if not any(rows.values()):
        return
    if clean:
        reason = f"over_retirement is 0 on {', '.join(clean)}, which claims to reveal over_retirement"
        yield Verdict(gate, "fail", reason)
    else:
        yield Verdict(gate, "pass", f"shows over_retirement on every family that claims it ({len(claiming)})")


def saturation(grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """A family on which every policy scores the same measures nothing. Judged when two that must differ are there."""
    if not {REFERENCE, "append_only"} <= {row.policy for row in grid.rows}:
        return
    saturated = [family.family for family in families if not _distinguishes(grid, family.family)]
    if saturated:
        yield Verdict("ruler: saturation", "fail", f"every policy scores the same on {', '.join(saturated)}")
    else:
        yield Verdict("ruler: saturation", "pass", f"policies differ on each of {len(families)} families")


def _distinguishes(grid: Grid, family: str) -> bool:
    for metric in ("stale_leak", "stale_share", "displaced", "shrink", "live_hit"):
        by_strategy: dict[str, set[float | None]] = {}
        for row in grid.select(metric, family=family):
            by_strategy.setdefault(row.strategy, set()).add(row.value)
        if any(len(values) > 1 for values in by_strategy.values()):
            return True
    return False


def _must_show(policy: str, metric: str, failure: Failure, grid: Grid, families: Sequence[Family]) -> Iterator[Verdict]:
    """The control fails as it must, with some strategy, on each family that claims to reveal that failure."""
    claiming = [family.family for family in families if failure in family.reveals]
    if not grid.select(metric, policy=policy) or not claiming:
        return
    gate = f"control: {policy}, {failure}"
    clean = [
        name for name in claiming if not ((worst := grid.worst(metric, policy=policy, family=name)) and worst.value)
    ]
    if clean:
        yield Verdict(
            gate,
            "fail",
            f"{metric} is 0 on {', '.join(clean)}, which claims to reveal {failure}",
        )
    else:
        highest = grid.worst(metric, policy=policy)
        figure = f", {highest.value:.3f} at most over all families" if highest and highest.value is not None else ""
        yield Verdict(gate, "pass", f"shows {metric} on every family that claims it ({len(claiming)}){figure}")


def _named(row: Row) -> str:
    return f"{row.metric}@{row.k} of {row.system}/{row.policy}/{row.strategy}"


_GATES: tuple[Callable[[Grid, Sequence[Family]], Iterator[Verdict]], ...] = (
    retrieval,
    oracle,
    empty_system,
    append_only,
    weight_zero,
    postfilter,
    window,
    eager,
    saturation,
)
