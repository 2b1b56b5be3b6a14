"""Drives a memory system through scenarios, as told and without the retired facts, and collects its answers."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from stilltrue.driver import Driver, Unsupported
from stilltrue.records import Answer, Background, Family, Hit, Question, Scenario
from stilltrue.scenarios import Suite
from stilltrue.systems import MemorySystem
from stilltrue.truth import questions, timeline

OpenSystem: TypeAlias = Callable[[Scenario], MemorySystem]
"""Opens an empty system. Only the oracle looks at the scenario."""

EVERYTHING = 10_000
"""A cut-off beyond the size of any scenario's store."""


def answers(suite: Suite, open_system: OpenSystem, *, k: int) -> Iterator[Answer]:
    """The system's answer to every question of the suite, in order."""
    for family in suite.families:
        for scenario in family.scenarios:
            background = suite.backgrounds[scenario.background] if scenario.background else None
            yield from scenario_answers(family, scenario, background, open_system, k=k)


def scenario_answers(
    family: Family,
    scenario: Scenario,
    background: Background | None,
    open_system: OpenSystem,
    *,
    k: int,
    observe: bool = True,
) -> list[Answer]:
    """Answers to one scenario's questions, each with its counterfactual.

    With ``observe`` the lifecycle is looked at too: what the system lists and keeps in files at each question, and
    whether what it doesn't return is within reach at all.
    """
    asked = list(questions(family, scenario))
    told = _drive(scenario, background, open_system(scenario), k, observe=observe)
    # R' needs the store built without T, which grows from question to question: one more drive for each distinct T.
    last = {question.retired: question.number for question in asked}
    clean = {
        retired: _drive(scenario, background, open_system(scenario), k, without=retired, until=number)
        for retired, number in last.items()
        if retired
    }
    deep = told
    if observe and any(_is_off_target(question, told) for question in asked):
        deep = _drive(scenario, background, open_system(scenario), EVERYTHING)
    cleared: set[str] = set()
    return [_answer(question, k, told, clean.get(question.retired, told), deep, cleared) for question in asked]


def _is_off_target(question: Question, told: Driver) -> bool:
    """Neither gold nor forbidden came back: only then does it matter whether they would at a larger cut-off."""
    response = told.responses[question.number]
    wanted = question.gold | question.forbidden
    return not isinstance(response, Unsupported) and wanted.isdisjoint(hit.fact for hit in response)


def _answer(question: Question, k: int, told: Driver, clean: Driver, deep: Driver, cleared: set[str]) -> Answer:
    returned, counterfactual = told.responses[question.number], clean.responses[question.number]
    reachable = deep.responses[question.number]
    if isinstance(returned, Unsupported):
        return Answer(question=question, k=k, unsupported=str(returned))
    if isinstance(counterfactual, Unsupported) or isinstance(reachable, Unsupported):
        raise TypeError(f"the system offers an operation only at times: {counterfactual}, {reachable}")
    return Answer(
        question=question,
        k=k,
        returned=returned,
        counterfactual=counterfactual,
        reachable=reachable,
        holdings=told.holdings.get(question.number),
        cleared_after=_cleared_after(question, returned, cleared),
        residue=told.residue.get(question.number),
    )


def _cleared_after(question: Question, returned: tuple[Hit, ...], cleared: set[str]) -> tuple[int, ...]:
    """For each forbidden fact that is absent for the first time since its retirement, the steps it took."""
    there = {hit.fact for hit in returned}
    first = sorted(fact for fact in question.forbidden - cleared - there if fact in question.steps_since)
    cleared.update(first)
    return tuple(question.steps_since[fact] for fact in first)


def _drive(
    scenario: Scenario,
    background: Background | None,
    system: MemorySystem,
    k: int,
    *,
    without: frozenset[str] = frozenset(),
    until: int | None = None,
    observe: bool = False,
) -> Driver:
    """Let the scenario happen to the system, without the facts ``without``, to its end or ``until`` a question."""
    kept = frozenset(step.write_back.target for step in scenario.steps if step.write_back)
    driver = Driver(system, k, without=without, kept=kept, observe=observe)
    try:
        driver.load(background.facts if background else ())
        for at, step in timeline(scenario):
            driver.take(step, at)
            if len(driver.responses) == until:
                break
    finally:
        system.close()
    return driver
