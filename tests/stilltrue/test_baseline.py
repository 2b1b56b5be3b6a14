"""The lock on a run: it names the cases that changed, fails on a worse reference and refuses what it can't compare."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue import baseline, scenarios
from stilltrue.baseline import BaselineMismatch
from stilltrue.results import Change, Results
from stilltrue.scenarios import Suite, load_suite
from tombstore.policies import append_only, tombstone

Run = Callable[..., Any]
Write = Callable[..., Path]
Evals = Callable[..., Any]

REFERENCE = "tombstone/bm25"
CONTROL = "append_only/bm25"
GOOD = {"stale_leak": "0000", "displaced": "0000", "shrink": "0000", "live_hit": "1111"}
METRICS = list(GOOD)


def asked(row: str = REFERENCE, family: str = "fam", **scores: str) -> list[dict[str, Any]]:
    """Query records of four cases (or as many as ``live_hit`` has), a digit each, ``-`` for one without a score."""
    policy, _, strategy = row.partition("/")
    scores = {name: good[0] * len(scores.get("live_hit", good)) for name, good in GOOD.items()} | scores
    return [
        {"study": "retrieval", "system": "tombstore", "policy": policy, "strategy": strategy, "family": family,
         "scenario": f"{family}-{place // 2}", "number": place % 2 + 1}
        | {name: None if score == "-" else float(score) for name, score in zip(scores, case, strict=True)}
        for place, case in enumerate(zip(*scores.values(), strict=True))
    ]  # fmt: skip


def results(*records: list[dict[str, Any]], **run: Any) -> Results:
    described = {"suite": "a suite", "metrics": {"stale_leak": 1}, "versions": {"stilltrue": "1"}, "embeddings": "v1"}
    described["options"] = {"k": 5}
    return Results(run=described | run, queries=[record for some in records for record in some])


def changed(before: Results, after: Results) -> list[Change]:
    return baseline.changes(baseline.document(before), after)


def worse(*cases: str, told: str) -> tuple[str, str]:
    """The verdict on a reference that got worse on these cases."""
    named = ", ".join("fam/{} ({}, tombstore/{})".format(*case.split(), REFERENCE) for case in cases)
    return "fail", f"the reference got worse on {named}; {told}"


def verdict(before: Results, after: Results) -> tuple[str, str]:
    found = baseline.verdict(baseline.document(before), after, changed(before, after))
    assert found.gate == "baseline"
    return found.verdict, found.reason


# The lock


def test_the_lock_has_a_character_for_each_case_and_metric() -> None:
    made = results(
        asked(stale_leak="010-", displaced="1000", shrink="0300", live_hit="1-01"),
        asked(CONTROL, stale_leak="1111"),
        asked(CONTROL, family="other", live_hit="0"),
    )
    assert baseline.document(made) == {
        "schema": 1,
        "suite": "a suite",
        "metrics": {"stale_leak": 1},
        "k": 5,
        "versions": {"stilltrue": "1"},
        "embeddings": "v1",
        "cases": {"fam": ["fam-0#1", "fam-0#2", "fam-1#1", "fam-1#2"], "other": ["other-0#1"]},
        "outcomes": {
            "tombstore/tombstone/bm25": {
                "fam": {"stale_leak": ".x.-", "displaced": "x...", "shrink": ".x..", "live_hit": ".-x."}
            },
            "tombstore/append_only/bm25": {
                "fam": {"stale_leak": "xxxx", "displaced": "....", "shrink": "....", "live_hit": "...."},
                "other": {"stale_leak": ".", "displaced": ".", "shrink": ".", "live_hit": "x"},
            },
        },
    }


def test_part_of_a_slot_lost_is_a_failure_too() -> None:
    made = results([{**record, "shrink": 0.25} for record in asked()])
    assert baseline.document(made)["outcomes"]["tombstore/tombstone/bm25"]["fam"]["shrink"] == "xxxx"


def test_neither_the_rulers_systems_nor_other_studies_are_locked() -> None:
    others = [{**record, "system": "oracle"} for record in asked()]
    doses = [{**record, "study": "dead_share", "family": "dose"} for record in asked()]
    assert baseline.document(results(asked(), others, doses)) == baseline.document(results(asked()))


OUTCOMES = st.fixed_dictionaries({metric: st.text("01-", min_size=5, max_size=5) for metric in METRICS})


@given(reference=OUTCOMES, control=OUTCOMES)
def test_a_lock_that_was_written_reads_the_same_and_its_own_run_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, reference: Mapping[str, str], control: Mapping[str, str]
) -> None:
    path = tmp_path_factory.mktemp("lock") / "new" / "folder" / "baseline.json"
    made = results(asked(**reference), asked(CONTROL, **control), suite="Ärger 🙂")
    baseline.write(made, path)
    locked = baseline.read(path)
    assert locked == baseline.document(made)
    assert baseline.changes(locked, made) == []
    baseline.check_comparable(locked, made.run)


def test_a_lock_is_text_that_a_diff_can_show(tmp_path: Path) -> None:
    baseline.write(results(asked(stale_leak="0100")), tmp_path / "one.json")
    baseline.write(results(asked()), tmp_path / "two.json")
    one, two = ((tmp_path / name).read_text(encoding="utf-8") for name in ("one.json", "two.json"))
    assert one.endswith("}\n")
    differing = [pair for pair in zip(one.splitlines(), two.splitlines(), strict=True) if pair[0] != pair[1]]
    assert [[line.strip() for line in pair] for pair in differing] == [
        ['"stale_leak": ".x..",', '"stale_leak": "....",']
    ]


WHOLE = baseline.document(results(asked()))
BROKEN = {
    "empty": "",
    "cut": json.dumps(WHOLE)[:-40],
    "a merge conflict": f"<<<<<<< ours\n{json.dumps(WHOLE)}\n=======\n{json.dumps(WHOLE)}\n>>>>>>> theirs\n",
    "a list": "[]",
    "a list of one": json.dumps([WHOLE]),
    "null": "null",
    "a number": "1",
    "a text": '"schema"',
    "an empty object": "{}",
    "of the future": json.dumps(WHOLE | {"schema": 2}),
    "of nobody": json.dumps(WHOLE | {"outcomes": {}}),
    **{
        f"without {left_out}": json.dumps({name: value for name, value in WHOLE.items() if name != left_out})
        for left_out in WHOLE
        if left_out != "versions"  # to be read by people
    },
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_lock_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lock.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BaselineMismatch, match=f"^{path}: not a baseline"):
        baseline.read(path)


def test_bytes_that_are_no_text_are_refused_and_a_missing_file_is_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "lock.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BaselineMismatch, match=f"^{path}: not a baseline: "):
        baseline.read(path)
    with pytest.raises(FileNotFoundError):
        baseline.read(tmp_path / "nowhere")


# What can be compared


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"suite": "another"}, "the baseline's suite is a suite, this run's is another: "),
        ({"metrics": {"stale_leak": 2}}, "the baseline's metrics is {'stale_leak': 1}, this run's is "),
        ({"options": {"k": 3}}, "the baseline's k is 5, this run's is 3: "),
    ],
)
def test_another_suite_metric_or_cutoff_is_refused_with_both(run: dict[str, Any], said: str) -> None:
    with pytest.raises(BaselineMismatch) as refused:
        baseline.check_comparable(WHOLE, results(**run).run)
    assert str(refused.value).startswith(said)
    assert "--update-baseline" in str(refused.value)


def test_other_versions_vectors_and_options_are_compared() -> None:
    options = {"k": 5, "policies": ["tombstone"], "seed": 7}
    baseline.check_comparable(WHOLE, results(versions={"stilltrue": "2"}, embeddings="v2", options=options).run)


# The changes


@given(
    outcomes=OUTCOMES,
    metric=st.sampled_from(METRICS),
    place=st.integers(0, 4),
    score=st.sampled_from("01-"),
    row=st.sampled_from([REFERENCE, CONTROL]),
)
def test_one_case_that_turns_out_differently_is_named_and_no_other(
    outcomes: dict[str, str], metric: str, place: int, score: str, row: str
) -> None:
    old = outcomes[metric]
    new = old[:place] + score + old[place + 1 :]
    rows = {one: asked(one, **outcomes) for one in (REFERENCE, CONTROL)}
    before, after = results(*rows.values()), results(*(rows | {row: asked(row, **outcomes | {metric: new})}).values())
    fails = "0" if metric == "live_hit" else "1"
    case = f"fam-{place // 2}#{place % 2 + 1}"
    expected = [] if old == new else [Change(f"tombstore/{row}", "fam", case, metric, worse=score == fails)]
    assert changed(before, after) == expected


def test_what_only_one_of_the_two_runs_has_is_no_change() -> None:
    before = results(asked(), asked("delete/bm25", stale_leak="1111"), asked(family="gone", live_hit="0000"))
    after = results(asked(), asked("demote/bm25", stale_leak="1111"), asked(family="new", live_hit="0000"))
    assert changed(before, after) == []
    assert verdict(before, after) == ("pass", "no case changed in 16 outcomes")  # 4 cases that both have, 4 metrics


def test_cases_are_matched_whatever_order_rows_and_families_have() -> None:
    some = [asked(), asked(CONTROL, stale_leak="0110"), asked(family="other", live_hit="01")]
    assert changed(results(*some), results(*reversed(some))) == []


# The verdict


@pytest.mark.parametrize(
    ("metric", "before", "after"),
    [("stale_leak", "0000", "0010"), ("displaced", "0000", "0010"), ("shrink", "0000", "0020"),
     ("stale_leak", "00-0", "0010"), ("live_hit", "1111", "1101")],
)  # fmt: skip
def test_one_case_that_got_worse_fails_the_reference_and_nobody_else(metric: str, before: str, after: str) -> None:
    def judged(row: str) -> tuple[str, str]:
        return verdict(results(asked(row, **{metric: before})), results(asked(row, **{metric: after})))

    assert judged(REFERENCE) == worse(f"fam-1#1 {metric}", told="1 cases changed, 1 for the worse")
    for control in ("append_only/bm25", "tombstone_window/bm25", "postfilter/tombstone"):
        assert judged(control) == ("pass", "1 cases changed, 1 for the worse")


@pytest.mark.parametrize("metric", METRICS)
def test_an_improvement_passes(metric: str) -> None:
    before, after = asked(**{metric: "0110"}), asked(**{metric: GOOD[metric]})
    assert verdict(results(before), results(after)) == ("pass", "2 cases changed, 0 for the worse")


def test_an_improvement_does_not_make_up_for_a_leak() -> None:
    before, after = results(asked(stale_leak="1110")), results(asked(stale_leak="0001"))
    assert verdict(before, after) == worse("fam-1#2 stale_leak", told="4 cases changed, 1 for the worse")


def test_a_case_that_is_no_longer_scored_is_named_and_not_worse() -> None:
    before, after = results(asked()), results(asked(stale_leak="-000"))
    assert changed(before, after) == [Change("tombstore/tombstone/bm25", "fam", "fam-0#1", "stale_leak", worse=False)]
    assert verdict(before, after) == ("pass", "1 cases changed, 0 for the worse")


def test_the_first_five_regressions_are_named_and_the_rest_counted() -> None:
    before, after = results(asked(live_hit="1" * 7)), results(asked(live_hit="1" * 7, stale_leak="1" * 7))
    cases = [f"fam-{place // 2}#{place % 2 + 1} stale_leak" for place in range(5)]
    told = "7 cases changed, 7 for the worse"
    assert verdict(before, after)[1] == worse(*cases, told=told)[1].replace("; ", " and 2 more; ")


@pytest.mark.parametrize(
    ("lost", "won", "outcome"),
    [
        (1, 0, "pass"),
        (5, 0, "pass"),  # p = 2 * (1/2)^5 = 1/16
        (6, 0, "fail"),  # 1/32
        (6, 1, "pass"),  # 2 * (1 + 7) * (1/2)^7 = 1/8
        (9, 1, "fail"),  # 2 * (1 + 10) * (1/2)^10 = 0.02
        (0, 6, "pass"),  # 1/32, and for the better
        (1, 9, "pass"),
    ],
)
def test_where_other_vectors_ranked_only_a_significant_loss_of_hits_fails(lost: int, won: int, outcome: str) -> None:
    before, after = asked(live_hit="1" * lost + "0" * won), asked(live_hit="0" * lost + "1" * won)
    assert verdict(results(before), results(after, embeddings="v2"))[0] == outcome
    # Ranked by the same vectors, each loss counts.
    assert verdict(results(before), results(after))[0] == ("fail" if lost else "pass")


def test_a_run_without_vectors_ranks_as_one_without_vectors() -> None:
    before, after = results(asked(), embeddings=None), results(asked(live_hit="1101"), embeddings=None)
    assert verdict(before, after)[0] == "fail"


def test_the_losses_of_controls_do_not_make_the_references_significant() -> None:
    before = results(asked(live_hit="1" * 9), asked(CONTROL, live_hit="1" * 9))
    after = results(asked(live_hit="0" + "1" * 8), asked(CONTROL, live_hit="0" * 9), embeddings="v2")
    assert verdict(before, after) == ("pass", "10 cases changed, 10 for the worse")


@pytest.mark.parametrize("metric", ["stale_leak", "displaced", "shrink"])
def test_other_vectors_excuse_no_leak_no_displacement_and_no_lost_slot(metric: str) -> None:
    before, after = results(asked()), results(asked(live_hit="1101", **{metric: "0010"}), embeddings="v2")
    told = "2 cases changed, 2 for the worse"  # the lost hit among them, which alone would have passed
    assert verdict(before, after) == worse(f"fam-1#1 {metric}", told=told)


# The command


def two_families(billing: str) -> dict[str, str]:
    """The files of ``billing``, and of ``payroll`` with a second question that no word of a fact answers."""
    payroll = billing.replace("Billing", "Payroll").replace("billing", "payroll").replace("swap", "move")
    unanswered = '      - {ask: {query: "Which accountant?", gold: [polar], forbidden: [lemon]}}\n'
    return {"billing.yaml": billing, "payroll.yaml": payroll + unanswered}


@pytest.fixture
def mine(write: Write, billing: str) -> Path:
    """The folder of that suite."""
    return write(two_families(billing))


@pytest.fixture
def evals(stilltrue: Run, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evals:
    """``stilltrue evals`` as if that suite were the one that comes along, for the reference and a control by bm25."""
    monkeypatch.chdir(tmp_path)

    def loaded(folder: Path | None = None, *, only: tuple[str, ...] = ()) -> Suite:
        return load_suite(folder or mine, only=only)

    monkeypatch.setattr(scenarios, "load_suite", loaded)
    always = "evals --no-doses --policy tombstone --policy append_only --strategy bm25"
    return lambda options="": stilltrue(*always.split(), *options.split())


@pytest.fixture(scope="module")
def locked(measure: Callable[..., Results], billing: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the lock on that run holds."""
    folder = tmp_path_factory.mktemp("locked")
    for name, text in two_families(billing).items():
        (folder / name).write_text(text, encoding="utf-8")
    made = measure(load_suite(folder), policies=["tombstone", "append_only"], strategies=["bm25"])
    baseline.write(made, folder / "baseline.json")
    return (folder / "baseline.json").read_bytes()


