"""Every metric on hand-made answers, with values worked out by hand from METRICS.md.

Facts are words: ``answer("new old", clean="new", gold="new", forbidden="old", retired="old")`` is R, R', G, F and T.
"""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue import plugins
from stilltrue.metrics import Metric, directly_displaced, displaced_facts
from stilltrue.records import Answer
from stilltrue.results import Results
from stilltrue.run import answers
from stilltrue.scenarios import Suite
from stilltrue.stats import estimate
from stilltrue.studies.retrieval import all_metrics, scored_by
from stilltrue.systems import oracle

MakeAnswer = Callable[..., Answer]

STALE = {"forbidden": "old", "retired": "old"}


def value(name: str, scored: Sequence[Answer]) -> tuple[float | None, int]:
    """The metric over the answers, and how many of them it says something about."""
    metric: Metric = plugins.make(plugins.METRICS, name)
    scores = [score for answer in scored if (score := scored_by(metric, answer)) is not None]
    found = estimate(metric.kind, scores, ["one"] * len(scores), seed=0)
    return found.value, found.n


def row(returned: str, **sets: Any) -> dict[str, Any]:
    return {"returned": returned, **sets}


# metric: claim: the answers, the value, how many answers it is over.
TABLE: dict[str, dict[str, tuple[list[dict[str, Any]], float | None, int]]] = {
    "stale_leak": {
        "one of three queries returns a retired fact": (
            [row("new old", **STALE), row("new", **STALE), row("", **STALE)],
            1 / 3,
            3,
        ),
        "any retired fact counts, about whatever it is": ([row("else", forbidden="old", retired="old else")], 1, 1),
        "how many come back and where makes no difference": (
            [row("a b old", forbidden="old", retired="a b old")],
            1,
            1,
        ),
        "a query without a forbidden set is left out": ([row("old", retired="old"), row("new", **STALE)], 0, 1),
        "of nothing there is no share": ([row("old", retired="old")], None, 0),
        "a text that nobody stored is not stale": ([row("? new", **STALE)], 0, 1),
    },
    "stale_leak_relevant": {
        "only what is about the same thing counts": (
            [row("else", forbidden="old", retired="old else"), row("old", forbidden="old", retired="old else")],
            1 / 2,
            2,
        ),
        "a query without a forbidden set is left out": ([row("old", retired="old")], None, 0),
    },
    "stale_share": {
        "one of three and two of two": (
            [row("new old ?", **STALE), row("old else", forbidden="old", retired="old else")],
            (1 / 3 + 1) / 2,
            2,
        ),
        "an empty result counts 0": ([row("", **STALE), row("old", **STALE)], 1 / 2, 2),
        "a query without a forbidden set is left out": ([row("old", retired="old")], None, 0),
    },
    "live_hit": {
        "one gold fact is enough, wherever it stands": (
            [row("x y new", gold="new other"), row("x", gold="new"), row("", gold="new"), row("new", gold="new")],
            2 / 4,
            4,
        ),
        "a query without gold is left out": ([row("new")], None, 0),
    },
    "live_recall": {
        "the mean of 1 of 2, 0 of 1 and 2 of 2": (
            [row("a x", gold="a b"), row("x", gold="a"), row("b a", gold="a b")],
            (1 / 2 + 0 + 1) / 3,
            3,
        ),
        "a query without gold is left out": ([row("a")], None, 0),
    },
    "live_mrr": {
        "first, third and nowhere": (
            [row("a b", gold="a b"), row("x ? b", gold="a b"), row("x", gold="a")],
            (1 + 1 / 3 + 0) / 3,
            3,
        ),
        "a query without gold is left out": ([row("a")], None, 0),
    },
    "currency": {
        "the current fact is there and no outdated one is": (
            [
                row("new", gold="new", forbidden="old"),
                row("new old", gold="new", forbidden="old"),  # even if it stands below
                row("x", gold="new", forbidden="old"),
                row("old", gold="new", forbidden="old"),
            ],
            1 / 4,
            4,
        ),
        "a query without both sets is left out": ([row("a", gold="a"), row("a", forbidden="b")], None, 0),
    },
    "rank_margin": {
        "fourth less first, and absent is k + 1": (
            [
                row("new x y old", gold="new", forbidden="old"),  # 4 - 1
                row("old new", gold="new", forbidden="old"),  # 1 - 2
                row("x new", gold="new", forbidden="old"),  # 6 - 2
                row("x", gold="new", forbidden="old"),  # 6 - 6
            ],
            (3 - 1 + 4 + 0) / 4,
            4,
        ),
        "the best of several siblings and of several current facts": (
            [row("a old2 b old1", gold="b a", forbidden="old1 old2", k=9)],
            2 - 1,
            1,
        ),
        "a query without both sets is left out": ([row("a", gold="a"), row("a", forbidden="b")], None, 0),
    },
    "fama": {
        # One gold and one forbidden fact: λ = 1/2. The penalty is λ times the share of forbidden facts there.
        "all right, half a penalty, and nothing left": (
            [
                row("new", gold="new", forbidden="old"),
                row("new old", gold="new", forbidden="old"),
                row("old", gold="new", forbidden="old"),  # max(0, 0 - 1/2)
            ],
            (1 + 1 / 2 + 0) / 3,
            3,
        ),
        "two gold and one of three forbidden": (
            [row("a o1", gold="a b", forbidden="o1 o2 o3")],
            1 / 2 - 3 / 5 * 1 / 3,
            1,
        ),
        "without forbidden facts it is the share of gold": ([row("a", gold="a b")], 1 / 2, 1),
        "a query without gold is left out": ([row("a", forbidden="a")], None, 0),
    },
    "implied_leak": {
        "what went stale with nobody saying so": (
            [row("a x", implied="x"), row("a", implied="x"), row("old", implied="x", retired="old")],
            1 / 3,
            3,
        ),
        "a query that names none is left out": ([row("old", **STALE)], None, 0),
    },
    "history_recall": {
        "what was valid then, and nothing that was not": (
            [
                row("then", gold="then", forbidden="now", as_of=True),
                row("then now", gold="then", forbidden="now", as_of=True),
                row("x", gold="then", as_of=True),
                row("x", forbidden="now", as_of=True),  # nothing was known yet
            ],
            2 / 4,
            4,
        ),
        "a query about now is left out": ([row("now", gold="now")], None, 0),
    },
    "lost_update": {
        "neither the old nor the new fact at any k": (
            [
                row("", reachable="x y", gold="new", forbidden="old"),
                row("", reachable="x y new", gold="new", forbidden="old"),
                row("", reachable="old", gold="new", forbidden="old"),
            ],
            1 / 3,
            3,
        ),
        "a query without both sets, or about the past, is left out": (
            [row("", gold="a"), row("", forbidden="a"), row("", gold="a", forbidden="b", as_of=True)],
            None,
            0,
        ),
    },
    "missed_retirement": {
        "retired facts that are listed as live, of all": (
            [row("", retired="a b c", live="a x", marked="b"), row("", retired="a", live="x")],
            1 / 4,
            2,
        ),
        "who lists nothing, or has nothing retired, is left out": ([row("", retired="a"), row("", live="a")], None, 0),
    },
    "missed_implied": {
        "implied facts that are listed as live, of all": (
            [row("", implied="a b", live="a b"), row("", implied="c", live="x", marked="c")],
            2 / 3,
            2,
        ),
        "who lists nothing, or a query that names none, is left out": (
            [row("", implied="a"), row("", live="a")],
            None,
            0,
        ),
    },
    "over_retirement": {
        "facts that should have survived and are listed as retired, of all": (
            [row("", surviving="a b c", live="a", marked="b old"), row("", surviving="a", live="a")],
            1 / 4,
            2,
        ),
        "who lists nothing, or should hold nothing, is left out": (
            [row("", surviving="a"), row("", live="a")],
            None,
            0,
        ),
    },
    "resurrection": {
        "retired facts that are live again, of all": (
            [row("", retired="a b", live="a", revived="a"), row("", retired="a b", live="b")],
            1 / 4,
            2,
        ),
        "who lists nothing, or has nothing retired, is left out": ([row("", retired="a"), row("", live="a")], None, 0),
    },
    "audit_completeness": {
        "retired facts that are still shown as retired, of those too young to be pruned": (
            [row("", retired="a b old", traceable="a b x", live="b", marked="a old")],
            1 / 2,
            1,
        ),
        "who lists nothing, or has nothing to show, is left out": (
            [row("", retired="a", traceable="a"), row("", retired="a", live="x")],
            None,
            0,
        ),
    },
    "invalidation_latency": {
        "steps from a correction to the first clean result, over facts": (
            [row("", cleared_after=(1, 3)), row("", cleared_after=(8,)), row("")],
            12 / 3,
            2,
        ),
        "what never became clean is not in it": ([row("old")], None, 0),
    },
    "residue": {
        "texts found in the files, of all that are forgotten": (
            [row("", residue=(1, 3)), row("", residue=(1, 1)), row("", residue=(0, 0))],
            2 / 4,
            2,
        ),
        "who keeps no files that can be searched is left out": ([row("")], None, 0),
    },
    "empty_results": {
        "every query counts, with gold or without": ([row(""), row("", gold="new"), row("?")], 2 / 3, 3),
    },
    "shrink": {
        "slots that R' fills and R leaves empty, per query": (
            [row("a b", clean="a b c d e"), row("a b c", clean="a b c")],
            3 / 2,
            2,
        ),
        "a longer result is no negative shrink": ([row("a b c", clean="a"), row("a", clean="a b")], 1 / 2, 2),
        "what fills a slot makes no difference": ([row("old old2 ?", clean="a b c")], 0, 1),
    },
    "displaced": {
        "gold that R' returns and R doesn't": (
            [row("old", clean="new", gold="new"), row("new", clean="new", gold="new")],
            1 / 2,
            2,
        ),
        "gold that R' doesn't return either was not displaced": ([row("old", clean="x", gold="new")], 0, 1),
        "what is not gold can't be displaced": ([row("new", clean="new x", gold="new")], 0, 1),
        "another order displaces nobody": ([row("b old a", clean="a b", gold="a b")], 0, 1),
        "a query without gold is left out": ([row("old", clean="x")], None, 0),
    },
    "displaced_fact_rate": {
        "a sum over facts, not a mean over queries": (
            [row("a old", clean="a b c", gold="a b c"), row("d", clean="d", gold="d")],
            2 / 4,  # (2 + 0) / (3 + 1), where a mean over queries would be 1/3
            2,
        ),
        "gold that R' doesn't return is not in the sum": ([row("old", clean="a", gold="a b c")], 1 / 1, 1),
        "a query of which R' returns no gold is left out": ([row("old", clean="x", gold="a")], None, 0),
    },
    "displaced_directly": {
        "a retired fact above the place": ([row("old x", clean="x new", gold="new", retired="old")], 1, 1),
        "a retired fact on the very place": ([row("x old", clean="x new", gold="new", retired="old")], 1, 1),
        "a retired fact below the place explains nothing": (
            [row("x y old", clean="x new", gold="new", retired="old")],
            0,
            1,
        ),
        "each fact by its own place": (
            # a stood at 1, above the retired fact at 2; b stood at 2 and c at 3.
            [row("x old", clean="a b c", gold="a b c", retired="old")],
            2 / 3,
            1,
        ),
        "a text that nobody stored takes a place too": (
            [row("? old", clean="new", gold="new", retired="old")],  # old is second, new was first
            0,
            1,
        ),
    },
    "displaced_indirectly": {
        "no retired fact in R": ([row("x", clean="x new", gold="new", retired="old")], 1, 1),
        "a retired fact below the place": ([row("x y old", clean="x new", gold="new", retired="old")], 1, 1),
        "a retired fact on the very place": ([row("x old", clean="x new", gold="new", retired="old")], 0, 1),
        "each fact by its own place": (
            [row("x old", clean="a b c", gold="a b c", retired="old"), row("d", clean="d", gold="d")],
            1 / 4,
            2,
        ),
    },
}

