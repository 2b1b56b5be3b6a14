"""Creation time alone, newest first: a sliding window over what was said last, whatever the query."""

from tombstore.fusion import single
from tombstore.signals import recency
from tombstore.strategies import Strategy


def make() -> Strategy:
    """The signal's own order."""
    return Strategy(signals={"recency": recency.make()}, weights={"recency": 1.0}, fusion=single)
