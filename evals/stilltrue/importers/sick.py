"""SICK: sentence pairs with relatedness and entailment, tab-separated (SemEval 2014 and later releases)."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stilltrue.importers import Imported, Importer, digest, table_rows
from stilltrue.importers._inference import first, reader


def make() -> Importer:
    """Sentence A → older, sentence B → newer; pairs with one sentence A are one group."""
    return Importer(
        name="sick",
        gives="pairs",
        source="sick",
        licence="CC BY-NC-SA 3.0",
        read=reader(_converted, _rows),
    )


def _rows(path: Path, found: Imported) -> Iterator[tuple[str, dict[str, Any]]]:
    return table_rows(path, found, delimiter="\t", quoting=csv.QUOTE_NONE)


def _converted(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": first(value, "pair_ID"),
        "group": digest(first(value, "sentence_A")),
        "older": value["sentence_A"],
        "newer": first(value, "sentence_B"),
        "label": first(value, "entailment_label", "entailment_judgment"),
    }
