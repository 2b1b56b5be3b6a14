"""The command line, one module a command. Heavy imports happen inside the commands that need them."""

import typer

from stilltrue.cli import agreement, audit, compare, conform, data, evals, generate, label, list_, validate

app = typer.Typer(
    name="stilltrue",
    help="Is what an agent memory returns still true? Measures stale facts in memory stores.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 pass, 1 a gate failed, 2 wrong usage or data, 3 inconclusive.",
)
for command in (evals, compare, conform, audit, label, agreement, validate, generate, list_):
    app.command(name=command.__name__.rpartition(".")[2].rstrip("_"), no_args_is_help=command.NEEDS_ARGUMENTS)(
        command.run
    )
app.add_typer(data.app, name="data")


def main() -> None:
    """The ``stilltrue`` command."""
    app()
