"""The SQLite file: facts, the append-only events, and every transaction on them. Nothing else touches SQL."""

import json
import sqlite3
import time
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Literal, TypeVar

from tombstore.clock import Instant, format_instant, parse_instant
from tombstore.errors import NotAStore, ReadOnlyStore, StoreBusy
from tombstore.fact import Fact

APPLICATION_ID = 0x746F6D62  # "tomb"
SCHEMA_VERSION = 1
_PAUSE_MS = 10

_Made = TypeVar("_Made")

# Times are RFC 3339 text of fixed width: it sorts as time does, reads well in any SQLite shell, and reaches back to
# Go's zero time, which 64-bit nanoseconds don't.
_SCHEMA = """
CREATE TABLE facts (
  agent_id TEXT NOT NULL, id TEXT NOT NULL, text TEXT NOT NULL,
  created_at TEXT NOT NULL, accessed_at TEXT NOT NULL, access_count INTEGER NOT NULL, weight REAL NOT NULL,
  embedding BLOB, superseded_by TEXT NOT NULL, confidence TEXT NOT NULL, kind TEXT NOT NULL, alias_source TEXT NOT NULL,
  pinned INTEGER NOT NULL, pinned_at TEXT, extra TEXT NOT NULL,
  PRIMARY KEY (agent_id, id));
CREATE INDEX facts_by_text ON facts (agent_id, text);
CREATE INDEX facts_by_successor ON facts (agent_id, superseded_by) WHERE superseded_by <> '';
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, agent_id TEXT NOT NULL, fact_id TEXT,
  kind TEXT NOT NULL, cause TEXT NOT NULL, detail TEXT NOT NULL);
CREATE INDEX events_by_agent ON events (agent_id, seq);
CREATE INDEX events_by_fact ON events (fact_id, seq);
CREATE TRIGGER events_stay BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_stand BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER retired_stays BEFORE UPDATE OF superseded_by ON facts
  WHEN OLD.superseded_by <> '' AND NEW.superseded_by = '' BEGIN SELECT RAISE(ABORT, 'retirement is a latch'); END;
CREATE TRIGGER text_stands BEFORE UPDATE OF agent_id, id, text, created_at ON facts
  BEGIN SELECT RAISE(ABORT, 'text, time and ID of a fact are never rewritten'); END;
"""
_COLUMNS = (
    "agent_id, id, text, created_at, accessed_at, access_count, weight, embedding, superseded_by, confidence, kind,"
    " alias_source, pinned, pinned_at, extra"
)

_TIMES = ("created_at", "accessed_at", "pinned_at")

