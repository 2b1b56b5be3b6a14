"""Vector, keyword and recency scores, each scaled to [0, 1], in a weighted sum: the usual alternative to RRF."""

from tombstore.fusion import weighted_sum
from tombstore.signals import keyword, recency, vector
from tombstore.strategies import Strategy


def make(*, vector_weight: float = 1.0, keyword_weight: float = 1.0, recency_weight: float = 0.5) -> Strategy:
    """Every live fact is a candidate."""
    return Strategy(
        signals={"vector": vector.make(), "keyword": keyword.make(), "recency": recency.make()},
        weights={"vector": vector_weight, "keyword": keyword_weight, "recency": recency_weight},
        fusion=weighted_sum,
    )
