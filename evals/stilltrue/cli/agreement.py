"""``stilltrue agreement``: how far two annotators agree, and what a labelled sample says about its store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stilltrue.cli.output import AsJson, fail, print_json, print_table, printable, user_errors

if TYPE_CHECKING:
    from stilltrue.agreement import Agreement, Kappa
    from stilltrue.labeling.estimates import Weighted
    from stilltrue.stats import Estimate

NEEDS_ARGUMENTS = True


def run(
    path: Annotated[Path, typer.Argument(help="A sheet of `stilltrue label`, or a file of labelled pairs.")],
    pairs: Annotated[
        Path | None, typer.Option(help="Write the labelled pairs here, in the form of pairs.jsonl.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cohen's kappa of two annotators; for a sheet also the prevalence in the store and the pairs still disputed.

    Example: stilltrue agreement labels.jsonl --pairs my_pairs.jsonl
    """
    from stilltrue.agreement import agreement
    from stilltrue.documents import InvalidData
    from stilltrue.labeling.estimates import prevalence
    from stilltrue.labeling.sheet import as_pairs
    from stilltrue.pairs import counted, write_pairs

    with user_errors(InvalidData):
        sheet, labelled = _read(path)
    if sheet:
        labelled = as_pairs(sheet)
    if not labelled:
        fail(f"{path}: nothing is labelled yet")
    found, share = agreement(labelled), prevalence(counted(labelled)) if sheet else None
    ambiguous = sum(pair.ambiguous for pair in labelled)
    if pairs:
        with user_errors():
            write_pairs(pairs, labelled, dataset="own-store", version="1", licence="not stated")
    if as_json:
        print_json({"pairs": len(labelled), "ambiguous": ambiguous, "agreement": found, "prevalence": share})
        return
    typer.echo(f"{printable(str(path))}: {len(labelled)} labelled pairs, {ambiguous} of them ambiguous")
    if found:
        _show(found)
    else:
        typer.echo("one annotator only; a second one: stilltrue label ... --annotator second")
    if share:
        typer.echo(f"pairs of which the older must be retired, among candidate pairs: {_share(share)}")


def _read(path: Path) -> "tuple[Any, list[Any]]":
    """The sheet, or else the pairs."""
    from stilltrue.documents import InvalidData
    from stilltrue.labeling.sheet import read_sheet
    from stilltrue.pairs import read_pairs

    try:
        return read_sheet(path), []
    except InvalidData:
        return None, list(read_pairs(path).pairs)


def _show(found: "Agreement") -> None:
    lines = [("should_retire", _kappa(found.should_retire)), ("relation", _kappa(found.relation))]
    print_table(("label", "Cohen's kappa"), lines, title=f"{found.pairs} pairs with two labels")
    families = [(name, _share(one), str(one.n)) for name, one in found.by_family.items()]
    print_table(("family", "equal should_retire", "pairs"), families)
    typer.echo(f"{found.doubted} pairs doubted by one of the two")


def _kappa(found: "Kappa") -> str:
    if found.value is None:
        return "n/a: somebody used one label only"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def _share(found: "Estimate | Weighted") -> str:
    return "n/a" if found.value is None else f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
