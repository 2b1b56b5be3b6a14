"""The original's recall: reciprocal rank fusion of vector, keyword and recency (SPEC 3.6)."""

from tombstore.fusion import reciprocal_rank
from tombstore.signals import Signal, keyword, recency, vector
from tombstore.strategies import Strategy


def make(
    *,
    vector_weight: float = 1.0,
    keyword_weight: float = 1.0,
    recency_weight: float = 0.5,
    vector_signal: Signal | None = None,
    recency_signal: Signal | None = None,
) -> Strategy:
    """Every live fact is a candidate. Weights (0, 0, 1) give the newest facts."""
    return Strategy(
        signals={
            "vector": vector_signal or vector.make(),
            "keyword": keyword.make(),
            "recency": recency_signal or recency.make(),
        },
        weights={"vector": vector_weight, "keyword": keyword_weight, "recency": recency_weight},
        fusion=reciprocal_rank,
    )