@pytest.fixture
def lock(locked: bytes, tmp_path: Path) -> Path:
    """The usual lock, there already."""
    path = tmp_path / "reports" / "baseline.json"
    path.parent.mkdir()
    path.write_bytes(locked)
    return path


def judged(result: Any) -> list[str]:
    """The verdict, as it is printed; one line at most."""
    lines = [line.strip() for line in result.stdout.splitlines()]
    return [line for line in lines if line.startswith(("pass  baseline: ", "fail  baseline: "))]


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def relock(path: Path, row: str, family: str, metric: str, *, before: str, after: str) -> None:
    """Change what the lock says of one metric of a row in a family."""

    def change(document: dict[str, Any]) -> None:
        outcomes = document["outcomes"][f"tombstore/{row}"][family]
        assert outcomes[metric] == before
        outcomes[metric] = after

    edit(path, change)


NOTHING = "pass  baseline: no case changed in 24 outcomes"  # 2 rows, 3 questions, 4 metrics


def test_the_same_run_as_the_locked_one_passes(evals: Evals, lock: Path) -> None:
    result = evals()
    assert (result.exit_code, judged(result)) == (0, [NOTHING])
    assert "Changed since" not in result.stdout


def test_only_an_update_writes_a_lock(evals: Evals, locked: bytes, tmp_path: Path) -> None:
    path = tmp_path / "reports" / "baseline.json"
    result = evals()
    assert (result.exit_code, judged(result)) == (0, [])
    assert not path.exists()
    result = evals("--update-baseline")
    assert (result.exit_code, judged(result)) == (0, [])
    assert path.read_bytes() == locked


