"""Answers with the gold facts: it alone is given the scenario. If it isn't perfect, a scenario or metric is wrong."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from stilltrue.records import Ask, Recalled, Scenario
from stilltrue.truth import World, timeline


def make(*, scenario: Scenario) -> "OracleSystem":
    """An oracle for one scenario."""
    return OracleSystem(scenario)


class OracleSystem:
    """Looks the answer up by query and time; writes are ignored."""

    def __init__(self, scenario: Scenario) -> None:
        self._answers = {(ask.query, at): texts for ask, at, texts in _answers(scenario)}

    def remember(self, *, text: str, at: datetime) -> None:
        """Nothing to do."""

    def update(self, *, target: str, text: str, at: datetime) -> None:
        """Nothing to do."""

    def forget(self, *, target: str, at: datetime) -> None:
        """Nothing to do."""

    def pin(self, *, target: str, at: datetime) -> None:
        """Nothing to do."""

    def unpin(self, *, target: str, at: datetime) -> None:
        """Nothing to do."""

    def consolidate(self, *, at: datetime, if_due: bool) -> None:
        """Nothing to do."""

    @property
    def shared(self) -> "OracleSystem":
        """The same system."""
        return self

    def export(self) -> None:
        """Nothing to keep."""

    def reimport(self, dump: None, *, at: datetime) -> None:
        """Nothing to do."""

    def snapshot(self, *, target: str) -> None:
        """Nothing to keep."""

    def write_back(self, record: None, *, at: datetime) -> None:
        """Nothing to do."""

    def recall(self, *, query: str, k: int, at: datetime) -> Sequence[Recalled]:
        """The gold facts; nothing for a query that nobody scores."""
        return [Recalled(text) for text in self._answers.get((query, at), ())[:k]]

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> Sequence[Recalled]:  # noqa: ARG002
        """The gold facts, whatever the instant asked about."""
        return self.recall(query=query, k=k, at=at)

    def close(self) -> None:
        """Nothing to do."""


def _answers(scenario: Scenario) -> Iterator[tuple[Ask, datetime, list[str]]]:
    world = World()
    for at, step in timeline(scenario):
        world.apply(step, at)
        if step.ask:
            yield step.ask, at, [world.texts[fact] for fact in step.ask.gold]
