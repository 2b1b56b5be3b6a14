"""BM25 alone: facts that it doesn't rank are not returned."""

from tombstore.fusion import single
from tombstore.signals import bm25
from tombstore.strategies import Strategy


def make() -> Strategy:
    """The signal's own order."""
    return Strategy(signals={"bm25": bm25.make()}, weights={"bm25": 1.0}, fusion=single)
