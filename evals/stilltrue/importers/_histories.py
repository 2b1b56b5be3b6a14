"""What the importers of conversations share: told facts and questions become scenarios of one family."""

import json
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from stilltrue.documents import InvalidData, explained
from stilltrue.importers import Imported, lines
from stilltrue.records import Family, Scenario


def objects(path: Path, found: Imported) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON list, of JSONL, or of a Parquet file, each with "file: item" or "file:line"."""
    if path.suffix == ".jsonl":
        yield from lines(path, found)
        return
    for number, value in enumerate(_listed(path), start=1):
        found.rows += 1
        if isinstance(value, dict):
            yield f"{path}: item {number}", value
        else:
            found.complain(f"{path}: item {number}", f"expected an object, got {type(value).__name__}")


def _listed(path: Path) -> list[Any]:
    if path.suffix == ".parquet":
        parquet: Any = import_module("pyarrow.parquet")
        return parquet.read_table(path).to_pylist()
    try:
        value: Any = json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidData([f"{path}: not UTF-8 text ({error.reason} at byte {error.start})"]) from None
    except json.JSONDecodeError as error:
        raise InvalidData([f"{path}:{error.lineno}: not JSON: {error.msg}"]) from None
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def scenario(name: str, domain: str, steps: list[dict[str, Any]], place: str, found: Imported) -> Scenario | None:
    """The steps as a scenario, in order of time, or None after its problems are noted."""
    steps.sort(key=lambda step: step["at"])
    try:
        return Scenario.model_validate({"id": name, "domain": domain, "steps": steps})
    except ValidationError as error:
        for one in error.errors():
            found.complain(place, explained(dict(one)))
        return None


def remember(name: str, at: datetime, text: str) -> dict[str, Any]:
    """A step that tells a fact."""
    return {"at": at, "remember": {"id": name, "text": text}}


def family(name: str, question: str, scenarios: list[Scenario], source: str, licence: str, *, implied: bool) -> Family:
    """The scenarios as a family whose source and licence stay with it."""
    return Family.model_validate(
        {
            "family": name,
            "question": question,
            "corrections": "implied" if implied else "explicit",
            "source": source,
            "licence": licence,
            "scenarios": scenarios,
        }
    )
