"""Streams: whole small stores in which every pair that a candidate step proposes has been looked at."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from stilltrue.documents import InvalidData, load
from stilltrue.records import FactId, Instant, Record, Text

Edge: TypeAlias = tuple[str, str]
"""(older, newer): ids of facts of one stream."""

Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

FEWEST_STREAMS, FEWEST_SUPERSESSIONS = 30, 300
FACTS = (40, 120)
"""Of a stream, least and most."""


class StreamFact(Record):
    """A fact as it was stored."""

    id: FactId
    at: Instant
    text: Text


class Supersession(Record):
    """The older fact must be retired because of the newer one. ``why``: a line, where it is not plain to see."""

    older: FactId
    newer: FactId
    why: Text | None = None


class Stream(Record):
    """One coherent world, told over time. ``supersessions``: every pair of which the older fact must be retired.

    ``ambiguous``: pairs on which sensible readers differ; no figure counts them.
    """

    stream: FactId
    world: Text
    domain: Text
    languages: tuple[str, ...] = ("en",)
    facts: Annotated[tuple[StreamFact, ...], Field(min_length=1)]
    supersessions: tuple[Supersession, ...] = ()
    ambiguous: tuple[Supersession, ...] = ()


@dataclass(frozen=True)
class Streams:
    """All streams, and the pairs of each that a reader looked at and found to be no supersession."""

    streams: tuple[Stream, ...]
    looked_at: dict[str, frozenset[Edge]]
    hashes: dict[str, str]

    @property
    def content(self) -> str:
        """One SHA-256 of all files, what was looked at included; the card has it."""
        return hashlib.sha256(repr(sorted(self.hashes.items())).encode()).hexdigest()


def read_streams(root: Traversable) -> Streams:
    """The streams below a folder (``streams/*.yaml``) with ``looked_at.jsonl`` beside them. Raises InvalidData."""
    problems: list[str] = []
    hashes: dict[str, str] = {}
    streams: list[Stream] = []
    for document, stream in load(root, "streams", Stream, problems, hashes):
        problems += (document.complaint(place, text) for place, text in _complaints(stream))
        streams.append(stream)
    file = root.joinpath("streams", "looked_at.jsonl")
    looked_at = _looked_at(file, problems) if streams else {}
    problems += _strange(looked_at, streams)
    if file.is_file():
        hashes["streams/looked_at.jsonl"] = hashlib.sha256(file.read_bytes()).hexdigest()
    if problems:
        raise InvalidData(problems)
    return Streams(tuple(streams), looked_at, hashes)


def _complaints(stream: Stream) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What is wrong within one stream, with its place."""
    facts: dict[str, StreamFact] = {}
    for number, fact in enumerate(stream.facts):
        if fact.id in facts:
            yield ("facts", number, "id"), f"id: {fact.id!r} is used twice"
        facts[fact.id] = fact
    seen: set[Edge] = set()
    for key in ("supersessions", "ambiguous"):
        for number, pair in enumerate(getattr(stream, key)):
            yield from ((((key, number)), text) for text in _wrong(pair, facts, seen))
            seen.add((pair.older, pair.newer))


def _wrong(pair: Supersession, facts: dict[str, StreamFact], seen: set[Edge]) -> Iterator[str]:
    missing = [name for name in (pair.older, pair.newer) if name not in facts]
    if missing:
        yield f"no fact is named {missing[0]!r}"
    elif facts[pair.older].at >= facts[pair.newer].at:
        yield f"{pair.older!r} is not older than {pair.newer!r}"
    if (pair.older, pair.newer) in seen:
        yield f"the pair {pair.older!r}, {pair.newer!r} is listed twice"


def _looked_at(file: Traversable, problems: list[str]) -> dict[str, frozenset[Edge]]:
    """One line a stream: ``{"stream": ..., "pairs": [[older, newer], ...]}``."""
    if not file.is_file():
        problems.append(f"{file.name}: missing beside the streams: it lists the pairs that a reader has looked at")
        return {}
    found: dict[str, frozenset[Edge]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            value = json.loads(line)
            if value["stream"] in found:
                raise ValueError(f"{value['stream']} is listed twice")
            found[value["stream"]] = frozenset((older, newer) for older, newer in value["pairs"])
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"{file.name}:{number}: not of the form {{stream, pairs}}: {error}")
    return found


def _strange(looked_at: Mapping[str, frozenset[Edge]], streams: Sequence[Stream]) -> Iterator[str]:
    """Streams and facts in looked_at.jsonl that there are none of."""
    facts = {stream.stream: {fact.id for fact in stream.facts} for stream in streams}
    for name, edges in looked_at.items():
        if name not in facts:
            yield f"looked_at.jsonl: there is no stream {name!r}"
        elif strange := sorted({fact for edge in edges for fact in edge} - facts[name]):
            yield f"looked_at.jsonl: {name} has no fact {strange[0]!r}"


def in_order(stream: Stream) -> list[StreamFact]:
    """The facts by time, of equal times by id."""
    return sorted(stream.facts, key=lambda fact: (fact.at, fact.id))


def proposals(streams: Streams, embed: Embed) -> dict[str, list[Edge]]:
    """The pairs that the candidate step proposes in each stream, with its usual floor and cap."""
    from tombstore.candidates import similar_pairs

    found: dict[str, list[Edge]] = {}
    for stream in streams.streams:
        facts = in_order(stream)
        pairs = similar_pairs(embed([fact.text for fact in facts]))
        found[stream.stream] = [(facts[first].id, facts[second].id) for first, second, _ in pairs]
    return found


def shortcomings(streams: Streams) -> list[str]:
    """A line for each thing that a published set must have and this one lacks."""
    lines = [
        f"{stream.stream}: {len(stream.facts)} facts, expected {FACTS[0]} to {FACTS[1]}"
        for stream in streams.streams
        if not FACTS[0] <= len(stream.facts) <= FACTS[1]
    ]
    told = sum(len(stream.supersessions) for stream in streams.streams)
    if len(streams.streams) < FEWEST_STREAMS:
        lines.append(f"streams: {len(streams.streams)} of them, expected at least {FEWEST_STREAMS}")
    if told < FEWEST_SUPERSESSIONS:
        lines.append(f"streams: {told} supersessions in all, expected at least {FEWEST_SUPERSESSIONS}")
    return lines


def unread(streams: Streams, proposed: Mapping[str, Sequence[Edge]]) -> list[str]:
    """A line for each stream with pairs that the candidate step proposes and nobody has looked at."""
    lines: list[str] = []
    for stream in streams.streams:
        told = {(pair.older, pair.newer) for pair in (*stream.supersessions, *stream.ambiguous)}
        known = told | streams.looked_at.get(stream.stream, frozenset())
        open_pairs = [edge for edge in proposed[stream.stream] if edge not in known]
        if open_pairs:
            older, newer = open_pairs[0]
            lines.append(f"{stream.stream}: {len(open_pairs)} proposed pairs nobody has read, first {older} → {newer}")
    return lines
