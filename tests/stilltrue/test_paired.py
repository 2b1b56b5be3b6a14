"""Two contestants on the same queries: p by counting coin tosses, intervals small enough to count, Holm by hand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from math import comb

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue import plugins
from stilltrue.metrics import Metric
from stilltrue.paired import Comparison, compare, differing, holm, mcnemar

LEAK: Metric = plugins.make(plugins.METRICS, "stale_leak")
SHRINK: Metric = plugins.make(plugins.METRICS, "shrink")
DISPLACED: Metric = plugins.make(plugins.METRICS, "displaced_fact_rate")
UNSCORED = None


def answers(
    metric: Metric, *scenarios: Sequence[float | None], of: Sequence[Sequence[float]] = (), family: str = "fam"
) -> pd.DataFrame:
    """Query records of scenarios s1, s2 and so on: a score a query, and ``of`` the weight that each score has."""
    records = [
        {"family": family, "scenario": f"s{place}", "number": number, "query": f"query {place}.{number}",
         metric.name: score}
        | ({f"{metric.name}_of": of[place - 1][number - 1] if of else 1.0} if metric.kind == "mean" else {})
        for place, scores in enumerate(scenarios, start=1)
        for number, score in enumerate(scores, start=1)
    ]  # fmt: skip
    return pd.DataFrame(records).astype({metric.name: float})


def compared(metric: Metric, first: pd.DataFrame, second: pd.DataFrame, seed: int = 0) -> Comparison:
    found = compare(metric, first, second, names=("A", "B"), seed=seed)
    assert found is not None
    return found


# McNemar


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (0, 0, 1),
        (1, 0, 1),  # 2 * 1/2
        (5, 0, 2 / 2**5),
        (6, 0, 1 / 32),  # 2 * (1/2)^6: the fewest that are significant
        (3, 1, 2 * (1 + 4) / 2**4),
        (8, 1, 2 * (1 + 9) / 2**9),
        (2, 2, 1),  # 2 * (1 + 4 + 6) / 2^4 is more than 1
    ],
)
def test_p_is_how_often_a_fair_coin_is_as_one_sided(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar(only_first, only_second) == pytest.approx(p)


COUNTS = st.integers(0, 40)


@given(only_first=COUNTS, only_second=COUNTS)
def test_p_is_the_two_sided_binomial_and_the_same_for_both_sides(only_first: int, only_second: int) -> None:
    tosses = only_first + only_second
    tail = sum(comb(tosses, heads) for heads in range(min(only_first, only_second) + 1))
    assert mcnemar(only_first, only_second) == pytest.approx(min(1, 2 * tail / 2**tosses))
    assert mcnemar(only_first, only_second) == mcnemar(only_second, only_first)


def test_only_queries_in_which_one_of_the_two_scores_count() -> None:
    first = answers(LEAK, [1, 1, 1, 0], [1, 0])
    second = answers(LEAK, [1, 0, 0, 0], [0, 1])
    found = compared(LEAK, first, second)
    assert (found.metric, found.first, found.second) == ("stale_leak", "A", "B")
    assert (found.n, found.first_value, found.second_value) == (6, 4 / 6, 2 / 6)
    assert found.difference == pytest.approx(2 / 6)
    assert (found.only_first, found.only_second) == (3, 1)
    assert found.p == pytest.approx(10 / 16)
    assert found.p_holm is None  # nobody has said yet what else is compared
    silent = [1, 0] * 50  # queries in which both do the same
    louder = compared(LEAK, answers(LEAK, [1, 1, 1, 0], [1, 0], silent), answers(LEAK, [1, 0, 0, 0], [0, 1], silent))
    assert (louder.n, louder.p) == (106, found.p)


@pytest.mark.parametrize("metric", [SHRINK, DISPLACED], ids=lambda metric: metric.name)
def test_a_mean_has_no_counts_and_no_p(metric: Metric) -> None:
    found = compared(metric, answers(metric, [1.0], [0.0]), answers(metric, [0.0], [0.0]))
    assert found.difference == 1 / 2
    assert (found.only_first, found.only_second, found.p) == (None, None, None)


# Which queries, and what they weigh


def test_queries_are_matched_by_family_scenario_and_number_and_not_by_place() -> None:
    first, second = answers(LEAK, [1, 0], [0, 1]), answers(LEAK, [1, 0], [0, 1])
    found = compared(LEAK, first, second.iloc[[3, 0, 2, 1]])
    assert (found.n, found.only_first, found.only_second) == (4, 0, 0)


def test_a_query_that_one_side_was_not_scored_on_is_left_out_for_both() -> None:
    first = answers(LEAK, [1, 1, 0, UNSCORED], [1])
    second = answers(LEAK, [0, UNSCORED, 0, 1], [1])
    found = compared(LEAK, first, second)
    assert (found.n, found.first_value, found.second_value) == (3, 2 / 3, 1 / 3)  # of 1 0 1 and 0 0 1
    assert (found.only_first, found.only_second) == (1, 0)


def test_a_query_that_one_side_was_not_asked_is_left_out_for_both() -> None:
    second = pd.concat([answers(LEAK, [0]), answers(LEAK, [1, 1], family="another")])
    found = compared(LEAK, answers(LEAK, [1, 1, 1]), second)
    assert (found.n, found.first_value, found.second_value) == (1, 1, 0)


@pytest.mark.parametrize(
    "second", [answers(LEAK, [UNSCORED]), answers(LEAK, [1], family="another"), answers(LEAK, [1])[:0]]
)
def test_without_a_query_that_both_were_scored_on_there_is_no_comparison(second: pd.DataFrame) -> None:
    assert compare(LEAK, answers(LEAK, [1]), second, names=("A", "B"), seed=0) is None
    assert compare(LEAK, second, answers(LEAK, [1]), names=("A", "B"), seed=0) is None
    assert differing(LEAK, answers(LEAK, [1]), second).empty


def test_a_query_that_was_answered_twice_is_an_error_and_not_counted_twice() -> None:
    once = answers(LEAK, [1])
    with pytest.raises(pd.errors.MergeError):
        compare(LEAK, once, pd.concat([once, once]), names=("A", "B"), seed=0)


def test_a_ratio_is_a_sum_over_a_sum_on_each_side_with_its_own_weights() -> None:
    first = answers(DISPLACED, [1.0, 0.0], [0.5], of=[[1, 3], [4]])
    second = answers(DISPLACED, [0.0, 1.0], [0.0], of=[[2, 1], [1]])
    found = compared(DISPLACED, first, second)
    assert (found.first_value, found.second_value) == (3 / 8, 1 / 4)  # and not the means, 1/2 and 1/3
    assert found.difference == 1 / 8


# Intervals


def test_a_single_scenario_has_a_difference_and_no_interval() -> None:
    found = compared(LEAK, answers(LEAK, [1] * 50 + [0] * 50), answers(LEAK, [0] * 100))
    assert (found.difference, found.low, found.high) == (1 / 2, None, None)


def test_all_questions_of_a_scenario_move_together() -> None:
    # Two scenarios can be drawn as 1 1, 1 2, 2 1, 2 2: a quarter of the differences is 1 and a quarter 0. If each of
    # the 100 questions were drawn on its own, the interval would be 0.5 ± 0.1.
    first, second = answers(LEAK, [1] * 50, [1] * 50), answers(LEAK, [0] * 50, [1] * 50)
    found = compared(LEAK, first, second)
    assert (found.difference, found.low, found.high) == (0.5, 0.0, 1.0)


def test_a_scenario_with_more_questions_weighs_more() -> None:
    found = compared(SHRINK, answers(SHRINK, [0.0], [1.0] * 3), answers(SHRINK, [0.0], [0.0] * 3))
    assert (found.difference, found.low, found.high) == (0.75, 0.0, 1.0)


def test_only_the_difference_varies_and_not_what_the_scenarios_have_in_common() -> None:
    # Each side ranges from 0 to 9, and the first is always one above the second, in one scenario two above.
    first = answers(SHRINK, *([score] for score in (1.0, 4.0, 5.0, 10.0)))
    second = answers(SHRINK, *([score] for score in (0.0, 2.0, 4.0, 9.0)))
    found = compared(SHRINK, first, second)
    # That one is drawn four times of four in 0.4 % of all cases, three times in 5 %, and never in 32 %.
    assert (found.difference, found.low, found.high) == (5 / 4, 1, 7 / 4)


def test_the_same_difference_in_every_scenario_has_an_interval_without_width() -> None:
    found = compared(SHRINK, answers(SHRINK, [3.0, 2.0], [1.0]), answers(SHRINK, [1.0, 2.0], [0.0]))
    assert (found.difference, found.low, found.high) == (1, 1, 1)


def test_the_same_difference_with_other_weights_has_an_interval_all_the_same() -> None:
    # Per scenario 1/2 - 1/2 and 1/4 - 1/4. Of the first alone, of both, of the second alone:
    # 0, (1/2 + 3/4)/4 - (3/2 + 1/4)/4 = -1/8, 0.
    first = answers(DISPLACED, [0.5], [0.25], of=[[1], [3]])
    second = answers(DISPLACED, [0.5], [0.25], of=[[3], [1]])
    found = compared(DISPLACED, first, second)
    assert (found.difference, found.low, found.high) == (-1 / 8, -1 / 8, 0)


Scenarios = list[list[tuple[float | None, float | None]]]
"""Scenarios of queries, each with the score of the first and of the second."""


def pairs_of(score: st.SearchStrategy[float | None]) -> st.SearchStrategy[Scenarios]:
    return st.lists(st.lists(st.tuples(score, score), min_size=1, max_size=4), min_size=2, max_size=6)


SLOTS = pairs_of(st.integers(0, 5).map(float))
LEAKS = pairs_of(st.sampled_from([0.0, 1.0, UNSCORED]))


def sides(metric: Metric, scenarios: Scenarios) -> tuple[pd.DataFrame, pd.DataFrame]:
    first, second = ([[pair[side] for pair in queries] for queries in scenarios] for side in (0, 1))
    return answers(metric, *first), answers(metric, *second)


@given(scenarios=LEAKS, seed=st.integers(0, 5))
def test_whoever_is_compared_with_oneself_differs_in_nothing(scenarios: Scenarios, seed: int) -> None:
    first, _ = sides(LEAK, [*scenarios, [(1.0, 1.0)], [(0.0, 0.0)]])
    found = compared(LEAK, first, first, seed)
    assert (found.difference, found.low, found.high, found.only_first, found.only_second, found.p) == (0, 0, 0, 0, 0, 1)
    assert differing(LEAK, first, first).empty


@given(scenarios=SLOTS, seed=st.integers(0, 5))
def test_the_interval_holds_the_difference_and_stays_within_those_of_single_scenarios(
    scenarios: Scenarios, seed: int
) -> None:
    found = compared(SHRINK, *sides(SHRINK, scenarios), seed=seed)
    assert found.low is not None
    assert found.high is not None
    of_scenarios = [sum(ours - theirs for ours, theirs in queries) / len(queries) for queries in scenarios]
    bounds = [min(of_scenarios), found.low, found.difference, found.high, max(of_scenarios)]
    assert all(lower <= upper + 1e-9 for lower, upper in pairwise(bounds))


@given(scenarios=SLOTS)
def test_a_seed_reproduces_the_interval(scenarios: Scenarios) -> None:
    first, second = sides(SHRINK, scenarios)
    assert compared(SHRINK, first, second, seed=1) == compared(SHRINK, first, second, seed=1)


def test_seeds_do_make_a_difference() -> None:
    first = answers(SHRINK, *([score] for score in (0.0, 3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0)))
    second = answers(SHRINK, *([0.0] for _ in range(9)))
    assert len({(found.low, found.high) for seed in range(8) for found in [compared(SHRINK, first, second, seed)]}) > 1


# What must not matter


EITHER = st.one_of(st.tuples(st.just(SHRINK), SLOTS), st.tuples(st.just(LEAK), LEAKS))


@given(made=EITHER)
def test_the_two_swapped_are_the_same_comparison_the_other_way_round(made: tuple[Metric, Scenarios]) -> None:
    metric, scenarios = made
    first, second = sides(metric, [*scenarios, [(1.0, 0.0)]])
    one, other = compared(metric, first, second), compared(metric, second, first)
    assert (other.n, other.first_value, other.second_value) == (one.n, one.second_value, one.first_value)
    assert (other.only_first, other.only_second, other.p) == (one.only_second, one.only_first, one.p)
    assert other.difference == -one.difference
    for mine, theirs in ((one.low, other.high), (one.high, other.low)):
        assert (mine is None) == (theirs is None)
        assert mine is None or theirs == pytest.approx(-mine, abs=1e-12)


@given(made=EITHER, data=st.data())
def test_the_order_of_the_records_changes_nothing(made: tuple[Metric, Scenarios], data: st.DataObject) -> None:
    metric, scenarios = made
    first, second = sides(metric, [*scenarios, [(1.0, 0.0)]])
    shuffled = [frame.iloc[data.draw(st.permutations(range(len(frame))))] for frame in (first, second)]
    assert compared(metric, *shuffled) == compared(metric, first, second)


# Holm


def comparison(p: float | None) -> Comparison:
    return replace(compared(LEAK, answers(LEAK, [1]), answers(LEAK, [0])), p=p)


@pytest.mark.parametrize(
    ("ps", "corrected"),
    [
        ([], []),
        ([0.03], [0.03]),
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # 3 * 0.01; 2 * 0.03; 1 * 0.04, but no less than the one before
        ([0.001, 0.02, 0.9], [0.003, 0.04, 0.9]),
        ([0.5, 0.6], [1, 1]),  # 2 * 0.5, and nothing above 1
        ([0.01, None, 0.02], [0.02, None, 0.02]),  # a mean has no p, and is no test that others pay for
        ([None, None], [None, None]),
    ],
)
def test_the_smallest_p_pays_for_all_comparisons_the_next_for_one_fewer(
    ps: list[float | None], corrected: list[float | None]
) -> None:
    made = [replace(comparison(p), first=str(place)) for place, p in enumerate(ps)]
    found = holm(made)
    assert [one.p_holm for one in found] == pytest.approx(corrected)
    assert [replace(one, p_holm=None) for one in found] == made  # the same, in the same order


def test_the_order_in_which_comparisons_are_asked_for_does_not_matter() -> None:
    by_p = {0.01: 0.03, 0.04: 0.06, 0.03: 0.06}
    for ps in permutations(by_p):
        assert {one.p: pytest.approx(one.p_holm) for one in holm([comparison(p) for p in ps])} == by_p


# The queries that differ


def test_the_queries_that_differ_are_named_with_both_scores_and_no_others() -> None:
    first = answers(SHRINK, [0.0, 2.0, UNSCORED], [1.0, 3.0])
    second = answers(SHRINK, [0.0, 1.0, 1.0], [1.0, 3.5])
    found = differing(SHRINK, first, second)
    assert list(found.columns) == ["family", "scenario", "number", "query", "first", "second"]
    assert list(found.itertuples(index=False, name=None)) == [
        ("fam", "s1", 2, "query 1.2", 2.0, 1.0),
        ("fam", "s2", 2, "query 2.2", 3.0, 3.5),
    ]
