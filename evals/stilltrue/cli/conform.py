"""``stilltrue conform``: golden files of the original engine replayed against the reference store."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from stilltrue.cli.output import AsJson, print_json, print_table, progress, user_errors

NEEDS_ARGUMENTS = True


def run(
    files: Annotated[
        list[Path], typer.Argument(help="Golden files: JSON with a store and what the original answered.")
    ],
    as_json: AsJson = False,
) -> None:
    """Check that the reference store answers as the original engine did.

    Rebuilds the store of each golden file, replays its recalls and lifecycle steps under that engine's variant, and
    compares order, ranks, scores, access counts and weights. Exit code 0 only when every row matches.

    Example: stilltrue conform tests/golden/*.json
    """
    from tombstore.graymatter.conformance import Conformance, InvalidGolden, conform

    with user_errors(InvalidGolden), progress("replaying", shown=not as_json) as (started, advance):
        started(len(files))
        found: list[Conformance] = []
        for file in files:
            found.append(conform(file))
            advance()
    checked, matched = sum(one.checked for one in found), sum(one.matched for one in found)
    if as_json:
        print_json({"checked": checked, "matched": matched, "files": [asdict(one) for one in found]})
    else:
        lines = [(one.file, str(one.checked), str(one.matched), one.first_difference or "") for one in found]
        print_table(("file", "checked", "matched", "first difference"), lines)
        typer.echo(f"{matched} of {checked} rows match")
    raise typer.Exit(0 if checked == matched and checked else 1)
