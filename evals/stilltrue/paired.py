"""Two contestants on the same queries: exact McNemar, paired bootstrap clustered by scenario, Holm over all pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from stilltrue.metrics import Metric
from stilltrue.stats import CONFIDENCE, RESAMPLES, Floats

if TYPE_CHECKING:
    import pandas as pd

CASE = ["family", "scenario", "number"]
"""What identifies a query in queries.parquet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``first`` against ``second`` in one metric, over the ``n`` queries that both were scored on.

    ``difference`` is first minus second, with its 95 % interval (None with a single scenario). For shares: in how many
    queries only one of them scored 1, and McNemar's exact two-sided p, None for means. ``p_holm``: p corrected over all
    comparisons that were asked for together.
    """

    metric: str
    first: str
    second: str
    n: int
    first_value: float
    second_value: float
    difference: float
    low: float | None
    high: float | None
    only_first: int | None = None
    only_second: int | None = None
    p: float | None = None
    p_holm: float | None = None


def compare(
    metric: Metric, first: "pd.DataFrame", second: "pd.DataFrame", *, names: tuple[str, str], seed: int
) -> Comparison | None:
    """Compare two contestants' query records in one metric. None when no query was scored for both."""
    both = first.merge(second, on=CASE, suffixes=("_1", "_2"), validate="one_to_one")
    both = both.dropna(subset=[f"{metric.name}_1", f"{metric.name}_2"])
    if both.empty:
        return None
    sums = _sums(metric, both)
    values = [float(amount.sum() / out_of.sum()) for amount, out_of in (sums[:2], sums[2:])]
    low, high = _interval(sums, seed)
    found = Comparison(
        metric=metric.name,
        first=names[0],
        second=names[1],
        n=len(both),
        first_value=values[0],
        second_value=values[1],
        difference=values[0] - values[1],
        low=low,
        high=high,
    )
    if metric.kind == "mean":
        return found
    ours, theirs = (both[f"{metric.name}_{which}"].to_numpy(dtype=float) > 0 for which in (1, 2))
    only_first, only_second = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    return replace(found, only_first=only_first, only_second=only_second, p=mcnemar(only_first, only_second))


def differing(metric: Metric, first: "pd.DataFrame", second: "pd.DataFrame") -> "pd.DataFrame":
    """The queries in which the two scored differently, with both scores."""
    both = first.merge(second, on=CASE, suffixes=("_1", "_2"), validate="one_to_one")
    columns = [f"{metric.name}_1", f"{metric.name}_2"]
    both = both.dropna(subset=columns)
    found: pd.DataFrame = both.loc[both[columns[0]] != both[columns[1]], [*CASE, "query_1", *columns]]
    return found.rename(columns={"query_1": "query", columns[0]: "first", columns[1]: "second"})


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p of the two discordant counts."""
    tables: Any = import_module("statsmodels.stats.contingency_tables")
    return float(tables.mcnemar([[0, only_first], [only_second, 0]], exact=True).pvalue)


def holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with their p corrected over all of them that have one."""
    tests: Any = import_module("statsmodels.stats.multitest")
    tested = [place for place, one in enumerate(comparisons) if one.p is not None]
    corrected = list(comparisons)
    if tested:
        _, p_holm, _, _ = tests.multipletests([comparisons[place].p for place in tested], method="holm")
        for place, p in zip(tested, p_holm, strict=True):
            corrected[place] = replace(comparisons[place], p_holm=float(p))
    return corrected


def _sums(metric: Metric, both: "pd.DataFrame") -> Floats:
    """Per scenario: amount and weight of the first, amount and weight of the second; shape (4, scenarios)."""
    columns: dict[str, Any] = {}
    for which in (1, 2):
        weight = both[f"{metric.name}_of_{which}"] if metric.kind == "mean" else 1.0
        columns[f"amount_{which}"] = both[f"{metric.name}_{which}"] * weight
        columns[f"weight_{which}"] = weight
    return both[["scenario"]].assign(**columns).groupby("scenario").sum().to_numpy(dtype=float).T


def _interval(sums: Floats, seed: int) -> tuple[float | None, float | None]:
    from scipy.stats import bootstrap

    if sums.shape[1] < 2:
        return None, None
    differences = sums[0] / sums[1] - sums[2] / sums[3]
    if (differences == differences[0]).all() and (sums[1] == sums[3]).all():
        return float(differences[0]), float(differences[0])
    found = bootstrap(
        tuple(sums),
        _difference,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _difference(*sums: Floats, axis: int) -> Floats:
    ours, our_weight, theirs, their_weight = (one.sum(axis=axis) for one in sums)
    return ours / our_weight - theirs / their_weight