def test_an_update_needs_no_lock_that_can_be_read(evals: Evals, lock: Path, locked: bytes) -> None:
    lock.write_text("<<<<<<< ours", encoding="utf-8")
    assert evals("--update-baseline").exit_code == 0
    assert lock.read_bytes() == locked


def test_a_lock_goes_where_it_was_named_and_is_looked_for_there(evals: Evals, locked: bytes, tmp_path: Path) -> None:
    assert evals("--baseline locks/mine.json --update-baseline").exit_code == 0
    assert (tmp_path / "locks" / "mine.json").read_bytes() == locked
    assert not (tmp_path / "reports" / "baseline.json").exists()
    assert judged(evals("--baseline locks/mine.json")) == [NOTHING]
    assert (tmp_path / "locks" / "mine.json").read_bytes() == locked


def test_a_hit_that_was_lost_is_named_and_fails_the_run(evals: Evals, lock: Path, tmp_path: Path) -> None:
    relock(lock, REFERENCE, "payroll", "live_hit", before=".x", after="..")
    result = evals()
    named = "payroll/move#2 (live_hit, tombstore/tombstone/bm25)"
    reason = f"the reference got worse on {named}; 1 cases changed, 1 for the worse"
    assert result.exit_code == 1
    assert judged(result) == [f"fail  baseline: {reason}"]
    assert result.stdout.count("fail  ") == 1  # no other gate sees it
    # The reports say so too.
    document = json.loads((tmp_path / "reports" / "results.json").read_text(encoding="utf-8"))
    (change,) = document["changed"]
    assert change == {
        "contestant": "tombstore/tombstone/bm25", "family": "payroll", "case": "move#2", "metric": "live_hit",
        "worse": True,
    }  # fmt: skip
    assert {"gate": "baseline", "verdict": "fail", "reason": reason} in document["verdicts"]
    summary = (tmp_path / "reports" / "summary.md").read_text(encoding="utf-8")
    assert "| payroll/move#2 | live_hit | tombstore/tombstone/bm25 | worse |" in summary.replace("\\", "")
    assert named in (tmp_path / "reports" / "junit.xml").read_text(encoding="utf-8")


