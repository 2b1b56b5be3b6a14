"""The harness's vocabulary: what a scenario says, what a system answers, what a question's outcome was."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_instant(value: Any) -> datetime:
    """An ISO 8601 instant with an offset, such as ``2026-01-05T09:00Z``, as an aware UTC datetime."""
    try:
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError(f"not an instant: {value!r} (write it as 2026-01-05T09:00Z)") from None
    if instant.tzinfo is None:
        raise ValueError(f"instant without a zone: {value!r} (append Z for UTC)")
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"not an instant in the years 1 to 9999: {value!r}") from None


def parse_duration(value: Any) -> timedelta:
    """A span such as ``90s``, ``15m``, ``12h``, ``40d`` or ``2w``."""
    if isinstance(value, timedelta):
        return value
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", str(value))
    if not found:
        raise ValueError(f"not a duration: {value!r} (write 90s, 15m, 12h, 40d or 2w)")
    try:
        return timedelta(**{_UNITS[found[2]]: float(found[1])})
    except OverflowError:
        raise ValueError(f"too long a duration: {value!r}") from None


Instant = Annotated[datetime, BeforeValidator(parse_instant)]
Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
FactId = Annotated[str, Field(min_length=1, pattern=r"^[a-z0-9][a-z0-9_-]*$")]
NOT_BLANK = r"\S"
Text = Annotated[str, Field(pattern=NOT_BLANK)]


class Record(BaseModel):
    """What all records of data files are: frozen, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Remember(Record):
    """Store a fact. ``id`` is the scenario's own name for it; systems never see it. ``shared``: for all agents."""

    id: FactId
    text: Text
    pinned: bool = False
    shared: bool = False


class Update(Record):
    """Correct the fact ``target``: it is retired, ``id`` takes its place."""

    target: FactId
    id: FactId
    text: Text


class Target(Record):
    """The fact that forget, pin, unpin or write_back is about."""

    target: FactId


class Consolidate(Record):
    """Run a maintenance cycle: always, or (``if_due``) only when the system's own threshold is reached."""

    if_due: bool = False


class Dump(Record):
    """An export of the whole memory, under a name."""

    name: FactId


class Read(Record):
    """Recalls that nobody scores; they count as accesses of what is returned."""

    query: Text
    times: Annotated[int, Field(ge=1, le=100)] = 1


class Ask(Record):
    """A question, the facts that answer it now (gold) and the retired facts about the same thing (forbidden).

    ``implied``: facts that no operation retired and that are no longer true all the same. ``as_of`` asks about a past
    instant: gold was valid then, forbidden was not. Intervals are half-open: retirement is the first instant outside.
    """

    query: Text
    gold: tuple[FactId, ...] = ()
    forbidden: tuple[FactId, ...] = ()
    implied: tuple[FactId, ...] = ()
    as_of: Instant | None = None


OPERATIONS = (
    "remember",
    "update",
    "forget",
    "pin",
    "unpin",
    "advance",
    "consolidate",
    "export",
    "reimport",
    "write_back",
    "read",
    "ask",
)


