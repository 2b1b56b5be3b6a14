"""What the oracle and the null system share: every operation is accepted and nothing is kept."""

from datetime import datetime
from typing import Self


class Deaf:
    """Accepts every write and remembers nothing."""

    @property
    def shared(self) -> Self:
        """The same system."""
        return self

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

    def export(self) -> None:
        """Nothing to keep."""

    def reimport(self, dump: None, *, at: datetime) -> None:
        """Nothing to do."""

    def snapshot(self, *, target: str) -> None:
        """Nothing to keep."""

    def write_back(self, record: None, *, at: datetime) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""