def test_a_reference_that_begins_to_leak_fails_by_case(
    evals: Evals, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstone, "make", append_only.make)
    result = evals("--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert [tuple(change.values()) for change in document["changed"]] == [
        ("tombstore/tombstone/bm25", "billing", "swap#1", "stale_leak", True),
        ("tombstore/tombstone/bm25", "payroll", "move#1", "stale_leak", True),
    ]
    assert document["verdicts"][-1]["gate"] == "baseline"
    assert document["verdicts"][-1]["verdict"] == "fail"


@pytest.mark.parametrize(
    ("row", "metric", "before", "after", "now"),
    [
        (CONTROL, "stale_leak", "x.", "..", "worse"),
        (CONTROL, "live_hit", ".x", "..", "worse"),
        (CONTROL, "stale_leak", "x.", "xx", "not worse"),
        (REFERENCE, "stale_leak", "..", ".x", "not worse"),
        (REFERENCE, "live_hit", ".x", "xx", "not worse"),
    ],
)
def test_a_change_of_a_control_or_for_the_better_is_named_and_passes(
    evals: Evals, lock: Path, row: str, metric: str, before: str, after: str, now: str
) -> None:
    relock(lock, row, "payroll", metric, before=before, after=after)
    result = evals()
    assert result.exit_code == 0
    assert judged(result) == [f"pass  baseline: 1 cases changed, {int(now == 'worse')} for the worse"]
    case = 1 + next(place for place in (0, 1) if before[place] != after[place])
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines()]
    assert [f"payroll/move#{case}", metric, f"tombstore/{row}", now] in cells
    assert "Changed since the baseline: 1 cases" in result.stdout


