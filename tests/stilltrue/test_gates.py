"""Verdicts on hand-made rows, and the proof that the gates bite: a broken reference or a tame control fails a run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from stilltrue import gates
from stilltrue.cli.output import exit_code
from stilltrue.records import Family
from stilltrue.results import Outcome, Results, Row, Verdict
from stilltrue.scenarios import load_suite
from tombstore.policies import (
    Policy,
    append_only,
    drop_retired,
    remove,
    stored,
    tombstone,
    write_nothing,
    write_tombstone,
    write_zero_weight,
)

MakeFamily = Callable[..., Family]

NEVER = "it never returns a fact that answers the query"
CLEAN = {"stale_leak": 0.0, "displaced": 0.0, "shrink": 0.0, "live_hit": 0.8}


def rows(
    values: dict[str, float | None],
    *,
    system: str = "tombstore",
    policy: str = "tombstone",
    strategy: str = "keyword",
    family: str = "*",
    n: int = 10,
) -> list[Row]:
    return [
        Row(
            study="retrieval",
            system=system,
            policy=policy,
            strategy=strategy,
            family=family,
            metric=metric,
            k=5,
            value=value,
            low=None,
            high=None,
            n=0 if value is None else n,
        )
        for metric, value in values.items()
    ]


def control(policy: str, metric: str, *, strategy: str = "keyword", **by_family: float) -> list[Row]:
    """A control's figures per family, and their mean over all families."""
    overall = {metric: sum(by_family.values()) / len(by_family)}
    made = rows(overall, policy=policy, strategy=strategy)
    for family, value in by_family.items():
        made += rows({metric: value}, policy=policy, strategy=strategy, family=family)
    return made


@pytest.fixture
def families(family: MakeFamily) -> list[Family]:
    """``plain`` claims leak, ``crowd`` claims all three failures, ``quiet`` claims none that a gate counts."""
    step = {"ask": {"query": "?"}}
    return [
        family(step, name="plain"),
        family(step, name="crowd", reveals=["leak", "shrink", "displacement"]),
        family(step, name="quiet", corrections="implied"),
    ]


def verdicts(made: Sequence[Row], families: Sequence[Family], gate: str) -> list[tuple[Outcome, str]]:
    return [(one.verdict, one.reason) for one in gates.verdicts(made, families) if one.gate == gate]


# The reference


def wrong(figure: str) -> str:
    metric, number = figure.split()
    return f"{metric}@5 of tombstore/tombstone/keyword is {number}, expected 0"


@pytest.mark.parametrize(
    ("changed", "verdict", "reason"),
    [
        ({}, "pass", "no stale fact returned and no live fact displaced in 10 queries, every strategy"),
        ({"stale_leak": 0.25}, "fail", wrong("stale_leak 0.250")),
        ({"displaced": 0.1}, "fail", wrong("displaced 0.100")),
        ({"shrink": 1.5}, "fail", wrong("shrink 1.500")),
        ({"live_hit": 0.0}, "fail", f"live_hit@5 of tombstore/tombstone/keyword is 0: {NEVER}"),
        ({"stale_leak": None}, "inconclusive", "no query could be scored for stale_leak"),
        ({"displaced": None, "live_hit": None}, "inconclusive", "no query could be scored for displaced, live_hit"),
        # What is known to be wrong is not excused by what couldn't be scored.
        ({"stale_leak": 0.25, "displaced": None, "live_hit": None}, "fail", wrong("stale_leak 0.250")),
        ({"stale_leak": None, "displaced": 0.1}, "fail", wrong("displaced 0.100")),
    ],
)  # fmt: skip
def test_the_reference_passes_when_it_answers_and_neither_leaks_nor_displaces_nor_shrinks(
    changed: dict[str, float | None], verdict: str, reason: str
) -> None:
    assert verdicts(rows(CLEAN | changed), [], "retrieval") == [(verdict, reason)]


def test_the_smallest_leak_with_one_of_the_strategies_fails_the_reference() -> None:
    made = rows(CLEAN) + rows(CLEAN | {"stale_leak": 1 / 10_000}, strategy="bm25")
    ((verdict, reason),) = verdicts(made, [], "retrieval")
    assert verdict == "fail"
    assert "tombstore/tombstone/bm25" in reason


def test_other_policies_and_systems_are_not_the_reference() -> None:
    made = (
        rows(CLEAN)
        + rows(CLEAN | {"stale_leak": 1.0}, policy="append_only")
        + rows(CLEAN | {"shrink": 1.0}, system="mine")
    )
    assert [verdict for verdict, _ in verdicts(made, [], "retrieval")] == ["pass"]


def test_without_the_reference_there_is_no_verdict_on_it() -> None:
    assert verdicts(rows(CLEAN, policy="delete"), [], "retrieval") == []


# The ruler


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [({}, "pass"), ({"stale_leak": 0.1}, "fail"), ({"displaced": 0.1}, "fail"), ({"live_hit": 0.99}, "fail")],
)
def test_an_oracle_that_is_not_perfect_fails_the_ruler(changed: dict[str, float | None], verdict: str) -> None:
    made = rows(CLEAN | {"live_hit": 1.0} | changed, system="oracle", policy="-", strategy="-")
    assert [one for one, _ in verdicts(made, [], "ruler: oracle")] == [verdict]


