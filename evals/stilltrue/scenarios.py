"""Loads scenario files and backgrounds and checks them; every complaint names file, line and what to do."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePath
from typing import NamedTuple

from stilltrue import generator
from stilltrue.documents import Document, InvalidData, Place, did_you_mean, load
from stilltrue.records import Background, Family
from stilltrue.truth import background_problems, problems_of
from stilltrue.vocabulary import vocabulary


class InvalidScenario(InvalidData):
    """One or more scenario files are wrong."""


class _Generated(NamedTuple):
    facts: int
    related: bool


GENERATED = {
    f"{'related' if related else 'unrelated'}_{facts}": _Generated(facts, related)
    for related in (False, True)
    for facts in (500, 5000)
}
"""Backgrounds that no file holds: they are made from the generator's vocabulary when a scenario names them."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Families and the backgrounds that they name. ``hashes``: SHA-256 by file name, for the run's record."""

    families: tuple[Family, ...]
    backgrounds: Mapping[str, Background]
    hashes: Mapping[str, str]

    @property
    def hash(self) -> str:
        """One digest of all files: two runs compare only when theirs are equal."""
        return hashlib.sha256(repr(sorted(self.hashes.items())).encode()).hexdigest()

    def texts(self) -> set[str]:
        """Every text that a system may be told or asked."""
        scenarios = [scenario for family in self.families for scenario in family.scenarios]
        named = {scenario.background for scenario in scenarios if scenario.background}
        found = {fact.text for name in named for fact in self.backgrounds[name].facts}
        for step in (step for scenario in scenarios for step in scenario.steps):
            found |= {told.text for told in (step.remember, step.update) if told}
            found |= {put.query for put in (step.ask, step.read) if put}
        return found

    @property
    def questions(self) -> int:
        """How many questions it asks."""
        steps = (step for family in self.families for scenario in family.scenarios for step in scenario.steps)
        return sum(step.ask is not None for step in steps)


@dataclass(frozen=True, slots=True)
class Counts:
    """The size of a family, and where its failure was seen."""

    family: str
    question: str
    corrections: str
    scenarios: int
    queries: int
    facts: int
    languages: tuple[str, ...]
    domains: tuple[str, ...]
    seen_in: tuple[str, ...]


def counts(family: Family) -> Counts:
    """Count a family. ``facts``: those that its steps tell, backgrounds apart."""
    steps = [step for scenario in family.scenarios for step in scenario.steps]
    return Counts(
        family=family.family,
        question=family.question,
        corrections=family.corrections,
        scenarios=len(family.scenarios),
        queries=sum(step.ask is not None for step in steps),
        facts=sum(step.remember is not None or step.update is not None for step in steps),
        languages=family.languages,
        domains=tuple(sorted({scenario.domain for scenario in family.scenarios})),
        seen_in=family.seen_in,
    )


def load_suite(folder: Path | None = None, *, only: Sequence[str] = ()) -> Suite:
    """The suite that comes with stilltrue, or a folder's ``scenarios/`` and ``backgrounds/`` (or its YAML files).

    The backgrounds that come along serve a folder's scenarios too. ``only`` keeps the families named. Raises
    InvalidScenario with all complaints, FileNotFoundError.
    """
    shipped = files("stilltrue_data")
    root: Traversable = folder if folder is not None else shipped
    if folder is not None and not folder.exists():
        raise FileNotFoundError(f"{folder}: no such file or folder")
    problems: list[str] = []
    hashes: dict[str, str] = {}
    backgrounds: dict[str, Background] = {}
    for place in (shipped, root) if folder is not None else (root,):
        backgrounds.update(_backgrounds(place, problems, hashes))
    families: dict[str, Family] = {}
    seen: dict[str, str] = {}
    for document, family in load(root, "scenarios", Family, problems, hashes):
        problems += (document.complaint(*one) for one in _family_problems(document, family, backgrounds, seen))
        families[family.family] = family
    hashes |= _generated_hashes(backgrounds)
    if problems:
        raise InvalidScenario(problems)
    if not families:
        raise InvalidScenario([f"{root}: no scenario files (*.yaml)"])
    return Suite(_kept(families, only), backgrounds, hashes)


def known_backgrounds(names: Iterable[str]) -> tuple[dict[str, Background], dict[str, str]]:
    """The backgrounds of those names, hand-written or generated, and digests by file. Raises InvalidScenario."""
    problems: list[str] = []
    hashes: dict[str, str] = {}
    bodies = dict(_backgrounds(files("stilltrue_data"), problems, hashes))
    if problems:
        raise InvalidScenario(problems)
    found = {name: body for name in names if (body := _body(name, bodies))}
    return found, hashes | _generated_hashes(found)


def _backgrounds(place: Traversable, problems: list[str], hashes: dict[str, str]) -> Iterator[tuple[str, Background]]:
    for document, background in load(place, "backgrounds", Background, problems, hashes):
        problems += (document.complaint(*one) for one in _background_problems(document, background))
        yield background.background, background


def _generated_hashes(bodies: Iterable[str]) -> dict[str, str]:
    return {} if GENERATED.keys().isdisjoint(bodies) else {"generator/vocabulary.yaml": vocabulary()[1]}


def _body(name: str | None, bodies: dict[str, Background]) -> Background | None:
    """The background of that name; a generated one joins the others when it is first named."""
    if name in GENERATED and name not in bodies:
        bodies[name] = generator.background(name, GENERATED[name].facts, related=GENERATED[name].related)
    return bodies.get(name) if name else None


def _kept(families: Mapping[str, Family], only: Sequence[str]) -> tuple[Family, ...]:
    for name in only:
        if name not in families:
            raise InvalidScenario(
                [f"unknown family {name!r}{did_you_mean(name, families)}; known: {', '.join(families)}"]
            )
    return tuple(family for name, family in families.items() if not only or name in only)


def _background_problems(document: Document, background: Background) -> Iterator[tuple[Place, str]]:
    yield from _misnamed(document, "background", background.background)
    yield from background_problems(background)


def _misnamed(document: Document, kind: str, name: str) -> Iterator[tuple[Place, str]]:
    stem = PurePath(document.name).stem
    if name != stem:
        yield (kind,), f"the {kind} is called {name!r}, its file {stem!r}: give both the same name"


def _family_problems(
    document: Document, family: Family, backgrounds: dict[str, Background], seen: dict[str, str]
) -> Iterator[tuple[Place, str]]:
    yield from _misnamed(document, "family", family.family)
    for number, scenario in enumerate(family.scenarios):
        place: Place = ("scenarios", number)
        if scenario.id in seen:
            yield (*place, "id"), f"duplicate id: scenario {scenario.id!r} is also in {seen[scenario.id]}"
        seen[scenario.id] = document.name
        background = _body(scenario.background, backgrounds)
        if scenario.background and background is None:
            known = ", ".join([*backgrounds, *GENERATED])
            yield (*place, "background"), f"unknown background {scenario.background!r}; known: {known}"
        for inner, text in problems_of(scenario, background, implied=family.corrections == "implied"):
            yield (*place, *inner), f"scenario {scenario.id}: {text}"
