"""Intervals against published figures and against cases small enough to count the resamples."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stilltrue.metrics import Score
from stilltrue.stats import Estimate, estimate


def share(successes: int, n: int) -> Estimate:
    scores = [Score(1.0)] * successes + [Score(0.0)] * (n - successes)
    return estimate("share", scores, [f"scenario {number}" for number in range(n)], seed=0)


def mean(*clusters: Sequence[float], seed: int = 0) -> Estimate:
    scores = [Score(amount) for amounts in clusters for amount in amounts]
    names = [f"scenario {number}" for number, amounts in enumerate(clusters) for _ in amounts]
    return estimate("mean", scores, names, seed=seed)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17, table I, method 3 (Wilson, no continuity correction).
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (8, 10, 0.4902, 0.9433),
    ],
)
def test_a_share_has_wilsons_interval(successes: int, n: int, low: float, high: float) -> None:
    found = share(successes, n)
    assert found.value == successes / n
    assert (found.low, found.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert found.n == n


@pytest.mark.parametrize("n", [1, 2, 10, 168])
def test_with_no_success_or_nothing_else_one_end_is_known_and_the_other_is_not(n: int) -> None:
    z2 = 1.959963984540054**2
    none, all_of_them = share(0, n), share(n, n)
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(z2 / (n + z2))
    assert (all_of_them.value, all_of_them.high) == (1, 1)
    assert all_of_them.low == pytest.approx(n / (n + z2))


def test_of_nothing_there_is_no_value_and_no_interval() -> None:
    assert estimate("share", [], [], seed=0) == estimate("mean", [], [], seed=0) == (None, None, None, 0)


def test_a_mean_is_a_sum_over_a_sum() -> None:
    scores = [Score(1, 3), Score(0, 1)]
    assert estimate("mean", scores, ["a", "b"], seed=0).value == 1 / 4  # and not the mean of 1/3 and 0


def test_all_questions_of_a_scenario_move_together() -> None:
    # Two scenarios can be drawn as 0 0, 0 1, 1 0, 1 1: a quarter of the means is 0 and a quarter 1. If each of the 100
    # questions were drawn on its own, the interval would be 0.5 ± 0.1.
    assert mean([0.0] * 50, [1.0] * 50) == (0.5, 0.0, 1.0, 100)


def test_a_scenario_with_more_questions_weighs_more() -> None:
    # 0 0 -> 0, 0 1 -> 3/4, 1 1 -> 1; the value is 3/4.
    assert mean([0.0], [1.0] * 3) == (0.75, 0.0, 1.0, 4)


def test_a_single_scenario_has_a_value_and_no_interval() -> None:
    assert mean([0.0, 1.0, 2.0]) == (1.0, None, None, 3)


def test_scenarios_that_agree_have_an_interval_without_width() -> None:
    assert mean([0.5, 0.5], [0.5]) == (0.5, 0.5, 0.5, 3)


CLUSTERS = st.lists(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=4), min_size=2, max_size=8)


@given(clusters=CLUSTERS)
def test_a_seed_reproduces_the_interval_and_another_one_hardly_moves_it(clusters: list[list[float]]) -> None:
    first, again, other = mean(*clusters, seed=1), mean(*clusters, seed=1), mean(*clusters, seed=2)
    assert first == again
    assert first.value == other.value
    means = [sum(one) / len(one) for one in clusters]
    for found in (first, other):
        assert found.low is not None
        assert found.high is not None
        assert min(means) - 1e-9 <= found.low <= found.high <= max(means) + 1e-9


def test_seeds_do_make_a_difference() -> None:
    clusters = [[float(number)] for number in (0, 3, 1, 4, 1, 5, 9, 2, 6)]
    assert len({mean(*clusters, seed=seed)[1:3] for seed in range(8)}) > 1
