"""Drives a memory system through scenarios, as told and without the retired facts, and collects its answers."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from stilltrue.records import Answer, Ask, Background, Family, Hit, Question, Recalled, Scenario, Step
from stilltrue.scenarios import Suite
from stilltrue.systems import Consolidates, Forgets, MemorySystem, Pins, Travels, Updates
from stilltrue.truth import World, questions, timeline

OpenSystem: TypeAlias = Callable[[Scenario], MemorySystem]
"""Opens an empty system. Only the oracle looks at the scenario."""


class Unsupported(NotImplementedError):
    """The system doesn't offer an operation that the scenario needs."""


def answers(suite: Suite, open_system: OpenSystem, *, k: int) -> Iterator[Answer]:
    """The system's answer to every question of the suite, in order."""
    for family in suite.families:
        for scenario in family.scenarios:
            background = suite.backgrounds[scenario.background] if scenario.background else None
            yield from scenario_answers(family, scenario, background, open_system, k=k)


def scenario_answers(
    family: Family, scenario: Scenario, background: Background | None, open_system: OpenSystem, *, k: int
) -> list[Answer]:
    """Answers to one scenario's questions, each with its counterfactual."""
    asked = list(questions(family, scenario))
    told = _drive(scenario, background, open_system(scenario), k, without=frozenset())
    # R' needs the store built without T, which grows from question to question: one more drive for each distinct T.
    clean = {
        retired: _drive(scenario, background, open_system(scenario), k, without=retired)
        for retired in dict.fromkeys(question.retired for question in asked)
        if retired
    }
    return [_answer(question, k, told, clean.get(question.retired, told)) for question in asked]


_Response: TypeAlias = tuple[Hit, ...] | Unsupported


def _answer(question: Question, k: int, told: dict[int, _Response], clean: dict[int, _Response]) -> Answer:
    returned, counterfactual = told[question.number], clean[question.number]
    if isinstance(returned, Unsupported):
        return Answer(question=question, k=k, unsupported=str(returned))
    if isinstance(counterfactual, Unsupported):
        return Answer(question=question, k=k, unsupported=str(counterfactual))
    return Answer(question=question, k=k, returned=returned, counterfactual=counterfactual)


def _drive(
    scenario: Scenario, background: Background | None, system: MemorySystem, k: int, *, without: frozenset[str]
) -> dict[int, _Response]:
    """Let the scenario happen to the system, which never hears of the facts ``without``. Responses by question."""
    driver = _Driver(system, k, without)
    try:
        for fact in background.facts if background else ():
            driver.remember(fact.id, fact.text, fact.at)
        for at, step in timeline(scenario):
            driver.take(step, at)
    finally:
        system.close()
    return driver.responses


class _Driver:
    """Translates steps into the system's operations and its results back into the scenario's facts."""

    def __init__(self, system: MemorySystem, k: int, without: frozenset[str]) -> None:
        self._system, self._k, self._without = system, k, without
        self._world = World()
        self._by_handle: dict[str, str] = {}
        self._by_text: dict[str, list[str]] = {}
        self._missing: Unsupported | None = None
        self.responses: dict[int, _Response] = {}

    def take(self, step: Step, at: datetime) -> None:
        """One step. After an operation that the system doesn't offer, all further questions are n/a."""
        self._world.apply(step)
        if step.ask:
            self.responses[len(self.responses) + 1] = self._missing or self._ask(step.ask, at)
        elif self._missing is None:
            try:
                self._write(step, at)
            except Unsupported as missing:
                self._missing = missing

    def remember(self, fact: str, text: str, at: datetime) -> None:
        """Tell the system a fact, unless it belongs to those that it shall never hear of."""
        if fact not in self._without:
            self._known(fact, text, self._system.remember(text=text, at=at))

    def _write(self, step: Step, at: datetime) -> None:
        if step.remember:
            self.remember(step.remember.id, step.remember.text, at)
            if step.remember.pinned and step.remember.id not in self._without:
                self._pins().pin(target=step.remember.text, at=at)
        elif step.update:
            self._update(step.update.target, step.update.id, step.update.text, at)
        elif step.consolidate:
            if not isinstance(self._system, Consolidates):
                raise Unsupported("consolidate")
            self._system.consolidate(at=at, if_due=step.consolidate.if_due)
        elif (target := step.forget or step.pin or step.unpin) and target.target not in self._without:
            text = self._world.texts[target.target]
            if step.pin:
                self._pins().pin(target=text, at=at)
            elif step.unpin:
                self._pins().unpin(target=text, at=at)
            elif not isinstance(self._system, Forgets):
                raise Unsupported("forget")
            else:
                self._system.forget(target=text, at=at)

    def _update(self, target: str, fact: str, text: str, at: datetime) -> None:
        if target in self._without:
            self.remember(fact, text, at)
        elif not isinstance(self._system, Updates):
            raise Unsupported("update")
        else:
            self._known(fact, text, self._system.update(target=self._world.texts[target], text=text, at=at))

    def _pins(self) -> Pins:
        if not isinstance(self._system, Pins):
            raise Unsupported("pin")
        return self._system

    def _known(self, fact: str, text: str, handle: str | None) -> None:
        self._by_text.setdefault(text, []).append(fact)
        if handle:
            self._by_handle[handle] = fact

    def _ask(self, ask: Ask, at: datetime) -> _Response:
        if ask.as_of is None:
            found = self._system.recall(query=ask.query, k=self._k, at=at)
        elif isinstance(self._system, Travels):
            found = self._system.recall_as_of(query=ask.query, k=self._k, at=at, as_of=ask.as_of)
        else:
            return Unsupported("as_of")
        return tuple(self._recognized(found[: self._k]))

    def _recognized(self, found: Sequence[Recalled]) -> Iterator[Hit]:
        """Results as the scenario's facts: by handle, else by text; of equal texts a live one that is not yet used."""
        used: set[str] = set()
        for one in found:
            fact = self._by_handle.get(one.handle or "")
            if fact is None:
                candidates = [c for c in self._by_text.get(one.text, ()) if c not in used]
                fact = next((c for c in candidates if c not in self._world.retired), next(iter(candidates), None))
            if fact is not None:
                used.add(fact)
            yield Hit(fact, one.text, one.score)