CASES = [
    pytest.param(metric, rows, expected, n, id=f"{metric}: {claim}")
    for metric, claims in TABLE.items()
    for claim, (rows, expected, n) in claims.items()
]


@pytest.mark.parametrize(("metric", "rows", "expected", "n"), CASES)
def test_a_metric_is_worked_out_as_defined(
    answer: MakeAnswer, metric: str, rows: list[dict[str, Any]], expected: float | None, n: int
) -> None:
    found, over = value(metric, [answer(**one) for one in rows])
    assert found == (expected if expected is None else pytest.approx(expected, abs=1e-15))
    assert over == n


def test_an_answer_that_could_not_be_asked_for_is_scored_by_no_metric(answer: MakeAnswer) -> None:
    made = answer("", gold="new", **STALE)
    missing = Answer(question=made.question, k=5, unsupported="forget")
    assert {metric.name: scored_by(metric, missing) for metric in all_metrics()} == dict.fromkeys(METRICS)


FACTS = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5).map(" ".join)


@given(returned=FACTS, clean=FACTS, gold=FACTS, retired=FACTS)
def test_a_displaced_fact_is_displaced_directly_or_indirectly(
    answer: MakeAnswer, returned: str, clean: str, gold: str, retired: str
) -> None:
    made = answer(returned, clean=clean, gold=gold, retired=retired)
    assert displaced_facts(made) == set(clean.split()) & set(gold.split()) - set(returned.split())
    assert directly_displaced(made) <= displaced_facts(made)
    rates = {name: value(name, [made])[0] for name in TABLE if name.startswith("displaced_")}
    if set(clean.split()) & set(gold.split()):
        direct, indirect, all_of_them = (
            rates["displaced_directly"] or 0.0,
            rates["displaced_indirectly"] or 0.0,
            rates["displaced_fact_rate"] or 0.0,
        )
        assert direct + indirect == pytest.approx(all_of_them)
    else:
        assert set(rates.values()) == {None}


