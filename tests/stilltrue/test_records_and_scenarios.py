"""Scenario files: every mistake is named with file, line and what to do; the suite that comes along has none."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stilltrue import documents
from stilltrue.records import OPERATIONS, Step, parse_duration, parse_instant
from stilltrue.scenarios import InvalidScenario, Suite, load_suite

Write = Callable[..., Path]

OWNER = '"Refunds are up to Ines."'
UPDATE, ASKING = "2026-03-01T09:00Z", "{at: 2026-03-02T09:00Z, ask"
BACKGROUNDS = ["fernhill_related", "fernhill_unrelated", "small_company"]  # from files; the others are generated
BACKGROUNDS += ["unrelated_500", "unrelated_5000", "related_500", "related_5000"]
OPERATION = f"a step has exactly one of {', '.join(OPERATIONS)}; this one has"
ASK = '{query: "What does billing run on?", gold: [polar], forbidden: [lemon]}'

# What is replaced in the valid file of conftest by what, and the complaint: line and text.
MISTAKES = {
    "a key nobody knows": (
        "remember: {id: owner",
        "remembr: {id: owner",
        "8: unknown key 'remembr' (did you mean 'remember'?)",
    ),
    "a key nobody knows, at the top": ("question:", "queston:", "1: the key 'question' is missing"),
    "a key that is nothing like another": ("domain:", "zzz:", "5: unknown key 'zzz'"),
    "a missing key": ("{id: owner, text", "{text", "8: the key 'id' is missing"),
    "a key given twice": ("domain: software team", "domain: a\n    domain: b", "6: the key 'domain' is given twice"),
    "YAML's no": (OWNER, "no", "8: text: expected a text (put it in quotes), got False"),
    "YAML's number": (
        OWNER,
        "12:30",
        "8: text: expected a text (put it in quotes), got 750",
    ),
    "a blank text": (OWNER, '"  "', "8: text: the text is blank"),
    "an empty query": ('query: "What does billing run on?"', 'query: ""', "10: query: the text is blank"),
    "a text where a list belongs": ("gold: [polar]", "gold: polar", "10: gold: expected a list, got 'polar'"),
    "a number where a step belongs": (
        f"{{remember: {{id: owner, text: {OWNER}}}}}",
        "5",
        "8: steps: expected keys with values, got 5",
    ),
    "a fact id in capitals": ("id: owner", "id: Owner", "8: id: 'Owner' is not of the form ^[a-z0-9][a-z0-9_-]*$"),
    "a scenario id with a blank": (
        "id: swap",
        "id: a b",
        "4: id: 'a b' is not of the form ^[a-z0-9][a-z0-9-]*$",
    ),
    "an id that belongs to backgrounds": (
        "id: owner",
        "id: bg-owner",
        "8: scenario swap: 'bg-owner': ids that begin with bg- belong to backgrounds",
    ),
    "no instant": (
        UPDATE,
        "tomorrow",
        "9: at: not an instant: 'tomorrow' (write it as 2026-01-05T09:00Z)",
    ),
    "a day that doesn't exist": (
        UPDATE,
        "2026-02-30T09:00:00Z",
        "9: at: not an instant: '2026-02-30T09:00:00Z' (write it as 2026-01-05T09:00Z)",
    ),
    "an instant without a zone": (
        UPDATE,
        "2026-03-01T09:00",
        "9: at: instant without a zone: '2026-03-01T09:00' (append Z for UTC)",
    ),
    "a date": (UPDATE, "2026-03-01", "9: at: instant without a zone: '2026-03-01' (append Z for UTC)"),
    "an instant before the year 1": (
        "2026-01-05T09:00Z",
        "0001-01-01T00:00+01:00",
        "7: at: not an instant in the years 1 to 9999: '0001-01-01T00:00+01:00'",
    ),
    "no duration": (
        ASKING,
        "{advance: 3 weeks}\n      - {ask",
        "10: advance: not a duration: '3 weeks' (write 90s, 15m, 12h, 40d or 2w)",
    ),
    "a duration of ages": (
        ASKING,
        "{advance: 99999999999d}\n      - {ask",
        "10: advance: too long a duration: '99999999999d'",
    ),
    "a clock past the last year": (
        ASKING,
        "{advance: 3000000d}\n      - {ask",
        "7: scenario swap: the clock runs past the year 9999",
    ),
    "a clock going back": (
        "2026-03-02T09:00Z",
        "2026-02-28T09:00Z",
        "10: scenario swap: the clock goes back, from 2026-03-01T09:00:00+00:00 to 2026-02-28T09:00:00+00:00",
    ),
    "a first step without an instant": (
        "{at: 2026-01-05T09:00Z, remember",
        "{remember",
        "7: scenario swap: the first step needs `at`",
    ),
    "two operations in a step": (
        ASKING,
        "{consolidate: {}, ask",
        f"10: steps: {OPERATION} ['consolidate', 'ask']",
    ),
    "no operation in a step": (
        ASKING,
        "{at: 2026-03-02T09:00Z}\n      - {ask",
        f"10: steps: {OPERATION} none",
    ),
    "a fact remembered twice": (
        "id: owner",
        "id: lemon",
        "8: scenario swap: duplicate id: there is a fact 'lemon' already",
    ),
    "a fact corrected into itself": (
        "id: polar,",
        "id: lemon,",
        "9: scenario swap: duplicate id: there is a fact 'lemon' already",
    ),
    "gold that was never remembered": (
        "gold: [polar]",
        "gold: [polar, paypal]",
        "10: scenario swap: gold names 'paypal', which was never remembered before this question",
    ),
    "gold that is retired": (
        "gold: [polar], forbidden: [lemon]",
        "gold: [lemon]",
        "10: scenario swap: gold names 'lemon', which is retired by now",
    ),
    "forbidden that was never remembered": (
        "forbidden: [lemon]",
        "forbidden: [paypal]",
        "10: scenario swap: forbidden names 'paypal', which was never remembered before this question",
    ),
    "forbidden that is live": (
        "forbidden: [lemon]",
        "forbidden: [owner]",
        "10: scenario swap: forbidden names 'owner', which is still live",
    ),
    "gold and forbidden at once": (
        "forbidden: [lemon]",
        "forbidden: [polar]",
        "10: scenario swap: polar: gold and forbidden at once",
    ),
    "a target that was never remembered": (
        "target: lemon",
        "target: paypal",
        "9: scenario swap: the target 'paypal' was never remembered",
    ),
    "a target that is retired already": (
        ASKING,
        "{forget: {target: lemon}}\n      - {ask",
        "10: scenario swap: the target 'lemon' is retired already",
    ),
    "nothing asked": (f"ask: {ASK}", "consolidate: {}", "7: scenario swap: no step asks anything"),
    "a background that isn't there": (
        "domain: software team",
        "domain: a\n    background: big_company",
        f"6: unknown background 'big_company'; known: {', '.join(BACKGROUNDS)}",
    ),
    "a background that isn't over": (
        "domain: software team\n    steps:\n      - {at: 2026-01-05",
        "domain: a\n    background: small_company\n    steps:\n      - {at: 2025-12-01",
        "6: scenario swap: the background small_company is not over when the scenario starts",
    ),
    "a family that is called otherwise than its file": (
        "family: billing",
        "family: payments",
        "1: the family is called 'payments', its file 'billing': give both the same name",
    ),
    "a failure that nobody knows": (
        "scenarios:\n",
        "reveals: [leek]\nscenarios:\n",
        "3: reveals: Input should be 'leak', 'shrink', 'displacement' or 'over_retirement', got 'leek'",
    ),
    "no scenarios": ("scenarios:\n", "scenarios: []\nseen_in:\n", "3: scenarios: the list is empty"),
    "an instant that is a fact": (
        "forbidden: [lemon]",
        "forbidden: [2026-01-05]",
        "10: scenario swap: forbidden names '2026-01-05', which was never remembered before this question",
    ),
}


def complaints(folder: Path) -> list[str]:
    with pytest.raises(InvalidScenario) as caught:
        load_suite(folder)
    return [problem.removeprefix(f"{folder}/") for problem in caught.value.problems]


@pytest.mark.parametrize(("old", "new", "complaint"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_line(billing: str, write: Write, old: str, new: str, complaint: str) -> None:
    assert billing.count(old) == 1, "the table replaces something that isn't there"
    assert f"billing.yaml:{complaint}" in complaints(write({"billing.yaml": billing.replace(old, new)}))


def test_the_file_that_these_mistakes_are_made_in_is_valid(billing: str, write: Write) -> None:
    suite = load_suite(write({"billing.yaml": billing}))
    assert [family.family for family in suite.families] == ["billing"]
    assert suite.questions == 1


TAG = "tag:yaml.org,2002:"
NOT_SCENARIOS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "1: the file is empty"),
    "a comment": ("# only a comment\n", "1: the file is empty"),
    "a list": ("[]\n", "1: the file: expected keys with values, got []"),
    "a bracket left open": (
        "a: [b\n",
        "2: malformed YAML: while parsing a flow sequence, did not find expected ',' or ']'",
    ),
    "two documents": (
        "a: 1\n---\nb: 2\n",
        "2: malformed YAML: expected a single document in the stream, but found another document",
    ),
    "a NUL": ("a: 1\nb: \0\n", "2: malformed YAML: control characters are not allowed (#x0000)"),
    "Latin-1": (b"a: 1\nb: \xe9\n", "2: not UTF-8 text (invalid continuation byte at byte 8)"),
    "UTF-16": (b"\xff\xefa\0", "1: not UTF-8 text (invalid start byte at byte 0)"),
    "a list as a key": ("? [a]\n: b\n", "1: malformed YAML: while constructing a mapping, found unhashable key"),
    "itself": ("a: &a [*a]\n", "1: malformed YAML: maximum recursion depth exceeded"),
    "a call": (
        "family: !!python/object/apply:os.getcwd []\n",
        f"1: malformed YAML: could not determine a constructor for the tag '{TAG}python/object/apply:os.getcwd'",
    ),
    "a tag": (
        "family: !secret x\n",
        "1: malformed YAML: could not determine a constructor for the tag '!secret'",
    ),
}


@pytest.mark.parametrize(("content", "complaint"), NOT_SCENARIOS.values(), ids=NOT_SCENARIOS.keys())
def test_a_file_that_holds_something_else_is_named_with_the_line(
    write: Write, content: str | bytes, complaint: str
) -> None:
    assert complaints(write({"billing.yaml": content})) == [f"billing.yaml:{complaint}"]


@pytest.mark.parametrize(("content", "line"), [("a: 1\nb: \0\n", 2), ("a: [\n", 2), ("", 1), ("a: 1\na: 2\n", 2)])
def test_where_pyyaml_has_no_libyaml_the_lines_are_the_same(
    write: Write, monkeypatch: pytest.MonkeyPatch, content: str, line: int
) -> None:
    monkeypatch.setattr(documents, "_Loader", yaml.SafeLoader)
    assert complaints(write({"billing.yaml": content}))[0].startswith(f"billing.yaml:{line}: ")


def test_all_mistakes_of_all_files_are_told_at_once(billing: str, write: Write) -> None:
    folder = write(
        {
            "billing.yaml": billing.replace("get: lemon", "get: paypal").replace("gold: [polar]", "gold: [x]"),
            "broken.yaml": "family: [",
            "other.yaml": billing.replace("question:", "queston:"),
        }
    )
    assert complaints(folder) == [
        "billing.yaml:9: scenario swap: the target 'paypal' was never remembered",
        "billing.yaml:10: scenario swap: gold names 'x', which was never remembered before this question",
        "billing.yaml:10: scenario swap: forbidden names 'lemon', which is still live",
        "broken.yaml:2: malformed YAML: while parsing a flow node, did not find expected node content",
        "other.yaml:1: the key 'question' is missing",
        "other.yaml:2: unknown key 'queston' (did you mean 'question'?)",
    ]


def test_a_mistake_in_a_step_is_not_told_again_as_a_list_without_steps(billing: str, write: Write) -> None:
    folder = write({"billing.yaml": billing.replace(OWNER, "no")})
    assert complaints(folder) == ["billing.yaml:8: text: expected a text (put it in quotes), got False"]


def test_a_scenario_id_is_used_once_in_all_files(billing: str, write: Write) -> None:
    folder = write({"billing.yaml": billing, "payments.yaml": billing.replace("family: billing", "family: payments")})
    assert complaints(folder) == [f"payments.yaml:4: duplicate id: scenario 'swap' is also in {folder}/billing.yaml"]


def test_a_folder_or_file_that_is_not_there_is_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere: no such file or folder"):
        load_suite(tmp_path / "nowhere")


def test_a_folder_without_scenario_files_is_an_error(tmp_path: Path) -> None:
    assert complaints(tmp_path) == [f"{tmp_path}: no scenario files (*.yaml)"]


def test_a_single_file_a_folder_of_files_and_a_folder_with_scenarios_are_all_suites(
    suite: Suite, billing: str, write: Write
) -> None:
    plain = write({"billing.yaml": billing}, "plain")
    nested = write({"scenarios/billing.yaml": billing, "backgrounds/office.yaml": OFFICE}, "nested")
    assert load_suite(plain).families == load_suite(plain / "billing.yaml").families == load_suite(nested).families
    assert set(load_suite(nested).backgrounds) == {"office", *suite.backgrounds}
    assert "office" not in suite.backgrounds


def test_a_file_may_end_in_yml(billing: str, write: Write) -> None:
    assert load_suite(write({"billing.yml": billing})).questions == 1


OFFICE = """\
background: office
description: Two facts of an office
facts:
  - {id: bg-door, at: 2025-09-01T08:00Z, text: "The door opens at seven."}
  - {id: bg-tea, at: 2025-09-02T08:00Z, text: "Tea is in the left cupboard."}
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "2025-09-02",
            "2025-08-30",
            "5: the clock goes back, from 2025-09-01T08:00:00+00:00 to 2025-08-30T08:00:00+00:00",
        ),
        ("bg-tea", "bg-door", "5: duplicate id: there is a fact 'bg-door' already"),
        ("bg-tea", "tea", "5: id: 'tea' is not of the form ^bg-[a-z0-9][a-z0-9_-]*$"),
        (
            "background: office",
            "background: bureau",
            "1: the background is called 'bureau', its file 'office': give both the same name",
        ),
        ("Two facts of an office", "[]", "2: description: expected a text (put it in quotes), got []"),
    ],
)
def test_a_mistake_in_a_background_is_named_with_its_line(
    billing: str, write: Write, old: str, new: str, complaint: str
) -> None:
    folder = write({"scenarios/billing.yaml": billing, "backgrounds/office.yaml": OFFICE.replace(old, new)})
    assert complaints(folder) == [f"backgrounds/office.yaml:{complaint}"]


