"""What comes in from GrayMatter or another store goes out unchanged; importing never undoes or rewrites anything."""

import json
import sqlite3
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tombstore import Fact, MemoryStore, NotAStore, fact_from_json, fact_to_json
from tombstore.clock import ZERO_TIME
from tombstore.export import FORMATS, to_json, to_jsonl, to_markdown
from tombstore.graymatter.files import read_facts

OpenStore = Callable[..., MemoryStore]
MakeFact = Callable[..., Fact]

DATA = Path(__file__).parents[1] / "data"
VERSIONS = ["v0.8.0", "v0.11"]


def dumped(version: str) -> list[dict[str, Any]]:
    """The engine's own list of the database's facts, agent by agent."""
    agents = json.loads((DATA / f"graymatter-{version}" / "dump.json").read_text(encoding="utf-8"))
    return [record for agent in sorted(agents) for record in agents[agent]["list_newest_first"]]


# From the original's database through a store into its export


@pytest.mark.parametrize("version", VERSIONS)
def test_gray_db_comes_out_of_a_store_as_the_engine_listed_it(
    version: str, open_store: OpenStore, tmp_path: Path
) -> None:
    records = dumped(version)
    dump = read_facts(DATA / f"graymatter-{version}" / "gray.db")
    assert (dump.kind, dump.warnings, len(dump.facts)) == ("gray.db", (), 42)
    with open_store(tmp_path / "store.db") as store:
        assert store.import_facts(dump.facts) == 42
    facts = open_store(tmp_path / "store.db").list_facts()
    assert json.loads(to_json(facts)) == records
    assert [json.loads(line) for line in to_jsonl(facts).splitlines()] == records


@pytest.mark.parametrize("version", VERSIONS)
def test_each_record_comes_out_byte_for_byte_as_the_database_holds_it(version: str) -> None:
    whole = (DATA / f"graymatter-{version}" / "gray.db").read_bytes()
    facts = read_facts(DATA / f"graymatter-{version}" / "gray.db").facts
    assert [fact.id for fact in facts if fact_to_json(fact).encode() not in whole] == []
    assert fact_to_json(facts[-1])[:-1].encode() + b'X"' not in whole  # the search can fail


@pytest.mark.parametrize("version", VERSIONS)
def test_the_export_is_the_engines_array_in_its_layout(version: str) -> None:
    """Two-space indent, keys in order, its number and string forms: the dump's text with two spaces a level for one."""
    text = (DATA / f"graymatter-{version}" / "dump.json").read_text(encoding="utf-8")
    blocks: list[str] = []
    for block in text.split('"list_newest_first": [')[1:]:
        lines = block.split("\n  ],")[0].split("\n")[1:]
        blocks += ["\n".join("  " * (len(line) - len(line.lstrip()) - 2) + line.lstrip() for line in lines)]
    expected = "[\n" + ",\n".join(blocks) + "\n]\n"
    facts = read_facts(DATA / f"graymatter-{version}" / "gray.db").facts
    in_order_of_the_dump = [fact for agent in json.loads(text) for fact in facts if fact.agent_id == agent]
    assert to_json(in_order_of_the_dump) == expected


def test_retired_facts_of_0_11_stay_retired(store: MemoryStore) -> None:
    dump = read_facts(DATA / "graymatter-v0.11" / "gray.db")
    store.import_facts(dump.facts)
    assert len(store.list_facts(state="retired")) == sum("superseded_by" in record for record in dumped("v0.11")) == 2
    for retired in store.list_facts(state="retired"):
        assert retired.id not in [fact.id for fact in store.recall(retired.agent_id, retired.text, 50)]


# Formats


@pytest.fixture
def some(fact: MakeFact) -> list[Fact]:
    return [
        fact("f1", "billing by <Lemon> & co", superseded_by="f2", extra={"source": "chat"}),
        fact("f2", "billing by Polar\n", embedding=array("f", [0.1, 1e-7]), pinned=True, pinned_at=0, access_count=3),
        fact("f3", "# staging *password*", weight=0.0123, superseded_by="agent", pinned_at=ZERO_TIME),
    ]


def test_json_is_one_indented_array(some: list[Fact]) -> None:
    head = '[\n  {\n    "id": "f1",\n    "agent_id": "ann",\n    "text": "billing by \\u003cLemon\\u003e \\u0026 co",\n'
    assert to_json(some).startswith(head)
    assert '"weight": 1,\n    "embedding": [\n      0.1,\n      1e-7\n    ],\n    "pinned": true,\n' in to_json(some)
    assert to_json(some).endswith('"pinned_at": "0001-01-01T00:00:00Z"\n  }\n]\n')
    assert to_json([]) == "[]\n"


