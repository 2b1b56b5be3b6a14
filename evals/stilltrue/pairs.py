"""Labelled pairs of facts (older, newer): the records, and the JSONL file that holds them."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from stilltrue.documents import InvalidData, explained
from stilltrue.records import Instant, Record, Text

Relation = Literal["contradicts", "supersedes", "refines", "coexists", "duplicate", "unrelated"]
RELATIONS: tuple[Relation, ...] = ("contradicts", "supersedes", "refines", "coexists", "duplicate", "unrelated")
RETIRING: tuple[Relation, ...] = ("contradicts", "supersedes")
"""The relations that mean: the older fact must be retired."""

Split = Literal["dev", "test", "external"]
Difficulty = Literal["easy", "medium", "hard"]
Word = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.:-]*$")]

# A text that is in no honest training set: whoever finds it in a model's output knows what the model was trained on.
CANARY = "stilltrue contradictions, not for training corpora, canary 5c1d0c52-6a41-4b7f-9a0e-2f6d8e0c7b3a"


class Statement(Record):
    """A stored fact; ``at`` is when it was stored, None where a source does not tell."""

    text: Text
    at: Instant | None = None


class Label(Record):
    """What one annotator says. ``doubt``: a sensible reader might decide ``should_retire`` the other way."""

    relation: Relation
    should_retire: bool
    doubt: bool = False

    @model_validator(mode="after")
    def _agrees(self) -> "Label":
        if self.should_retire != (self.relation in RETIRING):
            raise ValueError(f"should_retire is {self.should_retire}, which {self.relation!r} is not")
        return self


class Adjudicated(Label):
    """What counts in the end. ``ambiguous``: the text allows both answers, so no gate counts the pair.

    ``reason`` is written wherever the annotators disagreed, and for what is ambiguous.
    """

    ambiguous: bool = False
    reason: Text | None = None


class Labels(Record):
    """Two annotators who didn't see each other's labels, and the outcome. ``second``: None where there was only one."""

    first: Label
    second: Label | None
    adjudicated: Adjudicated

    @model_validator(mode="after")
    def _reasoned(self) -> "Labels":
        second, final = self.second, self.adjudicated
        told = {(one.relation, one.should_retire) for one in (self.first, second, final) if one}
        if (len(told) > 1 or final.ambiguous) and final.reason is None:
            raise ValueError("the annotators disagree or the pair is ambiguous, and no reason is written")
        return self


class Pair(Record):
    """Two facts of one memory, the older stored first, and whether the older one must be retired.

    Pairs that share facts or a story share a ``group``. ``source`` and ``licence`` are set on pairs from elsewhere,
    ``weight`` (how many candidate pairs it stands for) and ``stratum`` on pairs drawn from a store.
    """

    id: Word
    group: Word
    older: Statement
    newer: Statement
    relation: Relation
    should_retire: bool
    ambiguous: bool = False
    family: Word
    domain: Word
    difficulty: Difficulty
    split: Split
    labels: Labels
    rationale: Text
    source: Text | None = None
    licence: Text | None = None
    weight: Annotated[float, Field(gt=0)] | None = None
    stratum: Text | None = None

    @model_validator(mode="after")
    def _consistent(self) -> "Pair":
        final = self.labels.adjudicated
        if (self.relation, self.should_retire, self.ambiguous) != (
            final.relation,
            final.should_retire,
            final.ambiguous,
        ):
            raise ValueError("relation, should_retire and ambiguous are not those of labels.adjudicated")
        if self.older.at and self.newer.at and self.older.at > self.newer.at:
            raise ValueError("the older fact is newer than the newer one")
        return self


class Header(Record):
    """The first line of a file of pairs: what it is, under which licence, and the hash of all lines after it.

    ``canary`` marks the published set.
    """

    dataset: Text
    version: Text
    licence: Text
    canary: Text | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class PairSet:
    """A file of pairs. ``content`` is the SHA-256 of its lines without the header; ``lines`` are line numbers by id."""

    header: Header | None
    pairs: tuple[Pair, ...]
    content: str
    lines: dict[str, int]


def read_pairs(path: Traversable) -> PairSet:
    """Read and check a JSONL file of pairs, with or without a header. Raises InvalidData (file, line, complaint)."""
    raw = path.read_bytes().splitlines(keepends=True)
    problems: list[str] = []
    header: Header | None = None
    pairs: list[Pair] = []
    lines: dict[str, int] = {}
    content = hashlib.sha256()
    for number, line in enumerate(raw, start=1):
        value = _parsed(line, f"{path}:{number}", problems)
        if number == 1 and isinstance(value, dict) and "dataset" in value:
            header = _made(Header, value, f"{path}:1", problems)
            continue
        if number == 1 and isinstance(value, dict) and "bands" in value:
            raise InvalidData(
                [f"{path}: a sheet of `stilltrue label`; `stilltrue agreement {path} --pairs OUT` makes pairs of it"]
            )
        content.update(line)
        pair = None if value is None else _made(Pair, value, f"{path}:{number}", problems)
        if pair is None:
            continue
        if pair.id in lines:
            problems.append(f"{path}:{number}: the id {pair.id!r} is used on line {lines[pair.id]} already")
        lines[pair.id] = number
        pairs.append(pair)
    if not pairs and not problems:
        problems.append(f"{path}: no pairs in it")
    if problems:
        raise InvalidData(problems)
    return PairSet(header, tuple(pairs), content.hexdigest(), lines)


def write_pairs(
    path: Path, pairs: Iterable[Pair], *, dataset: str, version: str, licence: str, canary: str | None = None
) -> None:
    """Write the pairs below a header that has their hash."""
    body = "".join(line(pair) for pair in pairs)
    digest = hashlib.sha256(body.encode()).hexdigest()
    header = Header(dataset=dataset, version=version, licence=licence, canary=canary, sha256=digest)
    path.write_text(line(header) + body, encoding="utf-8", newline="\n")


def line(record: BaseModel) -> str:
    """One record as one line of JSON, what is unset left out."""
    document = record.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(document, ensure_ascii=False) + "\n"


def counted(pairs: Iterable[Pair], split: Split | None = None) -> list[Pair]:
    """The pairs that a gate counts: of the split, and not ambiguous."""
    return [pair for pair in pairs if not pair.ambiguous and split in (None, pair.split)]


def _parsed(line: bytes, place: str, problems: list[str]) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError as error:
        problems.append(f"{place}: not UTF-8 text ({error.reason})")
    except (ValueError, RecursionError) as error:
        problems.append(f"{place}: not JSON: {error}")
    return None


def _made(model: type[BaseModel], value: Any, place: str, problems: list[str]) -> Any:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems += (f"{place}: {explained(dict(one))}" for one in error.errors())
        return None
