"""Doses: what is varied in a dose-response study, one file each, with ``make(material)`` returning a Dose.

Every level is a small family of scenarios over the same probes, so that what applies to scenarios applies to doses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from stilltrue.records import Background, BackgroundFact, DoseWorld, Family, Probe

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""Backgrounds are over by then."""

STALE = 8
"""Outdated statements per probe, where their number isn't what is varied."""

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What doses are made of. ``similarity``: cosine of two texts by the run's embedder, None without one."""

    world: DoseWorld
    backgrounds: Mapping[str, Background]
    k: int
    similarity: Callable[[str, str], float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One point of the curve: the dose (``at``) and what is run there. ``k`` and ``window_per_k`` None: as usual."""

    at: float
    family: Family
    k: int | None = None
    window_per_k: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dose:
    """What is varied, with its unit (``axis``), over which levels."""

    name: str
    axis: str
    levels: tuple[Level, ...]


def told(
    probe: Probe, stale: Sequence[str], *, start: datetime = START, spacing: timedelta = DAY, gap: timedelta = DAY
) -> list[dict[str, Any]]:
    """The probe's outdated statements, each correcting the one before, ``gap`` before the current fact."""
    texts = {f"{probe.id}-{number}": text for number, text in enumerate(stale, start=1)} | {probe.id: probe.current}
    steps: list[dict[str, Any]] = []
    before, at = "", start
    for place, (fact, text) in enumerate(texts.items()):
        at += gap if place == len(stale) else spacing
        if before:
            steps.append({"at": at, "update": {"target": before, "id": fact, "text": text}})
        else:
            steps.append({"at": at, "remember": {"id": fact, "text": text}})
        before = fact
    return steps


def asked(probe: Probe, stale: Sequence[str], at: datetime) -> list[dict[str, Any]]:
    """The probe's queries; all of its outdated statements are forbidden."""
    forbidden = [f"{probe.id}-{number}" for number, _ in enumerate(stale, start=1)]
    return [{"at": at, "ask": {"query": query, "gold": [probe.id], "forbidden": forbidden}} for query in probe.queries]


def store_per_probe(
    name: str, material: Material, choose: Callable[[Probe], Sequence[str]], *, gap: timedelta = DAY
) -> Family:
    """A store for each probe, among the related background: its chosen outdated statements, then its queries."""
    scenarios: list[dict[str, Any]] = []
    for probe in material.world.probes:
        stale = choose(probe)
        steps = told(probe, stale, gap=gap)
        steps += asked(probe, stale, steps[-1]["at"] + timedelta(hours=1))
        scenarios.append(scenario(probe.id, steps, material.world.related))
    return family(name, scenarios)


def one_store(
    name: str,
    material: Material,
    choose: Callable[[Probe], Sequence[str]],
    *,
    background: str | None = None,
    others: Sequence[BackgroundFact] = (),
) -> Family:
    """All probes in one store, told side by side after the ``others``, then all queries."""
    chosen = [(probe, choose(probe)) for probe in material.world.probes]
    steps = [step for probe, stale in chosen for step in told(probe, stale)]
    steps += beside(others)
    steps.sort(key=lambda step: step["at"])
    end = steps[-1]["at"] + timedelta(hours=1)
    steps += [step for probe, stale in chosen for step in asked(probe, stale, end)]
    return family(name, [scenario("all-probes", steps, background)])


def beside(others: Sequence[BackgroundFact]) -> list[dict[str, Any]]:
    """A background's facts, told as steps: under other IDs, since those that begin with bg- belong to backgrounds."""
    return [{"at": fact.at, "remember": {"id": f"other-{fact.id}", "text": fact.text}} for fact in others]


def scenario(name: str, steps: list[dict[str, Any]], background: str | None) -> dict[str, Any]:
    """A scenario as a file would hold it."""
    return {"id": name, "domain": "software company", "background": background, "steps": steps}


def family(name: str, scenarios: list[dict[str, Any]]) -> Family:
    """The scenarios as a family."""
    return Family.model_validate(
        {"family": name, "question": "How does it depend on the dose?", "scenarios": scenarios}
    )


def background_levels(material: Material, name: str, by_hand: str, generated: str) -> tuple[Level, ...]:
    """All probes in one store: alone, among a hand-written background, among 500 and 5,000 generated facts."""
    bodies = {
        0: None,
        len(material.backgrounds[by_hand].facts): by_hand,
        500: f"{generated}_500",
        5000: f"{generated}_5000",
    }
    return tuple(
        Level(at=facts, family=one_store(name, material, lambda probe: probe.stale[:STALE], background=body))
        for facts, body in bodies.items()
    )
