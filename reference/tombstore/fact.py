"""The Fact record and its JSON: GrayMatter's keys, their order, Go's number and string forms, unknown keys kept."""

import json
import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from tombstore.clock import ZERO_TIME, Instant, format_instant, parse_instant

SHARED = "__shared__"
"""The agent ID of the shared namespace."""

FORGOTTEN = "agent"
"""What ``superseded_by`` holds when a fact was retired without a replacement."""

if TYPE_CHECKING:
    Embedding: TypeAlias = array[float]
else:
    Embedding = array  # subscriptable from Python 3.12 on
"""The components as 32-bit floats (type code ``f``), as the embedder returned them, not normalized."""


class InvalidFact(ValueError):
    """A JSON value that is not a fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One remembered fact. ``superseded_by`` non-empty means retired. Times are nanoseconds since 1970 (UTC).

    ``pinned_at`` is None when the key is absent (written before 0.14). ``extra`` holds keys this version doesn't know.
    """

    id: str
    agent_id: str
    text: str
    created_at: Instant
    accessed_at: Instant
    access_count: int = 0
    weight: float = 1.0
    embedding: Embedding | None = None
    superseded_by: str = ""
    confidence: str = ""
    kind: str = ""
    alias_source: str = ""
    pinned: bool = False
    pinned_at: Instant | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def live(self) -> bool:
        """Not retired."""
        return not self.superseded_by

    def retired(self, by: str) -> "Fact":
        """The same fact with the marker set; nothing else changes (SPEC 11.19)."""
        return replace(self, superseded_by=by)


# SPEC 1.1: the key order of the original, and which keys it leaves out when empty.
_ALWAYS = ("id", "agent_id", "text", "created_at", "accessed_at", "access_count", "weight")
_TIMES = ("created_at", "accessed_at", "pinned_at")
_WHEN_MISSING: dict[str, Any] = {
    "agent_id": "",
    "text": "",
    "created_at": ZERO_TIME,
    "accessed_at": ZERO_TIME,
    "weight": 0.0,
}
_KNOWN: dict[str, type] = {
    "id": str,
    "agent_id": str,
    "text": str,
    "created_at": str,
    "accessed_at": str,
    "access_count": int,
    "weight": float,
    "embedding": list,
    "superseded_by": str,
    "confidence": str,
    "kind": str,
    "alias_source": str,
    "pinned": bool,
    "pinned_at": str,
}


def fact_from_json(value: object) -> Fact:
    """Read one fact from JSON (bytes, text, or parsed). Unknown keys are kept. Raises InvalidFact.

    As in Go, missing keys take their zero values, JSON null counts as missing, and bytes that are not UTF-8 become
    U+FFFD.
    """
    record = _as_record(value)
    known = {key: _checked(key, record[key]) for key in _KNOWN if record.get(key) is not None}
    if not known.get("id"):
        raise InvalidFact("a fact needs an id")
    try:
        extra = {well_formed(key): _kept(key, item) for key, item in record.items() if key not in _KNOWN}
    except RecursionError:
        raise InvalidFact("nested too deeply to be a fact") from None
    return Fact(**{**_WHEN_MISSING, **known}, extra=extra)


def _as_record(value: object) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    if not isinstance(value, bytes | str):
        raise InvalidFact(f"a fact is a JSON object, not {type(value).__name__}")
    # Each byte that is not UTF-8 becomes an unpaired surrogate and then U+FFFD; "replace" would join some, Go doesn't.
    text = well_formed(value.decode("utf-8", "surrogateescape")) if isinstance(value, bytes) else value
    try:
        record = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidFact(f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise InvalidFact(f"a fact is a JSON object, not {type(record).__name__}")
    return cast("dict[str, Any]", record)


def parse_json(text: str) -> Any:
    """The value of a JSON text, in which ``-0`` stays negative: Go writes it so, Python would read the integer 0."""
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))


def _checked(key: str, value: Any) -> Any:
    """The value in its Python form, or InvalidFact when it has another type."""
    wanted = _KNOWN[key]
    try:
        if wanted is float and isinstance(value, int | float) and not isinstance(value, bool):
            return _finite(key, float(value))
        if type(value) is not wanted:  # not isinstance: true is no integer here
            raise InvalidFact(f"{key} is {type(value).__name__}, expected {wanted.__name__}")
        value = cast("Any", value)
        if key in _TIMES:
            return parse_instant(value)
        if key == "embedding":
            return _embedding(value)
        return well_formed(value) if wanted is str else _in_64_bits(key, value)
    except (ValueError, OverflowError) as error:
        raise InvalidFact(f"{key}: {error}" if not isinstance(error, InvalidFact) else str(error)) from None


