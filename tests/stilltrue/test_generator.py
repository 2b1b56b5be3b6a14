"""Generated volume: the same seed gives the same bytes, ground truth is what the kind says, figures stand apart."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stilltrue.generator import MOST_FACTS, as_yaml, background, generate, kinds
from stilltrue.records import OPERATIONS, Background, Scenario, Step
from stilltrue.results import Results
from stilltrue.scenarios import GENERATED, InvalidScenario, known_backgrounds, load_suite
from stilltrue.truth import questions
from stilltrue.vocabulary import Attribute, Filler, Subject, Vocabulary, fillers, subjects, vocabulary
from tombstore.policies import append_only, tombstone

Write = Callable[..., Path]
Run = Callable[..., Any]
Measure = Callable[..., Results]

WORDS, DIGEST = vocabulary()

# What happens to the facts of a story, and which versions of it are forbidden and gold in the end.
STORIES: dict[str, tuple[list[str], set[int], set[int]]] = {
    "supersession": (["remember", "update"], {0}, {1}),
    "chain": (["remember", "update", "update", "update"], {0, 1, 2}, {3}),
    "crowding": (["remember", *["update"] * 16], set(range(16)), {16}),
    "revert": (["remember", "update", "update"], {0, 1}, {2}),
    "retraction": (["remember", "update"], {0}, {1}),
    "forget": (["remember", "forget"], {0}, set()),
    "reimport": (["remember", "update"], {0}, {1}),
}
# The smallest store: one story, in which at most 60 % of the facts lie.
FEWEST = {"supersession": 4, "chain": 7, "crowding": 29, "revert": 6, "retraction": 4, "forget": 2, "reimport": 4}

KIND = pytest.mark.parametrize("kind", STORIES)
SEEDS = st.integers(0, 10_000)
few = settings(max_examples=6)  # a store takes long to make, and seeds are all alike


def texts(scenario: Scenario) -> dict[str, str]:
    """The facts that a scenario tells, by ID."""
    return {told.id: told.text for step in scenario.steps if (told := step.remember or step.update)}


def stories(scenario: Scenario) -> dict[int, list[tuple[str, str]]]:
    """What happens to each story's facts, in order: the operation and the fact that it adds (that it ends)."""
    found: dict[int, list[tuple[str, str]]] = {}
    for step in scenario.steps:
        for name in ("remember", "update", "forget"):
            if what := getattr(step, name):
                fact = what.target if name == "forget" else what.id
                if match := re.fullmatch(r"f(\d+)-\d+", fact):
                    found.setdefault(int(match[1]), []).append((name, fact))
    return found


def test_these_are_the_kinds_and_each_asks_something() -> None:
    assert list(kinds()) == list(STORIES) == list(FEWEST)
    assert len({kind.question for kind in kinds().values()}) == len(STORIES)


# What a kind says


@KIND
@few
@given(seed=SEEDS)
def test_the_ground_truth_is_what_the_kind_says(kind: str, seed: int) -> None:
    made = generate(kind, facts=90, seed=seed)
    operations, forbidden, gold = STORIES[kind]
    (scenario,) = made.scenarios
    told = stories(scenario)
    retired = {f"f{number}-{version}" for number in told for version in forbidden}
    live = texts(scenario).keys() - retired
    for question in questions(made, scenario):
        (number,) = {int(fact[1:].partition("-")[0]) for fact in question.gold | question.forbidden}
        assert [operation for operation, _ in told[number]] == operations
        assert question.forbidden == {f"f{number}-{version}" for version in forbidden}
        assert question.gold == {f"f{number}-{version}" for version in gold}
        assert (question.retired, question.surviving) == (retired, live)
        assert question.generated


