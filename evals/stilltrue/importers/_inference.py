"""What the importers of sentence pairs with an inference label share."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from stilltrue.importers import INFERENCE, Imported, Options, lines, pair, row
from stilltrue.pairs import Statement
from stilltrue.records import Text


class Sentences(BaseModel):
    """A row in common terms: the sentence that was there first, the one that is judged, and the authors' label."""

    id: str
    group: str
    older: Text
    newer: Text
    label: str
    source: str | None = None
    licence: str | None = None


Rows = Callable[[Path, Imported], Iterator[tuple[str, Any]]]


def reader(
    convert: Callable[[dict[str, Any]], dict[str, Any]], rows: Rows = lines
) -> Callable[[Path, Options], Imported]:
    """A ``read`` that converts each row's keys into Sentences; KeyError names a key that is missing."""

    def read(path: Path, options: Options) -> Imported:
        found = Imported()
        for place, value in rows(path, found):
            try:
                converted = convert(value)
            except KeyError as error:
                found.complain(place, f"the key {error.args[0]!r} is missing")
                continue
            if sentences := row(Sentences, converted, place, found):
                _add(sentences, place, found, options)
        return found

    return read


def _add(sentences: Sentences, place: str, found: Imported, options: Options) -> None:
    label = sentences.label.strip().lower()
    if label in ("-", ""):
        found.left_out["the annotators found no common label"] += 1
    elif label not in INFERENCE:
        found.complain(place, f"the label is {sentences.label!r}, which is none of {', '.join(INFERENCE)}")
    else:
        made = pair(
            name=sentences.id,
            group=sentences.group,
            older=Statement(text=sentences.older),
            newer=Statement(text=sentences.newer),
            relation=INFERENCE[label],
            said=sentences.label,
            options=_of_row(sentences, options),
        )
        found.pairs.append(made)


def _of_row(sentences: Sentences, options: Options) -> Options:
    """Where a row states its own source and licence, they count."""
    return replace(options, source=sentences.source or options.source, licence=sentences.licence or options.licence)


def first(value: dict[str, Any], *keys: str) -> Any:
    """The value of the first key that is there. Raises KeyError naming the first one."""
    for key in keys:
        if value.get(key) is not None:
            return value[key]
    raise KeyError(keys[0])