def test_a_part_of_the_run_is_held_against_its_part_of_the_lock(evals: Evals, lock: Path) -> None:
    assert judged(evals("--family billing")) == ["pass  baseline: no case changed in 8 outcomes"]  # 2 rows, 1 question
    relock(lock, REFERENCE, "payroll", "live_hit", before=".x", after="..")
    assert judged(evals("--family billing")) == ["pass  baseline: no case changed in 8 outcomes"]
    result = evals("--family payroll")
    assert result.exit_code == 1
    assert judged(result)[0].startswith("fail  baseline: the reference got worse on payroll/move#2 (live_hit, ")


def test_only_outcomes_that_the_lock_has_are_counted_as_unchanged(evals: Evals, lock: Path) -> None:
    evals("--family billing --update-baseline")
    assert judged(evals()) == ["pass  baseline: no case changed in 8 outcomes"]  # and not payroll's 16 as well
    edit(lock, lambda document: document["outcomes"].pop(f"tombstore/{CONTROL}"))
    assert judged(evals()) == ["pass  baseline: no case changed in 4 outcomes"]


# What the command refuses


def digests(mine: Path, lock: Path) -> tuple[str, str]:
    """The suite that was locked, and the one that is there after a change of a file."""
    with (mine / "billing.yaml").open("a", encoding="utf-8") as file:
        file.write("# a comment\n")
    return json.loads(lock.read_text(encoding="utf-8"))["suite"], load_suite(mine).hash


