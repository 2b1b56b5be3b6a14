"""``stilltrue validate``: scenarios, labelled pairs and streams checked, before anything is measured with them."""

import os
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

from stilltrue.cli.output import AsJson, exit_code, print_json, print_table, print_verdicts, printable, progress
from stilltrue.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stilltrue.contradictions import PairCounts, StreamCounts
    from stilltrue.scenarios import Suite

NEEDS_ARGUMENTS = False


@dataclass
class _Found:
    """What a path holds, and what is wrong with it."""

    problems: list[str] = field(default_factory=list[str])
    families: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    verdicts: list[Verdict] = field(default_factory=list[Verdict])
    pairs: "PairCounts | None" = None
    streams: "list[StreamCounts] | None" = None


def run(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="Scenarios (a folder, one YAML file), or labelled pairs (a JSONL file, a folder with pairs.jsonl or "
            "streams/). Default: all data that comes along."
        ),
    ] = None,
    static: Annotated[
        bool, typer.Option("--static", help="Only read and check the files; ask no system, embed nothing.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Scenarios: run the controls too, under four strategies, and let no warning pass. Pairs: size, "
            "balance, copies, canary. Without PATH the pairs that come along are always checked so.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check scenario files and labelled pairs: form, ids, ground truth, splits, and whether they measure anything.

    Every complaint names file and line. Without --static, the oracle, the empty system and all policies are run over
    scenarios too (by keyword): a family on which every policy scores the same is saturated and fails; and of streams
    every pair that the candidate step proposes must have been looked at.

    Example: stilltrue validate my_scenarios/ --strict
    """
    from stilltrue.contradictions import is_labelled, shipped

    found = _Found()
    if path is None or not is_labelled(path):
        _scenarios(path, found, static=static, strict=strict, as_json=as_json)
    if path is None or is_labelled(path):
        _labelled(path or shipped(), found, static=static, strict=strict or path is None, as_json=as_json)
    _report(as_json, found)
    raise typer.Exit(2 if found.problems else exit_code(one.verdict for one in found.verdicts))


def _scenarios(path: Path | None, found: _Found, *, static: bool, strict: bool, as_json: bool) -> None:
    from stilltrue.scenarios import InvalidScenario, load_suite

    try:
        suite = load_suite(path)
    except InvalidScenario as error:
        found.problems += error.problems
        return
    except OSError as error:
        found.problems.append(_said(error))
        return
    found.families += (
        (one.family, len(one.scenarios), sum(step.ask is not None for s in one.scenarios for step in s.steps))
        for one in suite.families
    )
    if not static:
        found.verdicts += _asked(suite, strict=strict, as_json=as_json)
    if strict:
        found.verdicts.append(_no_warning(suite))


def _labelled(place: Traversable, found: _Found, *, static: bool, strict: bool, as_json: bool) -> None:
    from stilltrue.cli.embedding import cached_embedder
    from stilltrue.contradictions import check, pair_counts, stream_counts

    embed = None if static else cached_embedder(shown=not as_json)[1]
    try:
        checked = check(place, strict=strict, embed=embed)
    except OSError as error:
        found.problems.append(_said(error))
        return
    found.problems += checked.problems
    found.pairs = pair_counts(checked.pairs) if checked.pairs else None
    found.streams = stream_counts(checked.streams, checked.proposed) if checked.streams else None
    if not checked.problems:
        found.verdicts.append(Verdict("labelled data", "pass", "form, groups, splits, copies and seal are in order"))


def _said(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.strerror else str(error)


def _asked(suite: "Suite", *, strict: bool, as_json: bool) -> list[Verdict]:
    """The ruler's verdicts; when strict the controls' too, which need all the usual strategies."""
    from stilltrue.cache import Cache
    from stilltrue.evaluation import Options, evaluate
    from stilltrue.systems.tombstore import POLICIES, STRATEGIES

    with progress("asking", shown=not as_json) as (started, advance):
        found = evaluate(
            suite,
            Options(policies=POLICIES, strategies=STRATEGIES if strict else ("keyword",)),
            started=started,
            advance=advance,
            jobs=(os.cpu_count() or 1) if strict else 1,
            cache=Cache(platformdirs.user_cache_path("stilltrue") if strict else None),
        )
    return [one for one in found.verdicts if one.gate.startswith(("ruler", "control") if strict else "ruler")]


def _no_warning(suite: "Suite") -> Verdict:
    from stilltrue.strictness import warnings

    found = warnings(suite)
    return Verdict("strict", "fail", "; ".join(found)) if found else Verdict("strict", "pass", "no warning")


def _report(as_json: bool, found: _Found) -> None:
    if as_json:
        print_json(
            {
                "valid": not found.problems,
                "problems": found.problems,
                "families": [{"family": name, "scenarios": n, "queries": asks} for name, n, asks in found.families],
                "verdicts": found.verdicts,
                "pairs": found.pairs,
                "streams": found.streams,
            }
        )
        return
    for problem in found.problems:
        typer.echo(printable(problem), err=True)
    if found.families:
        total = ("all", sum(n for _, n, _ in found.families), sum(asks for *_, asks in found.families))
        print_table(
            ("family", "scenarios", "queries"),
            [(name, str(n), str(asks)) for name, n, asks in (*found.families, total)],
        )
    if found.pairs:
        _show_pairs(found.pairs)
    if found.streams:
        _show_streams(found.streams)
    print_verdicts(found.verdicts)


def _show_pairs(counts: "PairCounts") -> None:
    by_split = ", ".join(f"{n} {split}" for split, n in counts.by_split.items())
    typer.echo(
        f"{counts.pairs} labelled pairs ({by_split}) in {counts.groups} groups, {counts.positives} positive, "
        f"{counts.ambiguous} ambiguous; SHA-256 {counts.sha256}"
    )
    if near := counts.nearest:
        typer.echo(
            f"nearest texts across splits: similarity {near.similarity:.2f}, {printable(near.dev)!r} in dev, "
            f"{printable(near.test)!r} in test"
        )


def _show_streams(counts: "Sequence[StreamCounts]") -> None:
    lines = [(one.stream, one.facts, one.supersessions, one.proposed, one.reached) for one in counts]
    columns = list(zip(*lines, strict=True))[1:]
    sums = (None if None in column else sum(column) for column in columns)
    print_table(
        ("stream", "facts", "supersessions", "proposed pairs", "reached"),
        [tuple("" if cell is None else str(cell) for cell in line) for line in (*lines, ("all", *sums))],
    )