@KIND
def test_a_correction_is_about_the_version_before_it_and_a_question_about_the_storys_entity(kind: str) -> None:
    (scenario,) = generate(kind, facts=90, seed=3).scenarios
    said = texts(scenario)
    names = {name for names in WORDS.entities.values() for name in names}
    for step in scenario.steps:
        if step.update:
            number, version = step.update.id[1:].split("-")
            assert step.update.target == f"f{number}-{int(version) - 1}"
        if step.ask:
            versions = [said[fact] for fact in (*step.ask.gold, *step.ask.forbidden)]
            assert [name for name in names if all(name in text for text in (step.ask.query, *versions))]


def test_a_reimport_reads_back_what_was_exported_before_the_first_correction() -> None:
    (scenario,) = generate("reimport", facts=90, seed=3).scenarios
    order = [operation for step in scenario.steps for operation in OPERATIONS if concerns_a_story(step, operation)]
    told = len(stories(scenario))
    assert order == ["remember"] * told + ["export"] + ["update"] * told + ["reimport"] + ["ask"] * told


def concerns_a_story(step: Step, operation: str) -> bool:
    """Whether it is that operation, and not about one of the other facts of the store."""
    return getattr(step, operation) is not None and not (step.remember and step.remember.id.startswith("o"))


@pytest.mark.parametrize("kind", [name for name in STORIES if name != "reimport"])
def test_no_other_kind_reimports_anything(kind: str) -> None:
    assert not [step for step in generate(kind, facts=90, seed=3).scenarios[0].steps if step.export or step.reimport]


# The wording, with an attribute that shows which phrase and which values were taken


TEA = Attribute(
    id="tea",
    domain="kitchen",
    statements=("{entity} is {value}", "{value} is {entity}"),
    corrections=("{entity} was {old} and is {value}",),
    retractions=("{entity} isn't {old}",),
    queries=("What is {entity}?",),
    values=tuple(f"v{number}" for number in range(17)),
    entities="cups",
)


def values(text: str) -> list[str]:
    return re.findall(r"v\d+", text)


@pytest.mark.parametrize(("kind", "number"), [("supersession", 2), ("reimport", 2), ("chain", 4), ("crowding", 17)])
@given(seed=SEEDS)
def test_each_version_has_a_value_of_its_own_and_a_correction_names_the_one_before(
    kind: str, number: int, seed: int
) -> None:
    moves = kinds()[kind].moves(Subject(TEA, "Ann's cup"), Random(seed))
    told = [text for _, text in moves]
    assert all("Ann's cup" in text for text in told)
    current = [values(text)[-1] for text in told]
    assert len(set(current)) == len(told) == number
    assert [operation for operation, _ in moves] == ["remember", *["update"] * (number - 1)]
    for before, text in pairwise(told):
        assert " and is " not in text or values(text)[0] == values(before)[-1]


def test_corrections_come_in_every_phrase() -> None:
    moves = kinds()["crowding"].moves(Subject(TEA, "cup"), Random(1))
    assert {re.sub(r"v\d+", "_", text) for _, text in moves[1:]} == {"cup is _", "_ is cup", "cup was _ and is _"}


@given(seed=SEEDS)
def test_a_revert_says_the_first_value_again_in_other_words(seed: int) -> None:
    moves = kinds()["revert"].moves(Subject(TEA, "cup"), Random(seed))
    (_, first), (_, second), (_, third) = moves
    (value,) = values(first)
    assert values(third) == [value]
    assert first != third
    assert second == f"cup was {value} and is {values(second)[1]}"
    assert values(second)[1] != value


@given(seed=SEEDS)
def test_a_retraction_says_only_what_no_longer_holds(seed: int) -> None:
    (_, first), (_, second) = kinds()["retraction"].moves(Subject(TEA, "cup"), Random(seed))
    assert second == f"cup isn't {values(first)[0]}"


@given(seed=SEEDS)
def test_what_is_forgotten_is_one_statement(seed: int) -> None:
    (remembered, text), forgotten = kinds()["forget"].moves(Subject(TEA, "cup"), Random(seed))
    assert (remembered, len(values(text)), forgotten) == ("remember", 1, ("forget", ""))


