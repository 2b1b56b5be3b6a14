"""The stored weight as a signal: an alternative that the decision record rejected; ranking doesn't read it."""

import numpy as np

from tombstore.signals import Field, Query, Ranked, Signal, ranked_by_score


def make() -> Signal:
    """Rank every eligible fact by weight, in [0, 1]."""
    return _rank


def _rank(field: Field, query: Query) -> Ranked:  # noqa: ARG001 - a signal that ignores the query is still a signal
    rows = np.flatnonzero(field.eligible)
    return ranked_by_score(field, rows, field.index.weights()[rows])
