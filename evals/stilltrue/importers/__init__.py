"""Importers: readers of data sets that the field trusts, one file each, with ``make()`` returning an Importer.

An importer reads a local copy; nothing is downloaded. What it can't read is named with its line, never dropped in
silence. Labels are their authors'; how they become ours stands in each importer's documentation.
"""

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from stilltrue.documents import InvalidData, did_you_mean, explained
from stilltrue.pairs import RETIRING, Adjudicated, Label, Labels, Pair, Relation, Statement
from stilltrue.records import Family

INFERENCE: Mapping[str, Relation] = {
    "contradiction": "contradicts",
    "contradictory": "contradicts",
    "refutes": "contradicts",
    "refuted": "contradicts",
    "entailment": "refines",
    "supports": "refines",
    "supported": "refines",
    "neutral": "coexists",
    "not enough info": "coexists",
    "nei": "coexists",
    "c": "contradicts",
    "e": "refines",
    "n": "coexists",
}
"""Labels of natural language inference and fact verification, in small letters. A contradiction of two sentences isn't
yet a stale fact: such data tell about false alarms more than about recall."""

Record = TypeVar("Record", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user may say. ``columns``: our name to theirs; ``relations``: their label to ours (both for ``table``)."""

    source: str
    licence: str
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    relations: Mapping[str, Relation] = field(default_factory=dict[str, Relation])


@dataclass(slots=True)
class Imported:
    """What was read. ``problems`` has a line for each complaint, ``malformed`` the places of the rows concerned.

    ``left_out``: well-formed rows (questions, where a row holds many) that are of no use, by reason.
    """

    rows: int = 0
    pairs: list[Pair] = field(default_factory=list[Pair])
    families: list[Family] = field(default_factory=list[Family])
    problems: list[str] = field(default_factory=list[str])
    malformed: set[str] = field(default_factory=set[str])
    left_out: Counter[str] = field(default_factory=Counter[str])

    def complain(self, place: str, text: str) -> None:
        """Note what is wrong with the row at a place."""
        self.problems.append(f"{place}: {text}")
        self.malformed.add(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """``source`` and ``licence`` as its authors state them. ``read`` raises OSError and InvalidData."""

    name: str
    gives: Literal["pairs", "scenarios"]
    source: str
    licence: str
    read: Callable[[Path, Options], Imported]


def lines(path: Path, found: Imported) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with "file:line"; what isn't an object becomes a problem."""
    for number, raw in enumerate(path.read_bytes().splitlines(), start=1):
        if not raw.strip():
            continue
        found.rows += 1
        place = f"{path}:{number}"
        try:
            value = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
        except (ValueError, RecursionError) as error:
            found.complain(place, f"not JSON: {error}")
            continue
        if isinstance(value, dict):
            yield place, value
        else:
            found.complain(place, f"expected an object, got {type(value).__name__}")


def table_rows(
    path: Path, found: Imported, *, delimiter: str, quoting: int = csv.QUOTE_MINIMAL, needed: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a table with a head, each with "file:line"; a row with too few or too many cells is a problem.

    Raises InvalidData when a column that is ``needed`` isn't in the head.
    """
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidData([f"{path}:{line}: not UTF-8 text ({error.reason} at byte {error.start})"]) from None
    lines_of_text = io.StringIO(text, newline="")
    reader = csv.reader(lines_of_text, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type] - an int is no Literal
    try:
        head = next(reader, list[str]())
    except csv.Error as error:
        raise InvalidData([f"{path}:1: {error}"]) from None
    if missing := [name for name in needed if name not in head]:
        complaint = (
            f"{path}:1: no column {missing[0]!r}{did_you_mean(missing[0], head)}; the columns, split at {delimiter!r}, "
            f"are {', '.join(map(repr, head))}; map them, for example --column older=COLUMN"
        )
        raise InvalidData([complaint])
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            found.rows += 1
            found.complain(f"{path}:{line}", str(error))
            continue
        if cells is None:
            return
        if not cells:
            continue
        found.rows += 1
        if len(cells) == len(head):
            yield f"{path}:{line}", dict(zip(head, cells, strict=True))
        else:
            found.complain(f"{path}:{line}", f"{len(cells)} cells, the head has {len(head)}")


def row(model: type[Record], value: Any, place: str, found: Imported) -> Record | None:
    """The value as a record, or None after its problems are noted."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for one in error.errors():
            found.complain(place, explained(dict(one)))
        return None


def imported(importer: Importer, path: Path, options: Options) -> Imported:
    """What an importer reads, each pair once. Raises OSError, InvalidData."""
    found = importer.read(path, options)
    seen: dict[str, Pair] = {}
    for one in found.pairs:
        other = seen.setdefault(one.id, one)
        if other is one:
            continue
        if (other.older, other.newer, other.relation) == (one.older, one.newer, one.relation):
            found.left_out["a copy of an earlier row"] += 1
        else:
            found.complain(
                f"{path}: {one.id}", "the id (or the pair) is that of another row with another text or label"
            )
    found.pairs = list(seen.values())
    return found


def pair(
    *,
    name: str,
    group: str,
    older: Statement,
    newer: Statement,
    relation: Relation,
    said: str,
    options: Options,
    **more: Any,
) -> Pair:
    """A pair with its authors' label (``said``), in the split ``external``."""
    label = Label(relation=relation, should_retire=relation in RETIRING)
    source = word(options.source)
    return Pair.model_validate(
        {
            "id": word(f"{source}-{name}"),
            "group": word(f"{source}-{group}"),
            "older": older,
            "newer": newer,
            "relation": relation,
            "should_retire": label.should_retire,
            "family": source,
            "domain": "external",
            "difficulty": "medium",
            "split": "external",
            "labels": Labels(first=label, second=None, adjudicated=Adjudicated(**label.model_dump())),
            "rationale": f"the authors' label: {said}",
            "source": options.source,
            "licence": options.licence,
            **more,
        }
    )


def word(text: str) -> str:
    """The text as an id: small letters, digits, dots and dashes; what was lost is replaced by a digest of the text."""
    plain = re.sub(r"[^a-z0-9_.:-]+", "-", text).strip("-._:")
    return plain if plain == text else f"{plain}-{digest(text)[:6]}".lstrip("-")


def digest(text: str) -> str:
    """A short, stable name for a text, by which pairs that share it are grouped."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
