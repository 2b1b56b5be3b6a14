"""The step of consolidation that may retire contradicted facts by itself: an interface, off unless configured and on.

ADR-007 allows it to be on by default only when its precision on a hand-labelled sample exceeds 0.95.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tombstore.fact import Fact


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A proposal: the older fact should be retired in favor of the newer one. ``score`` in [0, 1]."""

    older_id: str
    newer_id: str
    score: float


class Detector(Protocol):
    """Proposes contradictions among one agent's live facts. It never applies them and never sees retired facts."""

    def __call__(self, facts: Sequence[Fact]) -> Sequence[Contradiction]:
        """Proposals for pairs of the facts given, newest fact first."""
        ...


def applicable(proposals: Sequence[Contradiction], facts: Sequence[Fact]) -> dict[str, str]:
    """Which facts to retire, each with its successor: the first proposal per fact that code can vouch for.

    Both facts must be among those shown, the older one unpinned and really older. A successor that another proposal
    retires still is the successor: chains stay followable. Time orders the pairs, so there are no cycles.
    """
    shown = {fact.id: fact for fact in facts}
    retired: dict[str, str] = {}
    for proposal in proposals:
        older, newer = shown.get(proposal.older_id), shown.get(proposal.newer_id)
        if older and newer and not older.pinned and (older.created_at, older.id) < (newer.created_at, newer.id):
            retired.setdefault(older.id, newer.id)
    return retired
