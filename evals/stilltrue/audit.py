"""Examines a real store: tombstones against ADR-007's 20 %, and what is wrong with its corrections."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stilltrue.results import Outcome
from tombstore.clock import HOUR, Instant
from tombstore.fact import FORGOTTEN, Fact
from tombstore.graymatter.files import Dump, read_facts
from tombstore.lifecycle import HALF_LIFE_HOURS, PRUNE_BELOW, decayed_weight
from tombstore.stats import REVERSAL_SHARE, Tally, age_bucket, empty_buckets

_DAY = 24 * HOUR


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about a fact that its owner should know. ``agent`` and ``fact`` name it, ``note`` says what it is."""

    agent: str
    fact: str
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class Pruning:
    """A fact that pruning will take, ``days_left`` from now if nobody reads it; 0: in the next cycle."""

    agent: str
    fact: str
    text: str
    live: bool
    weight: float
    days_left: float


@dataclass(slots=True)
class Audit:
    """What was found. ``ages`` are tombstones by time since retirement, for those whose retirement can be dated."""

    path: str
    kind: str
    total: Tally
    by_agent: Mapping[str, Tally]
    verdict: Outcome
    reason: str
    ages: dict[str, int] = field(default_factory=dict[str, int])
    undated: int = 0
    dangling: list[Finding] = field(default_factory=list[Finding])
    cyclic: list[Finding] = field(default_factory=list[Finding])
    immortal: list[Finding] = field(default_factory=list[Finding])
    half_retired: list[Finding] = field(default_factory=list[Finding])
    dimensions: dict[int, int] = field(default_factory=dict[int, int])
    nearest_to_pruning: list[Pruning] = field(default_factory=list[Pruning])
    warnings: tuple[str, ...] = ()


def audit(path: str | Path, *, now: Instant, half_life_hours: float = HALF_LIFE_HOURS, nearest: int = 5) -> Audit:
    """Audit a tombstore, ``gray.db``, exported JSON or JSONL file as of ``now``. Raises as ``read_facts`` does."""
    dump = read_facts(path)
    total, by_agent = Tally(), defaultdict[str, Tally](Tally)
    for fact in dump.facts:
        total.count(not fact.live)
        by_agent[fact.agent_id].count(not fact.live)
    verdict, reason = judged(total)
    found = Audit(str(path), dump.kind, total, dict(sorted(by_agent.items())), verdict, reason, warnings=dump.warnings)
    found.ages, found.undated = _ages(dump, now)
    found.dangling, found.cyclic = _broken_chains(dump)
    found.immortal = [
        _finding(fact, "pinned and retired: neither decays nor is pruned until it is unpinned")
        for fact in dump.facts
        if fact.pinned and not fact.live
    ]
    found.half_retired = list(_half_retired(dump.facts))
    found.dimensions = dict(sorted(Counter(len(fact.embedding) for fact in dump.facts if fact.embedding).items()))
    found.nearest_to_pruning = _nearest(dump.facts, now, half_life_hours)[:nearest]
    return found


def judged(total: Tally) -> tuple[Outcome, str]:
    """The verdict on the share: a census of this store, so without an interval."""
    if total.share is None:
        return "inconclusive", "the store holds no facts"
    side = "exceeds" if total.share > REVERSAL_SHARE else "does not exceed"
    reason = f"{total.tombstones} of {total.facts} facts are tombstones: {total.share:.1%} {side} {REVERSAL_SHARE:.0%}"
    return ("fail" if total.share > REVERSAL_SHARE else "pass"), reason


def _ages(dump: Dump, now: Instant) -> tuple[dict[str, int], int]:
    """Tombstones by age bucket, and how many can't be dated (forgotten, in a file without events)."""
    told = {(event.agent_id, event.fact_id): event.at for event in dump.events if event.kind == "retire"}
    created = {(fact.agent_id, fact.id): fact.created_at for fact in dump.facts}
    ages, undated = empty_buckets(), 0
    for fact in dump.facts:
        if not fact.live:
            # An update writes the replacement and retires in one go, so the replacement's birth dates the retirement.
            at = told.get((fact.agent_id, fact.id), created.get((fact.agent_id, fact.superseded_by)))
            if at is None:
                undated += 1
            else:
                ages[age_bucket(now - at)] += 1
    return ages, undated


def _broken_chains(dump: Dump) -> tuple[list[Finding], list[Finding]]:
    """Markers that name a fact which isn't there, and facts on a cycle of markers."""
    removed = {(event.agent_id, event.fact_id) for event in dump.events if event.kind in ("prune", "delete")}
    successors = {(fact.agent_id, fact.id): fact.superseded_by for fact in dump.facts}
    dangling: list[Finding] = []
    cyclic: list[Finding] = []
    for fact in dump.facts:
        if fact.live or fact.superseded_by == FORGOTTEN:
            continue
        successor = (fact.agent_id, fact.superseded_by)
        if successor not in successors:
            why = "was removed since" if successor in removed else "is not in the store"
            dangling.append(_finding(fact, f"superseded by {fact.superseded_by}, which {why}"))
        elif _returns(fact, successors):
            cyclic.append(_finding(fact, "its chain of corrections leads back to itself"))
    return dangling, cyclic


def _returns(fact: Fact, successors: Mapping[tuple[str, str], str]) -> bool:
    seen: set[str] = set()
    place = fact.superseded_by
    while place and place not in seen and place != fact.id:
        seen.add(place)
        place = successors.get((fact.agent_id, place), "")
    return place == fact.id


def _half_retired(facts: Sequence[Fact]) -> Iterator[Finding]:
    """Texts of which one copy is retired while another is live, which recall goes on returning."""
    live = {(fact.agent_id, fact.text): fact for fact in facts if fact.live}
    for (agent, text), copies in Counter((f.agent_id, f.text) for f in facts if not f.live).items():
        if (fact := live.get((agent, text))) is not None:
            plural = "copies" if copies > 1 else "copy"
            yield _finding(
                fact, f"live, while {copies} {plural} of the same text {'are' if copies > 1 else 'is'} retired"
            )


def _nearest(facts: Sequence[Fact], now: Instant, half_life_hours: float) -> list[Pruning]:
    """Unpinned facts by the time that they have left if nobody reads them."""
    lifetime = half_life_hours * math.log2(1 / PRUNE_BELOW) * HOUR
    pending: list[Pruning] = []
    for fact in facts:
        if not fact.pinned:
            weight = decayed_weight(fact.weight, (now - fact.accessed_at) / HOUR, half_life_hours)
            left = 0.0 if weight < PRUNE_BELOW else max(0.0, (fact.accessed_at + lifetime - now) / _DAY)
            pending.append(Pruning(fact.agent_id, fact.id, fact.text, fact.live, weight, round(left, 1)))
    return sorted(pending, key=lambda one: (one.days_left, one.agent, one.fact))


def _finding(fact: Fact, note: str) -> Finding:
    return Finding(fact.agent_id, fact.id, fact.text, note)
