"""The file: several processes on it, locks, read-only use, sudden death, damage."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tombstore
from tombstore import Fact, ManualClock, MemoryStore, NotAStore, ReadOnlyStore, StoreBusy, fact_to_json, ulids

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]

NOW = "2026-03-01T00:00:00Z"
PATIENCE = 60
"""Seconds after which a call counts as hanging."""

# A process that does what it is told, a line of JSON at a time, and says when it is done.
OTHER = """
import json, sys
from tombstore import MemoryStore
with MemoryStore(sys.argv[1], wait_seconds=60) as store:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answer = getattr(store, name)(*arguments)
        print(json.dumps([fact.text for fact in answer] if isinstance(answer, list) else None), flush=True)
"""
PUTTING = """
import sys
from tombstore import MemoryStore
store = MemoryStore(sys.argv[1], wait_seconds=60)
for n in range(int(sys.argv[3])):
    print(store.put("ann", f"{sys.argv[2]} {n}").id, flush=True)
"""


def started(script: str, *arguments: object) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(tombstore.__file__).parents[1]), "PYTHONSAFEPATH": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def other(path: Path) -> Iterator[Callable[..., Any]]:
    """``other("put", "ann", "text")`` does it in another process on the same file."""
    with started(OTHER, path) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def other(*call: Any) -> Any:
            print(json.dumps(call), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield other
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


@contextmanager
def write_lock(path: Path) -> Iterator[None]:
    """Another connection is in the middle of a write."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


def texts(facts: list[Fact]) -> list[str]:
    return sorted(fact.text for fact in facts)


def counts(store: MemoryStore) -> dict[str, int]:
    return {fact.text: fact.access_count for fact in store.list_facts()}


# One process after the other, and two at once


def test_everything_is_there_again_after_closing(open_store: OpenStore, path: Path, clock: ManualClock) -> None:
    with open_store(path) as store:
        store.put("ann", "one", pinned=True, confidence="verified")
        store.put("bob", "two")
        store.reflect("update", "bob", target="two", text="zwei")
        clock.advance(hours=100)
        store.recall("ann", "one")
        store.consolidate("bob")
        facts, events = store.list_facts(), store.events()
    again = open_store(path)
    assert (again.list_facts(), again.events()) == (facts, events)
    assert [fact_to_json(fact) for fact in again.list_facts()] == [fact_to_json(fact) for fact in facts]


def test_stores_in_memory_are_apart(open_store: OpenStore) -> None:
    open_store().put("ann", "note")
    assert open_store().list_facts() == []


def test_two_processes_see_each_others_writes_at_once(
    open_store: OpenStore, path: Path, other: Callable[..., Any]
) -> None:
    store = open_store(path)
    store.put("ann", "ours")
    assert other("recall", "ann", "ours") == ["ours"]
    other("put", "ann", "theirs")
    assert texts(store.recall("ann", "")) == ["ours", "theirs"]
    store.reflect("forget", "ann", target="theirs")
    assert other("recall", "ann", "theirs") == ["ours"]
    assert counts(store) == {"ours": 3, "theirs": 1}


def test_processes_that_write_at_the_same_time_lose_nothing(open_store: OpenStore, path: Path) -> None:
    store = open_store(path, wait_seconds=PATIENCE)
    with started(PUTTING, path, "a", 60) as a, started(PUTTING, path, "b", 60) as b:
        for n in range(60):
            store.put("ann", f"c {n}")
            store.recall("ann", "", 1)
        acknowledged = [*a.communicate(timeout=PATIENCE)[0].split(), *b.communicate(timeout=PATIENCE)[0].split()]
    assert (a.returncode, b.returncode, len(set(acknowledged))) == (0, 0, 120)
    assert texts(store.list_facts()) == sorted(f"{name} {n}" for name in "abc" for n in range(60))
    assert len({event.seq for event in store.events()}) == 180
    assert len(store.recall("ann", "", 200)) == 180


def test_two_processes_may_create_the_same_file(path: Path, open_store: OpenStore) -> None:
    processes = [started(PUTTING, path, name, 3) for name in "abcd"]
    for process in processes:
        process.communicate(timeout=PATIENCE)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    assert len(open_store(path).list_facts()) == 12


