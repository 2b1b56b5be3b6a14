"""A suite that measures: what ``validate --strict`` lets nobody publish, and how ``list scenarios`` shows a suite."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tombstore
from stilltrue.generator import as_yaml, generate
from stilltrue.records import Family
from stilltrue.scenarios import Suite, counts, load_suite
from stilltrue.strictness import FEWEST_SCENARIOS, warnings

Run = Callable[..., Any]
Write = Callable[..., Path]


def a_scenario(name: str, *asks: dict[str, Any], **told: str) -> dict[str, Any]:
    """``old`` is corrected into ``new``, beside an ``other`` fact; the texts are the scenario's own unless given."""
    words = {"old": f"Old news of {name}.", "new": f"Good news of {name}.", "other": f"No news of {name}."} | told
    steps: list[dict[str, Any]] = [
        {"at": "2026-01-05T09:00Z", "remember": {"id": "old", "text": words["old"]}},
        {"remember": {"id": "other", "text": words["other"]}},
        {"update": {"target": "old", "id": "new", "text": words["new"]}},
    ]
    usual = {"query": "What is the news?", "gold": ["new"], "forbidden": ["old"]}
    return {"id": name, "domain": "news", "steps": [*steps, *({"ask": ask} for ask in asks or (usual,))]}


def a_family(name: str = "tea", *others: dict[str, Any], scenarios: int = FEWEST_SCENARIOS, **fields: Any) -> Family:
    """So many scenarios in all, the ``others`` last."""
    usual = [a_scenario(f"{name}-{number}") for number in range(1, scenarios + 1 - len(others))]
    head = {"family": name, "question": "What comes back?", "weaknesses": "It is only about news."}
    return Family.model_validate(head | fields | {"scenarios": [*usual, *others]})


def suite_of(*families: Family) -> Suite:
    return Suite(families, {}, {})


# Warnings


def test_the_suite_that_comes_along_gives_no_warning(suite: Suite) -> None:
    assert warnings(suite) == []


def test_a_family_of_six_scenarios_that_tells_its_weaknesses_gives_no_warning() -> None:
    assert warnings(suite_of(a_family("tea"), a_family("milk"))) == []


@given(scenarios=st.integers(1, 9))
def test_fewer_than_six_scenarios_are_too_few(scenarios: int) -> None:
    few = [f"tea: {scenarios} scenarios, expected at least 6 for an interval worth having"]
    assert warnings(suite_of(a_family(scenarios=scenarios))) == (few if scenarios < 6 else [])


def test_a_family_must_say_what_it_cannot_show() -> None:
    assert warnings(suite_of(a_family(weaknesses=""))) == ["tea: no `weaknesses`: say what the family can't show"]


def test_a_question_without_gold_and_forbidden_is_named() -> None:
    idle, scored = {"query": "What is the weather?"}, {"query": "What is the news?"}
    mixed = a_scenario("mixed", scored | {"gold": ["new"]}, idle, scored | {"forbidden": ["old"]}, idle)
    assert warnings(suite_of(a_family("tea", mixed))) == [
        "tea/mixed#2: neither gold nor forbidden: nothing can be scored",
        "tea/mixed#4: neither gold nor forbidden: nothing can be scored",
    ]


def test_a_question_about_what_is_only_implied_is_worth_asking() -> None:
    implied = a_scenario("implied", {"query": "What else is no news?", "implied": ["other"]})
    assert warnings(suite_of(a_family("tea", implied, corrections="implied"))) == []


def test_a_fact_that_two_scenarios_tell_is_named_at_the_second() -> None:
    first = a_scenario("first", old="The office is in Ghent.", new="The office is in Bruges.")
    second = a_scenario("second", old="The office is in Bruges.", new="The office is in Ghent.")
    third = a_scenario("third", other="The office is in Ghent.")
    assert warnings(suite_of(a_family("tea", first, second), a_family("milk", third))) == [
        "tea/second: tells a fact that tea/first tells too: 'The office is in Bruges.'",
        "tea/second: tells a fact that tea/first tells too: 'The office is in Ghent.'",
        "milk/third: tells a fact that tea/first tells too: 'The office is in Ghent.'",
    ]


