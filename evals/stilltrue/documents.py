"""Reads YAML files as models; every complaint names file, line and what to do."""

import hashlib
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import yaml
from pydantic import BaseModel, ValidationError
from yaml.reader import ReaderError

from stilltrue import records

Place: TypeAlias = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

# libyaml's loader where PyYAML was built with it: the same safe constructor, ten times as fast.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Instants stay texts: records reads them, and then a wrong one is complained about with its line.
_RESOLVERS = {
    first: [(tag, form) for tag, form in rules if not tag.endswith(":timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class InvalidData(ValueError):
    """One or more data files are wrong; ``problems`` has a line for each complaint."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Document:
    """A YAML file as parsed nodes, which know their lines."""

    name: str
    node: yaml.Node | None

    def line(self, place: Place) -> int:
        """The line of the deepest part of the place that is there."""
        node = self.node
        line = node.start_mark.line + 1 if node else 1
        for step in place:
            child = _child(node, step)
            if child is None:
                break
            node = child
            line = node.start_mark.line + 1
        return line

    def complaint(self, place: Place, text: str) -> str:
        """The text with file and line before it."""
        return f"{self.name}:{self.line(place)}: {text}"


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    return None


def load(
    root: Traversable, folder: str, model: type[Model], problems: list[str], hashes: dict[str, str]
) -> Iterator[tuple[Document, Model]]:
    """The valid files of a folder as models; complaints about the others go to ``problems``, digests to ``hashes``."""
    for file in _yaml_files(root, folder):
        raw = file.read_bytes()
        hashes[f"{folder}/{file.name}"] = hashlib.sha256(raw).hexdigest()
        found, document, value = _parse(str(file) if isinstance(file, Path) else file.name, raw)
        problems += found
        if found:
            continue
        try:
            yield document, model.model_validate(value)
        except ValidationError as error:
            problems += (
                document.complaint(one["loc"], explained(cast("Any", one)))
                for one in error.errors()
                if not (one["type"] == "too_short" and one["input"])  # only follows from a complaint about an item
            )


def _yaml_files(root: Traversable, folder: str) -> list[Traversable]:
    """``root/folder/*.yaml``; for scenarios also a folder of YAML files, or a single one."""
    if root.is_file():
        return [root] if folder == "scenarios" else []
    inner = root.joinpath(folder)
    if not inner.is_dir():
        if folder != "scenarios":
            return []
        inner = root
    return sorted((f for f in inner.iterdir() if f.name.endswith((".yaml", ".yml"))), key=lambda f: f.name)


def _parse(name: str, raw: bytes) -> tuple[list[str], Document, Any]:
    empty = Document(name, None)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [f"{name}:{line}: not UTF-8 text ({error.reason} at byte {error.start})"], empty, None
    try:
        loader: Any = _Loader(text)
        loader.yaml_implicit_resolvers = _RESOLVERS
        node = loader.get_single_node()
        if node is None:
            return [f"{name}:1: the file is empty"], empty, None
        document = Document(name, node)
        return list(_duplicate_keys(name, node)), document, loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        return [f"{name}:{mark.line + 1 if mark else 1}: malformed YAML: {what}"], empty, None
    except ReaderError as error:
        line = raw.count(b"\n", 0, error.position) + 1
        return [f"{name}:{line}: malformed YAML: {error.reason} (#x{error.character:04x})"], empty, None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return [f"{name}:1: malformed YAML: {error}"], empty, None


def _duplicate_keys(name: str, node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen:
                yield f"{name}:{key.start_mark.line + 1}: the key {key.value!r} is given twice"
            seen.add(str(key.value))
            yield from _duplicate_keys(name, value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _duplicate_keys(name, item)


def explained(error: Mapping[str, Any]) -> str:
    """Pydantic's complaint in the words of the file."""
    key = next((part for part in reversed(error["loc"]) if isinstance(part, str)), "the file")
    got = reprlib.repr(error["input"])
    match error["type"]:
        case "extra_forbidden":
            return f"unknown key {key!r}{did_you_mean(key, [name for name in _KEYS if name != key])}"
        case "missing":
            return f"the key {key!r} is missing"
        case "too_short":
            return f"{key}: the list is empty"
        case "string_pattern_mismatch" if error["ctx"]["pattern"] == records.NOT_BLANK:
            return f"{key}: the text is blank"
        case "string_pattern_mismatch":
            return f"{key}: {got} is not of the form {error['ctx']['pattern']}"
        case "value_error":
            return f"{key}: {error['ctx']['error']}"
        case kind if kind in _EXPECTED:
            return f"{key}: expected {_EXPECTED[kind]}, got {got}"
        case _:
            return f"{key}: {error['msg']}, got {got}"


_EXPECTED = {"string_type": "a text (put it in quotes)", "tuple_type": "a list", "model_type": "keys with values"}

_KEYS = sorted(
    {
        name
        for model in vars(records).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name in model.model_fields
    }
)


def did_you_mean(name: str, known: Any) -> str:
    """A hint at the known name that looks most like this one, or nothing."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