class Step(Record):
    """One thing that happens: an optional instant and exactly one operation."""

    at: Instant | None = None
    remember: Remember | None = None
    update: Update | None = None
    forget: Target | None = None
    pin: Target | None = None
    unpin: Target | None = None
    advance: Duration | None = None
    consolidate: Consolidate | None = None
    export: Dump | None = None
    reimport: Dump | None = None
    write_back: Target | None = None
    read: Read | None = None
    ask: Ask | None = None

    @model_validator(mode="after")
    def _one_operation(self) -> "Step":
        given = [name for name in OPERATIONS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a step has exactly one of {', '.join(OPERATIONS)}; this one has {given or 'none'}")
        return self


class Scenario(Record):
    """A short history of one memory with questions in it; ``background`` names facts that are loaded first."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    domain: Text
    background: str | None = None
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]


Failure = Literal["leak", "shrink", "displacement", "over_retirement"]


class Generated(Record):
    """How a family was generated: with the same vocabulary, the same arguments give the same scenarios."""

    kind: Text
    facts: Annotated[int, Field(ge=1)]
    per_store: Annotated[int, Field(ge=1)]
    questions: Annotated[int, Field(ge=1)]
    seed: Annotated[int, Field(ge=0)]
    vocabulary: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Family(Record):
    """Scenarios that answer one question. ``reveals`` names the failures that its controls must show (METRICS.md).

    ``seen_in``: public reports of the failure. ``languages`` (ISO 639-1) and ``weaknesses`` stand on the family's card.
    ``source`` and ``licence`` are set on imported data. ``generated``: templated volume, whose figures are kept apart
    from those of hand-written families.
    """

    family: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]
    question: Text
    corrections: Literal["explicit", "implied"] = "explicit"
    reveals: Annotated[tuple[Failure, ...], Field(min_length=1)] = ("leak",)
    seen_in: tuple[str, ...] = ()
    languages: Annotated[tuple[Annotated[str, Field(pattern=r"^[a-z]{2}$")], ...], Field(min_length=1)] = ("en",)
    weaknesses: str = ""
    source: str = ""
    licence: str = ""
    generated: Generated | None = None
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]


class BackgroundFact(Record):
    """A live fact that has nothing to do with the questions."""

    id: Annotated[str, Field(pattern=r"^bg-[a-z0-9][a-z0-9_-]*$")]
    at: Instant
    text: Text


class Background(Record):
    """A named body of unrelated live facts, which puts ranking under pressure."""

    background: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]
    description: Text
    facts: Annotated[tuple[BackgroundFact, ...], Field(min_length=1)]


class Probe(Record):
    """One attribute of a dose world: what is true now, the outdated statements about it, and queries for it."""

    id: FactId
    current: Text
    stale: Annotated[tuple[Text, ...], Field(min_length=1)]
    queries: Annotated[tuple[Text, ...], Field(min_length=1)]


class DoseWorld(Record):
    """One coherent world for dose-response studies: probes, and the hand-written backgrounds that go with them."""

    world: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_]*$")]
    description: Text
    related: Text
    unrelated: Text
    probes: Annotated[tuple[Probe, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Recalled:
    """One result of a system: the text, the system's own handle of the fact if it has one, its score if it tells."""

    text: str
    handle: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A result after the harness has recognized it: the scenario's fact ID, or None for a text that no step stored."""

    fact: str | None
    text: str
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An ``ask`` with its ground truth.

    ``retired`` is T of METRICS.md: all facts retired by then (by ``as_of``); ``implied`` its T*; ``surviving``: what
    should be live. ``traceable``: retired facts too young to have been pruned. ``steps_since``: for each retired fact,
    how many steps ago it was retired.
    """

    family: str
    scenario: str
    number: int
    query: str
    at: datetime
    as_of: datetime | None
    gold: frozenset[str]
    forbidden: frozenset[str]
    retired: frozenset[str]
    implied: frozenset[str] = frozenset()
    surviving: frozenset[str] = frozenset()
    traceable: frozenset[str] = frozenset()
    steps_since: Mapping[str, int] = field(default_factory=dict[str, int])
    generated: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """A fact as a system lists it: the text, the system's handle, and whether it shows it as retired."""

    text: str
    handle: str | None
    retired: bool


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a system says it holds, as the scenario's facts; ``revived``: retired, gone before, live again."""

    live: frozenset[str]
    retired: frozenset[str]
    revived: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system returned for a question, best first, cut at ``k`` (R), and what it returns on the same store built
    without the retired facts (``counterfactual``, R'). ``reachable``: a superset of R, from a k of the store's size.
    ``holdings``: what it lists. ``cleared_after``: for each forbidden fact that is absent for the first time, the steps
    since its retirement. ``residue``: of how many forgotten texts how many lie in its files. ``unsupported`` names an
    operation it doesn't offer.
    """

    question: Question
    k: int
    returned: tuple[Hit, ...] = ()
    counterfactual: tuple[Hit, ...] = ()
    reachable: tuple[Hit, ...] = ()
    holdings: Holdings | None = None
    cleared_after: tuple[int, ...] = ()
    residue: tuple[int, int] | None = None
    unsupported: str | None = None
