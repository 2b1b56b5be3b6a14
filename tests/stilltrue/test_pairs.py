"""Labelled pairs: what a file must hold, what gives a change away, how far two annotators agree, how it is divided."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue import contradictions
from stilltrue.agreement import agreement, kappa
from stilltrue.documents import InvalidData
from stilltrue.pairchecks import across_splits, problems
from stilltrue.pairs import CANARY, RELATIONS, RETIRING, Pair, PairSet, Relation, counted, line, read_pairs, write_pairs
from stilltrue.splits import divided

Run = Callable[..., Any]

WORDS = (
    "anchor birch copper dune ember fjord granite harbor iris juniper kettle lantern meadow north opal pepper".split()
)


def label(relation: str, **more: Any) -> dict[str, Any]:
    return {"relation": relation, "should_retire": relation in RETIRING, **more}


def a_pair(name: str, relation: str = "coexists", **fields: Any) -> Pair:
    """A pair with texts of its own, as both annotators and the adjudication label it."""
    number = int.from_bytes(name.encode(), "big")
    told = " ".join(WORDS[(number >> (4 * place)) % len(WORDS)] for place in range(5))
    given = {
        "id": name,
        "group": name,
        "older": {"text": f"{name}: {told}", "at": "2025-01-02T08:01:00Z"},
        "newer": {"text": f"{told[::-1]} ({name})", "at": "2025-03-02T09:12:00Z"},
        "relation": relation,
        "should_retire": relation in RETIRING,
        "family": "numeric" if relation in RETIRING else "other_time",
        "domain": "test",
        "difficulty": "medium",
        "split": "dev",
        "labels": {"first": label(relation), "second": label(relation), "adjudicated": label(relation)},
        "rationale": "why",
    }
    return Pair.model_validate(given | fields)


def saved(path: Path, pairs: Sequence[Pair], **header: str) -> PairSet:
    write_pairs(path, pairs, **{"dataset": "d", "version": "1", "licence": "CC BY 4.0", "canary": CANARY, **header})
    return read_pairs(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Eight pairs in two splits, sealed."""
    pairs = [
        a_pair(f"p{number}", "supersedes" if number % 2 else "coexists", split="dev" if number < 4 else "test")
        for number in range(8)
    ]
    saved(tmp_path / "pairs.jsonl", pairs)
    return tmp_path / "pairs.jsonl"


