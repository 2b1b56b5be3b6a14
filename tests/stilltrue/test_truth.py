"""The ground truth: when each step happens, and which facts are live or retired at each question."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue.records import Family, Scenario
from stilltrue.truth import World, questions, timeline

MakeFamily = Callable[..., Family]

ASK = {"ask": {"query": "?"}}


def remember(fact: str) -> dict[str, object]:
    return {"remember": {"id": fact, "text": f"text of {fact}"}}


def update(target: str, fact: str) -> dict[str, object]:
    return {"update": {"target": target, "id": fact, "text": f"text of {fact}"}}


def retired_at_each_question(family: Family) -> list[set[str]]:
    (scenario,) = family.scenarios
    return [set(question.retired) for question in questions(family, scenario)]


def test_a_step_without_an_instant_happens_a_second_after_the_one_before(family: MakeFamily) -> None:
    made = family(remember("a"), remember("b"), {"at": "2026-02-01T00:00Z", **ASK}, {"advance": "40d"}, ASK)
    assert [at.isoformat() for at, _ in timeline(made.scenarios[0])] == [
        "2026-01-05T09:00:00+00:00",
        "2026-01-05T09:00:01+00:00",
        "2026-02-01T00:00:00+00:00",
        "2026-03-13T00:00:00+00:00",  # February 2026 has 28 days
        "2026-03-13T00:00:01+00:00",
    ]


def test_a_timeline_without_a_beginning_is_an_error(family: MakeFamily) -> None:
    made = Scenario.model_validate({"id": "x", "domain": "test", "steps": [remember("a"), ASK]})
    with pytest.raises(ValueError, match="the first step needs `at`"):
        list(timeline(made))
    begun = timeline(made, start=datetime(2026, 1, 1, tzinfo=UTC))
    assert [at - datetime(2026, 1, 1, tzinfo=UTC) for at, _ in begun] == [timedelta(seconds=1), timedelta(seconds=2)]


def test_update_and_forget_retire_and_nothing_else_does(family: MakeFamily) -> None:
    made = family(
        remember("a"),
        remember("b"),
        ASK,
        update("a", "a2"),
        ASK,
        {"forget": {"target": "b"}},
        ASK,
        update("a2", "a3"),
        {"pin": {"target": "a3"}},
        {"unpin": {"target": "a3"}},
        {"advance": "400d"},
        {"consolidate": {}},
        ASK,
    )
    assert retired_at_each_question(made) == [set(), {"a"}, {"a", "b"}, {"a", "a2", "b"}]


def test_a_question_carries_what_the_scenario_says_about_it(family: MakeFamily) -> None:
    made = family(
        remember("old"),
        update("old", "new"),
        ASK,
        {"ask": {"query": "Which one?", "gold": ["new"], "forbidden": ["old"]}},
    )
    _, question = questions(made, made.scenarios[0])
    assert (question.family, question.scenario, question.number, question.query) == ("fam", "fam-1", 2, "Which one?")
    assert (question.gold, question.forbidden, question.as_of) == ({"new"}, {"old"}, None)
    assert question.at == datetime(2026, 1, 5, 9, 0, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("as_of", "retired"),
    [
        ("2025-01-01T00:00Z", set()),
        ("2026-01-31T23:59Z", set()),
        ("2026-02-01T00:00Z", {"v1"}),  # half-open: from its instant on, a correction holds
        ("2026-02-28T00:00Z", {"v1"}),
        ("2026-03-01T00:00Z", {"v1", "v2"}),
    ],
)
def test_a_question_about_the_past_counts_as_retired_what_was_retired_then(
    family: MakeFamily, as_of: str, retired: set[str]
) -> None:
    made = family(
        remember("v1"),
        {"at": "2026-02-01T00:00Z", **update("v1", "v2")},
        {"at": "2026-03-01T00:00Z", **update("v2", "v3")},
        {"at": "2026-04-01T00:00Z", "ask": {"query": "?", "gold": ["v1"], "as_of": as_of}},
    )
    assert retired_at_each_question(made) == [retired]


@given(st.lists(st.tuples(st.sampled_from(["remember", "update", "forget", "ask"]), st.integers(0, 20)), max_size=30))
def test_in_every_history_a_fact_is_live_or_retired_and_never_comes_back(choices: list[tuple[str, int]]) -> None:
    steps: list[dict[str, object]] = [{"at": "2026-01-05T09:00Z", **remember("f0")}]
    live, retired, expected = ["f0"], set[str](), list[set[str]]()
    for number, (kind, choice) in enumerate(choices, start=1):
        if kind == "ask":
            steps.append(ASK)
            expected.append(set(retired))
        elif kind == "remember" or not live:
            steps.append(remember(f"f{number}"))
        else:
            target = live.pop(choice % len(live))
            retired.add(target)
            steps.append(update(target, f"f{number}") if kind == "update" else {"forget": {"target": target}})
        if steps[-1].keys() & {"remember", "update"}:
            live.append(f"f{number}")
    scenario = Scenario.model_validate({"id": "x", "domain": "test", "steps": steps})
    family = Family.model_validate({"family": "fam", "question": "?", "scenarios": [scenario]})
    assert [set(question.retired) for question in questions(family, scenario)] == expected
    world = World()
    for at, step in timeline(scenario):
        world.apply(step, at)
        assert world.live.isdisjoint(world.retired)
        assert world.live | world.retired == set(world.texts)