def null(changed: dict[str, float | None]) -> list[Row]:
    return rows(CLEAN | {"live_hit": 0.0, "empty_results": 1.0} | changed, system="null", policy="-", strategy="-")


def test_the_empty_system_is_clean_and_fails_for_never_answering() -> None:
    ((verdict, reason),) = verdicts(null({}), [], "ruler: empty system")
    assert verdict == "pass"
    assert reason.startswith("the empty system gets 'fail': live_hit@5 of null/-/- is 0")


@pytest.mark.parametrize("unscored", ["stale_leak", "displaced", "live_hit"])
def test_the_empty_system_never_passes_whatever_a_suite_lacks(unscored: str) -> None:
    assert gates.judge("retrieval", null({unscored: None}), system="null", policy="-").verdict != "pass"


def test_an_empty_system_that_passes_fails_the_ruler() -> None:
    assert [one for one, _ in verdicts(null({"live_hit": 0.5}), [], "ruler: empty system")] == ["fail"]


POLICIES = ("tombstone", "append_only")


def test_a_family_on_which_every_policy_scores_the_same_is_saturated(families: list[Family]) -> None:
    made = [row for policy in POLICIES for row in rows(CLEAN, policy=policy)]
    for policy, leak in zip(POLICIES, (0.0, 0.5), strict=True):
        made += rows(CLEAN | {"stale_leak": leak}, policy=policy, family="plain")
        made += rows(CLEAN, policy=policy, family="crowd")
        made += rows(CLEAN, policy=policy, family="quiet")  # not judged: its corrections are implied
    assert verdicts(made, families, "ruler: saturation") == [("fail", "every policy scores the same on crowd")]


def test_two_strategies_that_differ_do_not_make_a_family_distinguish_policies(families: list[Family]) -> None:
    made = [
        row
        for strategy, hit in (("keyword", 0.5), ("bm25", 0.9))
        for policy in POLICIES
        for row in rows({"live_hit": hit}, policy=policy, strategy=strategy, family="plain")
    ]
    assert verdicts(made, families[:1], "ruler: saturation") == [("fail", "every policy scores the same on plain")]


@pytest.mark.parametrize("metric", ["stale_leak", "stale_share", "displaced", "shrink", "live_hit"])
def test_one_metric_that_differs_is_enough(families: list[Family], metric: str) -> None:
    made = rows({metric: 0.5}, family="plain") + rows({metric: 0.25}, policy="append_only", family="plain")
    assert verdicts(made, families[:1], "ruler: saturation") == [("pass", "policies differ on each of 1 families")]


def test_saturation_is_not_judged_where_no_two_policies_must_differ(families: list[Family]) -> None:
    made = rows(CLEAN, family="plain") + rows(CLEAN, policy="delete", family="plain")
    assert verdicts(made, families, "ruler: saturation") == []


# Controls


@pytest.mark.parametrize("policy", ["append_only", "weight_zero"])
@pytest.mark.parametrize(("crowd", "verdict"), [(0.3, "pass"), (0.0, "fail")])
def test_a_control_leaks_on_every_family_that_claims_it(
    families: list[Family], policy: str, crowd: float, verdict: str
) -> None:
    made = control(policy, "stale_leak", plain=0.5, crowd=crowd, quiet=0.0)
    reasons = {
        "pass": "shows stale_leak on every family that claims it (2), 0.267 at most over all families",  # 0.8 / 3
        "fail": "stale_leak is 0 on crowd, which claims to reveal leak",
    }
    assert verdicts(made, families, f"control: {policy}, leak") == [(verdict, reasons[verdict])]


def test_a_control_may_fail_with_any_of_the_strategies(families: list[Family]) -> None:
    made = control("append_only", "stale_leak", plain=0.0, crowd=0.5)
    made += control("append_only", "stale_leak", strategy="bm25", plain=0.5, crowd=0.0)
    assert [one for one, _ in verdicts(made, families, "control: append_only, leak")] == ["pass"]


def test_a_control_without_figures_for_a_family_that_claims_its_failure_fails(families: list[Family]) -> None:
    assert verdicts(control("append_only", "stale_leak", plain=0.5), families, "control: append_only, leak") == [
        ("fail", "stale_leak is 0 on crowd, which claims to reveal leak")
    ]


def postfilter(*, leak: float = 0.0, shrink: float = 0.5, displaced: float = 0.1) -> list[Row]:
    return [
        *control("postfilter", "stale_leak", crowd=leak),
        *control("postfilter", "shrink", plain=0.0, crowd=shrink),
        *control("postfilter", "displaced", plain=0.0, crowd=displaced),
    ]


