"""``stilltrue validate``: scenario files checked, before anything is measured with them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

from stilltrue.cli.output import AsJson, exit_code, print_json, print_table, print_verdicts, printable, progress
from stilltrue.results import Verdict

if TYPE_CHECKING:
    from stilltrue.scenarios import Suite

NEEDS_ARGUMENTS = False


def run(
    path: Annotated[
        Path | None,
        typer.Argument(help="A folder of scenarios, or one YAML file. Default: the suite that comes along."),
    ] = None,
    static: Annotated[bool, typer.Option("--static", help="Only read and check the files; ask no system.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Run the controls too, under four strategies, and let no warning pass.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check scenario files: form, ids, ground truth, and whether they measure anything.

    Every complaint names file and line. Without --static, the oracle, the empty system and all policies are run too (by
    keyword): a family on which every policy scores the same is saturated and fails. With --strict, the failures that
    each family claims to reveal must show, and what makes a suite a poor ruler fails too.

    Example: stilltrue validate my_scenarios/ --strict
    """
    from stilltrue.scenarios import InvalidScenario, load_suite

    try:
        suite = load_suite(path)
    except InvalidScenario as error:
        _report(as_json, list(error.problems), [], [])
        raise typer.Exit(2) from None
    except OSError as error:
        _report(as_json, [f"{error.filename}: {error.strerror}" if error.strerror else str(error)], [], [])
        raise typer.Exit(2) from None
    verdicts = [] if static else _asked(suite, strict=strict, as_json=as_json)
    if strict:
        verdicts.append(_no_warning(suite))
    counts = [
        (one.family, len(one.scenarios), sum(step.ask is not None for s in one.scenarios for step in s.steps))
        for one in suite.families
    ]
    _report(as_json, [], counts, verdicts)
    raise typer.Exit(exit_code(one.verdict for one in verdicts))


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


def _report(as_json: bool, problems: list[str], counts: list[tuple[str, int, int]], verdicts: list[Verdict]) -> None:
    if as_json:
        families = [{"family": name, "scenarios": n, "queries": asks} for name, n, asks in counts]
        print_json({"valid": not problems, "problems": problems, "families": families, "verdicts": verdicts})
        return
    for problem in problems:
        typer.echo(printable(problem), err=True)
    if counts:
        total = ("all", str(sum(n for _, n, _ in counts)), str(sum(asks for *_, asks in counts)))
        print_table(
            ("family", "scenarios", "queries"), [*((name, str(n), str(asks)) for name, n, asks in counts), total]
        )
    print_verdicts(verdicts)