def test_an_unknown_family_is_told_with_a_suggestion(suite: Suite) -> None:
    with pytest.raises(InvalidScenario, match=r"^unknown family 'chian' \(did you mean 'chain'\?\); known: "):
        load_suite(only=["chian"])
    assert [family.family for family in load_suite(only=["pinned_facts", "chain"]).families] == [
        "chain",
        "pinned_facts",
    ]


def test_two_steps_may_happen_at_the_same_instant(billing: str, write: Write) -> None:
    assert load_suite(write({"billing.yaml": billing.replace("2026-03-02", "2026-03-01")})).questions == 1


def test_what_a_past_question_expects_may_be_retired_by_now(billing: str, write: Write) -> None:
    past = "gold: [lemon], forbidden: [polar], as_of: 2026-02-01T09:00Z"
    assert (
        load_suite(write({"billing.yaml": billing.replace("gold: [polar], forbidden: [lemon]", past)})).questions == 1
    )


def test_an_implied_correction_may_forbid_what_nobody_retired(billing: str, write: Write) -> None:
    implied = billing.replace("scenarios:\n", "corrections: implied\nscenarios:\n")
    implied = implied.replace("forbidden: [lemon]", "implied: [owner]")
    assert load_suite(write({"billing.yaml": implied})).questions == 1