# Locks


def test_a_reader_does_not_wait_for_a_writer_and_its_access_is_written_later(open_store: OpenStore, path: Path) -> None:
    store = open_store(path, wait_seconds=10 * PATIENCE)
    store.put("ann", "note")
    with ThreadPoolExecutor(1) as thread, write_lock(path):
        for read in (
            lambda: store.recall("ann", "note"),
            lambda: store.recall_with_receipts("ann", "note"),
            lambda: store.list_facts(),
        ):
            assert len(thread.submit(read).result(timeout=PATIENCE)) == 1
        assert thread.submit(store.stats).result(timeout=PATIENCE).total.facts == 1
        assert counts(store) == {"note": 0}
    store.recall("ann", "note", 0)
    assert counts(store) == {"note": 0}  # nothing was returned, so nothing is written
    store.recall("ann", "note")
    assert counts(store) == {"note": 3}


def test_pending_accesses_are_written_when_the_store_is_closed(open_store: OpenStore, path: Path) -> None:
    store = open_store(path)
    store.put("ann", "note")
    with write_lock(path):
        store.recall("ann", "note")
    store.close()
    assert counts(open_store(path)) == {"note": 1}


def test_closing_never_waits_either_and_may_be_repeated(open_store: OpenStore, path: Path) -> None:
    store = open_store(path, wait_seconds=10 * PATIENCE)
    store.put("ann", "note")
    with ThreadPoolExecutor(1) as thread, write_lock(path):
        store.recall("ann", "note")
        thread.submit(store.close).result(timeout=PATIENCE)
        store.close()
    assert counts(open_store(path)) == {"note": 0}


def test_a_writer_that_waited_in_vain_is_told_so_and_nothing_is_written(open_store: OpenStore, path: Path) -> None:
    store = open_store(path, wait_seconds=0.01)
    old = store.put("ann", "note")
    with write_lock(path):
        for write in (
            lambda: store.put("ann", "more"),
            lambda: store.reflect("update", "ann", target="note", text="new"),
            lambda: store.retire("ann", [old.id]),
            lambda: store.import_facts([old]),
            lambda: store.consolidate("ann"),
        ):
            with pytest.raises(StoreBusy, match="another process is writing") as caught:
                write()
            assert str(path) in str(caught.value)
            assert isinstance(caught.value, TimeoutError)
    assert (texts(store.list_facts()), len(store.events())) == (["note"], 1)
    store.put("ann", "more")
    assert texts(store.list_facts()) == ["more", "note"]


def test_a_writer_waits_for_another_to_finish(open_store: OpenStore, path: Path) -> None:
    store = open_store(path, wait_seconds=PATIENCE)
    with ThreadPoolExecutor(1) as thread:
        with write_lock(path):
            put = thread.submit(store.put, "ann", "note")
            assert not put.done()
        assert put.result(timeout=PATIENCE).text == "note"


# Read-only


def test_a_read_only_store_refuses_every_write_and_leaves_the_file_as_it_is(
    open_store: OpenStore, path: Path, fact: MakeFact
) -> None:
    with open_store(path) as writable:
        note = writable.put("ann", "note", pinned=True)
    before = path.read_bytes()
    with open_store(path, read_only=True) as store:
        assert texts(store.recall("ann", "note")) == ["note"]
        assert [receipt.fact.text for receipt in store.recall_with_receipts("ann", "note")] == ["note"]
        for write in (
            lambda: store.put("ann", "more"),
            lambda: store.import_facts([fact("f1", "more")]),
            lambda: store.reflect("add", "ann", text="more"),
            lambda: store.reflect("update", "ann", target="note", text="more"),
            lambda: store.reflect("forget", "ann", target="note"),
            lambda: store.reflect("pin", "ann", target="note"),
            lambda: store.reflect("unpin", "ann", target="note"),
            lambda: store.revise("ann", [note.id], "more"),
            lambda: store.retire("ann", [note.id]),
            lambda: store.consolidate("ann"),
        ):
            with pytest.raises(ReadOnlyStore, match="read-only") as caught:
                write()
            assert str(path) in str(caught.value)
            assert isinstance(caught.value, PermissionError)
        assert counts(store) == {"note": 0}
    assert path.read_bytes() == before


