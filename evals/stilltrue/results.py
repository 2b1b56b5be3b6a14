"""What a run found: tidy rows of figures, verdicts, and the run's own description."""

from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = 1
ALL_FAMILIES = "*"
"""The family of figures over all hand-written families."""

ALL_GENERATED = "* generated"
"""The family of figures over all generated families, which are never mixed with hand-written ones."""

TOTALS = (ALL_FAMILIES, ALL_GENERATED)

RETRIEVAL = "retrieval"
"""The study over the scenario suite; every other study is a dose-response."""

Outcome = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure. ``value``, ``low`` and ``high`` are None when no query could be scored (``n`` is 0).

    ``dose``: where on a dose-response curve it stands, None outside of those studies.
    """

    study: str
    system: str
    policy: str
    strategy: str
    family: str
    metric: str
    k: int
    value: float | None
    low: float | None
    high: float | None
    n: int
    dose: float | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's outcome and its reason in one sentence."""

    gate: str
    verdict: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """One case that turned out differently from the baseline. ``worse``: it failed now and didn't before."""

    contestant: str
    family: str
    case: str
    metric: str
    worse: bool


@dataclass(slots=True)
class Results:
    """Everything that a run writes. ``queries``: one record per query, system, policy and strategy.

    ``changed``: the cases that differ from the baseline, empty without one.
    """

    run: dict[str, Any]
    rows: list[Row] = field(default_factory=list[Row])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    queries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    changed: list[Change] = field(default_factory=list[Change])

    def value(self, metric: str, *, policy: str, strategy: str, family: str = ALL_FAMILIES) -> float | None:
        """One figure of the reference store; None when it isn't there or nothing could be scored."""
        for row in self.rows:
            if (row.study, row.metric, row.policy, row.strategy, row.family) == (
                RETRIEVAL,
                metric,
                policy,
                strategy,
                family,
            ):
                return row.value
        return None
