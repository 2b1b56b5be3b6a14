"""The original's TF-IDF alone: facts that it doesn't rank are not returned."""

from tombstore.fusion import single
from tombstore.signals import keyword
from tombstore.strategies import Strategy


def make() -> Strategy:
    """The signal's own order."""
    return Strategy(signals={"keyword": keyword.make()}, weights={"keyword": 1.0}, fusion=single)