def test_jsonl_is_a_compact_line_a_fact(some: list[Fact]) -> None:
    assert to_jsonl(some) == "".join(f"{fact_to_json(fact)}\n" for fact in some)
    assert to_jsonl([]) == ""


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_both_are_read_again_as_the_same_facts(name: str, some: list[Fact], tmp_path: Path) -> None:
    (tmp_path / "export").write_text(FORMATS[name](some), encoding="utf-8")
    dump = read_facts(tmp_path / "export")
    assert (dump.kind, list(dump.facts), dump.warnings) == (name, some, ())


def test_a_stores_own_file_is_read_with_its_events(open_store: OpenStore, some: list[Fact], tmp_path: Path) -> None:
    with open_store(tmp_path / "store.db") as store:
        store.import_facts(some)
        events = store.events()
    dump = read_facts(tmp_path / "store.db")
    assert (dump.kind, list(dump.facts), list(dump.events)) == ("tombstore", some, events)


def test_markdown_marks_and_strikes_retired_facts_and_names_their_successor(some: list[Fact]) -> None:
    assert to_markdown(some) == (
        "## 2026-03-01T00:00:00Z (retired)\n\n~~billing by \\<Lemon\\> \\& co~~\n\n"
        "*weight 1.000, 0 accesses, `f1`, superseded by `f2`*\n\n"
        "## 2026-03-01T00:00:00Z\n\nbilling by Polar\n\n"
        "*weight 1.000, 3 accesses, `f2`, pinned*\n\n"
        "## 2026-03-01T00:00:00Z (retired)\n\n~~\\# staging \\*password\\*~~\n\n"
        "*weight 0.012, 0 accesses, `f3`, forgotten*\n"
    )


MARKUP = st.sampled_from(
    (
        "# head§- item§1. item§1) item§> quote§    code§\tcode§```§~~~§---§===§=§***§<b>bold</b>§<!-- -->§&amp;§&#35;§"
        "[link](url)§![image](url)§[a]: /url§| a | b |§|---|§*em*§__strong__§~~gone~~§`code`§a\\§\\*§line  §+ plus§"
        "<http://x.y>§plain§ §"
    ).split("§")
)


@given(st.lists(MARKUP | st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12), max_size=5))
@example(["hello", "==="])
@example(["    indented"])
def test_markdown_shows_every_text_as_itself(lines: list[str]) -> None:
    """Rendered, a fact is a heading, paragraphs of its very lines, and the line about its weight: no markup within."""
    text = "\n".join(lines)
    for marker in ("", "agent"):
        fact = Fact(id="f1", agent_id="ann", text=text, created_at=0, accessed_at=0, superseded_by=marker)
        tokens = MarkdownIt("commonmark").enable(["strikethrough", "table"]).parse(to_markdown([fact]))
        assert {token.type.removesuffix("_open").removesuffix("_close") for token in tokens} <= {
            "heading",
            "paragraph",
            "inline",
        }
        heading, *paragraphs, last = [token for token in tokens if token.type == "inline"]
        assert heading.content == "1970-01-01T00:00:00Z" + " (retired)" * bool(marker)
        assert last.content.startswith("*weight 1.000")
        shown: list[str] = [""]
        struck = 0
        for child in (child for paragraph in paragraphs for child in [*(paragraph.children or []), None]):
            if child is None or child.type == "softbreak":
                shown.append("")
            elif child.type in ("text", "text_special"):
                shown[-1] += child.content
            else:
                assert child.type in ("s_open", "s_close")
                struck += child.type == "s_open"
        said = [line.strip() for line in lines if line.strip()]
        assert [line for line in shown if line] == said
        assert struck == len(said) * bool(marker)


# Importing


def test_importing_again_changes_nothing(store: MemoryStore, some: list[Fact]) -> None:
    assert store.import_facts(some) == 3
    facts, events = store.list_facts(), store.events()
    assert store.import_facts(some) == 0
    assert (store.list_facts(), store.events()) == (facts, events)


def test_an_import_brings_news_of_a_retirement_and_never_takes_one_back(store: MemoryStore, fact: MakeFact) -> None:
    store.import_facts([fact("f1", "one"), fact("f2", "two"), fact("f3", "three", superseded_by="f1")])
    assert store.import_facts([fact("f1", "one", superseded_by="f2"), fact("f2", "two"), fact("f3", "three")]) == 0
    assert {f.id: f.superseded_by for f in store.list_facts()} == {"f1": "f2", "f2": "", "f3": "f1"}
    store.import_facts([fact("f3", "three", superseded_by="elsewhere")])
    assert store.get("ann", "f3").superseded_by == "f1"


