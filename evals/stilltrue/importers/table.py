"""Any CSV, TSV or JSONL of pairs, with a map of its columns and labels."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from stilltrue.documents import InvalidData, did_you_mean
from stilltrue.importers import INFERENCE, Imported, Importer, Options, digest, lines, pair, row, table_rows, word
from stilltrue.pairs import RELATIONS, Relation, Statement
from stilltrue.records import Instant, Text

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_NEEDED = ("older", "newer", "label")
_TRUTHS: dict[str, Relation] = {"true": "supersedes", "1": "supersedes", "false": "coexists", "0": "coexists"}


class Row(BaseModel):
    """Our columns. ``older``, ``newer`` and ``label`` are needed."""

    older: Text
    newer: Text
    label: Text
    id: str | None = None
    group: str | None = None
    older_at: Instant | None = None
    newer_at: Instant | None = None
    domain: Text | None = None


def make() -> Importer:
    """Columns are ours by name unless mapped; labels are our relations, inference labels, true / false, or mapped."""
    return Importer(name="table", gives="pairs", source="table", licence="not stated", read=_read)


def _read(path: Path, options: Options) -> Imported:
    unknown = [name for name in options.columns if name not in Row.model_fields]
    if unknown:
        known = ", ".join(Row.model_fields)
        hint = did_you_mean(unknown[0], Row.model_fields)
        raise InvalidData([f"unknown column {unknown[0]!r}{hint}; ours are {known}"])
    found = Imported()
    labels: dict[str, Relation] = {**INFERENCE, **_TRUTHS, **{name: name for name in RELATIONS}}
    labels |= {label.lower(): relation for label, relation in options.relations.items()}
    needed = [options.columns.get(ours, ours) for ours in _NEEDED] + list(options.columns.values())
    for place, value in _rows(path, found, needed):
        named = {ours: value.get(options.columns.get(ours, ours)) for ours in Row.model_fields}
        given = {ours: _cell(cell) for ours, cell in named.items() if cell not in (None, "")}
        if made := row(Row, given, place, found):
            _add(made, labels, place, found, options)
    return found


def _rows(path: Path, found: Imported, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    delimiter = _DELIMITERS.get(path.suffix.lower())
    return table_rows(path, found, delimiter=delimiter, needed=needed) if delimiter else lines(path, found)


def _cell(cell: Any) -> Any:
    return str(cell) if isinstance(cell, (bool, int, float)) else cell


def _add(made: Row, labels: dict[str, Relation], place: str, found: Imported, options: Options) -> None:
    relation = labels.get(made.label.strip().lower())
    if relation is None:
        found.complain(place, f"the label is {made.label!r}; map it: --relation {made.label!r}=coexists")
        return
    if made.older_at and made.newer_at and made.older_at > made.newer_at:
        found.complain(place, "older_at is later than newer_at")
        return
    found.pairs.append(
        pair(
            name=made.id or digest(f"{made.older}\n{made.newer}"),
            group=made.group or digest(made.older),
            older=Statement(text=made.older, at=made.older_at),
            newer=Statement(text=made.newer, at=made.newer_at),
            relation=relation,
            said=made.label,
            options=options,
            **({"domain": word(made.domain)} if made.domain else {}),
        )
    )
