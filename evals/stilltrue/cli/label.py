"""``stilltrue label``: a sample of pairs from one's own store, labelled in the terminal or in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stilltrue.cli.output import console, fail, print_table, printable, user_errors

if TYPE_CHECKING:
    from stilltrue.labeling.sheet import Sheet

NEEDS_ARGUMENTS = True


def run(
    store: Annotated[Path, typer.Argument(help="A tombstore file, a GrayMatter gray.db, or exported JSON or JSONL.")],
    out: Annotated[Path, typer.Option(help="The sheet with sample and labels; an existing one is continued.")],
    sample: Annotated[int, typer.Option(min=1, help="How many candidate pairs to draw.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 0,
    annotator: Annotated[
        str, typer.Option(help="Whose labels these are; a second annotator gives another name.")
    ] = "first",
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="Decide the pairs on which annotators differ or doubt.")
    ] = False,
    review: Annotated[
        bool, typer.Option("--review", help="Go through all pairs once more, labelled ones too (terminal).")
    ] = False,
    web: Annotated[bool, typer.Option("--web", help="Label on a page in the browser, on loopback only.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --web: the port. Default: a free one.")] = 0,
    draw_only: Annotated[bool, typer.Option("--draw-only", help="Draw the sample, label nothing yet.")] = False,
    embedder: Annotated[str | None, typer.Option(help="A sentence-transformers model by name or folder.")] = None,
) -> None:
    """Label pairs of facts from a real store: must the older one be retired?

    Draws candidate pairs (cosine of at least 0.3, ten neighbors a fact) evenly over four bands of similarity and gives
    each a weight, so that prevalence and precision can be estimated for this store. Every label is saved at once;
    Ctrl-C loses nothing, the same command goes on. `stilltrue agreement` sums up. The store is only read.

    Example: stilltrue label ~/.graymatter/gray.db --sample 200 --out labels.jsonl
    """
    from stilltrue.documents import InvalidData
    from stilltrue.labeling.sheet import ADJUDICATED, read_sheet
    from tombstore import ModelNotFound, NotAStore, StoreBusy
    from tombstore.graymatter.bbolt import CorruptDatabase

    if annotator == ADJUDICATED or not annotator.strip():
        fail(f"--annotator {annotator!r}: choose a name; `{ADJUDICATED}` is what --adjudicate writes")
    with user_errors(InvalidData, NotAStore, CorruptDatabase, StoreBusy, ModelNotFound):
        if out.exists():
            sheet = read_sheet(out)
        elif not out.absolute().parent.is_dir():
            fail(f"--out {out}: there is no folder {out.parent}")
        else:
            sheet = _drawn(store, out, size=sample, seed=seed, embedder=embedder)
    design = sheet.design
    if design.store != store.name:
        fail(f"{out} was drawn from {design.store}, not from {store.name}: name another file with --out")
    if (design.seed, design.sample) != (seed, sample):
        typer.echo(
            f"going on with {printable(str(out))}, drawn with --sample {design.sample} --seed {design.seed}", err=True
        )
    _label(sheet, ADJUDICATED if adjudicate else annotator, web=web, port=port, draw_only=draw_only, review=review)


def _drawn(store: Path, out: Path, *, size: int, seed: int, embedder: str | None) -> "Sheet":
    from stilltrue.cli.embedding import cached_embedder
    from stilltrue.labeling.sampling import draw
    from stilltrue.labeling.sheet import new_sheet
    from tombstore.graymatter.files import read_facts

    dump = read_facts(store)
    if dump.warnings:
        typer.echo(f"left out: {len(dump.warnings)} records, first {printable(dump.warnings[0])}", err=True)
    facts = [fact for fact in dump.facts if fact.live]
    model, embed = cached_embedder(embedder, shown=True)
    drawn = draw(facts, embed, size=size, seed=seed)
    if not drawn.pairs:
        fail(f"{store}: no two live facts of one agent are similar enough to be worth a label")
    lines = [(band, str(candidates), str(number)) for band, (candidates, number) in drawn.bands.items()]
    print_table(("similarity", "candidate pairs", "drawn"), lines, title=f"{len(drawn.pairs)} pairs drawn")
    return new_sheet(out, drawn, size=size, seed=seed, embedder=model, store=store.name)


def _label(sheet: "Sheet", annotator: str, *, web: bool, port: int, draw_only: bool, review: bool) -> None:
    from stilltrue.labeling.sheet import ADJUDICATED

    if draw_only:
        typer.echo(f"{printable(str(sheet.path))}: {len(sheet.items)} pairs, ready to be labelled")
        return
    try:
        with user_errors():
            if web:
                _serve(sheet, annotator, port)
            elif review or sheet.open(annotator):
                _ask(sheet, annotator, review=review)
    except (KeyboardInterrupt, EOFError):
        typer.echo("")
    left, assigned = len(sheet.open(annotator)), len(sheet.assigned(annotator))
    name = printable(str(sheet.path))
    who = "disputed pairs done" if annotator == ADJUDICATED else f"pairs done for {printable(annotator)}"
    typer.echo(f"{name}: {assigned - left} of {assigned} {who}")
    if left:
        typer.echo("the same command goes on where this one stopped")
    elif open_ := len(sheet.open(ADJUDICATED)):
        typer.echo(f"next: the same command with --adjudicate, for {open_} pairs in dispute or doubt")
    else:
        typer.echo(f"next: stilltrue agreement {name}; --review goes through your labels again")


def _ask(sheet: "Sheet", annotator: str, *, review: bool) -> None:
    import sys

    import click

    from stilltrue.labeling.terminal import Terminal

    def key() -> str:
        if sys.stdin.isatty():
            return click.getchar()
        return (sys.stdin.readline() or "q").strip()[:1]

    def ask(prompt: str) -> str:
        typer.echo(prompt, nl=False)
        return sys.stdin.readline().encode("utf-8", "replace").decode()

    Terminal(sheet, annotator, console=console(), key=key, ask=ask, review=review).run()


def _serve(sheet: "Sheet", annotator: str, port: int) -> None:
    from stilltrue.labeling.web import LOOPBACK, make_server

    try:
        server = make_server(sheet, annotator, port=port)
    except OSError as error:
        fail(f"--port {port}: {error.strerror}")
    with server:
        typer.echo(f"Open http://{LOOPBACK}:{server.server_port}/ in a browser; Ctrl-C here ends it.")
        server.serve_forever()
