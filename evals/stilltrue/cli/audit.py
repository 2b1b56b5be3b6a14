"""``stilltrue audit``: a real store's tombstones and corrections."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stilltrue.cli.output import (
    AsJson,
    exit_code,
    fail,
    print_json,
    print_table,
    print_verdicts,
    printable,
    user_errors,
)
from stilltrue.results import Verdict

if TYPE_CHECKING:
    from stilltrue.audit import Audit, Finding

NEEDS_ARGUMENTS = True
_SHOWN = 20


def run(
    path: Annotated[Path, typer.Argument(help="A tombstore file, a GrayMatter gray.db, or exported JSON or JSONL.")],
    now: Annotated[
        str | None, typer.Option(help="The instant to audit at, e.g. 2026-01-05T09:00:00Z. Default: now.")
    ] = None,
    half_life: Annotated[
        float, typer.Option(help="The store's half-life in hours, for the time left until pruning.")
    ] = 720,
    nearest: Annotated[int, typer.Option(min=0, help="How many facts nearest to pruning to show.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Count a store's tombstones against ADR-007's 20 % and find broken corrections. Reads only.

    Exit code 0 when tombstones don't exceed 20 % of the store, 1 when they do, 3 for an empty store.

    Example: stilltrue audit ~/.graymatter/gray.db
    """
    from stilltrue.audit import audit
    from tombstore import NotAStore, StoreBusy
    from tombstore.clock import parse_instant, system_clock
    from tombstore.graymatter.bbolt import CorruptDatabase

    if not 0 < half_life < math.inf:
        fail(f"--half-life is {half_life:g}, expected a number of hours above 0")
    with user_errors(NotAStore, CorruptDatabase, StoreBusy, ValueError):
        found = audit(
            path, now=parse_instant(now) if now else system_clock(), half_life_hours=half_life, nearest=nearest
        )
    if as_json:
        print_json(_document(found))
    else:
        _show(found)
    raise typer.Exit(exit_code([found.verdict]))


def _document(found: "Audit") -> dict[str, object]:
    tallies = {"total": found.total, **{f"agent {name}": tally for name, tally in found.by_agent.items()}}
    counts = {
        name: {"facts": one.facts, "live": one.live, "tombstones": one.tombstones, "share": one.share}
        for name, one in tallies.items()
    }
    by_agent = {name: counts[f"agent {name}"] for name in found.by_agent}
    return {**asdict(found), "total": counts["total"], "by_agent": by_agent}


def _show(found: "Audit") -> None:
    share = [(name, tally) for name, tally in (("all", found.total), *found.by_agent.items())]
    print_table(
        ("agent", "facts", "live", "tombstones", "share"),
        [
            (n, f"{t.facts}", f"{t.live}", f"{t.tombstones}", "n/a" if t.share is None else f"{t.share:.1%}")
            for n, t in share
        ],
        title=f"{found.path} ({found.kind})",
    )
    if found.total.tombstones:
        ages = [(label, str(count)) for label, count in found.ages.items()]
        print_table(("tombstones, time since retirement", "facts"), [*ages, ("not dated", str(found.undated))])
    _show_findings("Markers that lead nowhere", found.dangling)
    _show_findings("Cycles of markers", found.cyclic)
    _show_findings("Pinned and retired", found.immortal)
    _show_findings("Retired texts with a live copy", found.half_retired)
    if len(found.dimensions) > 1:
        sizes = ", ".join(f"{count} facts with {size}" for size, count in found.dimensions.items())
        typer.echo(f"Embeddings of several dimensions ({sizes}): the vector signal ranks nobody.")
    if found.nearest_to_pruning:
        print_table(
            ("nearest to pruning", "text", "state", "weight", "days left if unread"),
            [
                (one.fact, one.text, "live" if one.live else "retired", f"{one.weight:.3f}", f"{one.days_left:g}")
                for one in found.nearest_to_pruning
            ],
        )
    _show_warnings(found.warnings)
    print_verdicts([Verdict("tombstone share", found.verdict, found.reason)])


def _show_findings(title: str, findings: "Sequence[Finding]") -> None:
    if findings:
        rest = f" (first {_SHOWN} of {len(findings)})" if len(findings) > _SHOWN else ""
        lines = [(one.agent, one.fact, one.text, one.note) for one in findings[:_SHOWN]]
        print_table(("agent", "fact", "text", "what"), lines, title=f"{title}{rest}")


def _show_warnings(warnings: Sequence[str]) -> None:
    for warning in warnings[:_SHOWN]:
        typer.echo(f"left out: {printable(warning)}", err=True)
    if len(warnings) > _SHOWN:
        typer.echo(f"... and {len(warnings) - _SHOWN} more", err=True)
