"""The audit trail: every write has its event, events are only ever added, and they outlive the facts."""

import json
import sqlite3
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tombstore import (
    Contradiction,
    Event,
    Fact,
    FactNotFound,
    ManualClock,
    MemoryStore,
    Summary,
    fact_from_json,
    format_instant,
    plugins,
)
from tombstore.fact import fact_to_record

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]


def told(events: list[Event]) -> list[tuple[str, str, str]]:
    """Day, kind and cause of each event."""
    return [(format_instant(event.at)[5:10], event.kind, event.cause) for event in events]


def test_a_facts_whole_life_is_told_also_after_it_was_pruned(store: MemoryStore, clock: ManualClock) -> None:
    old = store.put("ann", "billing by Lemon", confidence="verified")
    clock.advance(hours=24)
    store.reflect("pin", "ann", target="billing by Lemon")
    clock.advance(hours=24)
    store.reflect("unpin", "ann", target="billing by Lemon")
    clock.advance(hours=24)
    added = store.reflect("update", "ann", target="billing by Lemon", text="billing by Polar").added
    assert added is not None
    clock.advance(hours=24)
    store.consolidate("ann")
    clock.advance(hours=200 * 24)
    store.recall("ann", "billing")
    assert store.consolidate("ann").pruned == [old.id]
    clock.advance(hours=24)
    store.consolidate("ann")
    trail = store.audit_trail(old.id)
    assert told(trail) == [
        ("03-01", "put", "put"),
        ("03-02", "pin", "reflect:pin"),
        ("03-03", "unpin", "reflect:unpin"),
        ("03-04", "retire", "reflect:update"),
        ("03-05", "decay", "consolidate"),
        ("09-21", "decay", "consolidate"),
        ("09-21", "prune", "consolidate"),
    ]
    assert {event.agent_id for event in trail} == {"ann"}
    assert [event.detail for event in trail[:4]] == [{}, {}, {}, {"by": added.id}]
    assert dict(trail[4].detail) == {"facts": 2, "fell": 2}
    assert told(store.audit_trail(added.id))[:1] == [("03-04", "put", "reflect:update")]
    assert told(store.audit_trail(added.id))[-1:] == [("09-22", "decay", "consolidate")]


def test_a_pruned_facts_last_words_are_all_of_it_but_the_embedding(store: MemoryStore, fact: MakeFact) -> None:
    last = fact(
        "f1",
        "billing by Lemon",
        weight=0.001,
        access_count=7,
        superseded_by="f2",
        confidence="verified",
        embedding=array("f", [1, 2]),
        extra={"source": ["chat", 7]},
    )
    store.import_facts([last])
    store.consolidate("ann")
    prune = store.audit_trail("f1")[-1]
    record = fact_to_record(last)
    del record["embedding"]
    assert (prune.kind, dict(prune.detail)) == ("prune", {"fact": record})
    assert fact_from_json(prune.detail["fact"]).superseded_by == "f2"


@pytest.mark.parametrize("policy", plugins.names("tombstore.policies"))
def test_under_every_policy_a_correction_that_changes_the_old_fact_is_told(policy: str, open_store: OpenStore) -> None:
    """Under append_only there is nothing to tell: nothing was changed."""
    kinds = {"delete": "delete", "overwrite": "delete", "separate_bucket": "delete", "append_only": None}
    kinds |= {"weight_zero": "weight_zero", "weight_aware": "weight_zero"}
    store = open_store(policy=policy)
    old = store.put("ann", "old")
    added = store.reflect("update", "ann", target="old", text="new").added
    assert added is not None
    trail = store.audit_trail(old.id, "ann")
    kind = kinds.get(policy, "retire")
    assert [event.kind for event in trail] == ["put"] + [kind] * (kind is not None)
    if kind:
        assert (trail[-1].cause, trail[-1].detail["by"]) == ("reflect:update", added.id)


def test_a_deleted_fact_keeps_its_trail_with_its_text(open_store: OpenStore) -> None:
    store = open_store(policy="delete")
    old = store.put("ann", "old")
    store.reflect("forget", "ann", target="old")
    assert store.list_facts() == []
    delete = store.audit_trail(old.id)[-1]
    assert (delete.kind, delete.detail["by"], delete.detail["fact"]["text"]) == ("delete", "agent", "old")


def test_a_weight_that_was_zeroed_is_told_with_what_it_was(open_store: OpenStore, fact: MakeFact) -> None:
    store = open_store(policy="weight_zero")
    store.import_facts([fact("f1", "old", weight=0.75)])
    store.reflect("forget", "ann", target="old")
    assert dict(store.audit_trail("f1")[-1].detail) == {"by": "agent", "was": 0.75}


