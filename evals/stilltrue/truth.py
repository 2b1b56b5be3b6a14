"""What is true when: walks a scenario and says which facts are live and which are retired at each question."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TypeAlias

from stilltrue.records import Ask, Background, Family, Question, Scenario, Step

TICK = timedelta(seconds=1)
"""A step without an instant happens this long after the one before, so that facts don't tie by accident."""

_PRUNABLE_AFTER = timedelta(days=199)
"""An unread fact falls below the pruning floor after 6.64 half-lives of 30 days."""

_EVER = datetime.min.replace(tzinfo=UTC)

Place: TypeAlias = tuple[str | int, ...]


@dataclass(slots=True)
class World:
    """The facts of a scenario so far: their texts by ID, those in each state, and when they were told and retired.

    A correction goes by the target's whole text: it retires all live facts of that text in the target's namespace.
    """

    texts: dict[str, str] = field(default_factory=dict[str, str])
    live: set[str] = field(default_factory=set[str])
    retired: set[str] = field(default_factory=set[str])
    shared: set[str] = field(default_factory=set[str])
    exports: set[str] = field(default_factory=set[str])
    told_at: dict[str, datetime] = field(default_factory=dict[str, datetime])
    retired_at_step: dict[str, int] = field(default_factory=dict[str, int])
    consolidated_at: datetime | None = None
    step: int = 0

    def apply(self, step: Step, at: datetime) -> None:
        """Let one step happen."""
        self.step += 1
        if step.remember:
            self._add(step.remember.id, step.remember.text, at, shared=step.remember.shared)
        if step.update:
            shared = step.update.target in self.shared
            self._retire(step.update.target)
            self._add(step.update.id, step.update.text, at, shared=shared)
        if step.forget:
            self._retire(step.forget.target)
        if step.export:
            self.exports.add(step.export.name)
        if step.consolidate:
            self.consolidated_at = at

    def copies(self, fact: str) -> set[str]:
        """The live facts that a correction of this one retires: itself, and its equals in the same namespace."""
        if fact not in self.texts:  # a mistake in the scenario, which is complained about elsewhere
            return set()
        return {
            one
            for one in self.live
            if self.texts[one] == self.texts[fact] and (one in self.shared) == (fact in self.shared)
        }

    def traceable(self) -> frozenset[str]:
        """The retired facts that no consolidation can have pruned yet, whoever read them."""
        last = self.consolidated_at
        return frozenset(one for one in self.retired if last is None or last - self.told_at[one] < _PRUNABLE_AFTER)

    def _add(self, fact: str, text: str, at: datetime, *, shared: bool) -> None:
        self.texts[fact] = text
        self.told_at[fact] = at
        self.live.add(fact)
        if shared:
            self.shared.add(fact)

    def _retire(self, fact: str) -> None:
        for one in self.copies(fact):
            self.live.discard(one)
            self.retired.add(one)
            self.retired_at_step[one] = self.step


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
        world.apply(step, at)
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
                implied=frozenset(step.ask.implied),
                surviving=frozenset(world.live) - frozenset(step.ask.implied),
                traceable=world.traceable(),
                steps_since={fact: world.step - since for fact, since in world.retired_at_step.items()},
                generated=family.generated is not None,
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
        world.apply(step, at)
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
    if step.write_back and step.write_back.target not in world.retired:
        yield ("write_back", "target"), f"{step.write_back.target!r} is not retired: write_back tells a late old copy"
    if step.reimport and step.reimport.name not in world.exports:
        yield ("reimport", "name"), f"there was no export {step.reimport.name!r} before"
    if step.ask:
        yield from _ask_problems(world, step.ask, implied)


def _ask_problems(world: World, ask: Ask, implied: bool) -> Iterator[tuple[Place, str]]:
    for name, ids in (("gold", ask.gold), ("forbidden", ask.forbidden), ("implied", ask.implied)):
        for number, fact in enumerate(ids):
            place: Place = ("ask", name, number)
            if fact not in world.texts:
                yield place, f"{name} names {fact!r}, which was never remembered before this question"
            elif ask.as_of is None and name == "gold" and fact in world.retired:
                yield place, f"gold names {fact!r}, which is retired by now"
            elif ask.as_of is None and name == "forbidden" and fact in world.live:
                yield place, f"forbidden names {fact!r}, which is still live"
            elif name == "implied" and fact in world.retired:
                yield place, f"implied names {fact!r}, which is retired: it belongs to forbidden"
    if ask.implied and not implied:
        yield ("ask", "implied"), "only a family whose corrections are implied may name implied facts"
    if both := set(ask.gold) & {*ask.forbidden, *ask.implied}:
        yield ("ask",), f"{', '.join(sorted(both))}: gold and forbidden at once"