EventKind = Literal["put", "retire", "weight_zero", "pin", "unpin", "decay", "propose", "fault", "prune", "delete"]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. ``fact_id`` is None for a whole cycle; ``detail`` holds the figures of that kind."""

    seq: int
    at: Instant
    agent_id: str
    fact_id: str | None
    kind: str
    cause: str
    detail: Mapping[str, Any]


class Journal:
    """One connection to a store file. Thread-safe; several processes may hold one each."""

    def __init__(self, path: str | Path, *, read_only: bool, wait_seconds: float) -> None:
        self.path = str(path)
        self.read_only = read_only
        self._wait = round(wait_seconds * 1000)
        self._lock = RLock()
        self._connection = _connect(self.path, read_only=read_only, wait_seconds=wait_seconds)
        try:
            with self._named_errors():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        run = self._connection.execute
        # The tables first: whoever is creating them writes the two numbers in the same transaction.
        tables = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
        version, application = run("PRAGMA user_version").fetchone()[0], run("PRAGMA application_id").fetchone()[0]
        if tables == 0 and not self.read_only:
            self._switch_to_wal()
            # A second process may be creating the same file: whoever gets the lock second finds the tables there.
            with self.transaction():
                if run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                    for statement in _statements(_SCHEMA):
                        run(statement)
                    run(f"PRAGMA application_id = {APPLICATION_ID}")
                    run(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif application != APPLICATION_ID:
            raise NotAStore(f"{self.path}: a SQLite database, but not a tombstore")
        elif version > SCHEMA_VERSION:
            raise NotAStore(f"{self.path}: written by a newer tombstore (schema {version}, known: {SCHEMA_VERSION})")
        run("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut, not only a killed process

    def _switch_to_wal(self) -> None:
        """Where others are creating the same file, SQLite refuses this at once instead of waiting; so wait here."""
        for left in reversed(range(max(1, self._wait // _PAUSE_MS))):
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if not left:
                    raise
                time.sleep(_PAUSE_MS / 1000)
            else:
                return

    def close(self) -> None:
        """Close the connection. Harmless when closed already."""
        with self._lock:
            self._connection.close()

    # Transactions

    @contextmanager
    def transaction(self) -> Generator[None, None, None]:
        """All writes inside happen together or not at all. Raises ReadOnlyStore, or StoreBusy after the wait."""
        if self.read_only:
            raise ReadOnlyStore(f"{self.path}: the store is read-only")
        with self._lock, self._named_errors():
            if self._connection.in_transaction:  # an operation made of operations: the outermost one commits
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Generator[None, None, None]:
        """Reads inside see one state of the store; never waits for a writer."""
        with self._lock, self._named_errors():
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    @contextmanager
    def without_waiting(self) -> Generator[None, None, None]:
        """A transaction inside raises StoreBusy at once when another process is writing."""
        with self._lock:
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                yield
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {self._wait}")

    @contextmanager
    def _named_errors(self) -> Generator[None, None, None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise StoreBusy(f"{self.path}: another process is writing") from error
            if "readonly" in str(error):
                raise ReadOnlyStore(f"{self.path}: {error}") from error
            raise OSError(f"{self.path}: {error}") from error
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError) as error:
            raise ValueError(f"{self.path}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise NotAStore(f"{self.path}: damaged or not a database ({error})") from error

    def _run(self, sql: str, *values: Any) -> list[Any]:
        with self._lock, self._named_errors():
            return self._connection.execute(sql, values).fetchall()

    def _read(self, make: Callable[[Any], _Made], rows: Iterable[Any]) -> list[_Made]:
        try:
            return [make(row) for row in rows]
        except (ValueError, TypeError) as error:
            raise NotAStore(f"{self.path}: damaged, a record can't be read ({error})") from error

    def _run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        with self.transaction():
            return self._connection.executemany(sql, rows).rowcount

    # Facts

    def insert(self, facts: Iterable[Fact]) -> None:
        """Store facts. Raises ValueError when an agent has one of the IDs already."""
        self._run_many(f"INSERT INTO facts ({_COLUMNS}) VALUES ({','.join('?' * 15)})", map(_row, facts))

    def facts(self, agent_id: str | None = None, ids: Iterable[str] | None = None) -> list[Fact]:
        """Facts, retired ones too: newest first, equal instants by ID; of one agent or of all, all IDs or some."""
        where, values = _where(agent_id, ids)
        order = "agent_id, created_at DESC, id" if agent_id is None else "created_at DESC, id"
        return self._read(_fact, self._run(f"SELECT {_COLUMNS} FROM facts {where} ORDER BY {order}", *values))

    def columns(self, agent_id: str | None, names: str, ids: Iterable[str] | None = None) -> list[tuple[Any, ...]]:
        """Some columns of the facts, in storage order, times as instants: what whole-store passes read."""
        where, values = _where(agent_id, ids)
        rows = self._run(f"SELECT {names} FROM facts {where} ORDER BY rowid", *values)
        times = [place for place, name in enumerate(names.split(", ")) if name in _TIMES]
        return self._read(lambda row: _with_instants(row, times), rows) if times else rows

    def holds_bytes(self, wanted: bytes) -> bool:
        """Whether the bytes stand in the database, free pages included."""
        with self._lock, self._named_errors():
            return wanted in self._connection.serialize()

    def agents(self) -> list[str]:
        """The agents that have facts, in byte order."""
        return [agent for (agent,) in self._run("SELECT DISTINCT agent_id FROM facts ORDER BY agent_id")]

    def with_text(self, agent_id: str, text: str) -> list[str]:
        """The IDs of the facts with exactly this text."""
        return [
            fact_id for (fact_id,) in self._run("SELECT id FROM facts WHERE agent_id = ? AND text = ?", agent_id, text)
        ]

    def predecessors(self, agent_id: str, fact_id: str) -> list[str]:
        """The IDs of all facts that this one replaced, directly or through others, nearest first; ends on cycles."""
        found: dict[str, None] = {fact_id: None}
        level = [fact_id]
        while level:
            rows = self._run(
                "SELECT id FROM facts WHERE agent_id = ? AND superseded_by <> ''"
                " AND superseded_by IN (SELECT value FROM json_each(?)) ORDER BY id",
                agent_id,
                json.dumps(level),
            )
            level = [row[0] for row in rows if row[0] not in found]
            found.update(dict.fromkeys(level))
        return list(found)[1:]

    def mark_retired(self, agent_id: str, markers: Mapping[str, str]) -> None:
        """Set ``superseded_by`` per ID. Nothing else changes; an ID that is gone is left alone."""
        rows = [(by, agent_id, fact_id) for fact_id, by in markers.items()]
        self._run_many("UPDATE facts SET superseded_by = ? WHERE agent_id = ? AND id = ?", rows)

    def set_weights(self, agent_id: str, weights: Mapping[str, float]) -> None:
        """Write weights per ID."""
        rows = [(weight, agent_id, fact_id) for fact_id, weight in weights.items()]
        self._run_many("UPDATE facts SET weight = ? WHERE agent_id = ? AND id = ?", rows)

    def set_pinned(self, agent_id: str, ids: Iterable[str], pinned: bool, at: Instant) -> None:
        """Pin or unpin."""
        stamp = format_instant(at, digits=9)
        rows = [(pinned, stamp, agent_id, fact_id) for fact_id in ids]
        self._run_many("UPDATE facts SET pinned = ?, pinned_at = ? WHERE agent_id = ? AND id = ?", rows)

    def touch(self, accesses: Iterable[tuple[str, str, Instant]]) -> None:
        """Count accesses (agent, ID, time). Facts that are gone or retired by now are left alone."""
        rows = [(format_instant(at, digits=9), agent, fact_id) for agent, fact_id, at in accesses]
        self._run_many(
            "UPDATE facts SET access_count = access_count + 1, accessed_at = ?"
            " WHERE agent_id = ? AND id = ? AND superseded_by = ''",
            rows,
        )

    def rewrite_state(self, fact: Fact) -> None:
        """Take over a record's access state, weight and pin."""
        pinned_at = None if fact.pinned_at is None else format_instant(fact.pinned_at, digits=9)
        accessed_at = format_instant(fact.accessed_at, digits=9)
        state = (accessed_at, fact.access_count, fact.weight, fact.pinned, pinned_at, fact.agent_id, fact.id)
        self._run_many(
            "UPDATE facts SET accessed_at = ?, access_count = ?, weight = ?, pinned = ?, pinned_at = ?"
            " WHERE agent_id = ? AND id = ?",
            [state],
        )

    def delete(self, agent_id: str, ids: Iterable[str]) -> None:
        """Remove facts for good. The caller writes the event that tells what they were."""
        self._run_many("DELETE FROM facts WHERE agent_id = ? AND id = ?", [(agent_id, fact_id) for fact_id in ids])

    # Events

    def record(
        self, at: Instant, agent_id: str, kind: EventKind, cause: str, details: Mapping[str | None, Mapping[str, Any]]
    ) -> None:
        """Append one event per fact ID (None: the whole cycle) with its detail."""
        stamp = format_instant(at, digits=9)
        rows = [(stamp, agent_id, fact_id, kind, cause, _json(detail)) for fact_id, detail in details.items()]
        self._run_many("INSERT INTO events (at, agent_id, fact_id, kind, cause, detail) VALUES (?,?,?,?,?,?)", rows)

    def last_event(self, agent_id: str) -> int:
        """The number of the agent's newest event, 0 when there is none."""
        return self._run("SELECT coalesce(max(seq), 0) FROM events WHERE agent_id = ?", agent_id)[0][0]

    def changed_since(self, agent_id: str, seq: int) -> tuple[int, list[str], list[str]]:
        """The newest event's number, the IDs of the facts that events after ``seq`` are about, and those removed."""
        rows = self._run(
            "SELECT seq, fact_id, kind IN ('prune', 'delete') FROM events"
            " WHERE agent_id = ? AND seq > ? AND fact_id IS NOT NULL ORDER BY seq",
            agent_id,
            seq,
        )
        changed = list(dict.fromkeys(fact_id for _, fact_id, _ in rows))
        removed = list(dict.fromkeys(fact_id for _, fact_id, gone in rows if gone))
        return (rows[-1][0] if rows else seq), changed, removed

    def retired_at(self, agent_id: str) -> dict[str, Instant]:
        """When each retired fact was retired, by ID; for one that came in retired, when it came in."""
        rows = self._run(
            "WITH born AS (SELECT fact_id, max(seq) AS seq, at FROM events"
            "   WHERE agent_id = ?1 AND kind = 'put' GROUP BY fact_id)"
            " SELECT f.id, coalesce((SELECT min(e.at) FROM events e WHERE e.fact_id = f.id AND e.agent_id = ?1"
            "   AND e.kind = 'retire' AND e.seq > b.seq), b.at)"
            " FROM facts f JOIN born b ON b.fact_id = f.id WHERE f.agent_id = ?1 AND f.superseded_by <> ''",
            agent_id,
        )
        return dict(self._read(lambda row: (row[0], parse_instant(row[1])), rows))

    def life(self, fact_id: str, agent_id: str | None = None) -> list[Event]:
        """The fact's own events, and its agent's cycles while it was stored, oldest first."""
        rows = self._run(
            "WITH own AS (SELECT agent_id, min(seq) AS born,"
            "   CASE WHEN max(kind IN ('prune', 'delete')) THEN max(seq) ELSE 9223372036854775807 END AS gone"
            "   FROM events WHERE fact_id = ?1 AND (?2 IS NULL OR agent_id = ?2) GROUP BY agent_id)"
            " SELECT e.seq, e.at, e.agent_id, e.fact_id, e.kind, e.cause, e.detail"
            " FROM events e JOIN own o USING (agent_id)"
            " WHERE e.fact_id = ?1 OR (e.fact_id IS NULL AND e.seq BETWEEN o.born AND o.gone) ORDER BY e.seq",
            fact_id,
            agent_id,
        )
        return self._read(_event, rows)

    def events(self, agent_id: str | None = None) -> list[Event]:
        """All events, oldest first."""
        rows = self._run(
            "SELECT seq, at, agent_id, fact_id, kind, cause, detail FROM events"
            " WHERE ?1 IS NULL OR agent_id = ?1 ORDER BY seq",
            agent_id,
        )
        return self._read(_event, rows)


