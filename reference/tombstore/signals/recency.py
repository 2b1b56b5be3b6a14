"""Newest first, anchored on creation, not on last access (SPEC 3.4)."""

import math

import numpy as np

from tombstore.clock import HOUR
from tombstore.index import EARLIEST, LATEST
from tombstore.signals import Field, Query, Ranked, Signal, ranked_by_score


def make(*, half_life_hours: float | None = None) -> Signal:
    """Rank every eligible fact by creation, equal instants by ID; scores are hours before now, negated.

    With ``half_life_hours`` (the 0.11 engine) the score is ``exp(-ln2 / half-life * age)``, and ages whose scores
    coincide as floating-point numbers tie, which puts the older fact first.
    """

    def rank(field: Field, query: Query) -> Ranked:
        columns = field.index.columns
        rows = np.flatnonzero(field.eligible)
        # Spans saturate at 64 bits (292 years), as in Go.
        now = min(max(query.now, EARLIEST), LATEST)
        created = np.clip(columns.created[rows], max(now - LATEST, EARLIEST), min(now + LATEST, LATEST))
        if half_life_hours is not None:
            with np.errstate(over="ignore"):  # created far in the future: infinitely recent
                return ranked_by_score(field, rows, np.exp(-math.log(2) / half_life_hours * ((now - created) / HOUR)))
        # On whole nanoseconds, not on hours: those would round neighbouring instants together.
        newest = np.lexsort((columns.id_order[rows], -columns.created[rows]))
        return Ranked(rows[newest], np.arange(1, len(rows) + 1), (created[newest] - now) / HOUR)

    return rank