# As many as were asked for


SIZES = st.integers(29, 200)  # the smallest store of the kind that needs most


@settings(max_examples=20)
@given(kind=st.sampled_from(list(STORIES)), facts=SIZES, per_store=SIZES, asked=st.integers(1, 30), seed=SEEDS)
def test_whatever_is_generated_is_valid_when_read_back_and_has_exactly_the_facts_asked_for(
    tmp_path_factory: pytest.TempPathFactory, kind: str, facts: int, per_store: int, asked: int, seed: int
) -> None:
    made = generate(kind, facts=facts, seed=seed, name="made", per_store=per_store, questions=asked)
    file = tmp_path_factory.mktemp("generated") / "made.yaml"
    file.write_text(as_yaml(made), encoding="utf-8")
    assert load_suite(file).families == (made,)
    told = [texts(scenario) for scenario in made.scenarios]
    assert sum(map(len, told)) == facts
    # Full stores, and a last one that is neither too small for a story nor large enough for two stores.
    assert all(len(here) == per_store for here in told[:-1])
    assert FEWEST[kind] <= len(told[-1]) < per_store + FEWEST[kind]
    for scenario, here in zip(made.scenarios, told, strict=True):
        assert len(set(here.values())) == len(here), "no text is told twice in a store"
        number = len(stories(scenario))
        assert sum(step.ask is not None for step in scenario.steps) == min(number, asked)


@pytest.mark.parametrize(
    ("facts", "sizes"), [(39, [39]), (40, [40]), (80, [40, 40]), (86, [40, 46]), (87, [40, 40, 7]), (119, [40, 40, 39])]
)
def test_a_rest_too_small_for_a_story_joins_the_store_before(facts: int, sizes: list[int]) -> None:
    made = generate("chain", facts=facts, seed=0, per_store=40)  # a store of chains has 7 facts at least
    assert [len(texts(one)) for one in made.scenarios] == sizes
    assert [one.id for one in made.scenarios] == [f"chain-0-{number}" for number, _ in enumerate(sizes, start=1)]


def test_three_fifths_of_a_store_lie_in_stories() -> None:
    (scenario,) = generate("chain", facts=100, seed=0, questions=10).scenarios
    assert len(stories(scenario)) == 15  # of 4 facts
    assert sum(fact.startswith("o") for fact in texts(scenario)) == 40
    assert sum(step.ask is not None for step in scenario.steps) == 10


@KIND
def test_the_smallest_store_has_one_story_and_a_smaller_one_is_refused(kind: str) -> None:
    fewest = FEWEST[kind]
    (scenario,) = generate(kind, facts=fewest, seed=0, per_store=fewest, questions=1).scenarios
    assert len(texts(scenario)) == fewest
    assert len(stories(scenario)) == 1
    with pytest.raises(ValueError, match=rf"^{fewest - 1} facts, expected {fewest} to 100000 for {kind}$"):
        generate(kind, facts=fewest - 1, seed=0)
    with pytest.raises(
        ValueError, match=rf"^{fewest - 1} facts a store with 200 questions, expected at least {fewest} "
    ):
        generate(kind, facts=fewest, seed=0, per_store=fewest - 1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kind": "chian"}, "unknown kind 'chian' (did you mean 'chain'?); known: supersession, chain, crowding, "),
        ({"facts": MOST_FACTS + 1}, "100001 facts, expected 7 to 100000 for chain"),
        ({"facts": -1}, "-1 facts, expected 7 to 100000 for chain"),
        ({"questions": 0}, "500 facts a store with 0 questions, expected at least 7 and 1"),
    ],
)
def test_a_number_out_of_range_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}"):
        generate(**{"kind": "chain", "facts": 100, "seed": 0} | options)


# The same seed