def _connect(path: str, *, read_only: bool, wait_seconds: float) -> sqlite3.Connection:
    """Open the file, or raise the OSError that says why it can't be opened."""
    target = path
    if path != ":memory:":
        place = Path(path)
        if place.is_dir():
            raise IsADirectoryError(f"{path}: a directory, not a store")
        if place.exists() or read_only:
            with place.open("rb"):  # SQLite only says "unable to open"; the system says why
                pass
        elif not place.parent.is_dir():
            raise FileNotFoundError(f"{path}: the folder {place.parent} does not exist")
        if read_only:
            # In a folder that can't be written, SQLite can't make the -shm file that WAL wants. Without a -wal file
            # beside it nobody is writing, so the file may be read as it stands.
            target = f"{place.resolve().as_uri()}?mode=ro"
            if not _readable_with_shared_memory(target):
                unmerged = Path(f"{place.resolve()}-wal")
                if unmerged.exists() and unmerged.stat().st_size:
                    raise PermissionError(
                        f"{path}: its newest writes are in {unmerged.name}, unreadable where the folder is read-only:"
                        " copy both to one that can"
                    )
                target += "&immutable=1"
    try:
        return sqlite3.connect(
            target, timeout=wait_seconds, isolation_level=None, check_same_thread=False, uri=target.startswith("file:")
        )
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from error


