"""One JSONL form for sentence pairs of any source: id, premise, hypothesis, label, source, licence, note."""

from typing import Any

from stilltrue.importers import Importer, digest
from stilltrue.importers._inference import first, reader


def make() -> Importer:
    """Premise → older, hypothesis → newer; pairs of one premise are one group. Each row brings source and licence."""
    return Importer(
        name="normalized",
        gives="pairs",
        source="normalized",
        licence="not stated",
        read=reader(_converted),
    )


def _converted(value: dict[str, Any]) -> dict[str, Any]:
    premise = first(value, "premise")
    return {
        "id": str(first(value, "id")),
        "group": digest(str(premise)),
        "older": premise,
        "newer": first(value, "hypothesis"),
        "label": first(value, "label"),
        "source": value.get("source"),
        "licence": value.get("licence"),
    }
