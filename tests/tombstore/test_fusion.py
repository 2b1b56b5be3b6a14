"""Fusions turn ranked lists into one score a fact; rows that are no candidates are NaN."""

from math import isnan, nan

import numpy as np
import pytest

from tombstore.fusion import reciprocal_rank, single, weighted_sum
from tombstore.signals import NOBODY, Ranked

WEIGHTS = {"vector": 1.0, "keyword": 1.0, "recency": 0.5}
EVERYBODY = np.array([True, True, True])


def ranked(*rows: tuple[int, int, float]) -> Ranked:
    """(row, rank, score) of each ranked row."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Ranked(columns[0], columns[1], columns[2].astype(np.float64))


def test_reciprocal_ranks_add_up_and_a_missing_rank_adds_nothing() -> None:
    lists = {
        "vector": ranked((2, 1, 0.9), (0, 2, 0.8)),
        "keyword": ranked((0, 1, 3.0)),
        "recency": ranked((1, 1, 0.0), (2, 2, -1.0), (0, 3, -2.0)),
    }
    assert reciprocal_rank(lists, WEIGHTS, EVERYBODY).tolist() == [
        1 / 62 + 1 / 61 + 0.5 / 63,
        0.5 / 61,
        1 / 61 + 0.5 / 62,
    ]


def test_reciprocal_rank_reads_ranks_not_places_and_not_scores() -> None:
    """A rank of 7 without the six before: a window position that others used up."""
    assert reciprocal_rank({"vector": ranked((1, 7, -5.0))}, WEIGHTS, EVERYBODY).tolist() == [0, 1 / 67, 0]


def test_given_weights_are_used_as_they_are_zeros_included() -> None:
    lists = {"keyword": ranked((0, 1, 3.0)), "recency": ranked((1, 1, 0.0))}
    assert reciprocal_rank(lists, {"keyword": 0.0, "recency": 2.0}, EVERYBODY).tolist() == [0, 2 / 61, 0]


def test_every_eligible_row_is_a_candidate_and_no_other() -> None:
    for fusion in (reciprocal_rank, weighted_sum):
        fused = fusion({"keyword": NOBODY}, WEIGHTS, np.array([True, False, True]))
        assert [fused[0], isnan(fused[1]), fused[2]] == [0, True, 0]


def test_the_weighted_sum_scales_each_signal_to_0_to_1() -> None:
    lists = {"keyword": ranked((0, 1, 8.0), (2, 2, 4.0), (1, 3, 2.0)), "recency": ranked((1, 1, 0.0), (2, 2, -100.0))}
    assert weighted_sum(lists, WEIGHTS, EVERYBODY).tolist() == [1, 0 + 0.5, 1 / 3 + 0]


def test_equal_scores_all_scale_to_1() -> None:
    lists = {"keyword": ranked((0, 1, 3.0), (2, 2, 3.0)), "vector": ranked((1, 1, -0.5))}
    assert weighted_sum(lists, {"keyword": 0.5, "vector": 2.0}, EVERYBODY).tolist() == [0.5, 2, 0.5]


def test_a_single_signal_keeps_its_scores_and_its_candidates() -> None:
    fused = single({"bm25": ranked((2, 1, 0.0), (0, 2, -1.5))}, {}, EVERYBODY)
    assert fused.tolist() == pytest.approx([-1.5, nan, 0.0], nan_ok=True)


def test_a_single_fusion_of_two_signals_is_refused() -> None:
    with pytest.raises(ValueError, match="unpack"):
        single({"bm25": NOBODY, "vector": NOBODY}, {}, EVERYBODY)
