"""One agent's facts as columns in memory, kept in step with the journal: what ranking reads instead of records."""

from array import array
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tombstore.clock import Instant
from tombstore.journal import Journal
from tombstore.tokens import tokenize

Rows: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

_COLUMNS = "id, text, created_at, embedding, superseded_by, kind"
EARLIEST, LATEST = -(2**63) + 1, 2**63 - 1
"""The range of ``Columns.created``: symmetric, so that negating stays within 64 bits."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The facts of one agent in storage order, one array element a fact. ``n`` facts, gone ones included.

    ``created`` is in nanoseconds (clamped to 64 bits), ``order`` the position in the total order of SPEC 3.2
    (oldest first, then ID), ``present`` false once a fact was pruned, ``retired`` per the marker, ``alias`` for
    vocabulary entries, which are never ranked.
    """

    created: Rows
    order: Rows
    id_order: Rows
    present: Mask
    retired: Mask
    alias: Mask
    lengths: Rows


class AgentIndex:
    """Term postings, vectors and columns of one agent. ``refresh`` before use; rows never move, new ones come last."""

    def __init__(self, journal: Journal, agent_id: str) -> None:
        self._journal = journal
        self._agent_id = agent_id
        self._seq = 0
        self.ids: list[str] = []
        self.texts: list[str] = []
        self._row_of: dict[str, int] = {}
        self._created = array("q")
        self._present = bytearray()
        self._retired = bytearray()
        self._alias = bytearray()
        self._lengths = array("q")
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._term_ids: dict[str, int] = {}
        self._occurrences = array("q"), array("q")
        self._vectors: dict[int, _Vectors] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def refresh(self) -> None:
        """Take over what any process committed since the last call: one small query when nothing did."""
        with self._journal.snapshot():
            if self._seq == 0:
                self._seq = self._journal.last_event(self._agent_id)
                removed, rows = [], self._journal.columns(self._agent_id, _COLUMNS)
            else:
                self._seq, changed, removed = self._journal.changed_since(self._agent_id, self._seq)
                if not changed:
                    return
                rows = self._journal.columns(self._agent_id, _COLUMNS, changed)
        # First out, then in: an ID that was pruned and imported again may stand for another text now.
        for gone in removed:
            if gone in self._row_of:
                self._present[self._row_of.pop(gone)] = False
        for row in rows:
            self._take(*row)
        self.__dict__.pop("columns", None)

    @property
    def mostly_gone(self) -> bool:
        """Worth being replaced by a new index: more than half of its rows are facts that are gone."""
        return len(self.ids) > 64 and self._present.count(0) * 2 > len(self.ids)

    def _take(self, fact_id: str, text: str, created_at: Instant, embedding: bytes | None, by: str, kind: str) -> None:
        """Add a fact, or bring a known one's marker up to date: the rest of it never changes."""
        if (row := self._row_of.get(fact_id)) is not None:
            self._retired[row] = by != ""
            return
        row = self._row_of[fact_id] = len(self.ids)
        self.ids.append(fact_id)
        self.texts.append(text)
        self._created.append(_clamped(created_at))
        self._present.append(True)
        self._retired.append(by != "")
        self._alias.append(kind == "alias")
        tokens = tokenize(text)
        self._lengths.append(len(tokens))
        for term, count in Counter(tokens).items():
            rows, counts = self._postings.setdefault(term, (array("q"), array("q")))
            rows.append(row)
            counts.append(count)
            self._term_ids.setdefault(term, len(self._term_ids))
            self._occurrences[0].append(self._term_ids[term])
            self._occurrences[1].append(row)
        if embedding:
            self._vectors.setdefault(len(embedding) // 4, _Vectors(len(embedding) // 4)).append(row, embedding)

    @cached_property
    def columns(self) -> Columns:
        """The columns as arrays, made anew after each change."""
        created = np.array(self._created, dtype=np.int64)
        id_order = _positions(np.argsort(np.array(self.ids, dtype=object), kind="stable"))
        return Columns(
            created=created,
            order=_positions(np.lexsort((id_order, created))),
            id_order=id_order,
            present=np.array(self._present, dtype=bool),
            retired=np.array(self._retired, dtype=bool),
            alias=np.array(self._alias, dtype=bool),
            lengths=np.array(self._lengths, dtype=np.int64),
        )

    def vectors(self) -> dict[int, tuple[Rows, NDArray[np.float32]]]:
        """Per dimension d: the rows with an embedding of it, ascending, and their unit vectors, shape (rows, d)."""
        return {dimension: growing.filled() for dimension, growing in self._vectors.items()}

    def postings(self, term: str) -> tuple[Rows, Rows]:
        """The rows that contain the term, ascending, and how often each does."""
        rows, counts = self._postings.get(term, (array("q"), array("q")))
        return np.array(rows, dtype=np.int64), np.array(counts, dtype=np.int64)

    def document_frequencies(self, among: Mask) -> tuple[dict[str, int], Rows]:
        """Every term's number, and by number how many of the masked rows contain the term."""
        terms, rows = (np.array(column, dtype=np.int64) for column in self._occurrences)
        return self._term_ids, np.bincount(terms[among[rows]], minlength=len(self._term_ids))

    def weights(self) -> Floats:
        """The stored weights by row, read afresh: they change with decay, which is no event of a single fact."""
        weights = np.zeros(len(self.ids))
        for fact_id, weight in self._journal.columns(self._agent_id, "id, weight"):
            if (row := self._row_of.get(fact_id)) is not None:
                weights[row] = weight
        return weights


class _Vectors:
    """Unit vectors of one dimension in an array that doubles when full, so that a put costs no copy of the rest."""

    def __init__(self, dimension: int) -> None:
        self._rows = array("q")
        self._matrix = np.empty((16, dimension), dtype=np.float32)

    def append(self, row: int, blob: bytes) -> None:
        count = len(self._rows)
        if count == len(self._matrix):
            self._matrix = np.concatenate([self._matrix, np.empty_like(self._matrix)])
        self._matrix[count] = unit_vectors(np.frombuffer(blob, dtype=np.float32)[None])[0]
        self._rows.append(row)

    def filled(self) -> tuple[Rows, NDArray[np.float32]]:
        return np.array(self._rows, dtype=np.int64), self._matrix[: len(self._rows)]


def unit_vectors(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to unit length, shape kept; rows already within 1e-6 of it stay as they are (SPEC 1.4)."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    needs_scaling = (np.abs(lengths - 1) > 1e-6) & (lengths > 0)
    scale = np.where(needs_scaling, lengths, 1.0)
    return (vectors / scale[:, None]).astype(np.float32)


def _clamped(at: Instant) -> int:
    return min(max(at, EARLIEST), LATEST)


def _positions(order: NDArray[Any]) -> Rows:
    """The inverse permutation: where each row stands in the order."""
    positions = np.empty(len(order), dtype=np.int64)
    positions[order] = np.arange(len(order))
    return positions
