"""``stilltrue data``: sets of others read as ours, and the card of the labelled pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from stilltrue.cli.output import AsJson, fail, print_json, printable, user_errors

if TYPE_CHECKING:
    from stilltrue.importers import Imported, Importer, Options
    from stilltrue.pairs import Relation

app = typer.Typer(
    help="Bring data of others into our form, and describe the data that comes along.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_SHOWN = 20


@app.command("import", no_args_is_help=True)
def import_(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="See `stilltrue list importers`.")],
    path: Annotated[Path, typer.Argument(help="A local copy; nothing is downloaded.")],
    out: Annotated[Path, typer.Option(help="What to write: *.jsonl for pairs, *.yaml for scenarios.")],
    source: Annotated[str | None, typer.Option(help="Where it is from. Default: the data set's name.")] = None,
    licence: Annotated[str | None, typer.Option(help="Its licence. Default: as its authors state it.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="With `table`: NAME=COLUMN, once for each name that your columns don't have. Names: older, newer, "
            "label; id, group, older_at, newer_at, domain if there are any."
        ),
    ] = None,
    relation: Annotated[list[str] | None, typer.Option(help="With `table`: LABEL=RELATION, once a label.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing when a row is malformed; exit code 2.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Turn a local copy of a public data set, or a table, into labelled pairs or scenarios.

    Source and licence stay with everything that is written. Malformed rows are named with their line and counted; what
    is well-formed but of no use is counted with the reason.

    Example: stilltrue data import vitaminc dev.jsonl --out vitaminc.jsonl

    Example: stilltrue data import table mine.csv --out mine.jsonl --column older=before --column newer=after
    """
    from stilltrue import plugins
    from stilltrue.documents import InvalidData
    from stilltrue.importers import Options, imported

    with user_errors(InvalidData, plugins.UnknownPlugin, ValueError):
        importer: Importer = plugins.make(plugins.IMPORTERS, format_.lower() if ":" not in format_ else format_)
        options = Options(
            source=source or importer.source,
            licence=licence or importer.licence,
            columns=dict(_split(one, "--column") for one in column or ()),
            relations=_relations(relation or ()),
        )
        if out.exists() and out.samefile(path):
            fail(f"--out {out} is the file that is read")
        suffixes = (".jsonl",) if importer.gives == "pairs" else (".yaml", ".yml")
        if out.suffix not in suffixes:
            fail(f"--out is {out}, but {format_} gives {importer.gives}: name a file *{suffixes[0]}")
        found = imported(importer, path, options)
        writes = bool(found.pairs or found.families) and not (strict and found.problems)
        if writes:
            _write(found, importer, path, options, out)
    _report(found, out if writes else None, as_json=as_json)
    if not writes or (strict and found.problems):
        raise typer.Exit(2)


def _split(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        fail(f"{option} {text!r}: expected NAME=VALUE")
    return name, value


def _relations(given: Sequence[str]) -> "Mapping[str, Relation]":
    from stilltrue.documents import did_you_mean
    from stilltrue.pairs import RELATIONS

    mapped = dict(_split(one, "--relation") for one in given)
    for relation in mapped.values():
        if relation not in RELATIONS:
            fail(f"unknown relation {relation!r}{did_you_mean(relation, RELATIONS)}; known: {', '.join(RELATIONS)}")
    return cast("Mapping[str, Relation]", mapped)


def _write(found: "Imported", importer: "Importer", path: Path, options: "Options", out: Path) -> None:
    """The file; its version is the copy that was read."""
    import hashlib

    from stilltrue.generator import as_yaml
    from stilltrue.pairs import write_pairs

    if importer.gives == "pairs":
        version = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}"
        write_pairs(out, found.pairs, dataset=options.source, version=version, licence=options.licence)
        return
    (family,) = found.families
    out.write_text(as_yaml(family.model_copy(update={"family": out.stem})), encoding="utf-8", newline="\n")


def _report(found: "Imported", out: Path | None, *, as_json: bool) -> None:
    scenarios = sum(len(family.scenarios) for family in found.families)
    if as_json:
        print_json(
            {
                "out": None if out is None else str(out),
                "rows": found.rows,
                "pairs": len(found.pairs),
                "scenarios": scenarios,
                "malformed": len(found.malformed),
                "problems": found.problems,
                "left_out": found.left_out,
            }
        )
        return
    for problem in found.problems[:_SHOWN]:
        typer.echo(printable(problem), err=True)
    if len(found.problems) > _SHOWN:
        typer.echo(f"... and {len(found.problems) - _SHOWN} more; --json names them all", err=True)
    made = f"{scenarios} scenarios" if scenarios else f"{len(found.pairs)} pairs"
    where = f"wrote {printable(str(out))}: {made}" if out else f"nothing written: {made}"
    typer.echo(f"{where} from {found.rows} rows, {len(found.malformed)} malformed")
    for reason, number in found.left_out.items():
        typer.echo(f"left out: {number}, {reason}")


@app.command()
def card(
    into: Annotated[
        Path | None, typer.Option(help="Replace the statistics in this Markdown file. Default: print them.")
    ] = None,
) -> None:
    """The statistics of the labelled pairs and streams that come along, as Markdown.

    Example: stilltrue data card --into datasets/stilltrue_data/contradictions/CARD.md
    """
    from stilltrue.cli.embedding import cached_embedder
    from stilltrue.contradictions import check, shipped
    from stilltrue.documents import InvalidData
    from stilltrue.report.pair_card import replaced, statistics

    with user_errors(InvalidData):
        found = check(shipped(), strict=False, embed=cached_embedder(shown=True)[1])
    if found.problems:
        fail("\n".join(found.problems))
    text = statistics(found)
    if into is None:
        typer.echo(text, nl=False)
        return
    with user_errors(ValueError):
        into.write_text(replaced(into.read_text(encoding="utf-8"), text), encoding="utf-8", newline="\n")
    typer.echo(f"wrote the statistics into {printable(str(into))}")
