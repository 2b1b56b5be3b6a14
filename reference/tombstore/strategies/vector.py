"""Cosine similarity alone: facts that it doesn't rank are not returned."""

from tombstore.fusion import single
from tombstore.signals import vector
from tombstore.strategies import Strategy


def make() -> Strategy:
    """The signal's own order."""
    return Strategy(signals={"vector": vector.make()}, weights={"vector": 1.0}, fusion=single)
