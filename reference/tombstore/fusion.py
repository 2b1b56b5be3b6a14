"""From several ranked lists to one score a fact: reciprocal rank fusion, weighted normalized sum, a single signal."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from tombstore.index import Floats, Mask
from tombstore.signals import Ranked

RRF_K = 60
"""The original's constant (SPEC 3.6)."""

Fusion: TypeAlias = Callable[[Mapping[str, Ranked], Mapping[str, float], Mask], Floats]
"""(ranked lists by signal, weights by signal, eligible rows) to scores by row; NaN: not a candidate."""


def reciprocal_rank(ranked: Mapping[str, Ranked], weights: Mapping[str, float], eligible: Mask) -> Floats:
    """``sum of w / (60 + rank)`` over the signals in order; a missing rank adds nothing, all eligible facts compete."""
    fused = np.where(eligible, 0.0, np.nan)
    for name, one in ranked.items():
        fused[one.rows] += weights[name] / (RRF_K + one.ranks)
    return fused


def weighted_sum(ranked: Mapping[str, Ranked], weights: Mapping[str, float], eligible: Mask) -> Floats:
    """``sum of w * score`` with each signal's scores scaled to [0, 1] over the facts that it ranks (min-max)."""
    fused = np.where(eligible, 0.0, np.nan)
    for name, one in ranked.items():
        if len(one.rows):
            low, high = one.scores.min(), one.scores.max()
            scaled = (one.scores - low) / (high - low) if high > low else np.ones(len(one.rows))
            fused[one.rows] += weights[name] * scaled
    return fused


def single(ranked: Mapping[str, Ranked], weights: Mapping[str, float], eligible: Mask) -> Floats:  # noqa: ARG001 - one signature for all fusions
    """The only signal's scores as they are: what it doesn't rank is not a candidate."""
    (one,) = ranked.values()
    fused = np.full(len(eligible), np.nan)
    fused[one.rows] = one.scores
    return fused
