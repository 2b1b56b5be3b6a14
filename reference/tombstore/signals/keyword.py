"""The original's keyword signal: TF-IDF over live facts, divided by length; not BM25 (SPEC 3.3)."""

import math

import numpy as np

from tombstore.signals import NOBODY, Field, Query, Ranked, Signal, ranked_by_score


def make() -> Signal:
    """``sum over query tokens of tf * ln((N + 1) / (df + 1))``, divided by (tokens of the fact + 1), where positive."""
    return _rank


def _rank(field: Field, query: Query) -> Ranked:
    if not query.tokens:
        return NOBODY
    n = int(field.eligible.sum())
    sums = np.zeros(len(field.index))
    for token in query.tokens:  # in query order, repeats again: float addition is not associative
        rows, counts = field.index.postings(token)
        keep = field.eligible[rows]
        rows, counts = rows[keep], counts[keep]
        if len(rows):
            sums[rows] += counts * math.log((n + 1) / (len(rows) + 1))
    matching = np.flatnonzero(sums > 0)
    return ranked_by_score(field, matching, sums[matching] / (field.index.columns.lengths[matching] + 1))
