"""Reads facts from whatever file holds them: a tombstore, the original's ``gray.db``, or an exported JSON or JSONL."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from tombstore.errors import NotAStore
from tombstore.fact import Fact, InvalidFact, fact_from_json, parse_json
from tombstore.graymatter.bbolt import Bolt, Bucket, CorruptDatabase, NotABoltDatabase
from tombstore.journal import Event
from tombstore.store import MemoryStore

Kind = Literal["tombstore", "gray.db", "json", "jsonl"]
_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Dump:
    """The facts of a file. ``warnings``: what was left out, and why. Only a tombstore has ``events``."""

    kind: Kind
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()


def read_facts(path: str | Path) -> Dump:
    """Read a file of any kind that is known, chosen by its content.

    Raises OSError when it can't be read, NotAStore or CorruptDatabase when it is damaged or something else. A single
    record that is no fact is left out and listed, as the original does silently (SPEC 1.2).
    """
    file = Path(path)
    with file.open("rb") as stream:
        head = stream.read(4096)
    if not head:
        raise NotAStore(f"{path}: empty file")
    if head.startswith(_SQLITE):
        return _tombstore(file)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{"):
        return _exported(file)
    return read_gray_db(file)


def _tombstore(file: Path) -> Dump:
    with MemoryStore(file, read_only=True) as store:
        return Dump("tombstore", tuple(store.list_facts()), events=tuple(store.events()))


def read_gray_db(path: str | Path) -> Dump:
    """The facts of a GrayMatter database. Raises CorruptDatabase with the page, OSError."""
    warnings: list[str] = []
    facts: list[Fact] = []
    with Bolt.open(path) as database:
        if database.damaged_meta is not None:
            warnings.append(f"page {database.damaged_meta} is damaged: the last transaction may be missing")
        by_agent = database.bucket(b"facts")
        if by_agent is None:
            raise NotABoltDatabase(
                f"{path}: a bbolt database without a `facts` bucket, so not a GrayMatter store", page=None
            )
        if any(True for _ in by_agent.items()):
            raise CorruptDatabase(f"{path}: the `facts` bucket holds something else than one bucket per agent")
        for name in by_agent.buckets():
            agent = by_agent.bucket(name)
            if agent is not None:
                facts += _newest_first(_bucket_facts(agent, name.decode("utf-8", "replace"), warnings))
    return Dump("gray.db", tuple(facts), tuple(warnings))


def _bucket_facts(bucket: Bucket, agent_id: str, warnings: list[str]) -> Iterator[Fact]:
    for key, value in bucket.items():
        fact_id = key.decode("utf-8", "replace")
        try:
            fact = fact_from_json(value)
            # The engine writes both twice. Where they differ, the file is damaged in a way that nothing else shows.
            if (fact.id, fact.agent_id) != (fact_id, agent_id):
                raise InvalidFact(f"the record says it is {fact.agent_id}/{fact.id}")
        except InvalidFact as error:
            warnings.append(f"{agent_id}/{fact_id}: {error}")
        else:
            yield fact


def _exported(file: Path) -> Dump:
    text = file.read_bytes().decode("utf-8-sig", "replace")
    try:
        value = parse_json(text)
    except RecursionError:
        raise NotAStore(f"{file}: nested too deeply to be an export") from None
    except ValueError as error:
        if text.lstrip().startswith("{") and "\n" in text.strip():
            return _lines(file, text)
        raise NotAStore(f"{file}: not valid JSON ({error})") from None
    records = cast("list[Any]", value if isinstance(value, list) else [value])
    return _collected("json", ((f"{file}: item {n}", record) for n, record in enumerate(records, start=1)))


def _lines(file: Path, text: str) -> Dump:
    numbered = ((f"{file}:{n}", line) for n, line in enumerate(text.split("\n"), start=1) if line.strip())
    return _collected("jsonl", numbered)


def _collected(kind: Kind, records: Iterator[tuple[str, Any]]) -> Dump:
    facts: list[Fact] = []
    warnings: list[str] = []
    for place, record in records:
        try:
            facts.append(fact_from_json(record))
        except InvalidFact as error:
            warnings.append(f"{place}: {error}")
    if warnings and not facts:
        raise NotAStore(f"{warnings[0]} (and none of the {len(warnings)} records is a fact)")
    return Dump(kind, tuple(facts), tuple(warnings))


def _newest_first(facts: Iterator[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda fact: (-fact.created_at, fact.id))
