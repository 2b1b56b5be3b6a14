"""BM25Okapi of rank-bm25 over the eligible facts; above a few thousand facts the same formula on sparse columns."""

from typing import Any

import numpy as np

from tombstore.index import AgentIndex, Floats, Mask
from tombstore.signals import NOBODY, Field, Query, Ranked, Signal, ranked_by_score
from tombstore.tokens import tokenize

_K1, _B, _EPSILON = 1.5, 0.75, 0.25  # rank-bm25's defaults


def make(*, sparse_above: int = 2000) -> Signal:
    """Rank the facts that share a token with the query by BM25 (same tokens as the keyword signal).

    The statistics come from the eligible facts alone. In stores of one or two facts the scores can be negative, as
    the definition has it; sharing a token is what counts as a match, not the sign.
    """

    def rank(field: Field, query: Query) -> Ranked:
        shared = [rows[field.eligible[rows]] for rows, _ in map(field.index.postings, query.tokens)]
        matching = np.unique(np.concatenate(shared)) if shared else np.zeros(0, dtype=np.int64)
        if not len(matching):
            return NOBODY
        compute = definition if field.eligible.sum() <= sparse_above else sparse
        return ranked_by_score(field, matching, compute(field.index, field.eligible, query.tokens)[matching])

    return rank


def definition(index: AgentIndex, eligible: Mask, tokens: list[str]) -> Floats:
    """Scores by row from rank-bm25 itself; rows that are not eligible get 0."""
    import rank_bm25  # pyright: ignore[reportMissingTypeStubs] - untyped; imported here since few recalls need it

    rows = np.flatnonzero(eligible)
    scores = np.zeros(len(index))
    okapi: Any = rank_bm25.BM25Okapi([tokenize(index.texts[row]) for row in rows])
    scores[rows] = okapi.get_scores(tokens)
    return scores


def sparse(index: AgentIndex, eligible: Mask, tokens: list[str]) -> Floats:
    """The same scores by array operations: no Python loop over facts."""
    n = int(eligible.sum())
    numbers, frequencies = index.document_frequencies(eligible)
    used = frequencies > 0
    idf = np.log(n - frequencies + 0.5) - np.log(frequencies + 0.5)
    idf = np.where(idf < 0, _EPSILON * idf[used].mean(), idf)
    lengths = index.columns.lengths
    relative_length = lengths / (lengths[eligible].sum() / n)
    scores = np.zeros(len(index))
    for token in tokens:
        rows, counts = index.postings(token)
        rows, counts = rows[eligible[rows]], counts[eligible[rows]]
        if len(rows):
            saturation = counts * (_K1 + 1) / (counts + _K1 * (1 - _B + _B * relative_length[rows]))
            scores[rows] += idf[numbers[token]] * saturation
    return scores