def test_every_write_names_its_cause(open_store: OpenStore, summarizer: Any, detector: Any, fact: MakeFact) -> None:
    store = open_store(
        consolidate_threshold=1,
        summarizer=summarizer(lambda facts: Summary("sum", [facts[0].id])),
        detector=detector(lambda facts: [Contradiction(*sorted(fact.id for fact in facts)[:2], 0.5)]),
        detect=True,
    )
    one, two, three = (store.put("ann", text) for text in ("1", "2", "3"))
    store.reflect("add", "ann", text="4")
    store.revise("ann", [one.id], "5")
    store.retire("ann", [two.id])
    store.import_facts([fact("f1", "6"), fact("f2", "7", superseded_by="f1")])
    store.import_facts([fact("f1", "6", superseded_by="f2")])
    store.consolidate("ann")
    assert [(event.kind, event.cause) for event in store.events()] == [
        ("put", "put"),
        ("put", "put"),
        ("put", "put"),
        ("put", "reflect:add"),
        ("put", "revise"),
        ("retire", "revise"),
        ("retire", "retire"),
        ("put", "import"),
        ("put", "import"),
        ("retire", "import"),
        ("decay", "consolidate"),
        ("put", "consolidate:summary"),
        ("retire", "consolidate:summary"),
        ("propose", "consolidate:detector"),
        ("retire", "consolidate:detector"),
    ]
    assert three.id in {event.fact_id for event in store.events() if event.cause == "consolidate:summary"}
    assert [event.seq for event in store.events()] == sorted({event.seq for event in store.events()})


def test_a_fact_that_was_pruned_and_imported_again_has_one_trail(store: MemoryStore, fact: MakeFact) -> None:
    for _ in range(2):
        store.import_facts([fact("f1", "note", weight=0.001)])
        store.consolidate("ann")
    assert [event.kind for event in store.audit_trail("f1")] == ["put", "decay", "prune", "put", "decay", "prune"]


def test_the_trail_of_one_id_in_two_agents_can_be_told_apart(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts([fact("f1", "hers"), fact("f1", "his", agent_id="bob")])
    store.retire("bob", ["f1"])
    assert [(event.agent_id, event.kind) for event in store.audit_trail("f1")] == [
        ("ann", "put"),
        ("bob", "put"),
        ("bob", "retire"),
    ]
    assert [event.kind for event in store.audit_trail("f1", "ann")] == ["put"]
    assert [event.kind for event in store.events("bob")] == ["put", "retire"]


def test_an_id_that_was_never_stored_has_no_trail(store: MemoryStore) -> None:
    store.put("ann", "note")
    with pytest.raises(FactNotFound, match="no fact f1 was ever stored"):
        store.audit_trail("f1")
    with pytest.raises(FactNotFound):
        store.audit_trail(store.list_facts()[0].id, "bob")


def test_recalls_leave_no_events(store: MemoryStore) -> None:
    store.put("ann", "note")
    store.recall("ann", "note")
    assert [event.kind for event in store.events()] == ["put"]


# The same at the level of SQL: whoever opens the file with another program is held to it too.


@pytest.fixture
def raw(open_store: OpenStore, tmp_path: Path) -> Any:
    with open_store(tmp_path / "store.db") as store:
        store.retire("ann", [store.put("ann", "old").id])
        store.put("ann", "new")
    connection = sqlite3.connect(tmp_path / "store.db")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("statement", "refusal"),
    [
        ("DELETE FROM events", "events are append-only"),
        ("DELETE FROM events WHERE seq = 1", "events are append-only"),
        ("UPDATE events SET cause = 'nobody'", "events are append-only"),
        ("UPDATE facts SET superseded_by = '' WHERE text = 'old'", "retirement is a latch"),
        ("UPDATE facts SET text = 'other' WHERE text = 'new'", "never rewritten"),
        ("UPDATE facts SET created_at = '2020-01-01T00:00:00.000000000Z'", "never rewritten"),
        ("UPDATE facts SET id = 'f1' WHERE text = 'new'", "never rewritten"),
        ("UPDATE facts SET agent_id = 'bob'", "never rewritten"),
    ],
)
def test_sql_itself_refuses(statement: str, refusal: str, raw: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=refusal):
        raw.execute(statement)


def test_what_may_change_does(raw: sqlite3.Connection) -> None:
    changes = (
        "UPDATE facts SET superseded_by = 'elsewhere' WHERE text = 'old'",  # the latch is on being retired
        "UPDATE facts SET weight = 0.5, access_count = 3, pinned = 1 WHERE text = 'new'",
    )
    assert [raw.execute(change).rowcount for change in changes] == [1, 1]


def test_times_in_the_file_are_text_of_one_width(raw: sqlite3.Connection) -> None:
    times = raw.execute("SELECT created_at FROM facts UNION ALL SELECT at FROM events").fetchall()
    assert {time for (time,) in times} == {"2026-03-01T00:00:00.000000000Z"}
    assert [json.loads(detail) for (detail,) in raw.execute("SELECT detail FROM events")] == [{}, {"by": "agent"}, {}]
