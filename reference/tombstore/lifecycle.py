"""Consolidation: decay (still used?), the summarizer and the detector, pruning (worth storing?)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tombstore.clock import HOUR, Instant
from tombstore.detection import Detector, applicable
from tombstore.fact import Fact
from tombstore.index import EARLIEST, LATEST, Floats
from tombstore.journal import Journal
from tombstore.policies import Retire, last_words

HALF_LIFE_HOURS = 720.0
PRUNE_BELOW = 0.01
"""Strictly below: a weight of exactly 0.01 stays (SPEC 11.24)."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summarizer's proposal: a text, and the IDs of the facts that it stands for from now on."""

    text: str
    consumes: Sequence[str]


class Summarizer(Protocol):
    """The consolidation LLM's interface: it proposes, code applies. It never sees retired or pinned facts."""

    def __call__(self, facts: Sequence[Fact]) -> Summary:
        """A summary of some of the facts given, weakest fact first."""
        ...


class InvalidProposal(ValueError):
    """A summary without text or without facts; it is discarded."""


@dataclass(slots=True)
class Cycle:
    """What one consolidation did. ``faults`` holds what was discarded and why; the cycle completes all the same."""

    agent_id: str
    ran: bool = True
    decayed: int = 0
    summarized: int = 0
    contradicted: int = 0
    pruned: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])


def decayed_weight(weight: float, idle_hours: float, half_life_hours: float) -> float:
    """``min(weight, exp(-ln2 / half-life * idle))``: recomputed from staleness, so never compounding, never rising."""
    return float(_decayed(np.array([weight]), np.array([idle_hours]), half_life_hours)[0])


def _decayed(weights: Floats, idle_hours: Floats, half_life_hours: float) -> Floats:
    with np.errstate(over="ignore"):  # accessed far in the future: no limit
        return np.minimum(weights, np.exp(-math.log(2) / half_life_hours * idle_hours))


def decay(journal: Journal, agent_id: str, now: Instant, half_life_hours: float) -> int:
    """Lower the weights of unpinned facts, retired ones too, to what the last access allows. Returns how many fell."""
    rows = [row for row in journal.columns(agent_id, "id, weight, accessed_at, pinned") if not row[3]]
    if not rows:
        return 0
    ids, weights, accessed, _ = zip(*rows, strict=True)
    before = np.array(weights)
    after = _decayed(before, _idle_hours(accessed, now), half_life_hours)
    fallen = np.flatnonzero(after < before)
    journal.set_weights(agent_id, {ids[row]: float(after[row]) for row in fallen})
    journal.record(now, agent_id, "decay", "consolidate", {None: {"facts": len(rows), "fell": len(fallen)}})
    return len(fallen)


def _idle_hours(accessed: Sequence[Instant], now: Instant) -> Floats:
    """Hours since each time, rounded as Go's ``Duration.Hours`` does (whole hours and rest apart)."""
    spans = np.array([min(max(now - at, EARLIEST), LATEST) for at in accessed], dtype=np.int64)
    hours, rest = np.divmod(np.abs(spans), HOUR)
    return np.copysign(hours + rest / HOUR, spans)


def prune(journal: Journal, agent_id: str, now: Instant) -> list[str]:
    """Delete unpinned facts whose weight is below the floor, retired or not: the only thing that ever deletes."""
    low = [row[0] for row in journal.columns(agent_id, "id, weight, pinned") if row[1] < PRUNE_BELOW and not row[2]]
    if low:
        facts = journal.facts(agent_id, low)
        journal.delete(agent_id, low)
        journal.record(now, agent_id, "prune", "consolidate", {fact.id: last_words(fact) for fact in facts})
    return low


def summarize(
    journal: Journal,
    agent_id: str,
    now: Instant,
    *,
    summarizer: Summarizer,
    put: Callable[[str, str], Fact],
    retire: Retire,
    show_retired: bool,
) -> int:
    """Offer the weakest half of the unpinned facts to the summarizer, apply its proposal, return how many it consumed.

    Raises InvalidProposal, or whatever the summarizer raises; the store is then untouched.
    """
    batch = weakest_half([fact for fact in journal.facts(agent_id) if not fact.pinned and (fact.live or show_retired)])
    if not batch:
        return 0
    proposal = summarizer(batch)
    if not proposal.text.strip() or not proposal.consumes:
        raise InvalidProposal("a summary needs a text and the facts that it stands for")
    wanted = set(proposal.consumes)
    with journal.transaction():
        # Read again: what changed while the model was thinking is no longer what it was shown.
        stored = {fact.id: fact for fact in journal.facts(agent_id, wanted)}
        consumed = [stored[f.id] for f in batch if f.id in stored and _as_shown(f, stored[f.id])]
        if not consumed:
            raise InvalidProposal("the summary names none of the facts that it was shown")
        summary = put(proposal.text, "consolidate:summary")
        retire(journal, consumed, summary.id, now, "consolidate:summary")
    return len(consumed)


def _as_shown(shown: Fact, stored: Fact) -> bool:
    return stored.superseded_by == shown.superseded_by and not stored.pinned


def weakest_half(facts: Sequence[Fact]) -> list[Fact]:
    """The half (rounded down) with the lowest weights; equal weights oldest first."""
    return sorted(facts, key=lambda fact: (fact.weight, fact.created_at, fact.id))[: len(facts) // 2]


def detect(journal: Journal, agent_id: str, now: Instant, *, detector: Detector, retire: Retire) -> int:
    """Show the live facts to the detector and apply what code can vouch for. Returns how many facts were retired."""
    shown = [fact for fact in journal.facts(agent_id) if fact.live]
    proposals = detector(shown)
    successors = applicable(proposals, shown)
    with journal.transaction():
        involved = journal.facts(agent_id, {*successors, *successors.values()})
        still_live = {fact.id: fact for fact in involved if fact.live}  # the detector may have taken its time
        pairs = {older: newer for older, newer in successors.items() if older in still_live and newer in still_live}
        pairs = {older: newer for older, newer in pairs.items() if not still_live[older].pinned}
        scores = {(p.older_id, p.newer_id): p.score for p in reversed(proposals)}
        details = {old: {"newer": new, "score": scores[old, new]} for old, new in pairs.items()}
        journal.record(now, agent_id, "propose", "consolidate:detector", {**details})
        for older, newer in pairs.items():
            retire(journal, [still_live[older]], newer, now, "consolidate:detector")
    return len(pairs)
