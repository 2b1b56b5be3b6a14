"""What the importers of conversations share: told facts and questions become scenarios of one family."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from stilltrue.documents import InvalidData
from stilltrue.importers import Imported, Options, lines, row
from stilltrue.records import Family, Scenario

Steps = list[dict[str, Any]]
Convert = Callable[[dict[str, Any], Imported], tuple[str, Steps] | None]
"""The scenario's name and steps, None when the item was left out. KeyError names a missing key; TypeError, ValueError,
AttributeError and IndexError mean that the item is malformed."""


def reader(
    convert: Convert, *, name: str, question: str, domain: str, implied: bool
) -> Callable[[Path, Options], Imported]:
    """A ``read`` that makes a scenario of each item and one family of them all; source and licence stay with it."""

    def read(path: Path, options: Options) -> Imported:
        found = Imported()
        made = [_scenario(value, place, found, convert, domain) for place, value in objects(path, found)]
        if scenarios := [one for one in made if one]:
            family = {
                "family": name,
                "question": question,
                "corrections": "implied" if implied else "explicit",
                "source": options.source,
                "licence": options.licence,
                "scenarios": scenarios,
            }
            found.families.append(Family.model_validate(family))
        return found

    return read


def _scenario(value: dict[str, Any], place: str, found: Imported, convert: Convert, domain: str) -> Scenario | None:
    """The item as a scenario, in order of time; None after its problems are noted."""
    try:
        converted = convert(value, found)
    except KeyError as error:
        found.complain(place, f"the key {error.args[0]!r} is missing")
        return None
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        found.complain(place, f"malformed: {error}")
        return None
    if converted is None:
        return None
    name, steps = converted
    steps.sort(key=lambda step: step["at"])
    return row(Scenario, {"id": slug(name), "domain": domain, "steps": steps}, place, found)


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
    except RecursionError:
        raise InvalidData([f"{path}: not JSON: nested too deeply"]) from None
    except json.JSONDecodeError as error:
        raise InvalidData([f"{path}:{error.lineno}: not JSON: {error.msg}"]) from None
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def slug(text: str) -> str:
    """The text as the id of a scenario or fact: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "none"


def remember(name: str, at: datetime, text: str) -> dict[str, Any]:
    """A step that tells a fact."""
    return {"at": at, "remember": {"id": name, "text": text}}
