"""A folder of labelled contradictions: ``pairs.jsonl``, ``streams/``, or both; read, checked and summed up."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable

from stilltrue import pairchecks, streams
from stilltrue.documents import InvalidData
from stilltrue.pairchecks import Neighbors, across_splits
from stilltrue.pairs import Pair, PairSet, counted, read_pairs
from stilltrue.streams import Edge, Embed, Streams, read_streams


@dataclass
class Contradictions:
    """What was found. ``proposed``: the candidate step's pairs of each stream, None where nobody could embed."""

    pairs: PairSet | None = None
    streams: Streams | None = None
    proposed: dict[str, list[Edge]] | None = None
    problems: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Of a file of pairs; ``nearest``: the most similar texts of different splits."""

    pairs: int
    groups: int
    positives: int
    ambiguous: int
    by_split: dict[str, int]
    sha256: str
    nearest: Neighbors | None


@dataclass(frozen=True, slots=True)
class StreamCounts:
    """Of one stream. ``proposed``: clear pairs of the candidate step; ``reached``: supersessions among them."""

    stream: str
    facts: int
    supersessions: int
    ambiguous: int
    proposed: int | None
    reached: int | None


def shipped() -> Traversable:
    """The folder that comes along."""
    return files("stilltrue_data").joinpath("contradictions")


def is_labelled(place: Traversable) -> bool:
    """Whether a path is a file of pairs or a folder with pairs or streams."""
    if place.is_file():
        return place.name.endswith(".jsonl")
    return place.joinpath("pairs.jsonl").is_file() or place.joinpath("streams").is_dir()


def check(place: Traversable, *, strict: bool, embed: Embed | None = None) -> Contradictions:
    """Read a file of pairs, or a folder's; complaints go to ``problems``. ``strict``: as for a published set.

    With ``embed`` every pair that the candidate step proposes in a stream must have been looked at. Raises OSError.
    """
    found = Contradictions()
    file = place if place.is_file() else place.joinpath("pairs.jsonl")
    if file.is_file():
        try:
            found.pairs = read_pairs(file)
            found.problems += pairchecks.problems(file, found.pairs, strict=strict)
        except InvalidData as error:
            found.problems += error.problems
    if place.is_dir() and place.joinpath("streams").is_dir():
        try:
            found.streams = read_streams(place)
            found.problems += (*streams.shortcomings(found.streams), *_without_canary(place)) if strict else ()
            if embed:
                found.proposed = streams.proposals(found.streams, embed)
                found.problems += streams.unread(found.streams, found.proposed)
        except InvalidData as error:
            found.problems += error.problems
    return found


def _without_canary(place: Traversable) -> Iterator[str]:
    """Streams whose first line doesn't say that they are benchmark data."""
    for file in sorted(place.joinpath("streams").iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml") and "canary" not in file.read_text(encoding="utf-8").partition("\n")[0]:
            yield f"{file}:1: no canary"


def pair_counts(found: PairSet) -> PairCounts:
    """Count a file of pairs. Ambiguous pairs are in ``pairs`` and ``by_split``, not in ``positives``."""
    return PairCounts(
        pairs=len(found.pairs),
        groups=len({pair.group for pair in found.pairs}),
        positives=positives(counted(found.pairs)),
        ambiguous=sum(pair.ambiguous for pair in found.pairs),
        by_split=dict(Counter(pair.split for pair in found.pairs)),
        sha256=found.content,
        nearest=across_splits(found.pairs),
    )


def stream_counts(found: Streams, proposed: dict[str, list[Edge]] | None) -> list[StreamCounts]:
    """Count each stream."""
    counts: list[StreamCounts] = []
    for one in found.streams:
        told = {(pair.older, pair.newer) for pair in one.supersessions}
        unclear = {(pair.older, pair.newer) for pair in one.ambiguous}
        edges = [edge for edge in proposed[one.stream] if edge not in unclear] if proposed else None
        counts.append(
            StreamCounts(
                stream=one.stream,
                facts=len(one.facts),
                supersessions=len(told),
                ambiguous=len(one.ambiguous),
                proposed=None if edges is None else len(edges),
                reached=None if edges is None else len(told.intersection(edges)),
            )
        )
    return counts


def positives(pairs: Sequence[Pair]) -> int:
    """How many of them have an older fact that must be retired."""
    return sum(pair.should_retire for pair in pairs)
