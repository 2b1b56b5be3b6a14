"""Seeded, templated volume: families and backgrounds of any size, always reported apart from the hand-written suite."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from random import Random
from typing import Any, TypeAlias

from stilltrue.documents import did_you_mean
from stilltrue.records import Background, Family
from stilltrue.vocabulary import Subject, Vocabulary, fillers, subjects, vocabulary

MOST_FACTS = 100_000

_START = datetime(2025, 1, 1, 8, tzinfo=UTC)
_FIRST, _LAST = timedelta(days=100), timedelta(days=400)
"""Stories begin within the first days and are over after the last."""

_IN_STORIES = 0.6
"""The part of a store's facts that belong to stories; the others are live and unconcerned."""

Move: TypeAlias = tuple[str, str]
"""``remember``, ``update`` or ``forget``, and a text."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of story: how many facts it tells, its moves, and the family's question."""

    facts: int
    question: str
    moves: Callable[[Subject, Random], list[Move]]
    reimports: bool = False


def kinds() -> Mapping[str, Kind]:
    """What can be generated."""
    return _KINDS


def generate(
    kind: str, *, facts: int, seed: int, name: str | None = None, per_store: int = 500, questions: int = 200
) -> Family:
    """A family of generated stores with ``facts`` facts in all, ``per_store`` in each, and some questions per store.

    Raises ValueError for an unknown kind, or numbers out of range.
    """
    if kind not in _KINDS:
        raise ValueError(f"unknown kind {kind!r}{did_you_mean(kind, _KINDS)}; known: {', '.join(_KINDS)}")
    needed = round(_KINDS[kind].facts / _IN_STORIES + 0.5)
    if not needed <= facts <= MOST_FACTS:
        raise ValueError(f"{facts} facts, expected {needed} to {MOST_FACTS} for {kind}")
    if per_store < needed or questions < 1:
        raise ValueError(f"{per_store} facts a store with {questions} questions, expected at least {needed} and 1")
    words, digest = vocabulary()
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    sizes = [min(per_store, facts - told) for told in range(0, facts, per_store)]
    if sizes[-1] < needed:  # too small a rest for a store of its own
        sizes[-2:] = [sum(sizes[-2:])]
    return Family.model_validate(
        {
            "family": name or f"generated_{kind}",
            "question": _KINDS[kind].question,
            "generated": {
                "kind": kind,
                "facts": facts,
                "per_store": per_store,
                "questions": questions,
                "seed": seed,
                "vocabulary": digest,
            },
            "scenarios": [
                {
                    "id": f"{kind.replace('_', '-')}-{seed}-{number}",
                    "domain": "generated",
                    "steps": list(_store(_KINDS[kind], size, questions, words, random)),
                }
                for number, size in enumerate(sizes, start=1)
            ],
        }
    )


