"""Returns nothing, ever. It leaks nothing; if it passes a gate, the gate is wrong."""

from collections.abc import Sequence
from datetime import datetime

from stilltrue.records import Recalled


def make() -> "NullSystem":
    """The empty system."""
    return NullSystem()


class NullSystem:
    """Accepts every operation and remembers nothing."""

    def remember(self, *, text: str, at: datetime) -> None:
        """Nothing to do."""

    def update(self, *, target: str, text: str, at: datetime) -> None:
        """Nothing to do."""

    def forget(self, *, target: str, at: datetime) -> None:
        """Nothing to do."""

    def pin(self, *, target: str, at: datetime) -> None:
        """Nothing to do."""

    def unpin(self, *, target: str, at: datetime) -> None:
        """Nothing to do."""

    def consolidate(self, *, at: datetime, if_due: bool) -> None:
        """Nothing to do."""

    @property
    def shared(self) -> "NullSystem":
        """The same system."""
        return self

    def export(self) -> None:
        """Nothing to keep."""

    def reimport(self, dump: None, *, at: datetime) -> None:
        """Nothing to do."""

    def snapshot(self, *, target: str) -> None:
        """Nothing to keep."""

    def write_back(self, record: None, *, at: datetime) -> None:
        """Nothing to do."""

    def recall(self, *, query: str, k: int, at: datetime) -> Sequence[Recalled]:  # noqa: ARG002
        """Nothing."""
        return ()

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> Sequence[Recalled]:  # noqa: ARG002
        """Nothing."""
        return ()

    def close(self) -> None:
        """Nothing to do."""
