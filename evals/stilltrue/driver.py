"""Translates a scenario's steps into a system's operations, and what the system says back into the scenario's facts."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from stilltrue.records import Ask, BackgroundFact, Hit, Holdings, Recalled, Step
from stilltrue.systems import (
    Consolidates,
    Exports,
    Forgets,
    KeepsFiles,
    Lists,
    Loads,
    MemorySystem,
    Pins,
    Shares,
    Travels,
    Updates,
    WritesBack,
)
from stilltrue.truth import World

Offered = TypeVar("Offered")


class Unsupported(NotImplementedError):
    """The system doesn't offer an operation that the scenario needs."""


Response: TypeAlias = tuple[Hit, ...] | Unsupported


class Driver:
    """One system living through one scenario. Responses, holdings and residue are kept by the question's number.

    The facts ``without`` are never told to the system: a correction of one of them is told as a plain new fact.
    The records of the facts ``kept`` are kept as they were before their retirement, for a late write of them. Holdings
    and residue are looked at when asked to ``observe``.
    """

    def __init__(
        self, system: MemorySystem, k: int, *, without: frozenset[str], kept: frozenset[str], observe: bool
    ) -> None:
        self._system, self._k, self._without, self._kept, self._observe = system, k, without, kept, observe
        self._world = World()
        self._by_handle: dict[str, str] = {}
        self._by_text: dict[str, list[str]] = {}
        self._dumps: dict[str, Any] = {}
        self._records: dict[str, Any] = {}
        self._gone: set[str] = set()
        self._missing: Unsupported | None = None
        self.responses: dict[int, Response] = {}
        self.holdings: dict[int, Holdings] = {}
        self.residue: dict[int, tuple[int, int]] = {}

    def take(self, step: Step, at: datetime) -> None:
        """One step. After an operation that the system doesn't offer, all further questions are n/a."""
        if self._missing is None and not step.ask:
            try:
                self._write(step, at)
            except Unsupported as missing:
                self._missing = missing
        self._world.apply(step, at)
        if step.ask:
            number = len(self.responses) + 1
            self.responses[number] = self._missing or self._ask(step.ask, at)
            if self._observe and self._missing is None:
                self._look_around(number)

    def load(self, facts: Sequence[BackgroundFact]) -> None:
        """Tell the system a background, at once if it can."""
        if isinstance(self._system, Loads):
            handles = self._system.load([(fact.text, fact.at) for fact in facts])
            for fact, handle in zip(facts, handles, strict=True):
                self._known(fact.id, fact.text, handle)
        else:
            for fact in facts:
                self.remember(fact.id, fact.text, fact.at)

    def remember(self, fact: str, text: str, at: datetime, *, shared: bool = False) -> None:
        """Tell the system a fact, unless it belongs to those that it shall never hear of."""
        if fact not in self._without:
            self._known(fact, text, self._place(shared).remember(text=text, at=at))

    def _write(self, step: Step, at: datetime) -> None:
        if step.remember:
            self.remember(step.remember.id, step.remember.text, at, shared=step.remember.shared)
            if step.remember.pinned and step.remember.id not in self._without:
                _offered(self._place(step.remember.shared), Pins, "pin").pin(target=step.remember.text, at=at)
        elif step.update:
            self._update(step.update.target, step.update.id, step.update.text, at)
        elif target := step.forget or step.pin or step.unpin:
            self._about(step, target.target, at)
        else:
            self._disturb(step, at)

    def _disturb(self, step: Step, at: datetime) -> None:
        """What must not bring a retired fact back: cycles, reads, restored dumps, late writes."""
        if step.consolidate:
            _offered(self._system, Consolidates, "consolidate").consolidate(at=at, if_due=step.consolidate.if_due)
        elif step.export:
            self._dumps[step.export.name] = _offered(self._system, Exports, "export").export()
        elif step.reimport:
            _offered(self._system, Exports, "export").reimport(self._dumps[step.reimport.name], at=at)
        elif step.read:
            for _ in range(step.read.times):
                self._system.recall(query=step.read.query, k=self._k, at=at)
        elif step.write_back and step.write_back.target not in self._without:
            record = self._records.get(step.write_back.target)
            _offered(self._system, WritesBack, "write_back").write_back(record, at=at)

    def _about(self, step: Step, fact: str, at: datetime) -> None:
        """Forget, pin or unpin a fact."""
        if fact in self._without:
            return
        place, text = self._place(fact in self._world.shared), self._world.texts[fact]
        if step.pin:
            _offered(place, Pins, "pin").pin(target=text, at=at)
        elif step.unpin:
            _offered(place, Pins, "pin").unpin(target=text, at=at)
        else:
            self._keep_records(fact)
            _offered(place, Forgets, "forget").forget(target=text, at=at)

    def _update(self, target: str, fact: str, text: str, at: datetime) -> None:
        shared = target in self._world.shared
        if target in self._without:
            self.remember(fact, text, at, shared=shared)
            return
        self._keep_records(target)
        place = _offered(self._place(shared), Updates, "update")
        self._known(fact, text, place.update(target=self._world.texts[target], text=text, at=at))

    def _keep_records(self, fact: str) -> None:
        """Keep the record as it is before its retirement, if a late write of it will come."""
        if isinstance(self._system, WritesBack):
            for copy in self._world.copies(fact) & self._kept:
                self._records[copy] = self._system.snapshot(target=self._world.texts[copy])

    def _place(self, shared: bool) -> MemorySystem:
        return _offered(self._system, Shares, "shared").shared if shared else self._system

    def _known(self, fact: str, text: str, handle: str | None) -> None:
        self._by_text.setdefault(text, []).append(fact)
        if handle:
            self._by_handle[handle] = fact

    def _ask(self, ask: Ask, at: datetime) -> Response:
        if ask.as_of is None:
            found = self._system.recall(query=ask.query, k=self._k, at=at)
        elif isinstance(self._system, Travels):
            found = self._system.recall_as_of(query=ask.query, k=self._k, at=at, as_of=ask.as_of)
        else:
            return Unsupported("as_of")
        return tuple(self._recognized(found[: self._k]))

    def _recognized(self, found: Sequence[Recalled]) -> Iterator[Hit]:
        used: set[str] = set()
        for one in found:
            fact = self._fact(one.text, one.handle, used)
            if fact is not None:
                used.add(fact)
            yield Hit(fact, one.text, one.score)

    def _fact(self, text: str, handle: str | None, used: set[str]) -> str | None:
        """The scenario's fact: by handle, else by text; of equal texts a live one that is not yet used."""
        if handle in self._by_handle:
            return self._by_handle[handle]
        candidates = [one for one in self._by_text.get(text, ()) if one not in used]
        return next((one for one in candidates if one not in self._world.retired), next(iter(candidates), None))

    def _look_around(self, number: int) -> None:
        """What the system lists by now, and whether forgotten texts lie in its files."""
        if isinstance(self._system, Lists):
            self.holdings[number] = self._holdings(self._system)
        if isinstance(self._system, KeepsFiles) and (retired := sorted(self._world.retired)):
            texts = {self._world.texts[fact] for fact in retired} - {self._world.texts[f] for f in self._world.live}
            found = sum(self._system.lies_in_files(text=text) for text in texts)
            self.residue[number] = (found, len(texts))

    def _holdings(self, system: Lists) -> Holdings:
        live: set[str] = set()
        retired: set[str] = set()
        for one in system.list_facts():
            fact = self._fact(one.text, one.handle, live | retired)
            if fact is not None:
                (retired if one.retired else live).add(fact)
        revived = live & self._gone
        self._gone = self._world.retired - live
        return Holdings(frozenset(live), frozenset(retired), frozenset(revived))


def _offered(system: object, protocol: type[Offered], operation: str) -> Offered:
    """The system as one that offers the operation. Raises Unsupported."""
    if not isinstance(system, protocol):
        raise Unsupported(operation)
    return system
