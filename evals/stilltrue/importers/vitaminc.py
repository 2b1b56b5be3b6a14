"""VitaminC: claims against evidence from revisions of Wikipedia, JSONL."""

from typing import Any

from stilltrue.importers import Importer
from stilltrue.importers._inference import first, reader


def make() -> Importer:
    """Evidence → older, claim → newer; all pairs of one case (a revision with its contrasts) are one group."""
    return Importer(name="vitaminc", gives="pairs", source="vitaminc", licence="CC BY-SA 3.0", read=reader(_converted))


def _converted(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(first(value, "unique_id")),
        "group": str(first(value, "case_id", "unique_id")),
        "older": value["evidence"],
        "newer": value["claim"],
        "label": value["label"],
    }
