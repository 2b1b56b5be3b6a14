"""Data sets of others: what each row becomes, that source and licence stay, and that nothing is dropped in silence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue import plugins
from stilltrue.documents import InvalidData
from stilltrue.importers import Imported, Importer, Options, imported
from stilltrue.pairs import read_pairs
from stilltrue.scenarios import load_suite

Run = Callable[..., Any]
Write = Callable[..., Path]

HERE = Path(__file__).parents[1] / "data/importers"
OUTSIDE = Path(__file__).parents[3] / "shared/data"

PAIRS = {
    "snli": ("snli.jsonl", ["contradicts", "refines", "coexists"], 1),
    "vitaminc": ("vitaminc.jsonl", ["refines", "contradicts", "coexists"], 2),
    "fever_symmetric": ("fever_symmetric.jsonl", ["refines", "contradicts", "contradicts"], 2),
    "sick": ("sick.tsv", ["contradicts", "refines", "coexists"], 2),
    "normalized": ("normalized.jsonl", ["contradicts", "refines", "coexists"], 2),
    "table": ("table.jsonl", ["supersedes", "coexists"], 1),
}
SCENARIOS = {"locomo": "locomo.json", "longmemeval": "longmemeval.json", "memoryagentbench": "memoryagentbench.json"}
FORMATS = [*PAIRS, *SCENARIOS]


def an_importer(name: str) -> Importer:
    return plugins.make(plugins.IMPORTERS, name)


def read(name: str, path: Path, **options: Any) -> Imported:
    importer = an_importer(name)
    return imported(importer, path, Options(source=importer.source, licence=importer.licence, **options))


def asks(found: Imported) -> list[dict[str, Any]]:
    (family,) = found.families
    steps = [step for scenario in family.scenarios for step in scenario.steps]
    return [step.ask.model_dump(exclude_defaults=True) for step in steps if step.ask]


def told(found: Imported) -> list[tuple[str, str]]:
    (family,) = found.families
    steps = [step for scenario in family.scenarios for step in scenario.steps]
    return [(step.remember.id, step.remember.text) for step in steps if step.remember]


def test_every_importer_has_a_sample_in_the_tests() -> None:
    assert sorted(FORMATS) == sorted(name for name, _ in plugins.summaries(plugins.IMPORTERS))


# Pairs


@pytest.mark.parametrize("name", PAIRS)
def test_each_labelled_row_becomes_a_pair_with_its_authors_label_source_and_licence(name: str) -> None:
    file, relations, groups = PAIRS[name]
    found = read(name, HERE / file)
    assert [pair.relation for pair in found.pairs] == relations
    assert len({pair.group for pair in found.pairs}) == groups
    assert {pair.split for pair in found.pairs} == {"external"}
    assert all(pair.source and pair.licence and pair.labels.second is None for pair in found.pairs)
    assert found.problems == []


def test_what_came_first_is_the_older_fact() -> None:
    firsts = {name: read(name, HERE / PAIRS[name][0]).pairs[0] for name in PAIRS}
    assert {name: (pair.older.text, pair.newer.text) for name, pair in firsts.items()} == {
        "snli": ("A woman in a red coat waits at the tram stop.", "The tram stop is deserted."),
        "vitaminc": (
            "As of May, 43 ferries serve the archipelago.",
            "More than 40 ferries serve the archipelago.",
        ),
        "fever_symmetric": ("The film was directed by Orla Fenn.", "Orla Fenn directed the film."),
        "sick": ('A cat sleeps on the "blue" sofa', "The sofa is empty"),
        "normalized": ("The kiln reaches 1,200 degrees.", "The kiln never exceeds 900 degrees."),
        "table": ("Choir meets on Tuesdays.", "Choir meets on Mondays from May on."),
    }


def test_a_row_on_which_the_annotators_found_no_label_is_counted_as_left_out() -> None:
    found = read("snli", HERE / "snli.jsonl")
    assert found.rows == 4
    assert dict(found.left_out) == {"the annotators found no common label": 1}


def test_adversarial_nli_uses_other_keys_and_letters() -> None:
    found = read("snli", HERE / "anli.jsonl")
    assert [(pair.id, pair.relation) for pair in found.pairs] == [
        ("snli-a1", "contradicts"),
        ("snli-a2", "refines"),
        ("snli-a3", "coexists"),
    ]


def test_a_fever_claim_and_its_edits_are_one_group() -> None:
    groups = [pair.group for pair in read("fever_symmetric", HERE / "fever_symmetric.jsonl").pairs]
    assert groups == ["fever_symmetric-4711", "fever_symmetric-4711", "fever_symmetric-812"]


def test_rows_of_the_normalized_form_keep_their_own_source_and_licence() -> None:
    found = read("normalized", HERE / "normalized.jsonl")
    assert [(pair.source, pair.licence) for pair in found.pairs] == [
        ("kilns", "CC0"),
        ("kilns", "CC0"),
        ("painters", "MIT"),
    ]


def test_a_table_is_read_by_a_map_of_columns_and_labels() -> None:
    columns = {"id": "nr", "older": "before", "newer": "after", "newer_at": "seen", "label": "verdict"}
    found = read("table", HERE / "table.csv", columns=columns, relations={"stale": "supersedes", "Fine": "refines"})
    first, second = found.pairs
    assert (first.id, first.relation, first.older.text) == ("table-7", "supersedes", "The gate code is 1180, ask Jo.")
    assert str(first.newer.at) == "2025-03-01 08:00:00+00:00"
    assert (second.relation, second.newer.text) == ("refines", "Jo has the ladder\nand the saw.")


def test_a_column_that_is_none_of_ours_is_refused_with_a_hint() -> None:
    with pytest.raises(InvalidData, match=r"unknown column 'odler' \(did you mean 'older'\?\)"):
        read("table", HERE / "table.csv", columns={"odler": "before"})


def test_a_table_without_a_needed_column_is_refused_once_with_the_columns_that_it_has() -> None:
    for columns in ({}, {"older": "befor", "newer": "after", "label": "verdict"}):
        with pytest.raises(
            InvalidData, match=r"table\.csv:1: no column .*; the columns, split at ',', are 'nr', 'before'"
        ):
            read("table", HERE / "table.csv", columns=columns)


# Scenarios


def test_a_locomo_conversation_becomes_told_turns_and_questions_with_their_evidence() -> None:
    found = read("locomo", HERE / "locomo.json")
    assert told(found) == [
        ("d1-1", "Ines: I adopted a greyhound called Bolt."),
        ("d1-2", "Tom: Lovely! I am off to Porto in June."),
        ("d2-1", "Tom: Porto was too hot for me."),
    ]
    assert asks(found) == [
        {"query": "What is Ines's dog called?", "gold": ("d1-1",)},
        {"query": "Where did Tom go in June?", "gold": ("d1-2", "d2-1")},
    ]
    assert dict(found.left_out) == {
        "an adversarial question, which has no answer": 1,
        "a question without evidence in the conversation": 1,
    }


def test_longmemevals_earlier_evidence_is_outdated_though_nobody_retired_it() -> None:
    found = read("longmemeval", HERE / "longmemeval.json")
    assert asks(found) == [{"query": "How many plants do I have?", "gold": ("s2-1",), "implied": ("s1-1",)}]
    assert [name for name, _ in told(found)] == ["s1-1", "s1-3", "s2-1"]
    assert dict(found.left_out) == {"a question of another type than knowledge-update": 1}


def test_fact_consolidations_later_fact_wins_over_the_one_that_it_contradicts() -> None:
    found = read("memoryagentbench", HERE / "memoryagentbench.json")
    assert asks(found) == [
        {"query": "What is the capital of Velmora?", "gold": ("f2",), "implied": ("f0",)},
        {"query": "Which position does Lena Ruiz play?", "gold": ("f1",)},
    ]
    assert dict(found.left_out) == {
        "a question for which no fact with its answer was found": 1,
        "a multi-hop question, whose facts are not told": 1,
        "not of FactConsolidation": 1,
    }


def test_parquet_and_jsonl_hold_the_same_as_json(tmp_path: Path) -> None:
    rows = json.loads((HERE / "memoryagentbench.json").read_text(encoding="utf-8"))
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    expected = read("memoryagentbench", HERE / "memoryagentbench.json").families
    for name in ("rows.parquet", "rows.jsonl"):
        assert read("memoryagentbench", tmp_path / name).families == expected


# What can't be read


WRONG_ORDER = {
    "older": "a",
    "newer": "b",
    "label": "refines",
    "older_at": "2025-01-02T00:00Z",
    "newer_at": "2024-01-02T00:00Z",
}
ANOTHER_DATE = {
    "question_id": "1",
    "question_type": "knowledge-update",
    "question": "?",
    "question_date": "today",
    "haystack_dates": ["1 May"],
    "haystack_sessions": [[]],
}
NO_ANSWERS = {"metadata": {"source": "factconsolidation"}, "context": "0. A is B.", "questions": ["?"], "answers": []}

MALFORMED: dict[str, tuple[str, str | bytes, str]] = {
    "not JSON": ("snli", '{"gold_label": \n', "1: not JSON: "),
    "not an object": ("snli", "[1, 2]\n", "1: expected an object, got list"),
    "not UTF-8": ("snli", b"\n{\xff}", "2: not JSON: "),
    "missing key": ("vitaminc", '{"unique_id": "1", "claim": "a", "label": "SUPPORTS"}\n', "1: the key 'evidence' is"),
    "unknown label": (
        "snli",
        '{"sentence1": "a", "sentence2": "b", "gold_label": "maybe"}\n',
        "1: the label is 'maybe', which is none of contradiction, ",
    ),
    "blank text": (
        "snli",
        '{"sentence1": "a", "sentence2": " ", "gold_label": "neutral"}\n',
        "1: newer: the text is blank",
    ),
    "a number for a text": (
        "normalized",
        '{"id": 1, "premise": 3, "hypothesis": "b", "label": "neutral"}\n',
        "1: older: expected a text",
    ),
    "too few cells": ("sick", "pair_ID\tsentence_A\tsentence_B\n1\ta\n", "2: 2 cells, the head has 3"),
    "times in the wrong order": (
        "table",
        json.dumps(WRONG_ORDER),
        "1: older_at is later than newer_at",
    ),
    "an unmapped label": (
        "table",
        '{"older": "a", "newer": "b", "label": "bad"}\n',
        "1: the label is 'bad'; map it: --relation 'bad'=coexists",
    ),
    "a conversation without questions": (
        "locomo",
        '[{"sample_id": "x", "conversation": {}}]',
        " item 1: the key 'qa' is missing",
    ),
    "another date": ("longmemeval", json.dumps([ANOTHER_DATE]), " item 1: malformed: time data '1 May' does not match"),
    "questions without answers": (
        "memoryagentbench",
        json.dumps([NO_ANSWERS]),
        " item 1: malformed: zip() argument 2 is shorter than argument 1",
    ),
    "a list of numbers": ("locomo", "[1]", " item 1: expected an object, got int"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_row_is_named_with_its_place_and_counted(case: str, tmp_path: Path) -> None:
    name, content, complaint = MALFORMED[case]
    path = tmp_path / ("rows" + Path(PAIRS[name][0] if name in PAIRS else SCENARIOS[name]).suffix)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read(name, path)
    (problem,) = found.problems
    assert problem.startswith(f"{path}:{complaint}")
    assert len(found.malformed) == 1
    assert found.rows >= 1


def test_a_file_that_is_no_json_at_all_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[\n{]", encoding="utf-8")
    with pytest.raises(InvalidData, match=r"x\.json:2: not JSON"):
        read("locomo", tmp_path / "x.json")


def test_rows_with_one_id_are_told_apart_or_counted_as_copies(tmp_path: Path) -> None:
    row = {"id": "1", "premise": "a", "hypothesis": "b", "label": "neutral"}
    lines = [row, row, row | {"hypothesis": "c"}]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    found = read("normalized", tmp_path / "x.jsonl")
    assert len(found.pairs) == 1
    assert dict(found.left_out) == {"a copy of an earlier row": 1}
    assert len(found.malformed) == 1


KEYS = st.sampled_from(
    "sentence1 sentence2 gold_label premise hypothesis label claim evidence id unique_id case_id older newer context "
    "qa conversation sample_id session_1 session_1_date_time question question_id question_type question_date "
    "haystack_dates haystack_sessions questions answers metadata source".split()
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES | st.sampled_from(["neutral", "knowledge-update", "factconsolidation_sh", "1:56 pm on 8 May, 2023"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("name", FORMATS)
@given(rows=st.lists(st.dictionaries(KEYS, VALUES, max_size=8), max_size=3))
def test_every_row_is_read_left_out_or_complained_about(
    name: str, rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"fuzz-{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = read(name, path)
    if name != "sick":  # a table, where one line is the head
        assert found.rows == len(rows)
        made = len(found.pairs) + sum(len(family.scenarios) for family in found.families)
        assert made + len(found.malformed) + sum(found.left_out.values()) >= len(rows)


# The command


def test_the_command_writes_pairs_that_validate_and_keep_their_licence(stilltrue: Run, tmp_path: Path) -> None:
    out = tmp_path / "vitaminc.jsonl"
    result = stilltrue("data", "import", "vitaminc", HERE / "vitaminc.jsonl", "--out", out, "--source", "vitaminc dev")
    assert result.exit_code == 0
    assert f"wrote {out}: 3 pairs from 3 rows, 0 malformed" in result.stdout
    written = read_pairs(out)
    assert written.header
    assert (written.header.dataset, written.header.licence) == ("vitaminc dev", "CC BY-SA 3.0")
    assert {pair.source for pair in written.pairs} == {"vitaminc dev"}
    assert stilltrue("validate", out).exit_code == 0


def test_the_command_writes_scenarios_that_evals_can_run(stilltrue: Run, tmp_path: Path) -> None:
    out = tmp_path / "consolidation.yaml"
    assert stilltrue("data", "import", "memoryagentbench", HERE / "memoryagentbench.json", "--out", out).exit_code == 0
    (family,) = load_suite(out).families
    assert (family.family, family.source, family.licence) == ("consolidation", "memoryagentbench", "MIT")
    assert family.corrections == "implied"


def test_malformed_rows_are_printed_counted_and_with_strict_nothing_is_written(
    stilltrue: Run, write: Write, tmp_path: Path
) -> None:
    good = (HERE / "snli.jsonl").read_text(encoding="utf-8")
    rows = write({"rows.jsonl": "{\n" + good}) / "rows.jsonl"
    for strict, code in (((), 0), (("--strict",), 2)):
        out = tmp_path / f"{code}.jsonl"
        result = stilltrue("data", "import", "snli", rows, "--out", out, *strict)
        assert result.exit_code == code
        assert f"{rows}:1: not JSON" in result.stderr
        assert "3 pairs from 5 rows, 1 malformed" in result.stdout
        assert "left out: 1, the annotators found no common label" in result.stdout
        assert out.exists() == (not strict)
    document = json.loads(stilltrue("data", "import", "snli", rows, "--out", tmp_path / "o.jsonl", "--json").stdout)
    assert (document["rows"], document["pairs"], document["malformed"]) == (5, 3, 1)


MISTAKES = {
    "unknown format": ("data import snlii ROWS --out o.jsonl", "unknown importer 'snlii' (did you mean 'snli'?)"),
    "missing file": ("data import snli nowhere --out o.jsonl", "nowhere: No such file or directory"),
    "pairs as yaml": ("data import snli ROWS --out o.yaml", "but snli gives pairs: name a file *.jsonl"),
    "scenarios as jsonl": ("data import locomo ROWS --out o.jsonl", "but locomo gives scenarios: name a file *.yaml"),
    "no map": ("data import table ROWS --out o.jsonl --column older", "--column 'older': expected NAME=VALUE"),
    "unknown relation": (
        "data import table ROWS --out o.jsonl --relation stale=superseeds",
        "unknown relation 'superseeds' (did you mean 'supersedes'?)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_clear_line_and_exit_code_2(
    stilltrue: Run, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    arguments, complaint = MISTAKES[case]
    result = stilltrue(*arguments.replace("ROWS", "snli.jsonl").split())
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert "Traceback" not in result.output
    assert not (HERE / "o.jsonl").exists()


# Outside data, which is not part of the project


@pytest.mark.skipif(not OUTSIDE.is_dir(), reason="the outside data (shared/data) is not beside this checkout")
@pytest.mark.parametrize(
    ("name", "file", "pairs"),
    [
        ("fever_symmetric", "raw/fever_symmetric_v0.1_full.jsonl", 956),
        ("fever_symmetric", "raw/fever_symmetric_v0.2_dev.jsonl", 708),
        ("normalized", "conjnli.jsonl", 623),
        ("normalized", "negation_mnli.jsonl", 1500),
        ("normalized", "fool_me_twice.jsonl", 1000),
        ("normalized", "letta_core_memory_update.jsonl", 400),
    ],
)
def test_public_pairs_are_read_without_a_loss(name: str, file: str, pairs: int) -> None:
    found = read(name, OUTSIDE / file)
    assert (len(found.pairs), found.problems) == (pairs, [])
    assert all(pair.licence for pair in found.pairs)


@pytest.mark.skipif(not OUTSIDE.is_dir(), reason="the outside data (shared/data) is not beside this checkout")
def test_public_longmemeval_instances_are_read() -> None:
    found = read("longmemeval", OUTSIDE / "memory/longmemeval_s_3instances.json")
    assert found.problems == []
    assert all(ask["gold"] and ask["implied"] for ask in asks(found))
