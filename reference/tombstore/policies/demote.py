"""Retired facts stay in and get a fraction of their score: what ranking by "staleness" does."""

import numpy as np

from tombstore.index import AgentIndex, Floats
from tombstore.policies import Policy, stored, write_tombstone


def make(*, factor: float = 0.5) -> Policy:
    """A retired fact's score is multiplied by ``factor``: it comes later, but it comes, and it counts in statistics."""

    if not 0 < factor <= 1:
        raise ValueError(f"factor is {factor}, expected more than 0 and at most 1")

    def demoted(index: AgentIndex, fused: Floats) -> Floats:
        # BM25 scores can be negative in tiny stores; there a fraction would be a promotion.
        return np.where(index.columns.retired, np.where(fused > 0, fused * factor, fused / factor), fused)

    return Policy(retire=write_tombstone, eligible=stored, window=stored, rescore=demoted)
