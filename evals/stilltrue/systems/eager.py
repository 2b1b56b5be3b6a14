"""A control that must over-retire: with the fact that is corrected it retires every fact worded much like it."""

from datetime import datetime

import tombstore
from stilltrue.systems.tombstore import TombstoreSystem
from tombstore.ids import ulids
from tombstore.tokens import tokenize

_ALIKE = 0.2
"""Share of common words from which two facts count as being about the same: a guess that is often wrong."""


def make() -> "EagerSystem":
    """The reference store, by keyword, with hasty corrections."""
    clock, ids = tombstore.ManualClock(0), ulids(seed=0)
    store = tombstore.MemoryStore(clock=clock, ids=ids, strategy="keyword")
    return EagerSystem(store, clock, ids, None)


class EagerSystem(TombstoreSystem):
    """Corrects what it was told to, and whatever looks like it."""

    def update(self, *, target: str, text: str, at: datetime) -> str:
        """Update, then forget the look-alikes."""
        added = super().update(target=target, text=text, at=at)
        self._forget_like(target, spared=text, at=at)
        return added

    def forget(self, *, target: str, at: datetime) -> None:
        """Forget, with all look-alikes."""
        super().forget(target=target, at=at)
        self._forget_like(target, spared=target, at=at)

    def _forget_like(self, target: str, *, spared: str, at: datetime) -> None:
        words = set(tokenize(target))
        for fact in self.store.list_facts(self._namespace, state="live"):
            others = set(tokenize(fact.text))
            if fact.text != spared and words and len(words & others) / len(words | others) >= _ALIKE:
                super().forget(target=fact.text, at=at)
