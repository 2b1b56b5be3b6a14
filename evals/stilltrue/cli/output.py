"""What the commands share: the JSON switch, tables, progress bars, verdicts, errors as one line and exit code 2."""

import json
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from stilltrue.results import Outcome, Verdict

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines instead of tables.")]

_STYLES = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
_MOST_LINES = 20
_EXIT_CODES = {"pass": 0, "fail": 1, "inconclusive": 3}


def console() -> Console:
    """Where tables go; no highlighting of what stands in facts. A file or pipe gets lines of 160 characters."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 160)


@contextmanager
def user_errors(*kinds: type[Exception]) -> Generator[None, None, None]:
    """A user's mistake (OSError, and the kinds named) becomes its message and exit code 2, without a traceback."""
    try:
        yield
    except (OSError, *kinds) as error:
        fail(_message(error))


def fail(message: str) -> NoReturn:
    """Say what is wrong on standard error and end with exit code 2. Of many lines the first ones will do."""
    lines = message.splitlines()
    more = [f"... and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    for line in (*lines[:_MOST_LINES], *more):
        print(f"stilltrue: {printable(line)}", file=sys.stderr)
    raise typer.Exit(2)


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def printable(text: str) -> str:
    """The text without characters that would steer a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def print_json(value: Any) -> None:
    """One JSON document on standard output, in ASCII whatever facts hold; dataclasses become objects."""
    print(json.dumps(value, indent=1, default=_plain))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"can't write {type(value).__name__} as JSON")


def print_table(head: Sequence[str], lines: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table of plain texts: nothing in them is taken for markup."""
    table = Table(title=title and escape(printable(title)), title_justify="left")
    for name in head:
        table.add_column(escape(name), overflow="fold")
    for line in lines:
        table.add_row(*(escape(printable(cell)) for cell in line))
    console().print(table)


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """One line a verdict."""
    for one in verdicts:
        console().print(
            f"[{_STYLES[one.verdict]}]{one.verdict:>12}[/]  {escape(one.gate)}: {escape(printable(one.reason))}"
        )


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """1 if any failed, else 3 if any is inconclusive, else 0."""
    codes = {_EXIT_CODES[outcome] for outcome in outcomes}
    return 1 if 1 in codes else max(codes, default=0)


@contextmanager
def progress(label: str, *, shown: bool) -> Generator[tuple[Callable[[int], None], Callable[[], None]], None, None]:
    """A progress bar on standard error, only on a terminal: (start with a total, advance by one)."""
    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not (shown and screen.is_terminal)) as bar:
        task = bar.add_task(label, total=None)
        yield lambda total: bar.update(task, total=total), lambda: bar.advance(task)
