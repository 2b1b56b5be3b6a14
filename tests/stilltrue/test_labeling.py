"""Labelling one's own store: the draw and its weights, the sheet that loses nothing, the terminal, the estimates."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rich.console import Console

from stilltrue.documents import InvalidData
from stilltrue.labeling.estimates import weighted_share
from stilltrue.labeling.sampling import BANDS, Sample, draw, spread
from stilltrue.labeling.sheet import ADJUDICATED, Given, Sheet, as_pairs, new_sheet, read_sheet
from stilltrue.labeling.terminal import KEYS, Terminal
from stilltrue.pairs import RELATIONS, RETIRING, Relation, Statement
from tombstore import Fact, parse_instant
from tombstore.candidates import FLOOR, NEIGHBORS, similar_pairs
from tombstore.export import to_json

Run = Callable[..., Any]

DAY_NS = 24 * 3600 * 10**9
START = parse_instant("2026-01-05T09:00:00Z")
STORE = Path(__file__).parents[1] / "data/graymatter-v0.11/gray.db"


def facts(number: int, agent: str = "ann") -> list[Fact]:
    return [
        Fact(id=f"{agent}{n}", agent_id=agent, text=f"{agent} says {n}", created_at=at, accessed_at=at)
        for n in range(number)
        if (at := START + n * DAY_NS)
    ]


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector for each text by its number: neighbors in number are neighbors in angle."""
    angles = [0.11 * int(text.rpartition(" ")[2]) for text in texts]
    return np.array([(np.cos(angle), np.sin(angle)) for angle in angles], dtype=np.float32)


def a_sheet(path: Path, size: int = 6) -> Sheet:
    return new_sheet(path, draw(facts(12), embed, size=size, seed=1), size=size, seed=1, embedder="e", store="s")


def a_label(relation: Relation, **more: Any) -> Given:
    return Given(relation=relation, should_retire=relation in RETIRING, **more)


# Candidates


@given(
    vectors=st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=0, max_size=12),
    cap=st.integers(0, 4),
)
def test_candidates_are_those_of_a_plain_search(vectors: list[list[int]], cap: int) -> None:
    matrix = np.array(vectors, dtype=np.float32).reshape(len(vectors), 3)
    found = {(first, second) for first, second, _ in similar_pairs(matrix, floor=0.3, neighbors=cap)}
    norms = np.linalg.norm(matrix, axis=1)
    expected: set[tuple[int, int]] = set()
    units = [row / norm if norm else row for row, norm in zip(matrix, norms, strict=True)]
    for one in range(len(units)):
        cosines = [
            (-float(np.dot(units[one], units[other]).astype(np.float32)), other)
            for other in range(len(units))
            if other != one
        ]
        near = [other for cosine, other in sorted(cosines) if -cosine >= 0.3][:cap]
        expected |= {(min(one, other), max(one, other)) for other in near}
    # Equal cosines may differ in their last bit between the two ways: what is in one only must be such a tie.
    cosine = {(one, other): float(np.dot(units[one], units[other])) for one, other in found ^ expected}
    kept = [float(np.dot(units[one], units[other])) for one, other in found & expected]
    assert all(abs(value - 0.3) < 1e-6 or any(abs(value - one) < 1e-6 for one in kept) for value in cosine.values())


def test_a_fact_is_compared_with_its_nearest_ones_only() -> None:
    angles = np.linspace(0, 0.5, 30)
    near = similar_pairs(np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32))
    assert all(cosine >= FLOOR for *_, cosine in near)
    assert max(Counter(first for first, *_ in near).values()) <= 2 * NEIGHBORS
    assert {(0, n) for n in range(1, NEIGHBORS + 1)} <= {(first, second) for first, second, _ in near}
    assert similar_pairs(np.zeros((3, 2), dtype=np.float32)) == []


# The draw


def test_the_same_seed_draws_the_same_sample_and_another_one_another() -> None:
    once, again, other = (draw(facts(40), embed, size=20, seed=seed) for seed in (1, 1, 2))
    assert once == again
    assert {pair.older for pair in once.pairs} != {pair.older for pair in other.pairs} or once.pairs != other.pairs


@given(size=st.integers(1, 200), number=st.integers(2, 40), seed=st.integers(0, 5))
def test_the_weights_of_a_sample_add_up_to_all_candidate_pairs(size: int, number: int, seed: int) -> None:
    sample = draw(facts(number), embed, size=size, seed=seed)
    candidates = sum(n for n, _ in sample.bands.values())
    assert len(sample.pairs) == min(size, candidates)
    for band, (available, drawn) in sample.bands.items():
        members = [pair for pair in sample.pairs if pair.band == band]
        assert len(members) == drawn <= available
        if drawn:
            assert sum(pair.weight for pair in members) == pytest.approx(available)
    assert len({(pair.older.text, pair.newer.text) for pair in sample.pairs}) == len(sample.pairs)


