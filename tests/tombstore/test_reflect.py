"""Reflect, revise and retire: the ways to correct what is remembered, each of them all or nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from tombstore import Fact, FactNotFound, ManualClock, MemoryStore, format_instant
from tombstore.clock import ZERO_TIME

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]


def state(store: MemoryStore) -> dict[str, str]:
    """Marker by text; texts are distinct in these tests."""
    return {fact.text: fact.superseded_by for fact in store.list_facts("ann")}


def test_add_is_a_put_with_its_own_cause(store: MemoryStore) -> None:
    change = store.reflect("add", "ann", text="note")
    assert change.added == store.list_facts()[0]
    assert (change.action, change.agent_id, change.changed) == ("add", "ann", ())
    assert [(event.kind, event.cause) for event in store.events()] == [("put", "reflect:add")]


def test_update_tells_what_it_added_and_what_it_changed(store: MemoryStore) -> None:
    old = store.put("ann", "old")
    change = store.reflect("update", "ann", target="old", text="new")
    assert change.changed == (old,)
    assert change.added is not None
    assert state(store) == {"old": change.added.id, "new": ""}


def test_update_replaces_every_live_copy_with_one_fact(store: MemoryStore) -> None:
    copies = [store.put("ann", "old") for _ in range(3)]
    change = store.reflect("update", "ann", target="old", text="new")
    assert change.added is not None
    assert {store.get("ann", copy.id).superseded_by for copy in copies} == {change.added.id}
    assert len(store.list_facts()) == 4


def test_update_to_the_same_text_replaces_the_fact_by_a_fresh_one(store: MemoryStore) -> None:
    old = store.put("ann", "same")
    change = store.reflect("update", "ann", target="same", text="same")
    assert change.added is not None
    assert store.get("ann", old.id).superseded_by == change.added.id
    assert [fact.id for fact in store.list_facts(state="live")] == [change.added.id]


def test_a_replacement_keeps_the_kind_and_is_neither_pinned_nor_confident(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts([fact("f1", "alias: bill = invoice", kind="alias", pinned=True, confidence="verified")])
    added = store.reflect("update", "ann", target="alias: bill = invoice", text="alias: bill = receipt").added
    assert added is not None
    assert (added.kind, added.pinned, added.confidence) == ("alias", False, "")
    revised = store.revise("ann", [added.id], "alias: bill = note")
    assert (revised.kind, revised.pinned) == ("alias", False)


def test_forget_takes_the_target_before_the_text(store: MemoryStore) -> None:
    for text in ("one", "two", "three"):
        store.put("ann", text)
    store.reflect("forget", "ann", target="one", text="two")
    store.reflect("forget", "ann", text="three")
    assert state(store) == {"one": "agent", "two": "", "three": "agent"}


def test_pin_and_unpin_set_and_clear_the_flag_and_its_time(store: MemoryStore, clock: ManualClock) -> None:
    store.put("ann", "note")
    clock.advance(hours=1)
    store.reflect("pin", "ann", target="note")
    (pinned,) = store.list_facts()
    assert (pinned.pinned, format_instant(pinned.pinned_at or 0)) == (True, "2026-03-01T01:00:00Z")
    store.reflect("unpin", "ann", text="note")
    (unpinned,) = store.list_facts()
    assert (unpinned.pinned, unpinned.pinned_at) == (False, ZERO_TIME)
    assert [event.kind for event in store.events()] == ["put", "pin", "unpin"]


def test_a_retired_fact_can_be_unpinned_but_not_pinned(store: MemoryStore) -> None:
    fact = store.put("ann", "note", pinned=True)
    store.retire("ann", [fact.id])
    with pytest.raises(FactNotFound):
        store.reflect("pin", "ann", target="note")
    store.reflect("unpin", "ann", target="note")
    assert not store.get("ann", fact.id).pinned
    assert store.get("ann", fact.id).superseded_by == "agent"


@pytest.mark.parametrize("action", ["update", "forget", "pin", "unpin"])
def test_without_a_match_nothing_is_written(action: Any, store: MemoryStore) -> None:
    store.put("ann", "note")
    store.put("bob", "only bob's")
    events = store.events()
    for target in ("Note", "note ", "not", "only bob's"):
        with pytest.raises(FactNotFound, match="target fact not found"):
            store.reflect(action, "ann", target=target, text="new")
    assert (state(store), store.events()) == ({"note": ""}, events)


@pytest.mark.parametrize("action", ["update", "forget"])
def test_what_is_retired_already_is_no_match(action: Any, store: MemoryStore) -> None:
    store.retire("ann", [store.put("ann", "note").id])
    with pytest.raises(FactNotFound):
        store.reflect(action, "ann", target="note", text="new")
    assert state(store) == {"note": "agent"}


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    [
        ("add", {}, "add needs a text"),
        ("add", {"target": "note"}, "add needs a text"),
        ("update", {"target": "note"}, "update needs a text"),
        ("update", {"text": "new"}, "update needs a target"),
        ("forget", {}, "forget needs a target"),
        ("pin", {}, "pin needs a target"),
        ("unpin", {}, "unpin needs a target"),
        ("link", {"text": "a", "target": "b"}, "unknown action 'link': expected add, update, forget, pin or unpin"),
        ("", {"text": "a"}, "unknown action ''"),
    ],
)
def test_a_missing_argument_is_named_and_nothing_is_written(
    action: Any, arguments: dict[str, str], message: str, store: MemoryStore
) -> None:
    store.put("ann", "note")
    with pytest.raises(ValueError, match=message):
        store.reflect(action, "ann", **arguments)
    assert state(store) == {"note": ""}
    assert len(store.events()) == 1


@pytest.mark.parametrize("agent", ["", "a" * 32_769, "é" * 16_385])
def test_an_agent_id_has_1_to_32768_bytes(agent: str, store: MemoryStore, fact: MakeFact) -> None:
    for write in (
        lambda: store.put(agent, "note"),
        lambda: store.reflect("add", agent, text="note"),
        lambda: store.import_facts([fact("f1", "note", agent_id=agent)]),
    ):
        with pytest.raises(ValueError, match="an agent ID has 1 to 32768 bytes"):
            write()
    assert store.list_facts() == []
    store.put("a" * 32_768, "note")
    assert store.agents() == ["a" * 32_768]


def test_a_confidence_is_one_of_three_words(store: MemoryStore) -> None:
    for word in ("", "verified", "inferred", "unverified"):
        assert store.put("ann", "note", confidence=word).confidence == word
    with pytest.raises(ValueError, match="confidence is 'sure', expected one of verified, inferred, unverified"):
        store.put("ann", "note", confidence="sure")


def test_revise_replaces_several_facts_by_id_and_retire_none_by_another(store: MemoryStore) -> None:
    one, two, three = (store.put("ann", text) for text in ("one", "two", "three"))
    added = store.revise("ann", [one.id, two.id], "both")
    store.retire("ann", [three.id])
    assert state(store) == {"one": added.id, "two": added.id, "three": "agent", "both": ""}
    assert store.replaced_by("ann", added.id) == sorted([one.id, two.id])


def test_naming_a_fact_twice_retires_it_once(store: MemoryStore) -> None:
    fact = store.put("ann", "note")
    store.retire("ann", [fact.id, fact.id])
    assert [event.kind for event in store.audit_trail(fact.id)] == ["put", "retire"]


def test_revise_and_retire_want_live_facts_of_that_agent_and_change_nothing_otherwise(store: MemoryStore) -> None:
    live, retired, bobs = store.put("ann", "live"), store.put("ann", "retired"), store.put("bob", "bob's")
    store.retire("ann", [retired.id])
    before, events = store.list_facts(), store.events()
    for ids, error, message in (
        ([live.id, "unknown"], FactNotFound, "ann has no fact unknown"),
        ([live.id, bobs.id], FactNotFound, "ann has no fact"),
        ([live.id, retired.id], ValueError, "is retired already"),
        ([], ValueError, "at least one ID"),
    ):
        with pytest.raises(error, match=message):
            store.revise("ann", ids, "new")
        with pytest.raises(error, match=message):
            store.retire("ann", ids)
    with pytest.raises(ValueError, match="revise needs a text"):
        store.revise("ann", [live.id], "")
    assert (store.list_facts(), store.events()) == (before, events)


def test_a_failing_embedder_stores_the_fact_without_a_vector_and_the_event_says_why(
    open_store: OpenStore, written_down: Any
) -> None:
    store = open_store(embedder=written_down({"known": [1, 2]}))
    assert list(store.put("ann", "known").embedding or []) == [1.0, 2.0]
    assert store.put("ann", "unknown").embedding is None
    known, unknown = store.events()
    assert (known.detail, unknown.detail) == ({}, {"embedding": "KeyError: 'unknown'"})


def test_a_put_embeds_its_text_once(open_store: OpenStore, written_down: Any) -> None:
    model = written_down({"one": [1, 0], "two": [0, 1]})
    store = open_store(embedder=model)
    store.put("ann", "one")
    store.reflect("update", "ann", target="one", text="two")
    assert model.calls == [["one"], ["two"]]


def test_texts_are_stored_verbatim_the_empty_one_too(store: MemoryStore) -> None:
    texts = ["", "  two  spaces ", "line\nbreak\r\n", "nul\0inside", "<b>&amp;</b>", "数据 🦭"]
    assert [store.put("ann", text).text for text in texts] == texts
    assert sorted(fact.text for fact in store.list_facts()) == sorted(texts)


def test_lists_are_newest_first_then_by_id_and_by_state(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts(
        [
            fact("f3", "", at="2026-01-02T00:00:00Z"),
            fact("f1", "", at="2026-01-02T00:00:00Z", superseded_by="f3"),
            fact("f2", "", at="2026-01-02T00:00:00.000000001Z"),
            fact("f9", "", at="2026-01-03T00:00:00Z", agent_id="bob"),
            fact("f0", "", at="2026-01-01T00:00:00Z", agent_id="bob", superseded_by="agent"),
        ]
    )
    assert [f.id for f in store.list_facts("ann")] == ["f2", "f1", "f3"]
    assert [f.id for f in store.list_facts()] == ["f2", "f1", "f3", "f9", "f0"]
    assert [f.id for f in store.list_facts(state="live")] == ["f2", "f3", "f9"]
    assert [f.id for f in store.list_facts("ann", state="retired")] == ["f1"]
    assert store.agents() == ["ann", "bob"]
    assert store.list_facts("nobody") == []


def test_a_text_that_was_mended_when_it_was_put_is_found_by_the_same_text(store: MemoryStore) -> None:
    store.put("ann", "half \ud83e of it")
    store.reflect("forget", "ann", target="half \ud83e of it")
    assert state(store) == {"half \ufffd of it": "agent"}