@given(facts=FACTS, gold=FACTS, retired=FACTS)
def test_who_returns_what_it_would_without_the_retired_facts_displaces_and_loses_nothing(
    answer: MakeAnswer, facts: str, gold: str, retired: str
) -> None:
    made = answer(facts, clean=facts, gold=gold, retired=retired)
    for name in ("displaced", "displaced_fact_rate", "displaced_directly", "displaced_indirectly", "shrink"):
        assert value(name, [made])[0] in (0.0, None)


# The contract of a metric


METRICS = plugins.names(plugins.METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_called_as_its_file_and_gives_its_formula(name: str) -> None:
    metric: Metric = plugins.make(plugins.METRICS, name)
    assert metric.name == name
    module = import_module(f"stilltrue.metrics.{name}")
    assert re.search(r"``.+``", module.make.__doc__), "make's docstring gives the formula"
    assert module.__doc__


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_cases_in_the_table_above(name: str) -> None:
    assert TABLE[name]


@pytest.mark.parametrize("name", METRICS)
def test_the_oracle_has_the_value_that_the_metric_calls_good(name: str, core: Suite) -> None:
    metric: Metric = plugins.make(plugins.METRICS, name)
    all_answers = answers(core, lambda scenario: oracle.make(scenario=scenario), k=5)
    # Where nothing is true any more, the right answer is an empty one.
    found, _ = value(name, [one for one in all_answers if one.question.gold])
    # The oracle lists nothing, so that some metrics say nothing about it; and for some no value is the best.
    assert found in (metric.good, None) or metric.good is None


@pytest.mark.parametrize(
    "name", ["stale_leak", "stale_share", "live_hit", "live_recall", "displaced", "shrink", "fama"]
)
def test_the_oracle_is_scored_by_every_metric_of_retrieval(name: str, core: Suite) -> None:
    assert value(name, list(answers(core, lambda scenario: oracle.make(scenario=scenario), k=5)))[0] is not None


@pytest.mark.parametrize("name", METRICS)
def test_a_share_scores_every_answer_0_or_1(name: str, lexical: Results) -> None:
    scores = {record[name] for record in lexical.queries} - {None}
    assert plugins.make(plugins.METRICS, name).kind == "mean" or scores <= {0.0, 1.0}


def test_every_metric_is_a_file(root: Path) -> None:
    files = {file.stem for file in (root / "evals/stilltrue/metrics").glob("[!_]*.py")}
    assert files == set(METRICS) == set(TABLE)