def test_older_comes_before_newer_and_nothing_is_compared_across_agents_or_with_retired_facts() -> None:
    gone = [replace(fact, superseded_by="x") for fact in facts(3, "bob")]
    sample = draw([*facts(6), *facts(6, "eve"), *gone], embed, size=500, seed=0)
    assert sample.pairs
    for pair in sample.pairs:
        assert pair.older.at < pair.newer.at
        assert pair.older.text.split()[0] == pair.newer.text.split()[0] == pair.agent
    assert {pair.agent for pair in sample.pairs} == {"ann", "eve"}


@given(st.integers(0, 300), st.tuples(*[st.integers(0, 100)] * 4))
def test_bands_share_the_sample_evenly_as_far_as_they_can(size: int, available: tuple[int, ...]) -> None:
    shares = spread(size, dict(zip(BANDS, available, strict=True)))
    assert sum(shares.values()) == min(size, sum(available))
    assert all(shares[band] <= there for band, there in zip(BANDS, available, strict=True))
    short = [shares[band] for band, there in zip(BANDS, available, strict=True) if shares[band] < there]
    if short:  # a band that could give more gets as much as any other, but for the rest of the division
        assert max(shares.values()) - min(short) <= 1


# Estimates


def test_prevalence_weighs_each_band_by_its_size() -> None:
    # 100 candidate pairs of which 10 of 10 drawn are hits, and 900 of which none of 10 is: 10 %.
    found = weighted_share([("near", True)] * 10 + [("far", False)] * 10, {"near": 100, "far": 900})
    assert found.value == pytest.approx(0.1)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.1 < found.high
    assert (found.n, found.stands_for, found.unseen) == (20, 1000, 0)


def test_a_band_that_was_labelled_whole_leaves_no_doubt_and_one_without_a_label_is_said_to_be_unseen() -> None:
    found = weighted_share([("all", True), ("all", False)], {"all": 2, "other": 7})
    assert (found.value, found.low, found.high, found.unseen) == (0.5, 0.5, 0.5, 7)
    assert weighted_share([], {"all": 2}).value is None


def test_a_sheet_that_is_labelled_in_part_says_how_little_it_knows() -> None:
    found = weighted_share([("near", True)], {"near": 15})
    assert found.low is not None
    assert found.low < 0.6


@pytest.mark.parametrize("labelled", [20, 60])
def test_the_interval_covers_the_true_prevalence_about_as_often_as_it_says(labelled: int) -> None:
    random = np.random.default_rng(5)
    bands = {"near": (400, 0.4), "far": (3000, 0.02)}
    truth = {name: random.random(size) < share for name, (size, share) in bands.items()}
    sizes = {name: size for name, (size, _) in bands.items()}
    true_share = sum(hits.sum() for hits in truth.values()) / sum(sizes.values())
    covered = 0
    for _ in range(300):
        drawn = {name: random.choice(hits, labelled, replace=False) for name, hits in truth.items()}
        found = weighted_share([(name, bool(hit)) for name, hits in drawn.items() for hit in hits], sizes)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= true_share <= found.high
    assert covered / 300 > 0.9


# The sheet


def test_every_label_is_on_the_disk_at_once_and_is_read_again(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(2, "ann", a_label("supersedes", doubt=True, note="look"))
    again = read_sheet(tmp_path / "s.jsonl")
    assert again.items == sheet.items
    assert again.items[2].labels["ann"] == a_label("supersedes", doubt=True, note="look")
    assert again.design == sheet.design
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


def test_a_failed_write_leaves_the_old_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    before = (tmp_path / "s.jsonl").read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        sheet.label(0, "ann", a_label("refines"))
    assert (tmp_path / "s.jsonl").read_bytes() == before


def test_a_sheet_is_private_and_keeps_its_mode_and_the_link_to_it(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    assert sheet.path.stat().st_mode & 0o777 == 0o600
    sheet.path.chmod(0o640)
    (tmp_path / "link.jsonl").symlink_to(sheet.path)
    read_sheet(tmp_path / "link.jsonl").label(0, "ann", a_label("refines"))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert sheet.path.stat().st_mode & 0o777 == 0o640
    assert read_sheet(sheet.path).items[0].labels


def test_a_new_sheet_never_replaces_labels(tmp_path: Path) -> None:
    a_sheet(tmp_path / "s.jsonl")
    with pytest.raises(FileExistsError):
        a_sheet(tmp_path / "s.jsonl")


def test_a_sheet_that_was_damaged_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    a_sheet(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-9], *lines[2:]]), encoding="utf-8")
    with pytest.raises(InvalidData, match=r"s\.jsonl:2: "):
        read_sheet(path)
    path.write_text("", encoding="utf-8")
    with pytest.raises(InvalidData, match="the file is empty"):
        read_sheet(path)


