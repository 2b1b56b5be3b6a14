"""Intervals, by scipy: Wilson for shares, percentile bootstrap clustered by scenario for means."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stilltrue.metrics import Kind, Score

CONFIDENCE = 0.95
RESAMPLES = 2000

Floats: TypeAlias = NDArray[np.float64]


class Estimate(NamedTuple):
    """A value with its 95 % interval and the number of answers behind it; None where there is nothing to tell."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def estimate(kind: Kind, scores: Sequence[Score], clusters: Sequence[str], *, seed: int) -> Estimate:
    """The metric's value over scores, with its interval. ``clusters``: the scenario of each score."""
    if not scores:
        return Estimate(None, None, None, 0)
    value = sum(score.amount for score in scores) / sum(score.out_of for score in scores)
    low, high = _wilson(scores) if kind == "share" else _bootstrap(scores, clusters, seed)
    return Estimate(value, low, high, len(scores))


def share(successes: int, n: int) -> Estimate:
    """A share of ``n`` independent trials, with its Wilson interval."""
    from scipy.stats import binomtest

    if not n:
        return Estimate(None, None, None, 0)
    interval = binomtest(successes, n).proportion_ci(CONFIDENCE, method="wilson")
    return Estimate(successes / n, float(interval.low), float(interval.high), n)


def _wilson(scores: Sequence[Score]) -> tuple[float | None, float | None]:
    found = share(round(sum(score.amount for score in scores)), len(scores))
    return found.low, found.high


def _bootstrap(scores: Sequence[Score], clusters: Sequence[str], seed: int) -> tuple[float | None, float | None]:
    """Resamples whole scenarios, since their questions are about the same facts. None with a single scenario."""
    from scipy.stats import bootstrap

    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    if len(names) < 2:
        return None, None
    sums = np.zeros((2, len(names)))
    for score, cluster in zip(scores, clusters, strict=True):
        sums[:, names[cluster]] += score
    ratios = sums[0] / sums[1]
    if (ratios == ratios[0]).all():  # whatever is resampled, the value is the same
        return float(ratios[0]), float(ratios[0])
    found = bootstrap(
        tuple(sums),
        _ratio,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _ratio(amount: Floats, out_of: Floats, axis: int) -> Floats:
    return np.sum(amount, axis=axis) / np.sum(out_of, axis=axis)
