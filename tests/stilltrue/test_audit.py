"""The audit of a real store: its share of tombstones against 20 %, and all that can be wrong with its corrections."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from stilltrue.audit import Audit, Finding, audit
from tombstore import Fact, ManualClock, MemoryStore, parse_instant, ulids
from tombstore.export import to_json, to_jsonl
from tombstore.stats import Tally

NOW = "2026-07-01T00:00:00Z"
DAY_NS = 24 * 3600 * 10**9

Save = Callable[..., Path]


def fact(name: str, by: str = "", *, days_ago: float = 1, agent: str = "ann", text: str = "", **fields: Any) -> Fact:
    """A fact of ann's, last read when it was written, ``days_ago`` before the audit; retired when ``by`` is given."""
    at = parse_instant(NOW) - round(days_ago * DAY_NS)
    times = {"created_at": at, "accessed_at": at}
    return Fact(
        **{"id": name, "agent_id": agent, "text": text or f"text of {name}", "superseded_by": by, **times, **fields}
    )


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Writes facts into a file of a kind and returns it."""

    def save(facts: Sequence[Fact], kind: str = "json") -> Path:
        path = tmp_path / f"store.{kind}"
        if kind == "tombstore":
            with MemoryStore(path, clock=ManualClock(NOW)) as store:
                store.import_facts(facts)
        else:
            path.write_text({"json": to_json, "jsonl": to_jsonl}[kind](facts), encoding="utf-8")
        return path

    return save


def audited(path: Path, **options: Any) -> Audit:
    return audit(path, now=parse_instant(NOW), **options)


def named(findings: Sequence[Finding]) -> list[str]:
    return [one.fact for one in findings]


# The share


@pytest.mark.parametrize(
    ("live", "retired", "verdict", "reason"),
    [
        (5, 0, "pass", "0 of 5 facts are tombstones: 0.0% does not exceed 20%"),
        (9, 1, "pass", "1 of 10 facts are tombstones: 10.0% does not exceed 20%"),
        (4, 1, "pass", "1 of 5 facts are tombstones: 20.0% does not exceed 20%"),
        (7, 2, "fail", "2 of 9 facts are tombstones: 22.2% exceeds 20%"),
        (0, 1, "fail", "1 of 1 facts are tombstones: 100.0% exceeds 20%"),
        (0, 0, "inconclusive", "the store holds no facts"),
    ],
)
def test_more_than_20_percent_of_tombstones_fail(
    save: Save, live: int, retired: int, verdict: str, reason: str
) -> None:
    facts = [fact(f"l{n}") for n in range(live)] + [fact(f"r{n}", "agent") for n in range(retired)]
    found = audited(save(facts))
    assert (found.verdict, found.reason) == (verdict, reason)
    assert (found.total.facts, found.total.live, found.total.tombstones) == (live + retired, live, retired)
    assert found.total.share == (retired / (live + retired) if facts else None)


def test_a_fifth_is_a_fifth_in_a_store_of_any_size() -> None:
    for fifth in range(1, 500):
        tally = Tally(facts=5 * fifth, tombstones=fifth)
        assert tally.share == 0.2
        assert Tally(facts=5 * fifth, tombstones=fifth + 1).share > 0.2


def test_each_agent_is_counted_apart(save: Save) -> None:
    facts = [fact("a1"), fact("a2", "agent"), fact("b1", agent="bob"), fact("s1", agent="__shared__")]
    by_agent = audited(save(facts)).by_agent
    assert {agent: (one.facts, one.tombstones) for agent, one in by_agent.items()} == {
        "__shared__": (1, 0),
        "ann": (2, 1),
        "bob": (1, 0),
    }


# Ages of tombstones


def test_a_tombstone_of_an_update_is_as_old_as_its_successor(save: Save) -> None:
    facts = [
        fact("old", "new", days_ago=300),
        fact("new", days_ago=8),
        fact("old2", "mid", days_ago=300),
        fact("mid", "last", days_ago=100),
        fact("last", days_ago=0.5),
    ]
    found = audited(save(facts))
    assert (found.ages["under 1 day"], found.ages["7-30 days"], found.ages["90-200 days"]) == (1, 1, 1)
    assert sum(found.ages.values()) == 3
    assert found.undated == 0


@pytest.mark.parametrize(
    ("days", "bucket"),
    [
        (0.99, "under 1 day"),
        (1, "1-7 days"),
        (7, "7-30 days"),
        (30, "30-90 days"),
        (90, "90-200 days"),
        (200, "200 days and more"),
    ],
)
def test_a_bucket_begins_with_its_first_day(save: Save, days: float, bucket: str) -> None:
    found = audited(save([fact("old", "new", days_ago=300), fact("new", days_ago=days)]))
    assert {label for label, count in found.ages.items() if count} == {bucket}


def test_a_forgotten_fact_is_not_dated_in_a_file_without_events(save: Save) -> None:
    found = audited(save([fact("gone", "agent", days_ago=300), fact("here")]))
    assert found.undated == 1
    assert sum(found.ages.values()) == 0


def test_in_a_tombstore_events_date_every_retirement(tmp_path: Path) -> None:
    clock = ManualClock("2026-01-01T00:00:00Z")
    with MemoryStore(tmp_path / "store.db", clock=clock, ids=ulids(1)) as store:
        for text in ("forgotten", "corrected", "third", "fourth", "fifth"):
            store.put("ann", text)
        clock.now = parse_instant("2026-05-01T00:00:00Z")  # 61 days before the audit
        store.reflect("forget", "ann", target="forgotten")
        clock.now = parse_instant("2026-06-29T00:00:00Z")
        store.reflect("update", "ann", target="corrected", text="correction")
    found = audited(tmp_path / "store.db")
    assert {label: count for label, count in found.ages.items() if count} == {"30-90 days": 1, "1-7 days": 1}
    assert found.undated == 0


# Broken chains


def test_a_marker_that_names_nothing_is_dangling(save: Save) -> None:
    facts = [fact("a", "nobody"), fact("b", "c"), fact("c"), fact("d", "agent"), fact("e", "c", agent="bob")]
    found = audited(save(facts))
    assert [(one.agent, one.fact, one.text, one.note) for one in found.dangling] == [
        ("ann", "a", "text of a", "superseded by nobody, which is not in the store"),
        ("bob", "e", "text of e", "superseded by c, which is not in the store"),  # ann's c is not bob's
    ]
    assert found.cyclic == []


def test_a_successor_that_was_pruned_is_told_apart(tmp_path: Path) -> None:
    clock = ManualClock("2025-01-01T00:00:00Z")
    with MemoryStore(tmp_path / "store.db", clock=clock, ids=ulids(1)) as store:
        old = store.put("ann", "old")
        store.reflect("pin", "ann", target="old")
        new = store.reflect("update", "ann", target="old", text="new").added
        assert new
        clock.now = parse_instant(NOW)
        assert store.consolidate("ann").pruned == [new.id]
    (finding,) = audited(tmp_path / "store.db").dangling
    assert (finding.fact, finding.note) == (old.id, f"superseded by {new.id}, which was removed since")


@pytest.mark.parametrize(
    ("chain", "cyclic"),
    [
        ({"a": "a"}, {"a"}),
        ({"a": "b", "b": "a"}, {"a", "b"}),
        ({"a": "b", "b": "c", "c": "a"}, {"a", "b", "c"}),
        ({"x": "a", "a": "b", "b": "a"}, {"a", "b"}),  # x only leads into the cycle
        ({"a": "b", "b": "c", "c": ""}, set()),
        ({"a": "b", "b": "agent"}, set()),
    ],
)
def test_facts_on_a_cycle_of_markers_are_cyclic(save: Save, chain: dict[str, str], cyclic: set[str]) -> None:
    found = audited(save([fact(name, by) for name, by in chain.items()]))
    assert set(named(found.cyclic)) == cyclic
    assert found.dangling == []
    assert {one.note for one in found.cyclic} <= {"its chain of corrections leads back to itself"}


def test_the_same_ids_of_two_agents_are_no_cycle(save: Save) -> None:
    facts = [fact("a", "b"), fact("b"), fact("b", "a", agent="bob"), fact("a", agent="bob")]
    assert audited(save(facts)).cyclic == []


# Immortal and half retired


def test_a_pinned_and_retired_fact_is_immortal(save: Save) -> None:
    facts = [fact("a", "agent", pinned=True), fact("b", pinned=True), fact("c", "agent")]
    found = audited(save(facts))
    assert [(one.fact, one.note) for one in found.immortal] == [
        ("a", "pinned and retired: neither decays nor is pruned until it is unpinned")
    ]


def test_a_retired_text_with_a_live_copy_is_half_retired(save: Save) -> None:
    facts = [
        fact("one", "agent", text="tea"),
        fact("two", "x", text="tea"),
        fact("still", text="tea"),
        fact("r", "agent", text="door"),
        fact("l", text="door"),
        fact("x", text="gate"),
        fact("elsewhere", "agent", text="gate", agent="bob"),  # retired by bob, live with ann
    ]
    assert [(one.fact, one.note) for one in audited(save(facts)).half_retired] == [
        ("still", "live, while 2 copies of the same text are retired"),
        ("l", "live, while 1 copy of the same text is retired"),
    ]


def test_embeddings_of_several_dimensions_are_counted(save: Save) -> None:
    from array import array

    facts = [
        fact("a", embedding=array("f", [1, 0])),
        fact("b", embedding=array("f", [0, 1])),
        fact("c", embedding=array("f", [1, 0, 0])),
        fact("d"),
    ]
    assert audited(save(facts)).dimensions == {2: 2, 3: 1}


# Nearest to pruning
# With a half-life of 720 h = 30 days, a weight of 1 is 0.01 after 30 * log2(100) = 199.3 days.


def test_facts_are_listed_by_the_days_that_they_have_left(save: Save) -> None:
    facts = [
        fact("fresh", days_ago=0),
        fact("month", days_ago=30),
        fact("old", "agent", days_ago=100),
        fact("due", days_ago=200),
        fact("weak", days_ago=0, weight=0.005),
        fact("light", days_ago=0, weight=0.5),  # a low weight doesn't fall faster: it waits for the curve
        fact("pinned", days_ago=500, pinned=True),
    ]
    found = audited(save(facts), nearest=10).nearest_to_pruning
    assert [(one.fact, one.days_left, one.live) for one in found] == [
        ("due", 0.0, True),
        ("weak", 0.0, True),
        ("old", 99.3, False),
        ("month", 169.3, True),
        ("fresh", 199.3, True),
        ("light", 199.3, True),
    ]
    weights = {one.fact: one.weight for one in found}
    assert weights["month"] == pytest.approx(1 / 2)
    assert weights["old"] == pytest.approx(2 ** (-100 / 30))
    assert weights["weak"] == 0.005


def test_another_half_life_makes_other_days(save: Save) -> None:
    (one,) = audited(save([fact("a", days_ago=10)]), half_life_hours=240).nearest_to_pruning
    assert one.days_left == 56.4  # 10 * log2(100) - 10
    assert one.weight == pytest.approx(1 / 2)


def test_what_the_audit_foresees_is_what_consolidation_does(save: Save) -> None:
    """Just before the days left are over nothing is pruned, just after they are over the fact is."""
    path = save([fact("a", days_ago=42), fact("b", days_ago=41)], "tombstore")
    (first, second) = audited(path).nearest_to_pruning
    assert (first.fact, first.days_left, second.days_left) == ("a", 157.3, 158.3)
    clock = ManualClock(NOW)
    with MemoryStore(path, clock=clock) as store:
        clock.advance(hours=24 * (first.days_left - 0.1))
        assert store.consolidate("ann").pruned == []
        clock.advance(hours=24 * 0.2)
        assert store.consolidate("ann").pruned == ["a"]


def test_only_as_many_as_asked_for_are_listed(save: Save) -> None:
    path = save([fact(f"f{n}", days_ago=n) for n in range(9)])
    assert len(audited(path).nearest_to_pruning) == 5
    assert [one.fact for one in audited(path, nearest=2).nearest_to_pruning] == ["f8", "f7"]
    assert audited(path, nearest=0).nearest_to_pruning == []


# Kinds of files


EVERYTHING = [
    fact("old", "new", days_ago=50),
    fact("new", days_ago=40),
    fact("lost", "nobody", days_ago=30, pinned=True),
    fact("c1", "c2"),
    fact("c2", "c1"),
    fact("copy", text="text of old"),
    fact("b1", agent="bob", days_ago=150),
]


def test_the_same_store_in_any_kind_of_file_gives_the_same_figures(save: Save) -> None:
    found = {kind: asdict(audited(save(EVERYTHING, kind))) for kind in ("json", "jsonl", "tombstore")}
    for kind, one in found.items():
        assert one.pop("kind") == kind
        assert one.pop("path").endswith(f"store.{kind}")
    # Only the order in which a file holds its facts differs: a store lists the newest first.
    for one in found.values():
        for name in ("dangling", "cyclic", "immortal", "half_retired"):
            one[name] = sorted(one[name], key=lambda finding: finding["fact"])
    assert found["json"] == found["jsonl"] == found["tombstore"]
    assert [finding["fact"] for finding in found["json"]["cyclic"]] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("version", "tombstones", "dated", "undated"), [("graymatter-v0.8.0", 0, 0, 0), ("graymatter-v0.11", 2, 1, 1)]
)
def test_a_real_gray_db_is_audited(root: Path, version: str, tombstones: int, dated: int, undated: int) -> None:
    folder = root / "tests" / "data" / version
    found = audit(folder / "gray.db", now=parse_instant("2026-12-02T12:00:00Z"))
    assert (found.kind, found.verdict, found.warnings) == ("gray.db", "pass", ())
    listed = json.loads((folder / "dump.json").read_text(encoding="utf-8"))
    assert {agent: one.facts for agent, one in found.by_agent.items()} == {
        agent: len(dump["list_newest_first"]) for agent, dump in listed.items()
    }
    assert (found.total.facts, found.total.tombstones) == (42, tombstones)
    assert (sum(found.ages.values()), found.undated) == (dated, undated)
    assert found.dangling == found.cyclic == found.immortal == []


def test_a_record_that_is_no_fact_is_left_out_and_told(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text(to_jsonl([fact("a")]) + '{"text": "no id"}\n' + to_jsonl([fact("b")]), encoding="utf-8")
    found = audited(path)
    assert found.total.facts == 2
    assert found.warnings == (f"{path}:2: a fact needs an id",)


@pytest.mark.parametrize("kind", ["json", "jsonl", "tombstore"])
def test_a_file_that_is_audited_stays_as_it_is(save: Save, kind: str) -> None:
    path = save(EVERYTHING, kind)
    before = path.read_bytes()
    audited(path)
    assert path.read_bytes() == before
    # SQLite puts an index for readers beside a store; nothing may be waiting to be written into it.
    assert [file.name for file in path.parent.iterdir() if file != path and file.name != f"{path.name}-shm"] in (
        [],
        [f"{path.name}-wal"],
    )
    wal = path.with_name(f"{path.name}-wal")
    assert not wal.exists() or wal.stat().st_size == 0


def test_a_gray_db_that_is_audited_stays_as_it_is(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes((root / "tests/data/graymatter-v0.11/gray.db").read_bytes())
    before = path.read_bytes()
    audited(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_store_that_is_open_elsewhere_can_be_audited(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with MemoryStore(path, clock=ManualClock(NOW), ids=ulids(1)) as store:
        store.put("ann", "one")
        store.put("ann", "two")
        assert audited(path).total.facts == 2
        store.reflect("forget", "ann", target="one")
        assert audited(path).total.tombstones == 1