def _readable_with_shared_memory(uri: str) -> bool:
    connection = sqlite3.connect(uri, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    except sqlite3.DatabaseError:
        return True  # damaged: the real open says so
    finally:
        connection.close()
    return True


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _where(agent_id: str | None, ids: Iterable[str] | None) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    if agent_id is not None:
        clauses.append("agent_id = ?")
        values.append(agent_id)
    if ids is not None:
        clauses.append("id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(ids)))
    return ("WHERE " + " AND ".join(clauses) if clauses else ""), values


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _row(fact: Fact) -> tuple[Any, ...]:
    return (
        fact.agent_id,
        fact.id,
        fact.text,
        format_instant(fact.created_at, digits=9),
        format_instant(fact.accessed_at, digits=9),
        fact.access_count,
        fact.weight,
        fact.embedding.tobytes() if fact.embedding else None,
        fact.superseded_by,
        fact.confidence,
        fact.kind,
        fact.alias_source,
        fact.pinned,
        None if fact.pinned_at is None else format_instant(fact.pinned_at, digits=9),
        _json(fact.extra),
    )


def _fact(row: Sequence[Any]) -> Fact:
    named = dict(zip(_COLUMNS.split(", "), row, strict=True))
    for name in _TIMES:
        named[name] = None if named[name] is None else parse_instant(named[name])
    named["embedding"] = array("f", named["embedding"]) if named["embedding"] else None
    named["pinned"] = bool(named["pinned"])
    named["extra"] = json.loads(named["extra"])
    return Fact(**named)


def _with_instants(row: Sequence[Any], places: Sequence[int]) -> tuple[Any, ...]:
    values = list(row)
    for place in places:
        values[place] = parse_instant(values[place])
    return tuple(values)


def _event(row: Sequence[Any]) -> Event:
    seq, at, agent_id, fact_id, kind, cause, detail = row
    return Event(seq, parse_instant(at), agent_id, fact_id, kind, cause, json.loads(detail))
