"""results.json: the run's record, one tidy row per figure, and the verdicts."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stilltrue.results import SCHEMA, Results


def document(results: Results) -> dict[str, Any]:
    """The results as one JSON-ready object."""
    return {
        "schema": SCHEMA,
        "run": results.run,
        "rows": [asdict(row) for row in results.rows],
        "verdicts": [asdict(verdict) for verdict in results.verdicts],
        "changed": [asdict(change) for change in results.changed],
    }


def write(results: Results, folder: Path) -> Path:
    """Write the file."""
    path = folder / "results.json"
    path.write_text(json.dumps(document(results), ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    return path
