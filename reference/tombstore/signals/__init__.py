"""Ways to rank an agent's facts for a query; one file each, named as the user types it, with a ``make`` function."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from tombstore.clock import Instant
from tombstore.index import AgentIndex, Floats, Mask, Rows
from tombstore.tokens import tokenize


@dataclass(frozen=True)
class Query:
    """What is asked: the text, the cut-off ``k`` of the recall, the time, and how to embed the text if need be."""

    text: str
    k: int
    now: Instant
    embed: Callable[[str], Floats | None]

    @cached_property
    def tokens(self) -> list[str]:
        """The query's tokens in order, with repeats."""
        return tokenize(self.text)

    @cached_property
    def embedding(self) -> Floats | None:
        """The query's vector, or None when there is no embedder or it failed. Computed at first use."""
        return self.embed(self.text)


@dataclass(frozen=True, slots=True)
class Field:
    """The facts in play: which rows may be ranked, and which rows compete for a signal's candidate window.

    The two masks differ only in policies that let retired facts use up window positions which nobody then reads.
    """

    index: AgentIndex
    eligible: Mask
    window: Mask


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a signal says: rows, their ranks (1 is best; gaps are possible) and scores, arrays of one length."""

    rows: Rows
    ranks: Rows
    scores: Floats


NOBODY = Ranked(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


class Signal(Protocol):
    """Ranks the eligible rows of a field; rows that it has no opinion about stay out."""

    def __call__(self, field: Field, query: Query) -> Ranked:
        """The ranked rows, best first."""
        ...


def ranked_by_score(field: Field, rows: Rows, scores: Floats) -> Ranked:
    """The total order of SPEC 3.2: score descending, then creation ascending (oldest first), then ID."""
    best = np.lexsort((field.index.columns.order[rows], -scores))
    return Ranked(rows[best], np.arange(1, len(rows) + 1), scores[best])
