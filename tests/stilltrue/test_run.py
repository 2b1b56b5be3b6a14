"""The run: a system hears texts, times and queries and nothing else; its results come back as the scenario's facts."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue.records import Answer, Background, Family, Recalled
from stilltrue.run import scenario_answers
from stilltrue.systems import null, oracle, tombstore

MakeFamily = Callable[..., Family]


class Recorder:
    """A system that writes down what it is told, forgets nothing and answers with what the test says."""

    def __init__(self, results: Sequence[Recalled] = (), handles: bool = False) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.results, self.handles = results, handles
        self.closed = 0

    def _hear(self, operation: str, at: datetime, *what: Any) -> str | None:
        self.told.append((operation, *what, f"{at:%d %H:%M:%S}"))
        return f"handle {len(self.told)}" if self.handles else None

    def remember(self, *, text: str, at: datetime) -> str | None:
        return self._hear("remember", at, text)

    def recall(self, *, query: str, k: int, at: datetime) -> Sequence[Recalled]:
        self._hear("recall", at, query, k)
        return self.results

    def close(self) -> None:
        self.closed += 1


class Complete(Recorder):
    """Offers every operation."""

    def update(self, *, target: str, text: str, at: datetime) -> str | None:
        return self._hear("update", at, target, text)

    def forget(self, *, target: str, at: datetime) -> None:
        self._hear("forget", at, target)

    def pin(self, *, target: str, at: datetime) -> None:
        self._hear("pin", at, target)

    def unpin(self, *, target: str, at: datetime) -> None:
        self._hear("unpin", at, target)

    def consolidate(self, *, at: datetime, if_due: bool) -> None:
        self._hear("consolidate", at, if_due)

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> Sequence[Recalled]:
        self._hear("recall as of", at, query, k, f"{as_of:%d}")
        return self.results


def run(
    family: Family, make: Callable[[], Recorder] = Complete, *, k: int = 5, background: Background | None = None
) -> tuple[list[Answer], list[Recorder]]:
    """The answers, and the systems that were opened: the one that is told everything, then the counterfactual ones.

    One more is told everything and asked for all that it has; it is left out here.
    """
    opened: list[Recorder] = []

    def open_system(_scenario: object) -> Recorder:
        opened.append(make())
        return opened[-1]

    answers = scenario_answers(family, family.scenarios[0], background, open_system, k=k)
    assert [system.closed for system in opened] == [1] * len(opened)
    return answers, [
        one for one in opened if not any(what[0].startswith("recall") and what[2] > k for what in one.told)
    ]


def remember(fact: str, **fields: Any) -> dict[str, Any]:
    return {"remember": {"id": fact, "text": f"text of {fact}", **fields}}


def update(target: str, fact: str) -> dict[str, Any]:
    return {"update": {"target": target, "id": fact, "text": f"text of {fact}"}}


def ask(query: str = "which?", **fields: Any) -> dict[str, Any]:
    return {"ask": {"query": query, **fields}}


def test_a_system_is_told_what_happens_in_order_with_the_time(family: MakeFamily) -> None:
    _, (told,) = run(
        family(
            remember("a", pinned=True),
            {"pin": {"target": "a"}},
            {"unpin": {"target": "a"}},
            {"consolidate": {}},
            {"advance": "2d"},
            {"consolidate": {"if_due": True}},
            ask(),
        ),
        k=3,
    )
    assert told.told == [
        ("remember", "text of a", "05 09:00:00"),
        ("pin", "text of a", "05 09:00:00"),
        ("pin", "text of a", "05 09:00:01"),
        ("unpin", "text of a", "05 09:00:02"),
        ("consolidate", False, "05 09:00:03"),
        ("consolidate", True, "07 09:00:04"),
        ("recall", "which?", 3, "07 09:00:05"),
    ]


def test_the_counterfactual_never_hears_of_a_retired_fact_and_an_update_becomes_a_remember(family: MakeFamily) -> None:
    _, (told, clean) = run(
        family(
            remember("old", pinned=True),
            remember("other"),
            {"unpin": {"target": "old"}},
            update("old", "new"),
            {"forget": {"target": "other"}},
            {"pin": {"target": "new"}},
            ask(),
        )
    )
    assert [operation for operation, *_ in told.told] == [
        "remember", "pin", "remember", "unpin", "update", "forget", "pin", "recall",
    ]  # fmt: skip
    assert clean.told == [
        ("remember", "text of new", "05 09:00:03"),
        ("pin", "text of new", "05 09:00:05"),
        ("recall", "which?", 5, "05 09:00:06"),
    ]


def test_each_question_has_the_counterfactual_of_what_is_retired_by_then(family: MakeFamily) -> None:
    answers, systems = run(
        family(remember("v1"), ask(), update("v1", "v2"), ask(), ask(), update("v2", "v3"), ask()),
        lambda: Complete([Recalled("text of v1"), Recalled("text of v2"), Recalled("text of v3")]),
    )
    heard = [[text for operation, text, *_ in one.told if operation == "remember"] for one in systems]
    # Told all, without {v1}, without {v1, v2}: one more drive for each set of retired facts, not for each question.
    assert heard == [["text of v1"], ["text of v2"], ["text of v3"]]
    assert [[hit.fact for hit in answer.counterfactual] for answer in answers] == [
        ["v1", None, None],  # nothing is retired yet, so R' is R
        [None, "v2", None],
        [None, "v2", None],
        [None, None, "v3"],
    ]


def test_without_a_retired_fact_nothing_is_built_for_the_counterfactual(family: MakeFamily) -> None:
    (answer,), systems = run(family(remember("a"), ask()), lambda: Complete([Recalled("text of a")]))
    assert len(systems) == 1
    assert answer.counterfactual == answer.returned


def test_a_background_is_told_first_and_recognized(family: MakeFamily) -> None:
    background = Background.model_validate(
        {
            "background": "office",
            "description": "d",
            "facts": [{"id": "bg-tea", "at": "2025-12-31T08:00Z", "text": "tea"}],
        }
    )
    (answer,), (told,) = run(family(remember("a"), ask()), lambda: Complete([Recalled("tea")]), background=background)
    assert told.told[:2] == [("remember", "tea", "31 08:00:00"), ("remember", "text of a", "05 09:00:00")]
    assert [hit.fact for hit in answer.returned] == ["bg-tea"]


def test_a_system_never_sees_the_scenarios_names_or_its_ground_truth(family: MakeFamily) -> None:
    _, systems = run(
        family(
            remember("old-fact"),
            update("old-fact", "new-fact"),
            {"forget": {"target": "new-fact"}},
            ask(gold=[], forbidden=["old-fact", "new-fact"]),
            name="secret",
        )
    )
    told = [
        str(what).replace("text of old-fact", "").replace("text of new-fact", "")
        for one in systems
        for what in one.told
    ]
    for hidden in ("old-fact", "new-fact", "secret", "gold", "forbidden"):
        assert not [what for what in told if hidden in what], hidden


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        (update("a", "b"), "update"),
        ({"forget": {"target": "a"}}, "forget"),
        ({"pin": {"target": "a"}}, "pin"),
        ({"unpin": {"target": "a"}}, "pin"),
        (remember("p", pinned=True), "pin"),
        ({"consolidate": {}}, "consolidate"),
    ],
)
def test_after_an_operation_that_a_system_does_not_offer_its_answers_are_not_available(
    family: MakeFamily, step: dict[str, Any], missing: str
) -> None:
    before, after, later = run(family(remember("a"), ask(), step, ask(), remember("z"), ask()), Recorder)[0]
    assert before.unsupported is None
    assert (after.unsupported, after.returned) == (missing, ())
    assert later.unsupported == missing


def test_a_question_about_the_past_is_not_available_from_a_system_without_one_and_the_next_is(
    family: MakeFamily,
) -> None:
    made = family(remember("a"), ask(as_of="2026-01-04T00:00Z"), ask())
    assert [answer.unsupported for answer in run(made, Recorder)[0]] == ["as_of", None]
    answers, (told,) = run(made)
    assert told.told[1] == ("recall as of", "which?", 5, "04", "05 09:00:01")
    assert [answer.unsupported for answer in answers] == [None, None]


def test_whoever_returns_more_than_k_is_cut(family: MakeFamily) -> None:
    results = [Recalled(f"text of {fact}") for fact in "abc"]
    (answer,), _ = run(family(remember("a"), remember("b"), remember("c"), ask()), lambda: Complete(results), k=2)
    assert [hit.fact for hit in answer.returned] == ["a", "b"]
    assert answer.k == 2


def test_a_text_that_nobody_stored_is_no_fact_and_keeps_its_place(family: MakeFamily) -> None:
    (answer,), _ = run(
        family(remember("a"), ask()), lambda: Complete([Recalled("made up", score=0.5), Recalled("text of a")])
    )
    assert [(hit.fact, hit.text, hit.score) for hit in answer.returned] == [
        (None, "made up", 0.5),
        ("a", "text of a", None),
    ]


def test_a_handle_tells_which_fact_a_reworded_text_is(family: MakeFamily) -> None:
    results = [Recalled("in other words", "handle 2"), Recalled("also reworded", "handle 1"), Recalled("?", "handle 9")]
    made = family(remember("old"), update("old", "new"), ask())
    (answer,), _ = run(made, lambda: Complete(results, handles=True))
    assert [hit.fact for hit in answer.returned] == ["new", "old", None]


def test_of_equal_texts_the_live_fact_is_meant_first_and_each_only_once(family: MakeFamily) -> None:
    one, *others = [{"remember": {"id": fact, "text": "same"}} for fact in ("one", "two", "three")]
    made = family(one, {"forget": {"target": "one"}}, *others, ask())
    (answer,), _ = run(made, lambda: Complete([Recalled("same")] * 4))
    assert [hit.fact for hit in answer.returned] == ["two", "three", "one", None]


@pytest.mark.parametrize("broken", ["remember", "recall", "update", "forget"])
def test_a_system_is_closed_whatever_happens(family: MakeFamily, broken: str) -> None:
    opened: list[Recorder] = []

    def make() -> Recorder:
        system = Complete()
        setattr(system, broken, fail)
        opened.append(system)
        return system

    def fail(**_: object) -> None:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        run(family(remember("a"), update("a", "b"), {"forget": {"target": "b"}}, ask()), make)
    assert [system.closed for system in opened] == [1]


def test_every_counterfactual_system_is_closed_too(family: MakeFamily) -> None:
    _, systems = run(family(remember("v1"), update("v1", "v2"), ask(), update("v2", "v3"), ask()))
    assert [system.closed for system in systems] == [1, 1, 1]


# The systems that come along


def test_the_oracle_answers_with_the_gold_of_that_moment(family: MakeFamily) -> None:
    made = family(
        remember("v1"), ask(gold=["v1"]), update("v1", "v2"), ask(gold=["v2"], forbidden=["v1"]), ask(gold=[])
    )
    answers = scenario_answers(made, made.scenarios[0], None, lambda scenario: oracle.make(scenario=scenario), k=5)
    assert [[hit.fact for hit in answer.returned] for answer in answers] == [["v1"], ["v2"], []]


def test_the_null_system_offers_everything_and_returns_nothing(family: MakeFamily) -> None:
    made = family(
        remember("a", pinned=True),
        update("a", "b"),
        {"unpin": {"target": "b"}},
        {"consolidate": {}},
        ask(as_of="2026-01-05T09:00Z"),
        {"forget": {"target": "b"}},
        ask(),
    )
    answers = scenario_answers(made, made.scenarios[0], None, lambda _: null.make(), k=5)
    assert [(answer.returned, answer.unsupported) for answer in answers] == [((), None), ((), None)]


def test_the_reference_store_corrects_a_pruned_fact_by_storing_the_correction(family: MakeFamily) -> None:
    made = family(
        remember("old"),
        remember("other"),
        {"advance": "300d"},
        {"consolidate": {}},
        update("old", "new"),
        {"forget": {"target": "other"}},
        ask("text of new"),
    )
    (answer,) = scenario_answers(made, made.scenarios[0], None, lambda _: tombstore.make(), k=5)
    assert [hit.fact for hit in answer.returned] == ["new"]


WORDS = ("red", "green", "blue", "tea", "door")


@given(
    st.lists(
        st.tuples(st.integers(0, 99), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)), min_size=2, max_size=15
    ),
    st.sampled_from(["keyword", "bm25", "hybrid"]),
    st.integers(1, 4),
)
def test_in_every_history_the_reference_returns_what_it_would_without_the_retired_facts(
    history: list[tuple[int, list[str]]], strategy: str, k: int
) -> None:
    steps: list[dict[str, Any]] = []
    live: list[str] = []
    for number, (choice, words) in enumerate(history):
        fact = {"id": f"f{number}", "text": f"{' '.join(words)} {number}"}
        if live and choice % 3:
            target = live.pop(choice % len(live))
            steps.append({"update": {"target": target, **fact}} if choice % 3 == 1 else {"forget": {"target": target}})
        else:
            steps.append({"remember": fact})
        if "forget" not in steps[-1]:
            live.append(f"f{number}")
    steps += [ask(word) for word in WORDS]
    steps[0]["at"] = "2026-01-05T09:00Z"
    family = Family.model_validate(
        {"family": "fam", "question": "?", "scenarios": [{"id": "x", "domain": "test", "steps": steps}]}
    )
    answers = scenario_answers(family, family.scenarios[0], None, lambda _: tombstore.make(strategy=strategy), k=k)
    for answer in answers:
        assert answer.question.retired.isdisjoint(hit.fact for hit in answer.returned)
        assert answer.returned == answer.counterfactual  # the same facts in the same order, with the same scores