# The vocabulary


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-05T09:00Z", datetime(2026, 1, 5, 9, tzinfo=UTC)),
        ("2026-01-05T09:00:30.5Z", datetime(2026, 1, 5, 9, 0, 30, 500_000, tzinfo=UTC)),
        ("2026-01-05T09:00+02:00", datetime(2026, 1, 5, 7, tzinfo=UTC)),
        ("2026-01-05 09:00:00Z", datetime(2026, 1, 5, 9, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_as_utc(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant
    assert parse_instant(text).tzinfo is UTC


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("12h", 43_200), ("40d", 3_456_000), ("2w", 1_209_600), ("1.5h", 5400)],
)
def test_a_duration_is_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "5", "5 d", "-5d", "5d12h", "1e3s", "d", "5D"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration(text)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "text", "target"]), inner),
)


@given(ANYTHING | st.dictionaries(st.sampled_from(["at", *OPERATIONS]), ANYTHING | st.datetimes() | st.timedeltas()))
def test_whatever_stands_where_a_step_belongs_is_a_step_or_a_complaint(value: object) -> None:
    with suppress(ValidationError):
        assert Step.model_validate(value).model_dump(exclude_none=True)


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_whatever_a_file_holds_is_a_complaint_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.mktemp("suite") / "billing.yaml"
    file.write_bytes(content)
    with pytest.raises(InvalidScenario, match=r"billing\.yaml:[1-9]"):
        load_suite(file)


# The suite that comes along


def test_the_suite_has_at_least_eight_families_of_at_least_five_scenarios(suite: Suite) -> None:
    sizes = {family.family: len(family.scenarios) for family in suite.families}
    assert len(sizes) >= 8
    assert min(sizes.values()) >= 5


def test_every_family_claims_something_and_every_query_is_about_something(suite: Suite) -> None:
    asks = [
        step.ask for family in suite.families for scenario in family.scenarios for step in scenario.steps if step.ask
    ]
    assert all(ask.gold or ask.forbidden for ask in asks)
    assert {failure for family in suite.families for failure in family.reveals} == {
        "leak",
        "shrink",
        "displacement",
        "over_retirement",
    }


def test_no_fact_of_a_background_is_also_told_by_a_scenario(suite: Suite) -> None:
    told = {
        fact.text
        for family in suite.families
        for scenario in family.scenarios
        for step in scenario.steps
        for fact in (step.remember, step.update)
        if fact
    }
    backgrounds = {fact.text for background in suite.backgrounds.values() for fact in background.facts}
    assert len(backgrounds) >= 50
    assert told.isdisjoint(backgrounds)
