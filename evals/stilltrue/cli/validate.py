"""``stilltrue validate``: scenario files checked, before anything is measured with them."""

from pathlib import Path
from typing import Annotated

import typer

from stilltrue.cli.output import AsJson, exit_code, print_json, print_table, print_verdicts, printable, progress
from stilltrue.results import Verdict

NEEDS_ARGUMENTS = False


def run(
    path: Annotated[
        Path | None,
        typer.Argument(help="A folder of scenarios, or one YAML file. Default: the suite that comes along."),
    ] = None,
    static: Annotated[bool, typer.Option("--static", help="Only read and check the files; ask no system.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check scenario files: form, ids, ground truth, and whether they measure anything.

    Every complaint names file and line. Without --static, the oracle, the empty system and all policies are run too (by
    keyword): a family on which every policy scores the same is saturated and fails.

    Example: stilltrue validate my_scenarios/
    """
    from stilltrue.evaluation import Options, evaluate
    from stilltrue.scenarios import InvalidScenario, load_suite
    from stilltrue.systems.tombstore import POLICIES

    try:
        suite = load_suite(path)
    except InvalidScenario as error:
        _report(as_json, list(error.problems), [], [])
        raise typer.Exit(2) from None
    except OSError as error:
        _report(as_json, [f"{error.filename}: {error.strerror}" if error.strerror else str(error)], [], [])
        raise typer.Exit(2) from None
    verdicts: list[Verdict] = []
    if not static:
        with progress("asking", shown=not as_json) as (started, advance):
            options = Options(policies=POLICIES, strategies=("keyword",))
            found = evaluate(suite, options, started=started, advance=advance)
        verdicts = [one for one in found.verdicts if one.gate.startswith("ruler")]
    counts = [
        (one.family, len(one.scenarios), sum(step.ask is not None for s in one.scenarios for step in s.steps))
        for one in suite.families
    ]
    _report(as_json, [], counts, verdicts)
    raise typer.Exit(exit_code(one.verdict for one in verdicts))


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
