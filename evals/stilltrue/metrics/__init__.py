"""Metrics, one file each: a name, what kind of figure it is, and how one answer scores. Definitions: METRICS.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from stilltrue.records import Answer


class Score(NamedTuple):
    """One answer's part in a metric, whose value is the sum of ``amount`` over the sum of ``out_of``."""

    amount: float
    out_of: float = 1.0


Kind = Literal["share", "mean"]
"""``share``: each answer scores 0 or 1 (Wilson interval). ``mean``: anything else (bootstrap clustered by scenario)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """``score`` returns None for an answer that the metric says nothing about: left out, never counted as clean.

    ``good``: the value that a perfect system has, None where there is none. ``version`` changes only together with the
    definition.
    """

    name: str
    kind: Kind
    good: float | None
    score: Callable[[Answer], Score | None]
    version: int = 1


def returned_facts(answer: Answer) -> list[str | None]:
    """R: the fact IDs in order; None for a text that no step stored."""
    return [hit.fact for hit in answer.returned]


def ranks(facts: list[str | None]) -> dict[str, int]:
    """The rank of each recognized fact, 1 is best."""
    return {fact: place for place, fact in reversed(list(enumerate(facts, start=1))) if fact is not None}


def displaced_facts(answer: Answer) -> frozenset[str]:
    """(R' intersected with G) without R: gold facts that would have been returned if the retired ones weren't there."""
    there = {hit.fact for hit in answer.counterfactual} & answer.question.gold
    return frozenset(fact for fact in there if fact is not None) - {hit.fact for hit in answer.returned}


def directly_displaced(answer: Answer) -> frozenset[str]:
    """Those displaced facts at or above whose counterfactual rank a retired fact stands in R."""
    retired = [rank for fact, rank in ranks(returned_facts(answer)).items() if fact in answer.question.retired]
    clean = ranks([hit.fact for hit in answer.counterfactual])
    return frozenset(fact for fact in displaced_facts(answer) if any(rank <= clean[fact] for rank in retired))


def reachable_gold(answer: Answer) -> int:
    """#(R' intersected with G)."""
    return len({hit.fact for hit in answer.counterfactual} & answer.question.gold)
