"""The generator's vocabulary: attributes of entities in many domains, how notes put them, other sentences."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from stilltrue.documents import InvalidData, load

Phrases = Annotated[tuple[str, ...], Field(min_length=1)]


class _Words(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Attribute(_Words):
    """Something that entities have and that changes. Phrases have ``{entity}``, ``{value}``, corrections ``{old}``."""

    id: str
    domain: str
    statements: Phrases
    corrections: Phrases
    retractions: Phrases
    queries: Phrases
    values: Annotated[tuple[str, ...], Field(min_length=17)]  # as many as the longest story has versions
    entities: str


class Filler(_Words):
    """A sentence about none of the attributes, with ``{entity}`` or without."""

    text: str
    entities: str | None = None


class Vocabulary(_Words):
    """All words. ``related``: the domains whose attributes make a body of facts related to software companies."""

    related: Annotated[tuple[str, ...], Field(min_length=1)]
    attributes: Annotated[tuple[Attribute, ...], Field(min_length=1)]
    entities: dict[str, Annotated[tuple[str, ...], Field(min_length=2)]]
    fillers: Annotated[tuple[Filler, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Subject:
    """One attribute of one entity: what a story is about."""

    attribute: Attribute
    entity: str

    def says(self, phrase: str, *, value: str = "", old: str = "") -> str:
        """The phrase with this entity."""
        return phrase.format(entity=self.entity, value=value, old=old)


@cache
def vocabulary() -> tuple[Vocabulary, str]:
    """The words that come along, and the digest of their file."""
    problems: list[str] = []
    hashes: dict[str, str] = {}
    found = [words for _, words in load(files("stilltrue_data"), "generator", Vocabulary, problems, hashes)]
    if problems:
        raise InvalidData(problems)
    return found[0], hashlib.sha256("".join(hashes.values()).encode()).hexdigest()


def subjects(words: Vocabulary, random: Random, *, domains: tuple[str, ...] = ()) -> Iterator[Subject]:
    """Different subjects without end, in random order; the domains' only, when some are given.

    Entities come plain first. When all have been used they come again with a place: "Orion (Ghent)".
    """
    attributes = [one for one in words.attributes if not domains or one.domain in domains]
    places = list(words.entities["towns"])
    random.shuffle(places)
    pairs = [(attribute, entity) for attribute in attributes for entity in words.entities[attribute.entities]]
    for place in ("", *places):
        random.shuffle(pairs)
        for attribute, entity in pairs:
            yield Subject(attribute, f"{entity} ({place})" if place else entity)


def fillers(words: Vocabulary, random: Random) -> Iterator[str]:
    """Different sentences about other things, in random order."""
    texts = {
        filler.text.format(entity=name)
        for filler in words.fillers
        for name in (words.entities[filler.entities] if filler.entities else ("",))
    }
    shuffled = sorted(texts)
    random.shuffle(shuffled)
    yield from shuffled