# The file


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    pairs = [a_pair("one"), a_pair("two", "contradicts", weight=2.5, stratum="near", source="s", licence="l")]
    found = saved(tmp_path / "p.jsonl", pairs)
    assert list(found.pairs) == pairs
    assert found.header
    assert found.header.sha256 == found.content
    assert found.lines == {"one": 2, "two": 3}


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        saved(tmp_path / name, [a_pair("one"), a_pair("two")])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def changed(file: Path, number: int, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrite one line of a file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    value = json.loads(lines[number])
    change(value)
    lines[number] = json.dumps(value, ensure_ascii=False)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another relation": (lambda one: one.update(relation="refines"), "are not those of labels.adjudicated"),
    "another should_retire": (lambda one: one.update(should_retire=True), "are not those of labels.adjudicated"),
    "ambiguous by hand": (lambda one: one.update(ambiguous=True), "are not those of labels.adjudicated"),
    "a retiring refinement": (
        lambda one: one["labels"].update(second={"relation": "refines", "should_retire": True}),
        "should_retire is True, which 'refines' is not",
    ),
    "a disagreement without a reason": (
        lambda one: one["labels"].update(second=label("supersedes")),
        "the annotators disagree or the pair is ambiguous, and no reason is written",
    ),
    "an overruled label without a reason": (
        lambda one: (one["labels"].update(adjudicated=label("refines")), one.update(relation="refines")),
        "the annotators disagree or the pair is ambiguous, and no reason is written",
    ),
    "the wrong order": (
        lambda one: one["newer"].update(at="2024-01-01T00:00:00Z"),
        "the older fact is newer than the newer one",
    ),
    "a blank text": (lambda one: one["older"].update(text="  "), "text: the text is blank"),
    "a key too many": (lambda one: one.update(famly="x"), "unknown key 'famly'"),
    "no rationale": (lambda one: one.pop("rationale"), "the key 'rationale' is missing"),
    "another split": (lambda one: one.update(split="train"), "split: Input should be 'dev', 'test' or 'external'"),
    "an id of another line": (lambda one: one.update(id="p1"), "the id 'p1' is used on line 3 already"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_pair_that_is_not_of_the_form_is_refused_with_its_line(file: Path, case: str) -> None:
    change, complaint = WRONG[case]
    changed(file, 3, change)
    with pytest.raises(InvalidData) as caught:
        read_pairs(file)
    assert any(f"{file}:4: " in problem and complaint in problem for problem in caught.value.problems)


def test_what_is_no_json_and_an_empty_file_are_refused(tmp_path: Path) -> None:
    for content, complaint in ((b"{\n", "p:1: not JSON"), (b"\xff\n", "p:1: not UTF-8"), (b"", "p: no pairs in it")):
        (tmp_path / "p").write_bytes(content)
        with pytest.raises(InvalidData, match=complaint):
            read_pairs(tmp_path / "p")


# What gives a change away


def test_a_sealed_file_has_no_problem(file: Path) -> None:
    assert problems(file, read_pairs(file), strict=False) == []


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "one text": lambda one: one["newer"].update(text="Something else altogether."),
    "one label, everywhere": lambda one: one.update(
        relation="refines", labels={name: label("refines") for name in ("first", "second", "adjudicated")}
    ),
    "one split": lambda one: one.update(split="test" if one["split"] == "dev" else "dev"),
    "one rationale": lambda one: one.update(rationale="because"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_one_pair_breaks_the_seal(file: Path, change: str) -> None:
    changed(file, 3, CHANGES[change])
    (problem,) = problems(file, read_pairs(file), strict=False)
    assert "a pair was changed after the file was sealed" in problem


def test_a_group_in_two_splits_is_named(tmp_path: Path) -> None:
    pairs = [a_pair("one", group="g"), a_pair("two", group="g", split="test")]
    found = saved(tmp_path / "p", pairs)
    assert problems(tmp_path / "p", found, strict=False) == [
        f"{tmp_path / 'p'}:3: two is in test, one of the same group 'g' in dev"
    ]


def test_near_duplicates_across_splits_are_named_with_their_similarity(tmp_path: Path) -> None:
    first, second = "The attic key hangs behind the boiler.", "The attic key hangs behind the boiler!"
    pairs = [a_pair("one", older={"text": first}), a_pair("two", older={"text": second}, split="test")]
    (problem,) = problems(tmp_path / "p", saved(tmp_path / "p", pairs), strict=False)
    assert (
        f"near-duplicates across splits (similarity 1.00, at most 0.9): {first!r} in dev, {second!r} in test" in problem
    )


def test_copies_and_texts_in_two_groups_are_named_in_a_published_set(tmp_path: Path) -> None:
    one = a_pair("one")
    copy = a_pair("two", older={"text": one.older.text.upper()}, newer={"text": f"{one.newer.text}."})
    half = a_pair("six", older={"text": one.older.text})
    found = saved(tmp_path / "p", [one, copy, half])
    told = problems(tmp_path / "p", found, strict=True)
    assert f"{tmp_path / 'p'}:3: two has the same texts as one" in told
    assert any(f"{tmp_path / 'p'}:4: six has a text of one, of another group: " in problem for problem in told)
    assert problems(tmp_path / "p", found, strict=False) == []


def test_a_published_set_needs_header_canary_balance_and_size(tmp_path: Path) -> None:
    pairs = [a_pair("one"), a_pair("two", split="test")]
    told = "\n".join(problems(tmp_path / "p", saved(tmp_path / "p", pairs, canary="tweet"), strict=True))
    assert f"{tmp_path / 'p'}:1: the canary is not {CANARY!r}" in told
    assert "0 of 2 pairs are positive (all), expected 35% to 45%" in told
    assert "0 positives in test, expected at least 300" in told
    (tmp_path / "bare").write_text("".join(map(line, pairs)), encoding="utf-8")
    bare = read_pairs(tmp_path / "bare")
    assert f"{tmp_path / 'bare'}:1: no header line" in problems(tmp_path / "bare", bare, strict=True)[0]
    assert problems(tmp_path / "bare", bare, strict=False) == []


def test_ambiguous_pairs_are_counted_by_no_gate() -> None:
    reason = "both readings hold"
    final = label("supersedes", ambiguous=True, reason=reason)
    unclear = a_pair("one", "supersedes", ambiguous=True, labels={
        "first": label("supersedes"), "second": label("coexists"), "adjudicated": final,
    })  # fmt: skip
    assert counted([unclear, a_pair("two"), a_pair("six", split="test")]) == [
        a_pair("two"),
        a_pair("six", split="test"),
    ]
    assert [pair.id for pair in counted([unclear, a_pair("two"), a_pair("six", split="test")], "test")] == ["six"]


def test_nothing_is_near_when_there_is_one_split_only() -> None:
    assert across_splits([a_pair("one"), a_pair("two")]) is None
    far = across_splits([a_pair("one", older={"text": "aaa"}, newer={"text": "bbb"}),
                         a_pair("two", older={"text": "ccc"}, newer={"text": "ddd"}, split="test")])  # fmt: skip
    assert far
    assert far.similarity == 0


# Agreement


def two(first: Relation, second: Relation) -> dict[str, Any]:
    return {
        "first": label(first),
        "second": label(second),
        "adjudicated": label(first, reason=None if first == second else "the first is right"),
    }


def test_kappa_agrees_with_the_textbook() -> None:
    # Cohen (1960): 25 of 50 both yes, 15 both no, 5 and 5 mixed gives (0.8 - 0.52) / 0.48.
    pairs = [*[(True, True)] * 25, *[(False, False)] * 15, *[(True, False)] * 5, *[(False, True)] * 5]
    found = kappa(pairs, (True, False))
    assert found.value == pytest.approx((0.8 - 0.52) / 0.48)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert found.n == 50


def test_kappa_of_full_agreement_is_1_and_of_one_label_only_is_undefined() -> None:
    assert kappa([(True, True), (False, False)], (True, False)).value == 1
    assert kappa([(True, True)] * 3, (True, False)).value is None
    assert kappa([], (True, False)).value is None


@given(st.lists(st.tuples(st.sampled_from(RELATIONS), st.sampled_from(RELATIONS)), min_size=1, max_size=30))
def test_kappa_is_symmetric_and_within_its_bounds(given_labels: list[tuple[Relation, Relation]]) -> None:
    found = kappa(given_labels, RELATIONS)
    turned = kappa([(second, first) for first, second in given_labels], RELATIONS)
    assert (found.value is None) == (turned.value is None)
    if found.value is not None:
        assert found.value == pytest.approx(turned.value)
        assert -1 <= (found.low or 0) <= found.value + 1e-9
        assert found.value - 1e-9 <= (found.high or 0) <= 1


def test_agreement_is_told_by_family_and_doubts_are_counted() -> None:
    doubtful = {
        "first": label("coexists", doubt=True),
        "second": label("coexists"),
        "adjudicated": label("coexists"),
    }
    found = agreement(
        [
            a_pair("one", "supersedes", labels=two("supersedes", "contradicts")),
            a_pair("two", "supersedes", labels=two("supersedes", "coexists")),
            a_pair("six", labels=doubtful),
        ]
    )
    assert found
    assert {name: (one.value, one.n) for name, one in found.by_family.items()} == {
        "numeric": (0.5, 2),
        "other_time": (1.0, 1),
    }
    assert (found.pairs, found.doubted, found.equal.value) == (3, 1, pytest.approx(2 / 3))


def test_one_annotator_alone_agrees_with_nobody() -> None:
    labels = {"first": label("coexists"), "second": None, "adjudicated": label("coexists")}
    assert agreement([a_pair("one", labels=labels)]) is None


# Splits


@given(seed=st.integers(0, 50))
def test_groups_stay_together_and_families_in_proportion_whatever_the_seed(seed: int) -> None:
    families = ("numeric", "negated", "refinement", "question")
    pairs = [a_pair(f"p{n}", group=f"g{n // 2}", family=families[n % 4]) for n in range(240)]
    found = divided(pairs, seed=seed)
    splits: defaultdict[str, set[str]] = defaultdict(set)
    for pair in found:
        splits[pair.group].add(pair.split)
    assert all(len(members) == 1 for members in splits.values())
    in_test = Counter(pair.family for pair in found if pair.split == "test")
    assert all(30 <= in_test[family] <= 42 for family in families)
    assert divided(pairs, seed=seed) == found


# The command


def test_validate_tells_what_a_file_of_pairs_holds(stilltrue: Run, file: Path) -> None:
    result = stilltrue("validate", file)
    assert result.exit_code == 0
    assert "8 labelled pairs (4 dev, 4 test) in 8 groups, 4 positive, 0 ambiguous; SHA-256 " in result.stdout
    assert "nearest texts across splits: similarity 0." in result.stdout
    strict = stilltrue("validate", "--strict", file)
    assert strict.exit_code == 2
    assert "4 of 8 pairs are positive (all), expected 35% to 45%" in strict.stderr
    document = json.loads(stilltrue("validate", "--json", file).stdout)
    assert (document["valid"], document["pairs"]["positives"], document["families"]) == (True, 4, [])


def test_agreement_reads_a_file_of_pairs(stilltrue: Run, file: Path) -> None:
    result = stilltrue("agreement", file)
    assert result.exit_code == 0
    assert "8 pairs with two labels" in result.stdout
    assert "1.000 (1.000 to 1.000)" in result.stdout
    assert json.loads(stilltrue("agreement", file, "--json").stdout)["agreement"]["should_retire"]["value"] == 1.0
    file.write_text("{}\n", encoding="utf-8")
    assert stilltrue("agreement", file).exit_code == 2


def test_a_folder_is_read_as_pairs_when_it_holds_some(file: Path) -> None:
    assert contradictions.is_labelled(file)
    assert contradictions.is_labelled(file.parent)
    assert not contradictions.is_labelled(file.parent / "nothing")
