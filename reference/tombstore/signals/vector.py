"""Exact cosine similarity within a candidate window of ``2 * k`` nearest facts (SPEC 3.5)."""

import numpy as np

from tombstore.index import unit_vectors
from tombstore.signals import NOBODY, Field, Query, Ranked, Signal


def make(*, window_per_k: int = 2, needs_full_window: bool = False) -> Signal:
    """Rank the ``window_per_k * k`` nearest embedded facts by cosine, ties by ID; the rank is the place in the window.

    Nobody is ranked without a query embedding, or when an embedded fact has another dimension than the query.
    ``needs_full_window`` (the engine up to 0.16): nobody is ranked either when fewer facts are embedded than the window
    holds.
    """

    def rank(field: Field, query: Query) -> Ranked:
        if query.embedding is None or not len(query.embedding):
            return NOBODY
        present = field.index.columns.present
        embedded = {d: found for d, found in field.index.vectors().items() if field.window[found[0]].any()}
        if set(embedded) != {len(query.embedding)}:
            return NOBODY
        rows, vectors = embedded[len(query.embedding)]
        window = window_per_k * query.k
        if needs_full_window and present[rows].sum() < window:
            return NOBODY
        unit = unit_vectors(np.asarray(query.embedding, dtype=np.float32)[None])[0]
        # einsum, not BLAS: its sum for a row doesn't depend on the rows around it, so equal vectors get equal scores.
        similarities = np.einsum("ij,j->i", vectors, unit)
        competing = field.window[rows]
        rows, similarities = rows[competing], similarities[competing]
        if len(rows) > window:
            enough = np.partition(similarities, len(rows) - window)[len(rows) - window] if window else np.inf
            rows, similarities = rows[similarities >= enough], similarities[similarities >= enough]
        nearest = np.lexsort((field.index.columns.id_order[rows], -similarities))[:window]
        ranks = np.arange(1, len(nearest) + 1)
        rows, similarities = rows[nearest], similarities[nearest]
        read = field.eligible[rows]
        return Ranked(rows[read], ranks[read], similarities[read].astype(np.float64))

    return rank