def test_a_read_only_store_sees_what_others_commit(open_store: OpenStore, path: Path) -> None:
    writable = open_store(path)
    writable.put("ann", "one")
    reader = open_store(path, read_only=True)
    assert texts(reader.recall("ann", "")) == ["one"]
    writable.put("ann", "two")
    assert texts(reader.recall("ann", "")) == ["one", "two"]


@pytest.fixture
def foreign_folder() -> Iterator[Callable[[], Any]]:
    """A folder, and a way to be somebody who may read but not write in it."""
    folder = Path(tempfile.mkdtemp())

    @contextmanager
    def as_reader() -> Iterator[None]:
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:  # whom no mode stops
            os.seteuid(65534)
        try:
            yield
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)

    as_reader.folder = folder  # type: ignore[attr-defined]
    yield as_reader
    shutil.rmtree(folder)


def test_a_store_can_be_read_where_nothing_can_be_written(open_store: OpenStore, foreign_folder: Any) -> None:
    path = foreign_folder.folder / "store.db"
    with open_store(path) as store:
        store.put("ann", "note")
    with foreign_folder():
        with open_store(path, read_only=True) as store:
            assert texts(store.recall("ann", "note")) == ["note"]
        assert sorted(os.listdir(path.parent)) == ["store.db"]
        with pytest.raises(OSError, match=r"new\.db"):
            open_store(path.parent / "new.db")
        with pytest.raises(PermissionError, match=r"store\.db"):
            open_store(path).put("ann", "more")


def test_unmerged_writes_of_a_crashed_process_are_read_or_the_store_is_refused(
    open_store: OpenStore, foreign_folder: Any
) -> None:
    """Never the state before them: with SQLite's two side files they can be read, with the -wal alone they can't."""
    path = foreign_folder.folder / "store.db"
    with open_store(path) as store:
        store.put("ann", "merged")
    with started(PUTTING, path, "unmerged", 1_000_000) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    stored = len(read_through_a_copy(path))
    assert stored >= 2
    with foreign_folder(), open_store(path, read_only=True) as store:
        assert len(store.list_facts()) == stored
    path.with_name("store.db-shm").unlink()
    with foreign_folder(), pytest.raises(PermissionError, match=r"store\.db-wal"):
        open_store(path, read_only=True)


def read_through_a_copy(path: Path) -> list[Fact]:
    """What the file holds, its unmerged writes included, without touching it."""
    with tempfile.TemporaryDirectory() as folder:
        for name in (path.name, f"{path.name}-wal"):
            shutil.copy(path.with_name(name), folder)
        with MemoryStore(Path(folder) / path.name) as store:
            return store.list_facts()


# Sudden death


def test_what_a_killed_process_acknowledged_is_there(open_store: OpenStore, path: Path) -> None:
    with started(PUTTING, path, "note", 1_000_000) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(40)]
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
        acknowledged += rest.split("\n")[: rest.count("\n")]
    assert process.returncode == -signal.SIGKILL
    store = open_store(path)
    stored = {fact.id for fact in store.list_facts()}
    assert set(acknowledged) <= stored
    assert len(stored) <= len(acknowledged) + 1  # one may have been written and not yet said
    assert {event.fact_id for event in store.events()} == stored
    store.put("ann", "life goes on")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


# Damage and other files