def test_a_scenario_may_say_the_same_twice_and_two_may_ask_the_same() -> None:
    again = a_scenario("again", old="The office is in Ghent.", other="The office is in Ghent.")
    queries = [step.ask.query for one in a_family("tea", again).scenarios for step in one.steps if step.ask]
    assert len(queries) == 6 != len(set(queries))
    assert warnings(suite_of(a_family("tea", again))) == []


def test_generated_families_are_volume_and_not_held_to_it() -> None:
    small, same = (generate("supersession", facts=8, seed=seed, name="made") for seed in (1, 1))
    assert warnings(suite_of(small, same.model_copy(update={"family": "made_again"}))) == []
    assert warnings(suite_of(small, a_family(weaknesses=""))) == [
        "tea: no `weaknesses`: say what the family can't show"
    ]


def test_everything_is_told_at_once_family_by_family_and_copies_last() -> None:
    copied = a_scenario("copied", other="Old news of tea-1.")
    found = warnings(suite_of(a_family("tea"), a_family("milk", copied, scenarios=2, weaknesses="")))
    assert [line.split(":")[0] for line in found] == ["milk", "milk", "milk/copied"]


# The command, on files alone


def written(*families: Family) -> dict[str, str]:
    """The families as files."""
    return {
        f"{one.family}.yaml": yaml.safe_dump(one.model_dump(mode="json", exclude_unset=True, exclude_none=True))
        for one in families
    }


def verdicts(result: Any) -> dict[str, tuple[str, str]]:
    return {one["gate"]: (one["verdict"], one["reason"]) for one in json.loads(result.stdout)["verdicts"]}