def _finite(key: str, value: float) -> float:
    if not np.isfinite(value):
        raise InvalidFact(f"{key}: number out of range: {value}")
    return value


def _kept(key: str, value: Any) -> Any:
    """An unknown key's value in a form that can be stored and written again."""
    match value:
        case str():
            return well_formed(value)
        case float():
            return _finite(key, value)
        case list():
            return [_kept(key, item) for item in cast("list[Any]", value)]
        case Mapping():
            pairs = cast("Mapping[str, Any]", value).items()
            return {well_formed(name): _kept(key, item) for name, item in pairs}
        case _:
            return value


def _in_64_bits(key: str, value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise InvalidFact(f"{key} does not fit 64 bits: {value}")
    return value


def well_formed(text: str) -> str:
    """The text with unpaired surrogates, which UTF-8 can't hold, as U+FFFD: what Go's strings end up with."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _embedding(values: Iterable[Any]) -> Embedding | None:
    numbers = list(values)
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in numbers):
        raise InvalidFact("embedding holds something that is not a number")
    with np.errstate(over="ignore"):
        vector = np.asarray(numbers, dtype=np.float32)
    if not np.isfinite(vector).all():
        raise InvalidFact("embedding holds a number that does not fit 32 bits")
    return array("f", vector.tobytes()) or None


def fact_to_record(fact: Fact) -> dict[str, Any]:
    """The fact as a JSON object: GrayMatter's keys in its order, then the unknown ones. Times are RFC 3339 in UTC."""
    record: dict[str, Any] = {key: getattr(fact, key) for key in _ALWAYS}
    for key in ("embedding", "superseded_by", "confidence", "kind", "alias_source", "pinned"):
        if value := getattr(fact, key):
            record[key] = value.tolist() if key == "embedding" else value
    if fact.pinned_at is not None:
        record["pinned_at"] = fact.pinned_at
    return {key: format_instant(v) if key in _TIMES else v for key, v in record.items()} | dict(fact.extra)


def fact_to_json(fact: Fact, indent: str | None = None, *, margin: str = "") -> str:
    """The fact as Go's encoder would write it (SPEC 1.2): compact, or indented."""
    record = fact_to_record(fact)
    if fact.embedding:
        record["embedding"] = [_Float32(x) for x in fact.embedding]
    return go_json(record, indent, margin=margin)


class _Float32(float):
    """A number to be written in the shortest form that round-trips through 32 bits."""


_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def go_json(value: Any, indent: str | None = None, *, margin: str = "") -> str:
    """JSON in the form of Go's encoder: HTML-safe strings, shortest numbers, keys in the order given.

    Compact, or with each item on its own line behind ``indent`` per level.
    """
    match value:
        case bool() | None:
            return json.dumps(value)
        case str():
            return re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPED[found[0]], json.dumps(value, ensure_ascii=False))
        case float():
            return _go_float(value)
        case int():
            return str(value)
        case Mapping():
            colon = ":" if indent is None else ": "
            pairs = cast("Mapping[str, Any]", value).items()
            items = [go_json(str(k)) + colon + go_json(v, indent, margin=margin + (indent or "")) for k, v in pairs]
            return _enclosed("{}", items, indent, margin)
        case _:
            items = [go_json(item, indent, margin=margin + (indent or "")) for item in value]
            return _enclosed("[]", items, indent, margin)


def _enclosed(brackets: str, items: list[str], indent: str | None, margin: str) -> str:
    if indent is None or not items:
        return brackets[0] + ",".join(items) + brackets[1]
    inner = f"\n{margin}{indent}"
    return f"{brackets[0]}{inner}{f',{inner}'.join(items)}\n{margin}{brackets[1]}"


def _go_float(value: float) -> str:
    """Shortest form that round-trips; exponents only below 1e-6 or from 1e21 on, without zero padding."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    number = np.float32(value) if isinstance(value, _Float32) else np.float64(value)
    exponent_form = abs(number) < type(number)(1e-6) or abs(number) >= type(number)(1e21)
    shortest = np.format_float_scientific if exponent_form else np.format_float_positional
    text = shortest(number, trim="-")
    return re.sub(r"e([+-])0+(\d)", r"e\1\2", text)
