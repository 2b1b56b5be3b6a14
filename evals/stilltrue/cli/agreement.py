"""``stilltrue agreement``: how far two annotators agree, and what a labelled sample says about its store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stilltrue.cli.output import AsJson, fail, print_json, print_table, printable, user_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stilltrue.agreement import Agreement, Kappa
    from stilltrue.labeling.estimates import Weighted
    from stilltrue.labeling.sheet import Sheet
    from stilltrue.pairs import Pair
    from stilltrue.stats import Estimate

NEEDS_ARGUMENTS = True

_SHOWN = 10
_COUNTED = 2


def run(
    path: Annotated[Path, typer.Argument(help="A sheet of `stilltrue label`, or a file of labelled pairs.")],
    pairs: Annotated[
        Path | None, typer.Option(help="Write the labelled pairs here, in the form of pairs.jsonl.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cohen's kappa of two annotators; for a sheet also the prevalence in the store and the pairs still in dispute.

    Example: stilltrue agreement labels.jsonl --pairs my_pairs.jsonl
    """
    from stilltrue.agreement import agreement
    from stilltrue.documents import InvalidData
    from stilltrue.labeling.sheet import ADJUDICATED, as_pairs
    from stilltrue.pairs import write_pairs

    with user_errors(InvalidData):
        sheet, labelled = _read(path)
    if sheet:
        labelled = as_pairs(sheet)
    if not labelled:
        fail(f"{path}: nothing is labelled yet")
    found, share = agreement(labelled), _prevalence(sheet, labelled) if sheet else None
    ambiguous = sum(pair.ambiguous for pair in labelled)
    if pairs:
        if pairs.resolve() == path.resolve():
            fail(f"--pairs {pairs} is the sheet itself: name another file")
        with user_errors():
            write_pairs(pairs, labelled, dataset="own-store", version="1", licence="not stated")
    disputes = [sheet.items[place].id for place in sheet.open(ADJUDICATED)] if sheet else []
    total, annotators = (len(sheet.items), sheet.annotators()) if sheet else (len(labelled), [])
    if as_json:
        document = {
            "pairs": len(labelled),
            "of": total,
            "ambiguous": ambiguous,
            "annotators": annotators,
            "in_dispute": disputes,
            "agreement": found,
            "prevalence": share,
        }
        print_json(document)
        return
    typer.echo(f"{printable(str(path))}: {len(labelled)} of {total} pairs labelled, {ambiguous} of them ambiguous")
    if found:
        _show(found)
    else:
        typer.echo("one annotator only; a second one: stilltrue label ... --annotator second")
    if share:
        _show_sheet(annotators, disputes, share)


def _prevalence(sheet: "Sheet", labelled: "Sequence[Pair]") -> "Weighted":
    from stilltrue.labeling.estimates import prevalence
    from stilltrue.pairs import counted

    return prevalence(counted(labelled), {band: candidates for band, (candidates, _) in sheet.design.bands.items()})


def _show_sheet(annotators: "Sequence[str]", disputes: "Sequence[str]", share: "Weighted") -> None:
    if len(annotators) > _COUNTED:
        typer.echo(f"counted: the first {_COUNTED} annotators of each pair; there are {len(annotators)}")
    if disputes:
        ids = ", ".join(disputes[:_SHOWN])
        typer.echo(f"{len(disputes)} in dispute or doubt, see `stilltrue label ... --adjudicate`: {ids}")
    typer.echo(f"pairs of which the older must be retired, among {share.stands_for} candidate pairs: {_share(share)}")
    if share.unseen:
        typer.echo(f"nothing is known of {share.unseen} candidate pairs in bands without a label")


def _read(path: Path) -> "tuple[Sheet | None, list[Pair]]":
    """The sheet, or else the pairs."""
    from stilltrue.labeling.sheet import read_sheet
    from stilltrue.pairs import read_pairs

    with path.open("rb") as file:
        is_sheet = b'"bands"' in file.readline()
    return (read_sheet(path), []) if is_sheet else (None, list(read_pairs(path).pairs))


def _show(found: "Agreement") -> None:
    lines = [("should_retire", _kappa(found.should_retire)), ("relation", _kappa(found.relation))]
    print_table(("label", "Cohen's kappa"), lines, title=f"{found.pairs} pairs with two labels")
    families = [(name, _share(one), str(one.n)) for name, one in found.by_family.items()]
    print_table(("family", "equal should_retire", "pairs"), families)
    typer.echo(f"{found.doubted} pairs doubted by one of the two")


def _kappa(found: "Kappa") -> str:
    if found.value is None:
        return "n/a: each used one label only"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def _share(found: "Estimate | Weighted") -> str:
    return "n/a" if found.value is None else f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