@pytest.fixture(scope="module")
def whole() -> tuple[bytes, list[Fact]]:
    """A store file of at least 12 pages, and what it holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with MemoryStore(path, clock=ManualClock(NOW), ids=ulids(1)) as store:
            for n in range(60):
                store.put("ann", f"note {n} about something " + "x" * (n * 7 % 200))
            store.retire("ann", [fact.id for fact in store.list_facts()[:3]])
            facts = store.list_facts()
        data = path.read_bytes()
    assert len(data) >= 12 * 4096
    return data, facts


def used(path: Path) -> list[Fact]:
    """Everything that reads, and a cycle and a put; returns what was listed first."""
    with MemoryStore(path, clock=ManualClock(NOW)) as store:
        facts = store.list_facts()
        assert len(store.recall("ann", "note 7")) == 8
        assert len(store.events()) == 63
        assert store.stats().total.facts == 60
        store.consolidate("ann")
        store.put("ann", "more")
    return facts


def damaged(path: Path, data: bytes) -> Path:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("length", [2, 15, 16, 99, 100, 512, 4095, *range(4096, 12 * 4096, 4096), 12 * 4096 - 1, -1])
def test_a_truncated_file_is_refused_by_name(length: int, path: Path, whole: tuple[bytes, list[Fact]]) -> None:
    with pytest.raises((NotAStore, OSError)) as caught:
        used(damaged(path, whole[0][:length]))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("page", range(12))
def test_a_page_of_garbage_is_refused_by_name_or_was_not_needed(
    page: int, path: Path, whole: tuple[bytes, list[Fact]]
) -> None:
    data, facts = whole
    start, end = page * 4096, (page + 1) * 4096
    for garbage in (bytes(4096), b"\xff" * 4096, b"A" * 4096, random.Random(page).randbytes(4096)):
        try:
            outcome: Any = used(damaged(path, data[:start] + garbage + data[end:]))
        except (NotAStore, OSError) as error:
            outcome = str(error)
        assert outcome == facts or str(path) in outcome


@pytest.mark.parametrize("read", ["list_facts", "recall", "events", "stats", "consolidate"])
def test_a_time_that_is_none_is_refused_by_name(read: str, path: Path, whole: tuple[bytes, list[Fact]]) -> None:
    damaged(path, whole[0].replace(b"2026-03-01T00:00:00.0", b"2026-03-01T99:00:00.0"))
    arguments = {"recall": ("ann", "note"), "consolidate": ("ann",)}.get(read, ())
    with MemoryStore(path) as store, pytest.raises(NotAStore, match="99:00:00") as caught:
        getattr(store, read)(*arguments)
    assert str(path) in str(caught.value)


def sqlite_file(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("read_only", [False, True])
def test_another_file_is_refused_by_name(read_only: bool, path: Path, open_store: OpenStore) -> None:
    path.write_text("Not a database, but long enough to have a header. " * 20, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="not a database") as caught:
        open_store(path, read_only=read_only)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_another_programs_database_is_refused_by_name(read_only: bool, path: Path, open_store: OpenStore) -> None:
    sqlite_file(path, "CREATE TABLE facts (id TEXT)")
    with pytest.raises(NotAStore, match="a SQLite database, but not a tombstore") as caught:
        open_store(path, read_only=read_only)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_of_a_newer_version_is_refused(read_only: bool, path: Path, open_store: OpenStore) -> None:
    open_store(path).close()
    sqlite_file(path, "PRAGMA user_version = 2")
    with pytest.raises(NotAStore, match=r"written by a newer tombstore \(schema 2, known: 1\)") as caught:
        open_store(path, read_only=read_only)
    assert str(path) in str(caught.value)


def test_an_empty_file_becomes_a_store_unless_it_is_only_to_be_read(path: Path, open_store: OpenStore) -> None:
    path.touch()
    with pytest.raises(NotAStore):
        open_store(path, read_only=True)
    with open_store(path) as store:
        store.put("ann", "note")
    assert texts(open_store(path).list_facts()) == ["note"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_missing_folder_and_a_directory_are_named(read_only: bool, tmp_path: Path, open_store: OpenStore) -> None:
    with pytest.raises(FileNotFoundError, match="no_such_folder"):
        open_store(tmp_path / "no_such_folder" / "store.db", read_only=read_only)
    with pytest.raises(IsADirectoryError, match="a directory, not a store") as caught:
        open_store(tmp_path, read_only=read_only)
    assert str(tmp_path) in str(caught.value)


def test_a_missing_file_is_made_unless_it_is_only_to_be_read(path: Path, open_store: OpenStore) -> None:
    with pytest.raises(FileNotFoundError, match=r"store\.db"):
        open_store(path, read_only=True)
    assert not path.exists()
    open_store(path)
    assert path.exists()


def test_a_closed_store_says_so(open_store: OpenStore) -> None:
    store = open_store()
    store.put("ann", "note")
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.put("ann", "more")
    with pytest.raises(ValueError, match="closed"):
        store.list_facts()
