"""Retirement policies: what retiring a fact writes, and what recall does with retired facts. One file each.

A policy is five decisions. The building blocks for them are here; a policy's file says which ones it takes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tombstore.clock import Instant
from tombstore.fact import Fact, fact_to_record
from tombstore.index import AgentIndex, Columns, Floats, Mask, Rows
from tombstore.journal import Journal

Retire: TypeAlias = Callable[[Journal, Sequence[Fact], str, Instant, str], None]
"""(journal, facts of one agent, marker, time, cause): runs inside the caller's transaction."""


def live(columns: Columns) -> Mask:
    """Facts that are stored and carry no marker."""
    return columns.present & ~columns.retired & ~columns.alias


def stored(columns: Columns) -> Mask:
    """Facts that are stored, retired ones too."""
    return columns.present & ~columns.alias


def keep_all(_columns: Columns, picked: Rows) -> Rows:
    """What was picked is returned."""
    return picked


def drop_retired(columns: Columns, picked: Rows) -> Rows:
    """Retired facts are taken out after the cut; nobody moves up into their places."""
    return picked[~columns.retired[picked]]


def as_fused(_index: AgentIndex, fused: Floats) -> Floats:
    """Scores stay as the fusion made them."""
    return fused


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """``retire`` writes. Of the rest each is about recall: who is scored (``eligible``), who competes for a candidate
    window (``window``), what becomes of fused scores (``rescore``; NaN: out), what is dropped after the cut.
    """

    retire: Retire
    eligible: Callable[[Columns], Mask] = live
    window: Callable[[Columns], Mask] = live
    rescore: Callable[[AgentIndex, Floats], Floats] = as_fused
    after_cut: Callable[[Columns, Rows], Rows] = keep_all


def write_tombstone(journal: Journal, facts: Sequence[Fact], by: str, at: Instant, cause: str) -> None:
    """Set the marker. Text, weight, times and access count stay (SPEC 11.19)."""
    for agent, group in _by_agent(facts).items():
        journal.mark_retired(agent, {fact.id: by for fact in group})
        journal.record(at, agent, "retire", cause, {fact.id: {"by": by} for fact in group})


def write_zero_weight(journal: Journal, facts: Sequence[Fact], by: str, at: Instant, cause: str) -> None:
    """Set the weight to 0 and nothing else: what the original did up to 0.9, reporting success (SPEC 4)."""
    for agent, group in _by_agent(facts).items():
        journal.set_weights(agent, {fact.id: 0.0 for fact in group})
        journal.record(at, agent, "weight_zero", cause, {fact.id: {"by": by, "was": fact.weight} for fact in group})


def write_nothing(_journal: Journal, _facts: Sequence[Fact], _by: str, _at: Instant, _cause: str) -> None:
    """Report success and change nothing."""


def remove(journal: Journal, facts: Sequence[Fact], by: str, at: Instant, cause: str) -> None:
    """Delete the facts; only their events remain."""
    for agent, group in _by_agent(facts).items():
        journal.delete(agent, [fact.id for fact in group])
        journal.record(at, agent, "delete", cause, {fact.id: {"by": by, **last_words(fact)} for fact in group})


def write_over(journal: Journal, facts: Sequence[Fact], by: str, at: Instant, cause: str) -> None:
    """Replace in place: the old words are gone and not even the events keep them."""
    for agent, group in _by_agent(facts).items():
        journal.delete(agent, [fact.id for fact in group])
        journal.record(at, agent, "delete", cause, {fact.id: {"by": by} for fact in group})


def move_to(suffix: str) -> Retire:
    """Move the facts, marked, to a namespace of their own, called after their agent's with the suffix."""

    def move(journal: Journal, facts: Sequence[Fact], by: str, at: Instant, cause: str) -> None:
        for agent, group in _by_agent(facts).items():
            journal.delete(agent, [fact.id for fact in group])
            journal.insert([replace(fact.retired(by), agent_id=agent + suffix) for fact in group])
            journal.record(at, agent, "delete", cause, {fact.id: {"by": by, "to": agent + suffix} for fact in group})
            journal.record(at, agent + suffix, "put", cause, {fact.id: {"from": agent} for fact in group})

    return move


def last_words(fact: Fact) -> dict[str, object]:
    """What the event of a removed fact keeps of it: everything but the embedding."""
    record = fact_to_record(fact)
    record.pop("embedding", None)
    return {"fact": record}


def _by_agent(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact.agent_id, []).append(fact)
    return groups
