"""Returns nothing, ever. It leaks nothing; if it passes a gate, the gate is wrong."""

from collections.abc import Sequence
from datetime import datetime

from stilltrue.records import Recalled
from stilltrue.systems._deaf import Deaf


def make() -> "NullSystem":
    """The empty system."""
    return NullSystem()


class NullSystem(Deaf):
    """Returns nothing, whatever it is told."""

    def recall(self, *, query: str, k: int, at: datetime) -> Sequence[Recalled]:  # noqa: ARG002 - the protocol
        """Nothing."""
        return ()

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> Sequence[Recalled]:  # noqa: ARG002 - the protocol
        """Nothing."""
        return ()
