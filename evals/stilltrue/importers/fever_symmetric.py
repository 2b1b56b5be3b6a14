"""FEVER Symmetric: evidence and claims edited so that both labels occur with each, JSONL (versions 0.1 and 0.2)."""

import re
from typing import Any

from stilltrue.importers import Importer, digest
from stilltrue.importers._inference import first, reader

# The edited rows of a FEVER claim have its number with this behind it.
_EDIT = re.compile(r"000000[1-4]$")


def make() -> Importer:
    """Evidence → older, claim → newer. One FEVER claim with its edits is one group."""
    return Importer(
        name="fever_symmetric",
        gives="pairs",
        source="fever_symmetric",
        licence="CC BY-SA 3.0",
        read=reader(_converted),
    )


def _converted(value: dict[str, Any]) -> dict[str, Any]:
    evidence, claim = first(value, "evidence", "evidence_sentence"), first(value, "claim")
    number = str(first(value, "id"))
    return {
        "id": f"{number}-{digest(f'{evidence}{claim}')}",
        "group": _EDIT.sub("", number),
        "older": evidence,
        "newer": claim,
        "label": first(value, "gold_label", "label"),
    }
