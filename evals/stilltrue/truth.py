"""What is true when: walks a scenario and says which facts are live and which are retired at each question."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TypeAlias

from stilltrue.records import Ask, Background, Family, Question, Scenario, Step

TICK = timedelta(seconds=1)
"""A step without an instant happens this long after the one before, so that facts don't tie by accident."""

_EVER = datetime.min.replace(tzinfo=UTC)

Place: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class World:
    """The facts of a scenario so far. ``texts`` by fact ID, of all facts; the rest are those in each state."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    live: set[str] = field(default_factory=set[str])
    retired: set[str] = field(default_factory=set[str])

    def apply(self, step: Step) -> None:
        """Let one step happen."""
        if step.remember:
            self._add(step.remember.id, step.remember.text)
        if step.update:
            self._retire(step.update.target)
            self._add(step.update.id, step.update.text)
        if step.forget:
            self._retire(step.forget.target)

    def _add(self, fact: str, text: str) -> None:
        self.texts[fact] = text
        self.live.add(fact)

    def _retire(self, fact: str) -> None:
        self.live.discard(fact)
        self.retired.add(fact)


def timeline(scenario: Scenario, start: datetime | None = None) -> Iterator[tuple[datetime, Step]]:
    """Each step with its instant. Raises ValueError when the first one has none, or one lies after the year 9999."""
    clock = start
    for step in scenario.steps:
        if step.at is not None:
            clock = step.at
        elif clock is None:
            raise ValueError("the first step needs `at`")
        else:
            try:
                clock += step.advance if step.advance is not None else TICK
            except OverflowError:
                raise ValueError("the clock runs past the year 9999") from None
        yield clock, step


def questions(family: Family, scenario: Scenario) -> Iterator[Question]:
    """The scenario's questions in order, each with its ground truth."""
    world = World()
    number = 0
    history: list[tuple[datetime, frozenset[str]]] = [(_EVER, frozenset())]
    for at, step in timeline(scenario):
        world.apply(step)
        history.append((at, frozenset(world.retired)))
        if step.ask:
            number += 1
            moment = step.ask.as_of or at
            yield Question(
                family=family.family,
                scenario=scenario.id,
                number=number,
                query=step.ask.query,
                at=at,
                as_of=step.ask.as_of,
                gold=frozenset(step.ask.gold),
                forbidden=frozenset(step.ask.forbidden),
                retired=next(retired for since, retired in reversed(history) if since <= moment),
            )


def problems_of(scenario: Scenario, background: Background | None, *, implied: bool) -> Iterator[tuple[Place, str]]:
    """What is wrong with a scenario's story, each complaint with its place in the scenario."""
    try:
        steps = list(timeline(scenario))
    except ValueError as error:
        yield ("steps",), str(error)
        return
    world = World()
    clock: datetime | None = None
    asked = False
    for number, (at, step) in enumerate(steps):
        place: Place = ("steps", number)
        if clock is not None and at < clock:
            yield (*place, "at"), f"the clock goes back, from {clock.isoformat()} to {at.isoformat()}"
        clock = at
        yield from (((*place, *inner), text) for inner, text in _step_problems(world, step, implied))
        world.apply(step)
        asked = asked or step.ask is not None
    if not asked:
        yield ("steps",), "no step asks anything"
    if background and background.facts[-1].at > steps[0][0]:
        yield ("background",), f"the background {background.background} is not over when the scenario starts"


def background_problems(background: Background) -> Iterator[tuple[Place, str]]:
    """What is wrong with a background, each complaint with its place in it."""
    seen: set[str] = set()
    for number, (before, fact) in enumerate(pairwise((background.facts[0], *background.facts))):
        if fact.at < before.at:
            yield ("facts", number, "at"), f"the clock goes back, from {before.at.isoformat()} to {fact.at.isoformat()}"
        if fact.id in seen:
            yield ("facts", number, "id"), f"duplicate id: there is a fact {fact.id!r} already"
        seen.add(fact.id)


def _step_problems(world: World, step: Step, implied: bool) -> Iterator[tuple[Place, str]]:
    for name in ("remember", "update"):
        if (added := getattr(step, name)) and added.id in world.texts:
            yield (name, "id"), f"duplicate id: there is a fact {added.id!r} already"
        if added and added.id.startswith("bg-"):
            yield (name, "id"), f"{added.id!r}: ids that begin with bg- belong to backgrounds"
    for name in ("update", "forget", "pin", "unpin"):
        if (aimed := getattr(step, name)) and aimed.target not in world.live:
            state = "is retired already" if aimed.target in world.retired else "was never remembered"
            yield (name, "target"), f"the target {aimed.target!r} {state}"
    if step.ask:
        yield from _ask_problems(world, step.ask, implied)


def _ask_problems(world: World, ask: Ask, implied: bool) -> Iterator[tuple[Place, str]]:
    for name, ids in (("gold", ask.gold), ("forbidden", ask.forbidden)):
        for number, fact in enumerate(ids):
            if fact not in world.texts:
                yield ("ask", name, number), f"{name} names {fact!r}, which was never remembered before this question"
            elif ask.as_of is None and name == "gold" and fact in world.retired:
                yield ("ask", name, number), f"gold names {fact!r}, which is retired by now"
            elif ask.as_of is None and name == "forbidden" and fact in world.live and not implied:
                yield ("ask", name, number), f"forbidden names {fact!r}, which is still live"
    if both := set(ask.gold) & set(ask.forbidden):
        yield ("ask",), f"{', '.join(sorted(both))}: gold and forbidden at once"