def test_strict_and_static_reads_the_files_and_asks_no_system(
    stilltrue: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stilltrue.evaluation.evaluate", None)
    good = write(written(a_family("tea"), a_family("milk")), "good")
    result = stilltrue("validate", "--strict", "--static", good)
    assert result.exit_code == 0
    assert "pass  strict: no warning" in result.stdout
    assert verdicts(stilltrue("validate", "--strict", "--static", "--json", good)) == {"strict": ("pass", "no warning")}


def test_a_warning_fails_when_strict_and_is_no_matter_otherwise(stilltrue: Run, write: Write, billing: str) -> None:
    folder = write({"billing.yaml": billing})
    strict = stilltrue("validate", "--strict", "--static", "--json", folder)
    assert strict.exit_code == 1
    assert json.loads(strict.stdout)["valid"] is True
    few = "billing: 1 scenarios, expected at least 6 for an interval worth having"
    silent = "billing: no `weaknesses`: say what the family can't show"
    assert verdicts(strict) == {"strict": ("fail", f"{few}; {silent}")}
    assert stilltrue("validate", "--static", folder).exit_code == 0
    shown = stilltrue("validate", "--strict", "--static", folder)
    assert "fail  strict: billing: 1 scenarios, expected" in shown.stdout


def test_a_file_that_is_wrong_is_wrong_usage_also_when_strict(stilltrue: Run, write: Write, billing: str) -> None:
    folder = write({"billing.yaml": billing.replace("gold: [polar]", "gold: [paypal]")})
    result = stilltrue("validate", "--strict", "--static", folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "gold names 'paypal', which was never remembered" in result.stderr


def test_the_suite_that_comes_along_is_strictly_valid_on_paper(stilltrue: Run, suite: Suite) -> None:
    result = stilltrue("validate", "--strict", "--static", "--json")
    assert result.exit_code == 0
    families = json.loads(result.stdout)["families"]
    assert [one["family"] for one in families] == [family.family for family in suite.families]
    assert sum(one["queries"] for one in families) == suite.questions


# The command, with the controls


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The texts that are embedded: those of vendors lie where the questions about vendors lie, all others apart."""
    seen: list[str] = []

    class Vendors:
        name = "vendors"

        def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
            seen.extend(texts)
            return np.array([[1, 0] if "vendor" in text else [0.6, 0.8] for text in texts], dtype=np.float32)

    monkeypatch.setattr(tombstore, "embedder", lambda _name: Vendors())
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # no other processes, where the original would be back
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return seen


def crowded(name: str) -> dict[str, Any]:
    """Eleven outdated statements, more than a window of two times five holds; the current one is put in other words.

    Beside them a live fact that is worded like the outdated ones, for the control that retires look-alikes.
    """
    told = [f"The {name} vendor is number {number}." for number in range(11)]
    steps: list[dict[str, Any]] = [{"at": "2026-01-05T09:00Z", "remember": {"id": "v0", "text": told[0]}}]
    steps.append({"remember": {"id": "polish", "text": f"The {name} polish is number 5."}})
    steps += [
        {"update": {"target": f"v{number - 1}", "id": f"v{number}", "text": told[number]}} for number in range(1, 11)
    ]
    steps.append({"update": {"target": "v10", "id": "now", "text": f"We make each {name} ourselves."}})
    forbidden = [f"v{number}" for number in range(11)]
    steps.append({"ask": {"query": f"Which vendor has the {name}?", "gold": ["now"], "forbidden": forbidden}})
    return {"id": name, "domain": "shop", "steps": steps}


def test_strict_runs_every_control_under_four_strategies(
    stilltrue: Run, write: Write, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stilltrue.strictness.FEWEST_SCENARIOS", 1)  # six take their time
    claims = ["leak", "shrink", "displacement", "over_retirement"]
    folder = write(written(a_family("shop", crowded("lamp"), scenarios=1, reveals=claims)))
    result = stilltrue("validate", "--strict", "--json", folder)
    assert result.exit_code == 0, result.stdout
    found = verdicts(result)
    assert {outcome for outcome, _ in found.values()} == {"pass"}
    assert list(found) == [
        "ruler: oracle",
        "ruler: empty system",
        "control: append_only, leak",
        "control: weight_zero, leak",
        "control: postfilter, shrink",
        "control: postfilter, displacement",
        "control: tombstone_window, displacement",  # which only strategies with vectors show
        "control: eager, over_retirement",
        "ruler: saturation",
        "strict",
    ]
    assert set(asked) == load_suite(folder).texts()


def test_without_strict_nothing_is_embedded_and_controls_are_not_judged(
    stilltrue: Run, write: Write, billing: str, asked: list[str]
) -> None:
    result = stilltrue("validate", "--json", write({"billing.yaml": billing}))
    assert result.exit_code == 0
    assert list(verdicts(result)) == ["ruler: oracle", "ruler: empty system", "ruler: saturation"]
    assert asked == []


def test_a_failure_that_a_family_claims_to_reveal_must_show(
    stilltrue: Run, write: Write, billing: str, asked: list[str]
) -> None:
    # Two live facts in five places, and nothing that is worded like what is corrected.
    claims = "reveals: [leak, displacement, shrink, over_retirement]\nscenarios:\n"
    folder = write({"billing.yaml": billing.replace("scenarios:\n", claims)})
    result = stilltrue("validate", "--strict", "--json", folder)
    assert result.exit_code == 1
    found = verdicts(result)
    assert found["control: append_only, leak"][0] == "pass"
    for gate, metric, failure in (
        ("postfilter, displacement", "displaced", "displacement"),
        ("postfilter, shrink", "shrink", "shrink"),
        ("tombstone_window, displacement", "displaced", "displacement"),
        ("eager, over_retirement", "over_retirement", "over_retirement"),
    ):
        reason = f"{metric} is 0 on billing, which claims to reveal {failure}"
        assert found[f"control: {gate}"] == ("fail", reason)
    assert asked
    assert stilltrue("validate", folder).exit_code == 0


def saturated() -> dict[str, Any]:
    """Six facts about what is asked, all of them gold, and a correction of something else: nobody can get it wrong."""
    days = {f"day{number}": f"The vendors come on day {number}." for number in range(6)}
    question = {"query": "When do the vendors come?", "gold": list(days), "forbidden": ["old"]}
    *told, ask = a_scenario("nobody-leaks", question)["steps"]
    told += [{"remember": {"id": fact, "text": text}} for fact, text in days.items()]
    return {"id": "nobody-leaks", "domain": "shop", "steps": [*told, ask]}


@pytest.mark.parametrize("strict", [(), ("--strict",)])
def test_a_family_on_which_every_policy_scores_the_same_fails(
    stilltrue: Run, write: Write, billing: str, asked: list[str], strict: tuple[str, ...]
) -> None:
    folder = write({**written(a_family("quiet", saturated(), scenarios=1)), "billing.yaml": billing})
    result = stilltrue("validate", *strict, "--json", folder)
    assert result.exit_code == 1
    assert verdicts(result)["ruler: saturation"] == ("fail", "every policy scores the same on quiet")
    assert bool(asked) == bool(strict)
    assert stilltrue("validate", "--static", folder).exit_code == 0


# List scenarios


def test_a_family_is_counted() -> None:
    fields = {"languages": ["en", "pt"], "seen_in": ["a/b#1", "a/b PR #2"], "corrections": "implied"}
    asks = [{"query": "What is it?", "gold": ["new"]}, {"query": "And what else?", "implied": ["other"]}]
    found = counts(a_family("tea", a_scenario("two", *asks) | {"domain": "kitchen"}, scenarios=3, **fields))
    assert (found.family, found.question, found.corrections) == ("tea", "What comes back?", "implied")
    assert (found.scenarios, found.queries, found.facts) == (3, 4, 9)
    assert (found.languages, found.domains) == (("en", "pt"), ("kitchen", "news"))
    assert found.seen_in == ("a/b#1", "a/b PR #2")


def test_what_is_forgotten_or_read_is_no_further_fact(suite: Suite) -> None:
    made = generate("forget", facts=10, seed=0)  # 6 of them are forgotten
    assert (counts(made).facts, counts(made).queries) == (10, 6)
    assert sum(counts(family).queries for family in suite.families) == suite.questions


def test_list_scenarios_has_the_counts_and_sources_that_the_files_have(
    stilltrue: Run, suite: Suite, root: Path
) -> None:
    families = {one["family"]: one for one in json.loads(stilltrue("list", "scenarios", "--json").stdout)["families"]}
    assert list(families) == [family.family for family in suite.families]
    assert sum(one["queries"] for one in families.values()) == suite.questions
    for name in ("chain", "cross_language", "forget_then_recall", "implicit_conflict"):
        one = families[name]
        document = yaml.safe_load((root / f"datasets/stilltrue_data/scenarios/{name}.yaml").read_text(encoding="utf-8"))
        steps = [step for scenario in document["scenarios"] for step in scenario["steps"]]
        assert one["scenarios"] == len(document["scenarios"])
        assert one["queries"] == sum("ask" in step for step in steps)
        assert one["facts"] == sum("remember" in step or "update" in step for step in steps)
        assert one["domains"] == sorted({scenario["domain"] for scenario in document["scenarios"]})
        assert (one["question"], one["seen_in"]) == (document["question"], document.get("seen_in", []))
        assert one["corrections"] == document.get("corrections", "explicit")
        assert one["languages"] == document.get("languages", ["en"])
    assert families["forget_then_recall"]["seen_in"] == ["topoteretes/cognee#3526"]


def test_list_scenarios_shows_a_line_a_family_and_a_total(stilltrue: Run, suite: Suite) -> None:
    shown = stilltrue("list", "scenarios").stdout.split("\n")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown if line.startswith("│")]
    by_family = {line[0]: line for line in cells if line[0]}  # a long cell goes on in further lines without a name
    assert list(by_family) == [*(family.family for family in suite.families), "all"]
    chain = counts(next(family for family in suite.families if family.family == "chain"))
    assert by_family["chain"] == ["chain", "explicit", str(chain.scenarios), str(chain.queries), "en", ""]
    scenarios = sum(len(family.scenarios) for family in suite.families)
    assert by_family["all"] == ["all", "", str(scenarios), str(suite.questions), "", ""]
    assert "topoteretes/cognee#3526" in by_family["forget_then_recall"][5]
    assert [head.strip() for head in shown[1].strip("┃").split("┃")] == [
        "family", "corrections", "scenarios", "queries", "languages", "seen in",
    ]  # fmt: skip


def test_the_families_cards_are_those_that_the_command_makes(stilltrue: Run, root: Path) -> None:
    cards = stilltrue("list", "scenarios", "--markdown").stdout
    assert cards == (root / "datasets/stilltrue_data/scenarios/CARDS.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [(), ("families",)])
def test_cards_are_of_scenarios_only(stilltrue: Run, kind: tuple[str, ...]) -> None:
    result = stilltrue("list", *kind, "--markdown")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "stilltrue: --markdown goes with `scenarios` only\n"


def test_a_generated_file_is_strictly_valid(stilltrue: Run, write: Write) -> None:
    made = generate("chain", facts=20, seed=0, name="made")
    assert stilltrue("validate", "--strict", "--static", write({"made.yaml": as_yaml(made)})).exit_code == 0
