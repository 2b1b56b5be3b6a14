"""Reciprocal rank fusion of vector and keyword, as many retrieval systems do it: age plays no part."""

from tombstore.fusion import reciprocal_rank
from tombstore.signals import keyword, vector
from tombstore.strategies import Strategy


def make() -> Strategy:
    """Every live fact is a candidate."""
    return Strategy(
        signals={"vector": vector.make(), "keyword": keyword.make()},
        weights={"vector": 1.0, "keyword": 1.0},
        fusion=reciprocal_rank,
    )
