"""The reference's behavior and the original's at three versions, as named sets of switches (SPEC, golden data)."""

from dataclasses import dataclass
from typing import Literal

from tombstore.signals import recency, vector
from tombstore.strategies import Strategy, hybrid


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Where behaviors differ. The defaults are the reference's.

    ``distinct_texts``: a text takes one slot of a result. ``full_vector_window``: no vector signal in stores smaller
    than the window. ``recency_by_score``: floating-point coincidences tie. ``recall_all``: how the agent's list and the
    shared one are merged. ``summarize_retired``: retired facts reach the summarizer, against the decision record.
    """

    policy: str = "tombstone"
    distinct_texts: bool = True
    full_vector_window: bool = False
    recency_by_score: bool = False
    recall_all: Literal["fuse", "append"] = "fuse"
    summarize_retired: bool = False

    def hybrid(self, half_life_hours: float, weights: tuple[float, float, float] = (1.0, 1.0, 0.5)) -> Strategy:
        """The hybrid strategy as this variant ranks; weights of vector, keyword and recency."""
        return hybrid.make(
            vector_weight=weights[0],
            keyword_weight=weights[1],
            recency_weight=weights[2],
            vector_signal=vector.make(needs_full_window=self.full_vector_window),
            recency_signal=recency.make(half_life_hours=half_life_hours if self.recency_by_score else None),
        )


_BEFORE_0_16 = {"distinct_texts": False, "full_vector_window": True, "recency_by_score": True}

VARIANTS = {
    "reference": Variant(),
    "v0.19-scan": Variant(policy="tombstone_window", summarize_retired=True),
    "v0.11": Variant(policy="tombstone_window", recall_all="append", summarize_retired=True, **_BEFORE_0_16),
    # Before tombstones: the marker is ignored. Ties came out in arbitrary order there; here they are total.
    "v0.8.0": Variant(policy="weight_zero", recall_all="append", summarize_retired=True, **_BEFORE_0_16),
}
