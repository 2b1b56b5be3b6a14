"""``stilltrue evals``: the scenario suite over policies and strategies, with verdicts and reports."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import platformdirs
import typer

from stilltrue import plugins
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
from stilltrue.results import Change, Verdict

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
    dose: Annotated[
        list[str] | None,
        typer.Option(help="Only this dose-response study; repeatable. Default: all, with the suite that comes along."),
    ] = None,
    no_doses: Annotated[bool, typer.Option("--no-doses", help="No dose-response studies.")] = False,
    k: Annotated[int, typer.Option(help="How many results each query may return.")] = 5,
    suite: Annotated[Path | None, typer.Option(help="A folder of your own scenarios (or one YAML file).")] = None,
    out: Annotated[Path, typer.Option(help="Where the reports go.")] = Path("reports"),
    embedder: Annotated[str | None, typer.Option(help="A sentence-transformers model by name or folder.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap intervals.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes. Default: one per core.")] = os.cpu_count() or 1,
    cache: Annotated[Path | None, typer.Option(help="Where embeddings and finished parts are kept.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compute everything anew and keep nothing.")] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="The locked results to compare with. Default: baseline.json beside the reports, if it is there."
        ),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Lock this run's results as the new baseline.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure which policy returns stale facts, and fail when the reference does.

    Runs every scenario on the reference store under each retirement policy and recall strategy, prints the figures and
    the verdicts, and writes results.json, queries.parquet, summary.md, junit.xml and report.html.

    Example: stilltrue evals --policy tombstone --policy postfilter --strategy bm25 --k 3
    """
    from stilltrue.baseline import BaselineMismatch
    from stilltrue.cache import Cache
    from stilltrue.evaluation import DOSE_POLICIES, Options, evaluate
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
    with user_errors(InvalidScenario, UnknownPlugin, ModelNotFound, BaselineMismatch):
        options = Options(
            policies=list(dict.fromkeys(policy or POLICIES)),
            strategies=list(dict.fromkeys(strategy or (plugins.names("tombstore.strategies") if full else STRATEGIES))),
            doses=_doses(dose, wanted=not (no_doses or family or suite)),
            dose_policies=list(policy or DOSE_POLICIES),
            k=k,
            seed=seed,
            embedder=embedder,
        )
        loaded = load_suite(suite, only=family or ())
        out.mkdir(parents=True, exist_ok=True)  # before the long work, whose results would have nowhere to go
        lock = _Lock(baseline, out / "baseline.json", shipped=suite is None, update=update_baseline)
        with progress("asking", shown=not as_json) as (started, advance):
            results = evaluate(
                loaded,
                options,
                started=started,
                advance=advance,
                jobs=jobs,
                cache=Cache(None if no_cache else cache or platformdirs.user_cache_path("stilltrue")),
            )
        lock.apply_to(results)
        written = write_all(results, out)
    if as_json:
        print_json(document(results))
    else:
        _show(results, title=f"{loaded.questions} queries, k = {k}, 95 % intervals")
        _show_changed(results.changed)
        typer.echo(f"Wrote {', '.join(str(path) for path in written)}")
    raise typer.Exit(exit_code(one.verdict for one in results.verdicts))


def _doses(named: list[str] | None, *, wanted: bool) -> list[str]:
    """The doses to run. Without a name: all, if ``wanted``. Raises UnknownPlugin."""
    known = plugins.names(plugins.DOSES)
    for name in named or ():
        plugins.check(plugins.DOSES, name)
    return list(dict.fromkeys(named)) if named else known if wanted else []


class _Lock:
    """The baseline that a run is held against: the one that was named, or the one beside the reports if it fits."""

    def __init__(self, named: Path | None, usual: Path, *, shipped: bool, update: bool) -> None:
        from stilltrue import baseline

        self._path = named or usual
        self._update = update
        self._named = named is not None
        self._locked = None
        if not update and (named or (shipped and usual.exists())):
            self._locked = baseline.read(self._path)  # before the long work, too

    def apply_to(self, results: "Results") -> None:
        """Lock the results, or compare them: adds the changed cases and the verdict to them."""
        from stilltrue import baseline

        if self._update:
            baseline.write(results, self._path)
        if self._locked is None or (not self._named and self._locked["k"] != results.run["options"]["k"]):
            return
        try:
            baseline.check_comparable(self._locked, results.run)
        except baseline.BaselineMismatch as mismatch:
            if self._named:
                raise
            results.verdicts.append(Verdict(baseline.GATE, "fail", str(mismatch)))
        else:
            results.changed = baseline.changes(self._locked, results)
            results.verdicts.append(baseline.verdict(self._locked, results, results.changed))


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


_MOST_CHANGES = 20


def _show_changed(changed: list[Change]) -> None:
    if changed:
        print_table(
            ("case", "metric", "contestant", "now"),
            [
                (f"{one.family}/{one.case}", one.metric, one.contestant, "worse" if one.worse else "not worse")
                for one in changed[:_MOST_CHANGES]
            ],
            title=f"Changed since the baseline: {len(changed)} cases",
        )
    if len(changed) > _MOST_CHANGES:
        typer.echo(f"... and {len(changed) - _MOST_CHANGES} more: see summary.md, or --json for all")