@pytest.mark.parametrize(
    ("figures", "outcomes"),
    [
        ({}, {"shrink": "pass", "displacement": "pass"}),
        ({"shrink": 0.0}, {"shrink": "fail", "displacement": "pass"}),
        ({"displaced": 0.0}, {"shrink": "pass", "displacement": "fail"}),
        ({"leak": 0.1}, {"leak": "fail"}),
    ],
)
def test_filtering_after_the_cut_leaks_nothing_and_shrinks_and_displaces(
    families: list[Family], figures: dict[str, float], outcomes: dict[str, str]
) -> None:
    found = gates.verdicts(postfilter(**figures), families)
    assert {one.gate: one.verdict for one in found} == {
        f"control: postfilter, {failure}": outcome for failure, outcome in outcomes.items()
    }


@pytest.mark.parametrize(
    ("strategy", "displaced", "outcomes"),
    [("vector", 0.1, ["pass"]), ("hybrid", 0.1, ["pass"]), ("vector", 0.0, ["fail"]), ("keyword", 0.0, [])],
)
def test_the_vector_window_displaces_where_there_is_one(
    families: list[Family], strategy: str, displaced: float, outcomes: list[str]
) -> None:
    made = control("tombstone_window", "displaced", strategy=strategy, plain=0.0, crowd=displaced)
    assert [one for one, _ in verdicts(made, families, "control: tombstone_window, displacement")] == outcomes


def test_no_two_verdicts_of_a_run_have_the_same_name(lexical: Results) -> None:
    names = [one.gate for one in lexical.verdicts]
    assert len(names) == len(set(names)) == 8


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([], 0),
        (["pass", "pass"], 0),
        (["pass", "fail"], 1),
        (["pass", "inconclusive"], 3),
        (["inconclusive", "fail", "pass"], 1),
    ],
)
def test_a_failure_is_exit_code_1_and_outweighs_doubt_which_is_3(outcomes: list[Outcome], code: int) -> None:
    assert exit_code(outcomes) == code


# Mutations: what the gates are there for


def broken(policy: Policy) -> Callable[[], Policy]:
    return lambda: policy


MUTANTS = {
    "retires nothing": (Policy(retire=write_nothing), "stale_leak"),
    "sets the weight to 0": (Policy(retire=write_zero_weight), "stale_leak"),
    "scores retired facts": (Policy(retire=write_tombstone, eligible=stored, window=stored), "stale_leak"),
    "drops retired facts after the cut": (
        Policy(retire=write_tombstone, eligible=stored, window=stored, after_cut=drop_retired),
        "displaced",
    ),
}


@pytest.mark.parametrize(("policy", "metric"), MUTANTS.values(), ids=MUTANTS.keys())
def test_a_reference_that_is_broken_fails_its_gate(
    measure: Callable[..., Results], monkeypatch: pytest.MonkeyPatch, policy: Policy, metric: str
) -> None:
    monkeypatch.setattr(tombstone, "make", broken(policy))
    found = measure(load_suite(only=["crowding"]), policies=["tombstone"], strategies=["bm25"])
    (verdict,) = [one for one in found.verdicts if one.gate == "retrieval"]
    assert verdict.verdict == "fail"
    assert verdict.reason.startswith(f"{metric}@5 of tombstore/tombstone/bm25 is ")


def test_a_reference_that_deletes_is_as_clean_as_one_that_marks(
    measure: Callable[..., Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstone, "make", broken(Policy(retire=remove)))
    found = measure(load_suite(only=["crowding"]), policies=["tombstone"], strategies=["bm25"])
    assert {one.verdict for one in found.verdicts} == {"pass"}


@pytest.fixture
def evals(stilltrue: Callable[..., Any], write: Callable[..., Path], billing: str, tmp_path: Path) -> Callable[[], Any]:
    suite = write({"billing.yaml": billing})
    return lambda: stilltrue("evals", "--suite", suite, "--strategy", "keyword", "--out", tmp_path / "reports")


def test_the_command_passes_on_the_reference_as_it_is(evals: Callable[[], Any]) -> None:
    result = evals()
    assert result.exit_code == 0, result.output


def test_the_command_fails_on_a_reference_that_leaks(evals: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstone, "make", append_only.make)
    result = evals()
    assert result.exit_code == 1
    assert "fail  retrieval: stale_leak@5 of tombstore/tombstone/keyword is 1.000, expected 0" in result.output


def test_the_command_fails_on_a_control_that_does_not(
    evals: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_only, "make", tombstone.make)
    result = evals()
    assert result.exit_code == 1
    assert "fail  control: append_only, leak: stale_leak is 0 on billing, which claims to reveal leak" in result.output
    assert "pass  retrieval" in result.output


def test_a_reference_that_leaks_is_not_excused_by_a_suite_without_gold(
    measure: Callable[..., Results],
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[..., Path],
    billing: str,
) -> None:
    monkeypatch.setattr(tombstone, "make", append_only.make)
    suite = load_suite(write({"billing.yaml": billing.replace("gold: [polar], ", "")}))
    found = measure(suite, policies=["tombstone"], strategies=["keyword"])
    assert found.verdicts[0] == Verdict(
        "retrieval", "fail", "stale_leak@5 of tombstore/tombstone/keyword is 1.000, expected 0"
    )