@few
@given(kind=st.sampled_from(list(STORIES)), seed=SEEDS)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(kind: str, seed: int) -> None:
    first, again, other = (as_yaml(generate(kind, facts=60, seed=one, per_store=30)) for one in (seed, seed, seed + 1))
    assert first == again
    assert first != other
    assert (
        first.replace(f"-{seed}-", "-s-").split("scenarios:")[1]
        != (other.replace(f"-{seed + 1}-", "-s-").split("scenarios:")[1])
    ), "not only the ids differ"


def test_processes_with_other_hash_seeds_write_the_same_bytes(
    script: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        done = script(
            "generate", "--family", "chain", "--n", "300", "--seed", "7", "--out", tmp_path / seed / "big.yaml",
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
    expected = as_yaml(generate("chain", facts=300, seed=7, name="big")).encode()
    assert (tmp_path / "1" / "big.yaml").read_bytes() == (tmp_path / "2" / "big.yaml").read_bytes() == expected


def test_what_a_file_says_of_its_making_makes_it_again() -> None:
    made = generate("revert", facts=70, seed=5, per_store=30, questions=4)
    assert made.family == "generated_revert"
    assert made.generated is not None
    arguments = made.generated.model_dump()
    assert arguments.pop("vocabulary") == DIGEST
    assert generate(**arguments) == made


# The command


def test_the_command_writes_a_family_of_the_files_name_and_says_how_much(stilltrue: Run, tmp_path: Path) -> None:
    out = tmp_path / "two_stores.yaml"
    arguments = ("--family", "chain", "--n", 47, "--per-store", 40, "--questions", 3, "--seed", 9)
    result = stilltrue("generate", *arguments, "--out", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.replace("\n", "") == f"Wrote {out}: 47 facts in 2 stores, 4 questions"  # 3 and 1
    (made,) = load_suite(out).families
    assert made == generate("chain", facts=47, seed=9, name="two_stores", per_store=40, questions=3)
    checked = json.loads(stilltrue("validate", "--static", "--json", out).stdout)
    assert checked["families"] == [{"family": "two_stores", "scenarios": 2, "queries": 4}]


def test_the_command_makes_a_thousand_facts_unless_told_otherwise(stilltrue: Run, tmp_path: Path) -> None:
    result = stilltrue("generate", "--family", "crowding", "--out", tmp_path / "many.yml")
    assert result.exit_code == 0
    assert load_suite(tmp_path / "many.yml").families == (generate("crowding", facts=1000, seed=0, name="many"),)


# The vocabulary


def phrases() -> Iterator[tuple[str, str, set[str], set[str]]]:
    """Each phrase that comes along with its attribute, what it must name and what it may name beside that."""
    for one in WORDS.attributes:
        yield from ((one.id, phrase, {"entity", "value"}, set()) for phrase in one.statements)
        yield from ((one.id, phrase, {"entity", "value"}, {"old"}) for phrase in one.corrections)
        yield from ((one.id, phrase, {"entity", "old"}, set()) for phrase in one.retractions)
        yield from ((one.id, phrase, {"entity"}, set()) for phrase in one.queries)


def test_every_phrase_names_the_entity_and_the_values_that_it_is_about() -> None:
    wrong = [
        (attribute, phrase)
        for attribute, phrase, needed, allowed in phrases()
        if not needed <= set(re.findall(r"{(\w+)}", phrase)) <= needed | allowed
    ]
    assert wrong == []


def test_every_attribute_has_entities_values_of_its_own_and_words_to_say_a_thing_again() -> None:
    ids = [one.id for one in WORDS.attributes]
    assert len(ids) == len(set(ids))
    for one in WORDS.attributes:
        assert one.entities in WORDS.entities, one.id
        assert len(set(one.values)) == len(one.values) >= 17, one.id
        assert len(set(one.statements)) >= 2, one.id  # a revert says the same twice, in other words
    assert all(len(set(names)) == len(names) for names in WORDS.entities.values())
    assert all(one.entities is None or one.entities in WORDS.entities for one in WORDS.fillers)
    assert {one.domain for one in WORDS.attributes} > set(WORDS.related)


def test_there_are_subjects_enough_for_the_largest_store() -> None:
    pairs = sum(len(WORDS.entities[one.entities]) for one in WORDS.attributes)
    assert pairs * (1 + len(WORDS.entities["towns"])) >= MOST_FACTS


KITCHEN = Vocabulary(
    related=("kitchen",),
    attributes=(TEA, TEA.model_copy(update={"id": "lid", "domain": "garden", "entities": "towns"})),
    entities={"cups": ("red", "blue", "big"), "towns": ("Ghent", "Bruges")},
    fillers=(Filler(text="It rains."), Filler(text="It rains in {entity}.", entities="towns")),
)


@given(seed=SEEDS)
def test_every_subject_comes_once_plain_and_then_once_in_each_town(seed: int) -> None:
    found = [(one.attribute.id, one.entity) for one in subjects(KITCHEN, Random(seed))]
    plain = {("tea", "red"), ("tea", "blue"), ("tea", "big"), ("lid", "Ghent"), ("lid", "Bruges")}
    assert set(found[:5]) == plain
    places = [{entity.partition(" (")[2] for _, entity in found[start : start + 5]} for start in (5, 10)]
    assert sorted(map(sorted, places)) == [["Bruges)"], ["Ghent)"]]
    assert len(set(found)) == len(found) == 15
    assert {(name, entity.partition(" (")[0]) for name, entity in found} == plain


def test_subjects_keep_to_the_domains_that_are_named() -> None:
    assert {one.attribute.id for one in subjects(KITCHEN, Random(0), domains=("garden",))} == {"lid"}


@given(seed=SEEDS)
def test_fillers_are_all_different_and_all_there(seed: int) -> None:
    assert sorted(fillers(KITCHEN, Random(seed))) == ["It rains in Bruges.", "It rains in Ghent.", "It rains."]


# Backgrounds


@few
@given(small=st.integers(1, 150), more=st.integers(0, 150), related=st.booleans(), seed=SEEDS)
def test_a_smaller_body_of_facts_is_the_beginning_of_a_larger_one(
    small: int, more: int, related: bool, seed: int
) -> None:
    less, all_of_it = (background("body", facts, related=related, seed=seed) for facts in (small, small + more))
    assert len(less.facts) == small
    assert less.facts == all_of_it.facts[:small]


@pytest.fixture(scope="module")
def bodies() -> dict[str, Background]:
    """The four that a scenario can name."""
    found, hashes = known_backgrounds([*GENERATED, "small_company", "nobody_knows"])
    assert set(found) == {*GENERATED, "small_company"}
    assert hashes["generator/vocabulary.yaml"] == DIGEST
    return {name: found[name] for name in GENERATED}


def test_a_generated_background_has_as_many_facts_as_it_says_each_a_text_of_its_own(
    bodies: dict[str, Background],
) -> None:
    assert {name: len(body.facts) for name, body in bodies.items()} == {
        "unrelated_500": 500,
        "unrelated_5000": 5000,
        "related_500": 500,
        "related_5000": 5000,
    }
    for name, body in bodies.items():
        assert body.background == name
        assert len({fact.text for fact in body.facts}) == len({fact.id for fact in body.facts}) == len(body.facts)
        assert body.facts[0].at == datetime(2025, 1, 1, 8, tzinfo=UTC)
        assert {after.at - before.at for before, after in pairwise(body.facts)} == {timedelta(minutes=90)}


def test_a_related_body_talks_of_software_companies_and_an_unrelated_one_never_does(
    bodies: dict[str, Background],
) -> None:
    said = {
        related: [
            re.compile(re.sub(r"\\{\w+\\}", ".+", re.escape(phrase)))
            for one in WORDS.attributes
            if (one.domain in WORDS.related) == related
            for phrase in one.statements
        ]
        for related in (True, False)
    }

    def share(name: str, *, related: bool) -> float:
        facts = bodies[name].facts
        return sum(any(form.fullmatch(fact.text) for form in said[related]) for fact in facts) / len(facts)

    assert share("related_500", related=True) == 1
    assert share("related_500", related=False) < 0.05  # a phrase may by chance fit another attribute's form
    assert share("unrelated_500", related=True) < 0.05
    assert 0.4 < share("unrelated_500", related=False) < 0.6  # the others are odd remarks


NAMED = "domain: software team\n    background: related_500"


def test_a_scenario_names_a_generated_background_and_is_asked_among_its_facts(
    measure: Measure, write: Write, billing: str
) -> None:
    plain = load_suite(write({"billing.yaml": billing}, "plain"))
    suite = load_suite(write({"billing.yaml": billing.replace("domain: software team", NAMED)}))
    body = suite.backgrounds["related_500"]
    assert body == background("related_500", 500, related=True)
    assert suite.texts() == plain.texts() | {fact.text for fact in body.facts}
    assert suite.hashes["generator/vocabulary.yaml"] == DIGEST
    assert "generator/vocabulary.yaml" not in plain.hashes
    assert "related_500" not in plain.backgrounds
    (record,) = [
        one
        for one in measure(suite, policies=["tombstone"], strategies=["bm25"], k=50).queries
        if one["system"] == "tombstore"
    ]
    assert [fact for fact in record["returned"] if fact.startswith("bg-")]
    assert "polar" in record["returned"]
    assert "lemon" not in record["returned"]


def test_a_generated_background_must_be_over_when_the_scenario_starts(write: Write, billing: str) -> None:
    early = billing.replace("domain: software team", NAMED).replace("2026-01-05", "2025-02-01")
    last = background("related_500", 500, related=True).facts[-1].at
    assert last == datetime(2025, 2, 1, 12, 30, tzinfo=UTC)
    with pytest.raises(
        InvalidScenario, match=r":6: .*the background related_500 is not over when the scenario starts$"
    ):
        load_suite(write({"billing.yaml": early}))
    assert load_suite(write({"billing.yaml": early.replace("2025-02-01T09:00", "2025-02-01T12:30")}, "later"))


# Figures


@pytest.fixture(scope="module")
def by_kind(measure: Measure, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A small family of every kind, under four policies."""
    folder = tmp_path_factory.mktemp("kinds")
    for kind in STORIES:
        made = generate(kind, facts=64, seed=1, name=kind, questions=8)
        (folder / f"{kind}.yaml").write_text(as_yaml(made), encoding="utf-8")
    policies = ["tombstone", "append_only", "weight_zero", "delete"]
    return measure(load_suite(folder), policies=policies, strategies=["bm25"])


def figure(results: Results, metric: str, family: str, *, policy: str = "-", system: str = "tombstore") -> float | None:
    (row,) = [
        row
        for row in results.rows
        if (row.metric, row.family, row.policy, row.system) == (metric, family, policy, system)
    ]
    return row.value


@KIND
def test_the_reference_never_leaks_on_generated_facts_and_a_memory_that_ignores_corrections_does(
    by_kind: Results, kind: str
) -> None:
    assert figure(by_kind, "stale_leak", kind, policy="tombstone") == 0
    for policy in ("append_only", "weight_zero"):
        leak = figure(by_kind, "stale_leak", kind, policy=policy)
        assert leak is not None
        assert leak > 0
    assert figure(by_kind, "stale_leak", kind, system="oracle") == 0
    # Where nothing is gold, nothing can be found or displaced.
    assert figure(by_kind, "displaced", kind, policy="tombstone") == (None if kind == "forget" else 0)
    assert figure(by_kind, "live_hit", kind, system="oracle") == (None if kind == "forget" else 1)


def test_only_a_reimport_brings_back_what_was_deleted(by_kind: Results) -> None:
    leaks = {kind: figure(by_kind, "stale_leak", kind, policy="delete") or 0.0 for kind in STORIES}
    assert {kind for kind, leak in leaks.items() if leak > 0} == {"reimport"}


def test_every_kind_is_a_ruler(by_kind: Results) -> None:
    assert {one.verdict for one in by_kind.verdicts} == {"pass"}
    assert "policies differ on each of 7 families" in [one.reason for one in by_kind.verdicts][-1]


def test_a_run_of_generated_families_alone_has_no_figures_over_hand_written_ones(by_kind: Results) -> None:
    assert {row.family for row in by_kind.rows} == {"* generated", *STORIES}
    n = {row.n for row in by_kind.rows if (row.metric, row.family) == ("empty_results", "* generated")}
    # 64 facts, 38 of them in stories: 8 of 19, 9, 12, 19, 38 and 19 stories are asked about, and both of crowding.
    assert n == {6 * 8 + 2}


@pytest.fixture
def mixed(write: Write, billing: str) -> dict[str, Path]:
    """A hand-written family and a generated one, alone and together."""
    made = as_yaml(generate("supersession", facts=30, seed=1, name="made"))
    return {
        "hand": write({"billing.yaml": billing}, "hand"),
        "made": write({"made.yaml": made}, "made"),
        "both": write({"billing.yaml": billing, "made.yaml": made}, "both"),
    }


def test_figures_of_generated_families_never_mix_with_those_of_hand_written_ones(
    measure: Measure, mixed: dict[str, Path]
) -> None:
    found = {
        name: measure(load_suite(folder), policies=["tombstone", "append_only"], strategies=["bm25"]).rows
        for name, folder in mixed.items()
    }
    assert {name: list(dict.fromkeys(row.family for row in rows)) for name, rows in found.items()} == {
        "hand": ["*", "billing"],
        "made": ["* generated", "made"],
        "both": ["*", "* generated", "billing", "made"],
    }
    together = [json.dumps(asdict(row), sort_keys=True) for row in found["both"]]
    apart = [json.dumps(asdict(row), sort_keys=True) for row in (*found["hand"], *found["made"])]
    assert sorted(together) == sorted(apart)


def test_a_reference_that_leaks_on_generated_facts_alone_fails_too(
    measure: Measure, mixed: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tombstone, "make", append_only.make)
    quiet = mixed["both"] / "billing.yaml"  # the hand-written family can't leak: nothing old is near the question
    quiet.write_text(
        quiet.read_text(encoding="utf-8")
        .replace("gold: [polar]", "gold: [owner]")
        .replace("What does billing run on?", "Who decides refunds?"),
        encoding="utf-8",
    )
    found = measure(load_suite(mixed["both"]), policies=["tombstone"], strategies=["bm25"])
    assert figure(found, "stale_leak", "*", policy="tombstone") == 0
    (verdict,) = [one for one in found.verdicts if one.gate == "retrieval"]
    assert verdict.verdict == "fail"
    assert verdict.reason.startswith("stale_leak@5 of tombstore/tombstone/bm25 is ")


def test_generated_figures_are_shown_where_there_are_no_others(
    stilltrue: Run, mixed: dict[str, Path], tmp_path: Path
) -> None:
    arguments = ("--policy", "tombstone", "--policy", "append_only", "--strategy", "bm25", "--out", tmp_path / "out")
    alone, both, hand = (stilltrue("evals", "--suite", mixed[name], *arguments) for name in ("made", "both", "hand"))
    assert {alone.exit_code, both.exit_code, hand.exit_code} == {0}

    def shown(result: Any) -> list[str]:
        return [line for line in result.stdout.split("\n") if "append_only │" in line]

    (of_made,), (of_both,), (of_hand,) = shown(alone), shown(both), shown(hand)
    assert of_both == of_hand != of_made
    assert "n/a" not in of_made.split("│")[3]
