"""``stilltrue evals``: the scenario suite over policies and strategies, with verdicts and reports."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

from stilltrue.cli.output import (
    AsJson,
    exit_code,
    fail,
    print_json,
    print_table,
    print_verdicts,
    progress,
    user_errors,
)

if TYPE_CHECKING:
    from stilltrue.results import Results

NEEDS_ARGUMENTS = False


def run(
    policy: Annotated[
        list[str] | None, typer.Option(help="Only this retirement policy; repeatable. Default: all.")
    ] = None,
    strategy: Annotated[
        list[str] | None, typer.Option(help="Only this recall strategy; repeatable. Default: the usual four.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All strategies there are, not only the usual four.")] = False,
    family: Annotated[
        list[str] | None, typer.Option(help="Only this scenario family; repeatable. Default: all.")
    ] = None,
    k: Annotated[int, typer.Option(help="How many results each query may return.")] = 5,
    suite: Annotated[Path | None, typer.Option(help="A folder of your own scenarios (or one YAML file).")] = None,
    out: Annotated[Path, typer.Option(help="Where the reports go.")] = Path("reports"),
    embedder: Annotated[str | None, typer.Option(help="A sentence-transformers model by name or folder.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap intervals.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes. Default: one per core.")] = os.cpu_count() or 1,
    cache: Annotated[Path | None, typer.Option(help="Where embeddings and finished parts are kept.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compute everything anew and keep nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure which policy returns stale facts, and fail when the reference does.

    Runs every scenario on the reference store under each retirement policy and recall strategy, prints the figures and
    the verdicts, and writes results.json, queries.parquet, summary.md, junit.xml and report.html.

    Example: stilltrue evals --policy tombstone --policy postfilter --strategy bm25 --k 3
    """
    from stilltrue import plugins
    from stilltrue.cache import Cache
    from stilltrue.evaluation import Options, evaluate
    from stilltrue.plugins import UnknownPlugin
    from stilltrue.report import write_all
    from stilltrue.report.json import document
    from stilltrue.scenarios import InvalidScenario, load_suite
    from stilltrue.systems.tombstore import POLICIES, STRATEGIES
    from tombstore import ModelNotFound

    if embedder == "":
        fail("--embedder is empty, expected a sentence-transformers model by name or folder")
    if k < 1:
        fail(f"k is {k}, expected 1 or more")
    with user_errors(InvalidScenario, UnknownPlugin, ModelNotFound):
        options = Options(
            policies=list(dict.fromkeys(policy or POLICIES)),
            strategies=list(dict.fromkeys(strategy or (plugins.names("tombstore.strategies") if full else STRATEGIES))),
            k=k,
            seed=seed,
            embedder=embedder,
        )
        loaded = load_suite(suite, only=family or ())
        out.mkdir(parents=True, exist_ok=True)  # before the long work, whose results would have nowhere to go
        with progress("asking", shown=not as_json) as (started, advance):
            results = evaluate(
                loaded,
                options,
                started=started,
                advance=advance,
                jobs=jobs,
                cache=Cache(None if no_cache else cache or platformdirs.user_cache_path("stilltrue")),
            )
        written = write_all(results, out)
    if as_json:
        print_json(document(results))
    else:
        _show(results, title=f"{loaded.questions} queries, k = {k}, 95 % intervals")
        typer.echo(f"Wrote {', '.join(str(path) for path in written)}")
    raise typer.Exit(exit_code(one.verdict for one in results.verdicts))


def _show(results: "Results", *, title: str) -> None:
    from stilltrue.report.tables import HEADLINES, cell, contestants, find, grid_rows, unit

    rows = grid_rows(results)
    print_table(
        ("policy", "strategy", *(f"{name} ({unit(name)})" for name in HEADLINES)),
        [
            (policy, strategy, *(cell(find(rows, policy=policy, strategy=strategy, metric=name)) for name in HEADLINES))
            for policy, strategy in contestants(results)
        ],
        title=title,
    )
    print_verdicts(results.verdicts)
