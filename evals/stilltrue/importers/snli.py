"""SNLI, MultiNLI and ANLI in their JSONL forms: premise, hypothesis, gold label."""

from typing import Any

from stilltrue.importers import Importer, digest
from stilltrue.importers._inference import first, reader


def make() -> Importer:
    """Premise → older, hypothesis → newer; pairs of one caption or premise are a group. No gold (``-``): left out."""
    return Importer(
        name="snli",
        gives="pairs",
        source="snli",
        licence="CC BY-SA 4.0 (SNLI); MultiNLI and ANLI have licences of their own",
        read=reader(_converted),
    )


def _converted(value: dict[str, Any]) -> dict[str, Any]:
    premise = first(value, "sentence1", "premise", "context")
    hypothesis = first(value, "sentence2", "hypothesis")
    return {
        "id": str(value.get("pairID") or value.get("uid") or value.get("id") or digest(f"{premise}\n{hypothesis}")),
        "group": str(value.get("captionID") or digest(str(premise))),
        "older": premise,
        "newer": hypothesis,
        "label": first(value, "gold_label", "label"),
    }
