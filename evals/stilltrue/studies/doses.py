"""Dose-response: how leak and displacement depend on one thing that is varied, everything else being equal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain
from typing import Any, TypeAlias

from stilltrue import plugins
from stilltrue.documents import InvalidData, load
from stilltrue.doses import Dose, Level, Material
from stilltrue.records import Answer, Background, DoseWorld, Question
from stilltrue.results import Row
from stilltrue.run import scenario_answers
from stilltrue.scenarios import GENERATED, known_backgrounds
from stilltrue.studies import retrieval
from stilltrue.studies.retrieval import Contestant

METRICS = ("stale_leak", "displaced", "shrink", "live_hit")

OpenWithWindow: TypeAlias = Callable[[int | None], Contestant]
"""The contestant with a candidate window of so many times k, None for its own. Returns it as it is without one."""


@dataclass(frozen=True, slots=True)
class Source:
    """A dose world and the backgrounds for it, with a digest of all that figures depend on."""

    world: DoseWorld
    backgrounds: Mapping[str, Background]
    hashes: Mapping[str, str]

    def texts(self) -> set[str]:
        """Every text that a system may be told or asked."""
        probes = self.world.probes
        own = chain.from_iterable((probe.current, *probe.stale, *probe.queries) for probe in probes)
        return {*own, *(fact.text for body in self.backgrounds.values() for fact in body.facts)}


def source() -> Source:
    """The world that comes along. Raises InvalidData."""
    problems: list[str] = []
    hashes: dict[str, str] = {}
    worlds = [world for _, world in load(files("stilltrue_data"), "doses", DoseWorld, problems, hashes)]
    if problems:
        raise InvalidData(problems)
    (world,) = worlds
    bodies, digests = known_backgrounds([world.related, world.unrelated, *GENERATED])
    return Source(world, bodies, {**hashes, **digests})


def measure(
    names: Sequence[str], material: Material, open_with: OpenWithWindow, *, has_window: bool, seed: int
) -> tuple[list[Row], list[dict[str, Any]]]:
    """Rows and query records of one contestant for each dose. Doses that mean nothing to it are left out."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    metrics = [plugins.make(plugins.METRICS, name) for name in METRICS]
    for dose in _doses(names, material, has_window=has_window):
        for level in dose.levels:
            contestant = open_with(level.window_per_k)
            answers = list(_answers(level, material, contestant))
            found = retrieval.rows(contestant, answers, metrics, seed=seed)
            rows += (replace(row, study=dose.name, dose=level.at) for row in found if row.family == level.family.family)
            records += (
                {name: value for name, value in record.items() if name not in _BULKY}
                | {"study": dose.name, "dose": level.at}
                for record in retrieval.query_records(contestant, answers, metrics)
            )
    return rows, records


_BULKY = {"returned_texts", "returned_scores", "forbidden", "retired", "implied"}
"""What dose records leave out: it follows from the dose and the IDs of the facts."""


def axes(names: Sequence[str], material: Material) -> dict[str, str]:
    """What stands on each dose's axis, by the dose's name."""
    return {dose.name: dose.axis for dose in _doses(names, material, has_window=True)}


def _doses(names: Sequence[str], material: Material, *, has_window: bool) -> Iterator[Dose]:
    for name in names:
        dose: Dose | None = plugins.make(plugins.DOSES, name, material=material)
        if dose and (has_window or not any(level.window_per_k for level in dose.levels)):
            yield dose


def _answers(level: Level, material: Material, contestant: Contestant) -> Iterator[Answer]:
    for scenario in level.family.scenarios:
        background = material.backgrounds[scenario.background] if scenario.background else None
        for answer in scenario_answers(
            level.family, scenario, background, contestant.open, k=level.k or material.k, observe=False
        ):
            yield replace(answer, question=_by_probe(answer.question))


def _by_probe(question: Question) -> Question:
    """The probe in the scenario's place: intervals are clustered by it, also where all probes share a store."""
    return replace(question, scenario=next(iter(question.gold)))
