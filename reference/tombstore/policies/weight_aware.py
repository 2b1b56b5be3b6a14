"""Retiring sets the weight to 0 and recall multiplies by weight: decay then decides what is true."""

import numpy as np

from tombstore.index import AgentIndex, Floats
from tombstore.policies import Policy, stored, write_zero_weight


def make() -> Policy:
    """Facts of weight 0 are out, and a live fact that nobody has read for long fades (ADR-007: never rank by it)."""
    return Policy(retire=write_zero_weight, eligible=stored, window=stored, rescore=_weighted)


def _weighted(index: AgentIndex, fused: Floats) -> Floats:
    weights = index.weights()
    return np.where(weights > 0, fused * weights, np.nan)