def as_yaml(family: Family) -> str:
    """The family as a scenario file holds it: YAML, one step a line, what is unset left out."""
    head = family.model_dump(mode="json", exclude={"scenarios"}, exclude_defaults=True)
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    lines.append("scenarios:")
    for scenario in family.scenarios:
        lines += [f"  - id: {scenario.id}", f"    domain: {scenario.domain}", "    steps:"]
        for step in scenario.steps:
            fields = step.model_dump(mode="json", exclude_defaults=True)
            lines.append(f"      - {json.dumps(fields, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def background(name: str, facts: int, *, related: bool, seed: int = 0) -> Background:
    """A body of generated live facts: of the related domains, or of all others and of nothing in particular.

    A smaller body of the same kind is the beginning of a larger one.
    """
    words, _ = vocabulary()
    random = Random(seed)  # noqa: S311 - reproducible, not secret
    domains = tuple(one for one in _domains(words) if (one in words.related) == related)
    about = map(_stated(random), subjects(words, random, domains=domains))
    texts = about if related else _in_turn(about, fillers(words, random))
    return Background.model_validate(
        {
            "background": name,
            "description": f"{facts} generated facts, {'related' if related else 'unrelated'} to a software company",
            "facts": [
                {"id": f"bg-{number}", "at": _START + timedelta(minutes=90 * number), "text": text}
                for number, text in enumerate(islice(_different(texts), facts))
            ],
        }
    )


# Stores


def _store(kind: Kind, size: int, questions: int, words: Vocabulary, random: Random) -> Iterator[dict[str, Any]]:
    """The steps of one store: stories and unconcerned facts mixed in time, questions at the end."""
    about = subjects(words, random)
    stories = [_Story(kind, subject, random) for subject in islice(about, max(1, int(size * _IN_STORIES / kind.facts)))]
    others = islice(
        _different(_in_turn(map(_stated(random), about), fillers(words, random))), size - len(stories) * kind.facts
    )
    events = [event for number, story in enumerate(stories) for event in story.events(number)]
    events += (
        (
            timedelta(seconds=random.randrange(int(_LAST.total_seconds()))),
            {"remember": {"id": f"o{number}", "text": text}},
        )
        for number, text in enumerate(others)
    )
    if kind.reimports:
        events += [(_FIRST, {"export": {"name": "before"}}), (_LAST, {"reimport": {"name": "before"}})]
    for after, step in sorted(events, key=lambda event: event[0]):
        yield {"at": _START + after, **step}
    asked = random.sample(range(len(stories)), min(questions, len(stories)))
    for number in sorted(asked):
        after = _LAST + timedelta(days=1, seconds=number)
        yield {"at": _START + after, "ask": stories[number].question(number)}


class _Story:
    """One subject's changes, with an instant for each."""

    def __init__(self, kind: Kind, subject: Subject, random: Random) -> None:
        self._moves = kind.moves(subject, random)
        self._query = subject.says(random.choice(subject.attribute.queries))
        first, last = int(_FIRST.total_seconds()), int(_LAST.total_seconds())
        later = sorted(random.sample(range(first + 1, last), len(self._moves) - 1))
        self._times = [random.randrange(first), *later]

    def events(self, number: int) -> Iterator[tuple[timedelta, dict[str, Any]]]:
        for version, (seconds, (operation, text)) in enumerate(zip(self._times, self._moves, strict=True)):
            before, fact = f"f{number}-{version - 1}", f"f{number}-{version}"
            told = {
                "remember": {"id": fact, "text": text},
                "update": {"target": before, "id": fact, "text": text},
                "forget": {"target": before},
            }
            yield timedelta(seconds=seconds), {operation: told[operation]}

    def question(self, number: int) -> dict[str, Any]:
        told = [f"f{number}-{version}" for version, (operation, _) in enumerate(self._moves) if operation != "forget"]
        forgotten = self._moves[-1][0] == "forget"
        return {
            "query": self._query,
            "gold": [] if forgotten else told[-1:],
            "forbidden": told if forgotten else told[:-1],
        }


# Stories


def _stated(random: Random) -> Callable[[Subject], str]:
    """A statement about a subject, in any phrase and with any value."""

    def stated(subject: Subject) -> str:
        one = subject.attribute
        return subject.says(random.choice(one.statements), value=random.choice(one.values))

    return stated


def _versions(subject: Subject, random: Random, number: int) -> list[Move]:
    """Statement and corrections with values that differ from one to the next."""
    one = subject.attribute
    first, *others = random.sample(one.values, number)
    moves = [("remember", subject.says(random.choice(one.statements), value=first))]
    for old, value in pairwise((first, *others)):
        phrase = random.choice((*one.statements, *one.corrections))
        moves.append(("update", subject.says(phrase, value=value, old=old)))
    return moves


def _several(number: int) -> Callable[[Subject, Random], list[Move]]:
    return lambda subject, random: _versions(subject, random, number)


def _revert(subject: Subject, random: Random) -> list[Move]:
    one = subject.attribute
    first, second = random.sample(one.values, 2)
    before, after = random.sample(one.statements, 2)
    return [
        ("remember", subject.says(before, value=first)),
        ("update", subject.says(random.choice(one.corrections), value=second, old=first)),
        ("update", subject.says(after, value=first)),
    ]


def _retraction(subject: Subject, random: Random) -> list[Move]:
    one = subject.attribute
    value = random.choice(one.values)
    return [
        ("remember", subject.says(random.choice(one.statements), value=value)),
        ("update", subject.says(random.choice(one.retractions), old=value)),
    ]


def _forget(subject: Subject, random: Random) -> list[Move]:
    return [*_versions(subject, random, 1), ("forget", "")]


_KINDS = {
    "supersession": Kind(2, "After a correction, does the old value still come back?", _several(2)),
    "chain": Kind(4, "After three corrections, is only the latest value returned?", _several(4)),
    "crowding": Kind(17, "Do sixteen outdated values push the current one out?", _several(17)),
    "revert": Kind(3, "When a value changes and changes back, is only the new statement of it returned?", _revert),
    "retraction": Kind(2, "When a correction only says what no longer holds, is the old statement gone?", _retraction),
    "forget": Kind(1, "Does a forgotten fact stay away?", _forget),
    "reimport": Kind(
        2, "Do corrected facts stay retired when an old export is read back in?", _several(2), reimports=True
    ),
}


def _domains(words: Vocabulary) -> list[str]:
    return list(dict.fromkeys(one.domain for one in words.attributes))


def _in_turn(endless: Iterator[str], some: Iterator[str]) -> Iterator[str]:
    """One of each in turn; when the second is used up, the first alone."""
    for text in endless:
        yield text
        yield from islice(some, 1)


def _different(texts: Iterator[str]) -> Iterator[str]:
    """The texts without those that came before."""
    seen: set[str] = set()
    for text in texts:
        if text not in seen:
            seen.add(text)
            yield text
