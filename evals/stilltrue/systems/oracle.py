"""Answers with the gold facts: it alone is given the scenario. If it isn't perfect, a scenario or metric is wrong."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from stilltrue.records import Ask, Recalled, Scenario
from stilltrue.systems._deaf import Deaf
from stilltrue.truth import World, timeline


def make(*, scenario: Scenario) -> "OracleSystem":
    """An oracle for one scenario."""
    return OracleSystem(scenario)


class OracleSystem(Deaf):
    """Looks the answer up by query and time."""

    def __init__(self, scenario: Scenario) -> None:
        self._answers = {(ask.query, at): texts for ask, at, texts in _answers(scenario)}

    def recall(self, *, query: str, k: int, at: datetime) -> Sequence[Recalled]:
        """The gold facts; nothing for a query that nobody scores."""
        return [Recalled(text) for text in self._answers.get((query, at), ())[:k]]

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> Sequence[Recalled]:  # noqa: ARG002 - the protocol
        """The gold facts, whatever the instant asked about."""
        return self.recall(query=query, k=k, at=at)


def _answers(scenario: Scenario) -> Iterator[tuple[Ask, datetime, list[str]]]:
    world = World()
    for at, step in timeline(scenario):
        world.apply(step, at)
        if step.ask:
            yield step.ask, at, [world.texts[fact] for fact in step.ask.gold]