def test_two_annotators_disputes_are_what_is_left_to_adjudicate(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    labels: list[tuple[Given, Given]] = [
        (a_label("supersedes"), a_label("supersedes")),
        (a_label("supersedes"), a_label("coexists")),
        (a_label("refines", doubt=True), a_label("refines")),
    ]
    for place, (first, second) in enumerate(labels):
        sheet.label(place, "ann", first)
        sheet.label(place, "bob", second)
    assert sheet.annotators() == ["ann", "bob"]
    assert sheet.open("ann") == [3, 4, 5]
    assert sheet.open(ADJUDICATED) == [1, 2]
    agreed, disputed, doubted = as_pairs(sheet)
    assert (agreed.should_retire, agreed.ambiguous) == (True, False)
    assert (disputed.ambiguous, doubted.ambiguous) == (True, True)
    sheet.label(1, ADJUDICATED, a_label("coexists", note="another key"))
    settled = as_pairs(sheet)[1]
    assert (settled.relation, settled.ambiguous, settled.labels.adjudicated.reason) == (
        "coexists",
        False,
        "another key",
    )
    assert sheet.open(ADJUDICATED) == [2]


def test_labelled_pairs_carry_weight_and_band(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "ann", a_label("duplicate"))
    (pair,) = as_pairs(sheet)
    assert (pair.weight, pair.stratum, pair.split) == (sheet.items[0].weight, sheet.items[0].band, "test")
    assert pair.labels.second is None


def test_pairs_that_share_a_fact_are_one_group(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    told = [("a", "b"), ("c", "d"), ("b", "c"), ("e", "f"), ("g", "h"), ("f", "x")]
    for place, (older, newer) in enumerate(told):
        texts = {"older": Statement(text=older), "newer": Statement(text=newer)}
        sheet.items[place] = sheet.items[place].model_copy(update=texts)
        sheet.items[place] = sheet.items[place].model_copy(update={"labels": {"ann": a_label("refines")}})
    first, second, third, fourth, fifth, sixth = (pair.group for pair in as_pairs(sheet))
    assert first == second == third
    assert fourth == sixth
    assert len({first, fourth, fifth}) == 3


def test_annotators_are_told_apart_by_name_whoever_labelled_a_pair_first(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    for place in range(6):
        names = ("ann", "bob") if place % 2 == 0 else ("bob", "ann")
        for name in names:
            sheet.label(place, name, a_label("supersedes" if name == "ann" else "coexists"))
    assert {pair.labels.first.relation for pair in as_pairs(sheet)} == {"supersedes"}


def test_an_adjudication_counts_only_while_there_is_a_dispute(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "ann", a_label("supersedes"))
    sheet.label(0, "bob", a_label("coexists"))
    sheet.label(0, ADJUDICATED, a_label("supersedes", note="why"))
    assert as_pairs(sheet)[0].should_retire
    sheet.label(0, "ann", a_label("coexists"))
    assert not as_pairs(sheet)[0].should_retire


# The terminal


class Keyboard:
    """Keys in order; after the last one, Ctrl-C."""

    def __init__(self, keys: str) -> None:
        self._keys = list(keys)

    def __call__(self) -> str:
        if not self._keys:
            raise KeyboardInterrupt
        return self._keys.pop(0)


def a_session(sheet: Sheet, keys: str, annotator: str = "ann", note: str = "a note\n", **options: Any) -> str:
    screen = StringIO()
    console = Console(file=screen, width=100)
    terminal = Terminal(sheet, annotator, console=console, key=Keyboard(keys), ask=lambda _: note, **options)
    try:
        terminal.run()
    except KeyboardInterrupt:
        screen.write("interrupted")
    return screen.getvalue()


def test_a_key_a_relation_and_the_next_pair(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    shown = a_session(sheet, "scrodu")
    assert [item.labels["ann"].relation for item in sheet.items] == [
        "supersedes", "contradicts", "refines", "coexists", "duplicate", "unrelated",
    ]  # fmt: skip
    assert "pair 1 of 6, 6 open, for ann" in shown
    assert "pair 6 of 6, 1 open, for ann" in shown
    assert set(KEYS.values()) == set(RELATIONS)


def test_ctrl_c_loses_nothing_and_the_next_session_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    a_sheet(path)
    assert a_session(read_sheet(path), "so").endswith("interrupted")
    assert read_sheet(path).open("ann") == [2, 3, 4, 5]
    a_session(read_sheet(path), "ddddq")
    assert read_sheet(path).open("ann") == []


def test_doubt_note_skip_and_back(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    shown = a_session(sheet, "?nskobrq")  # doubt, note, supersedes; skip; coexists; back to it, refines
    assert "doubt on, note: a note" in shown
    assert sheet.items[0].labels["ann"] == a_label("supersedes", doubt=True, note="a note")
    assert "ann" not in sheet.items[1].labels
    assert sheet.items[2].labels["ann"] == a_label("refines")
    assert sheet.open("ann") == [1, 3, 4, 5]


def test_back_reaches_labels_of_an_earlier_session_and_review_shows_them_all(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    a_session(a_sheet(path), "ssq")
    a_session(read_sheet(path), "bdq")
    assert read_sheet(path).items[1].labels["ann"].relation == "duplicate"
    a_session(read_sheet(path), "oooo")
    assert read_sheet(path).open("ann") == []
    screen = a_session(read_sheet(path), "kkrkkk", review=True)
    assert read_sheet(path).items[2].labels["ann"].relation == "refines"
    assert screen.count("labelled before: ") == 6


def test_skipped_pairs_come_again(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    a_session(sheet, "kssssss")
    assert sheet.open("ann") == []


def test_whoever_adjudicates_writes_a_reason(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "ann", a_label("supersedes"))
    sheet.label(0, "bob", a_label("coexists"))
    assert "not saved" in a_session(sheet, "sq", annotator=ADJUDICATED, note="\n")
    assert sheet.open(ADJUDICATED) == [0]
    assert "ambiguous on" in a_session(sheet, "?s", annotator=ADJUDICATED, note="because\n")
    (pair,) = as_pairs(sheet)
    assert (pair.ambiguous, pair.labels.adjudicated.reason) == (True, "because")


def test_two_who_label_at_the_same_time_keep_both_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    ann = a_sheet(path)
    bob = read_sheet(path)
    for place in range(6):
        ann.label(place, "ann", a_label("supersedes"))
        bob.label(place, "bob", a_label("coexists"))
    assert [sorted(item.labels) for item in read_sheet(path).items] == [["ann", "bob"]] * 6
    assert [one.name for one in tmp_path.iterdir()] == ["s.jsonl"]


def test_another_relation_that_keeps_the_older_fact_too_is_a_dispute_but_not_ambiguous(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "ann", a_label("refines"))
    sheet.label(0, "bob", a_label("coexists"))
    assert sheet.open(ADJUDICATED) == [0]
    (pair,) = as_pairs(sheet)
    assert (pair.relation, pair.ambiguous) == ("refines", False)


def test_any_other_key_shows_the_help(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    shown = a_session(sheet, "xq")
    assert shown.count("both may stay:") == 2
    assert "'x' is no key here" in shown
    assert sheet.open("ann") == [0, 1, 2, 3, 4, 5]


def test_an_annotator_never_sees_anothers_label_but_the_adjudicator_does(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "ann", a_label("supersedes", note="secret reason"))
    sheet.label(0, "bob", a_label("coexists"))
    assert "secret" not in a_session(sheet, "q", annotator="eve")
    shown = a_session(sheet, "q", annotator=ADJUDICATED)
    assert "ann: supersedes (secret reason)" in shown
    assert "bob: coexists" in shown


def test_a_text_can_neither_color_nor_steer_the_terminal(tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    evil = sheet.items[0].older.model_copy(update={"text": "[red]\x1b[2J\x9b31m[/red] ok"})
    sheet.items[0] = sheet.items[0].model_copy(update={"older": evil})
    shown = a_session(sheet, "q")
    assert "[red]\\x1b[2J\\x9b31m[/red] ok" in shown
    assert "\x1b" not in shown


# The command


def test_a_store_is_sampled_labelled_by_two_and_summed_up(stilltrue: Run, tmp_path: Path) -> None:
    texts = [
        "The gate code is 1180.",
        "The gate code is 2260.",
        "The gate code of the barn is 77.",
        "Jo owns a ladder.",
    ]
    made = [
        Fact(id=f"f{n}", agent_id="ann", text=text, created_at=START + n * DAY_NS, accessed_at=START + n * DAY_NS)
        for n, text in enumerate(texts)
    ]
    store, out = tmp_path / "store.json", tmp_path / "labels.jsonl"
    store.write_text(to_json(made), encoding="utf-8")
    drawn = stilltrue("label", store, "--out", out, "--draw-only")
    assert drawn.exit_code == 0
    assert "3 pairs drawn" in drawn.stdout
    assert stilltrue("agreement", out).exit_code == 2

    for name, keys in (("first", "s\no\no\n"), ("second", "s\no\nd\n")):
        result = stilltrue("label", store, "--out", out, "--annotator", name, typed=keys)
        assert f"3 of 3 pairs done for {name}" in result.stdout
    summed = json.loads(stilltrue("agreement", out, "--json").stdout)
    assert (summed["pairs"], summed["ambiguous"], summed["agreement"]["pairs"]) == (3, 0, 3)
    assert summed["annotators"] == ["first", "second"]
    assert len(summed["in_dispute"]) == 1
    assert summed["prevalence"]["stands_for"] == pytest.approx(3)

    done = stilltrue("label", store, "--out", out, "--adjudicate", typed="u\nanother gate\n")
    assert "1 of 1 disputed pairs done" in done.stdout
    pairs = tmp_path / "mine.jsonl"
    assert stilltrue("agreement", out, "--pairs", pairs).exit_code == 0
    assert stilltrue("validate", pairs).exit_code == 0


def test_a_gray_db_and_a_wrong_file(stilltrue: Run, tmp_path: Path) -> None:
    result = stilltrue("label", STORE, "--out", tmp_path / "s.jsonl", "--sample", "5", "--draw-only")
    assert result.exit_code == 0
    assert "5 pairs drawn" in result.stdout
    assert read_sheet(tmp_path / "s.jsonl").design.store == "gray.db"
    (tmp_path / "x.json").write_text("Dear diary", encoding="utf-8")
    wrong = stilltrue("label", tmp_path / "x.json", "--out", tmp_path / "t.jsonl")
    assert wrong.exit_code == 2
    assert not (tmp_path / "t.jsonl").exists()


def test_another_store_or_a_missing_folder_is_refused(stilltrue: Run, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    stilltrue("label", STORE, "--out", out, "--sample", "5", "--draw-only")
    (tmp_path / "other.json").write_text(to_json(facts(3)), encoding="utf-8")
    other = stilltrue("label", tmp_path / "other.json", "--out", out)
    assert other.exit_code == 2
    assert "was drawn from gray.db, not from other.json" in other.stderr
    again = stilltrue("label", STORE, "--out", out, "--sample", "9", "--draw-only")
    assert "drawn with --sample 5 --seed 0" in again.stderr
    nowhere = stilltrue("label", STORE, "--out", tmp_path / "no" / "s.jsonl")
    assert nowhere.exit_code == 2
    assert "there is no folder" in nowhere.stderr


def test_a_sheet_is_neither_overwritten_by_its_pairs_nor_taken_for_pairs(stilltrue: Run, tmp_path: Path) -> None:
    sheet = a_sheet(tmp_path / "s.jsonl")
    sheet.label(0, "ann", a_label("refines"))
    before = sheet.path.read_bytes()
    assert stilltrue("agreement", sheet.path, "--pairs", sheet.path).exit_code == 2
    assert sheet.path.read_bytes() == before
    taken = stilltrue("validate", sheet.path)
    assert taken.exit_code == 2
    assert "a sheet of `stilltrue label`" in taken.stderr
    (tmp_path / "diary.md").write_text("Dear diary\n" * 50, encoding="utf-8")
    assert "... and 30 more" in stilltrue("agreement", tmp_path / "diary.md").stderr


@pytest.mark.parametrize("name", ["adjudicated", " "])
def test_an_annotator_needs_a_name_of_their_own(stilltrue: Run, tmp_path: Path, name: str) -> None:
    result = stilltrue("label", STORE, "--out", tmp_path / "s.jsonl", "--annotator", name)
    assert result.exit_code == 2
    assert "choose a name" in result.stderr


def test_a_store_without_similar_facts_is_said_to_have_none(stilltrue: Run, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(to_json(facts(1)), encoding="utf-8")
    result = stilltrue("label", tmp_path / "one.json", "--out", tmp_path / "s.jsonl")
    assert result.exit_code == 2
    assert "no two live facts of one agent are similar enough" in result.stderr


def test_a_sample_is_shown_in_an_order_that_tells_nothing() -> None:
    sample: Sample = draw(facts(40), embed, size=40, seed=3)
    bands = [pair.band for pair in sample.pairs]
    assert bands != sorted(bands, key=BANDS.index)
    assert bands != sorted(bands, key=BANDS.index, reverse=True)
