"""Memory systems under test, one file each. A system sees texts, times and queries, never the ground truth."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from stilltrue.records import Listed, Recalled


class MemorySystem(Protocol):
    """What every system offers. Each call says when it happens (``at``, aware UTC, never going back)."""

    def remember(self, *, text: str, at: datetime) -> str | None:
        """Store a fact. Returns the system's own handle of it, if it has one."""
        ...

    def recall(self, *, query: str, k: int, at: datetime) -> Sequence[Recalled]:
        """At most ``k`` results, best first."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@runtime_checkable
class Loads(Protocol):
    """Systems that take over many facts at once, faster than one by one and to the same effect."""

    def load(self, facts: Sequence[tuple[str, datetime]]) -> Sequence[str | None]:
        """Store facts, given as text and instant in order of time. Returns a handle for each, if it has them."""
        ...


@runtime_checkable
class Updates(Protocol):
    """Systems that can correct a fact."""

    def update(self, *, target: str, text: str, at: datetime) -> str | None:
        """Replace the fact whose text is ``target``. Returns the handle of the new one, if there is one."""
        ...


@runtime_checkable
class Forgets(Protocol):
    """Systems that can drop a fact without a replacement."""

    def forget(self, *, target: str, at: datetime) -> None:
        """Forget the fact whose text is ``target``."""
        ...


@runtime_checkable
class Pins(Protocol):
    """Systems that can keep a fact from aging."""

    def pin(self, *, target: str, at: datetime) -> None:
        """Keep the fact whose text is ``target``."""
        ...

    def unpin(self, *, target: str, at: datetime) -> None:
        """Let the fact age again."""
        ...


@runtime_checkable
class Consolidates(Protocol):
    """Systems with a maintenance cycle."""

    def consolidate(self, *, at: datetime, if_due: bool) -> None:
        """Run a cycle; with ``if_due`` only when the system's own threshold is reached."""
        ...


@runtime_checkable
class Lists(Protocol):
    """Systems that can show everything they hold."""

    def list_facts(self) -> Sequence[Listed]:
        """All facts, retired ones marked, as the system's own list or export shows them."""
        ...


@runtime_checkable
class Exports(Protocol):
    """Systems that can be backed up and restored."""

    def export(self) -> Any:
        """Everything held, in whatever form ``reimport`` reads."""
        ...

    def reimport(self, dump: Any, *, at: datetime) -> None:
        """Read an export back into the memory as it is now."""
        ...


@runtime_checkable
class WritesBack(Protocol):
    """Systems whose records several processes read, change and write."""

    def snapshot(self, *, target: str) -> Any:
        """The record of the fact whose text is ``target``, as a process would hold it."""
        ...

    def write_back(self, record: Any, *, at: datetime) -> None:
        """Write a record that was read earlier."""
        ...


@runtime_checkable
class Shares(Protocol):
    """Systems with a namespace that all agents share; recall covers it together with the agent's own."""

    @property
    def shared(self) -> MemorySystem:
        """The shared namespace: what is told to it, all agents know."""
        ...


@runtime_checkable
class KeepsFiles(Protocol):
    """Systems whose files can be searched."""

    def lies_in_files(self, *, text: str) -> bool:
        """Whether the text stands in the system's own files."""
        ...


@runtime_checkable
class Travels(Protocol):
    """Systems that can answer for a past instant."""

    def recall_as_of(self, *, query: str, k: int, at: datetime, as_of: datetime) -> Sequence[Recalled]:
        """What was true at ``as_of``, asked at ``at``."""
        ...