def test_a_lock_on_another_suite_is_refused_when_it_was_named(evals: Evals, mine: Path, lock: Path) -> None:
    theirs, ours = digests(mine, lock)
    result = evals(f"--baseline {lock}")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"stilltrue: the baseline's suite is {theirs}, this run's is {ours}: ")
    assert line.endswith("--update-baseline")


def test_the_usual_lock_on_another_suite_is_a_failure_among_the_verdicts(
    evals: Evals, mine: Path, lock: Path, tmp_path: Path
) -> None:
    theirs, ours = digests(mine, lock)
    result = evals()
    assert (result.exit_code, result.stderr) == (1, "")
    verdicts = json.loads((tmp_path / "reports" / "results.json").read_text(encoding="utf-8"))["verdicts"]
    assert [one["gate"] for one in verdicts if one["verdict"] == "fail"] == ["baseline"]
    assert verdicts[-1]["reason"].startswith(f"the baseline's suite is {theirs}, this run's is {ours}: ")
    evals("--update-baseline")
    assert judged(evals()) == [NOTHING]


def test_the_lock_on_the_suite_that_comes_along_is_not_about_a_suite_of_ones_own(
    evals: Evals, lock: Path, write: Write, billing: str
) -> None:
    own = write({"billing.yaml": billing}, "own")
    result = evals(f"--suite {own}")
    assert (result.exit_code, judged(result)) == (0, [])
    assert evals(f"--suite {own} --baseline {lock}").exit_code == 2
    assert evals(f"--suite {own} --baseline own.json --update-baseline").exit_code == 0
    assert judged(evals(f"--suite {own} --baseline own.json")) == ["pass  baseline: no case changed in 8 outcomes"]


def test_at_another_cutoff_the_usual_lock_is_left_alone_and_a_named_one_refused(evals: Evals, lock: Path) -> None:
    result = evals("--k 4")
    assert (result.exit_code, judged(result)) == (0, [])
    result = evals(f"--k 4 --baseline {lock}")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("stilltrue: the baseline's k is 5, this run's is 4: ")


@pytest.mark.parametrize("named", [True, False])
def test_a_broken_lock_is_a_mistake_and_not_a_run_without_one(
    evals: Evals, lock: Path, tmp_path: Path, named: bool
) -> None:
    report = tmp_path / "reports" / "results.json"
    report.write_text("earlier", encoding="utf-8")
    for content in ("", "[]", '{"schema": 1, "suite": "a", "outcomes": {"b": {}}}', '{"schema": 2}'):
        lock.write_text(content, encoding="utf-8")
        result = evals(f"--baseline {lock}" if named else "")
        assert (result.exit_code, result.stdout) == (2, "")
        (line,) = result.stderr.splitlines()
        assert "baseline.json: not a baseline" in line
        assert report.read_text(encoding="utf-8") == "earlier"


def test_a_lock_that_was_named_and_is_not_there_is_a_mistake(evals: Evals, tmp_path: Path) -> None:
    for name, why in (("nowhere.json", "No such file or directory"), (".", "Is a directory")):
        result = evals(f"--baseline {name}")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == f"stilltrue: {name}: {why}\n"