def test_an_import_rewrites_nothing_of_a_fact_that_is_there(store: MemoryStore, fact: MakeFact) -> None:
    first = fact("f1", "one", weight=0.5, access_count=2, embedding=array("f", [1]), extra={"a": 1})
    store.import_facts([first])
    store.import_facts([fact("f1", "one", weight=0.9, access_count=9, pinned=True, extra={"b": 2})])
    assert store.get("ann", "f1") == first


@pytest.mark.parametrize(
    "change",
    [{"text": "uno"}, {"text": "one "}, {"at": "2026-03-01T00:00:00.000000001Z"}],
    ids=["text", "space", "time"],
)
def test_one_id_for_two_texts_is_an_error_and_nothing_of_the_import_stays(
    change: dict[str, str], store: MemoryStore, fact: MakeFact
) -> None:
    store.import_facts([fact("f1", "one")])
    facts, events = store.list_facts(), store.events()
    with pytest.raises(ValueError, match="ann: fact f1 is here with another text or time"):
        store.import_facts(
            [fact("f0", "zero"), fact("f9", "x", agent_id="bob"), fact("f1", **{"text": "one", **change})]
        )
    assert (store.list_facts(), store.events()) == (facts, events)


def test_an_id_twice_in_one_import_is_an_error(store: MemoryStore, fact: MakeFact) -> None:
    with pytest.raises(ValueError, match="ann: two imported facts have the ID f1"):
        store.import_facts([fact("f1", "one"), fact("f1", "two")])
    assert store.list_facts() == []
    assert store.import_facts([fact("f1", "hers"), fact("f1", "his", agent_id="bob")]) == 2


def test_an_id_with_a_nul_is_an_error(store: MemoryStore, fact: MakeFact) -> None:
    with pytest.raises(ValueError, match=r"NUL character: 'f\\x001'"):
        store.import_facts([fact("f\0001", "one")])


# Other files


def line(**fields: Any) -> str:
    return json.dumps({"id": "f1", "agent_id": "ann", "text": "one", **fields})


@pytest.mark.parametrize(
    ("content", "kind", "ids", "warning"),
    [
        (line(), "json", ["f1"], None),
        (f"\ufeff\n [{line()}]", "json", ["f1"], None),  # a byte order mark in front
        ("[]", "json", [], None),
        (line() + "\n\n" + line(id="f2") + "\n", "jsonl", ["f1", "f2"], None),
        (line() + "\n{oops\n" + line(id="f3"), "jsonl", ["f1", "f3"], ":2: not JSON"),
        (f"[{line()}, 7, null, [1]]", "json", ["f1"], "item 2: a fact is a JSON object, not int"),
        (f"[{line(weight='heavy')}, {line()}]", "json", ["f1"], "item 1: weight is str, expected float"),
    ],
)
def test_a_record_that_is_no_fact_is_left_out_and_named(
    content: str, kind: str, ids: list[str], warning: str | None, tmp_path: Path
) -> None:
    (tmp_path / "export").write_text(content, encoding="utf-8")
    dump = read_facts(tmp_path / "export")
    assert (dump.kind, [fact.id for fact in dump.facts]) == (kind, ids)
    assert bool(dump.warnings) == bool(warning)
    if warning:
        assert f"{tmp_path / 'export'}" in dump.warnings[0]
        assert warning in dump.warnings[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"[7]", "none of the 1 records is a fact"),
        (b"[1, 2", "not valid JSON"),
        (b"{oops", "not valid JSON"),
        (b"{\n{", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"neither of these", "gray.db"),
        (b"SQLite format 3\0 and no more", "not a database"),
    ],
)
def test_a_file_without_facts_is_refused_by_name(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "gray.db").write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_facts(tmp_path / "gray.db")
    assert str(tmp_path / "gray.db") in str(caught.value)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_facts(tmp_path / "nothing.json")


def test_another_programs_database_is_not_a_store(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE facts (id TEXT)")
    connection.close()
    with pytest.raises(NotAStore, match="not a tombstore"):
        read_facts(tmp_path / "other.db")


def test_an_exported_fact_is_read_as_json_would_be(some: list[Fact]) -> None:
    assert [fact_from_json(record) for record in json.loads(to_json(some))] == some
