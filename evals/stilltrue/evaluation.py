"""One whole run: policies times strategies over the suite, the ruler's own systems, rows, queries and verdicts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from stilltrue import environment, gates
from stilltrue.results import Results
from stilltrue.run import OpenSystem
from stilltrue.scenarios import Suite
from stilltrue.studies import retrieval
from stilltrue.studies.retrieval import Contestant
from stilltrue.systems import MemorySystem, null, oracle, tombstore


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to run. ``embedder``: a sentence-transformers model by name or path, None for the one that comes along."""

    policies: Sequence[str] = tombstore.POLICIES
    strategies: Sequence[str] = tombstore.STRATEGIES
    k: int = 5
    seed: int = 0
    embedder: str | None = None


def evaluate(suite: Suite, options: Options, *, started: Callable[[int], None], advance: Callable[[], None]) -> Results:
    """Run everything. ``started`` gets the number of questions to come, ``advance`` is called after each.

    Raises UnknownPlugin, ModelNotFound, ValueError for a ``k`` below 1.
    """
    if options.k < 1:
        raise ValueError(f"k is {options.k}, expected 1 or more")
    contestants = list(_contestants(options))
    metrics = retrieval.all_metrics()
    results = Results(run=environment.describe(suite, options))
    started(len(contestants) * suite.questions)
    for contestant in contestants:
        collected = retrieval.answered(suite, contestant, k=options.k, advance=advance)
        results.rows += retrieval.rows(contestant, collected, metrics, seed=options.seed)
        results.queries += retrieval.query_records(contestant, collected, metrics)
    results.verdicts += gates.verdicts(results.rows, suite.families)
    return results


def _contestants(options: Options) -> Iterator[Contestant]:
    for policy, strategy, make in tombstore.grid(options.policies, options.strategies, embedder=options.embedder):
        yield Contestant(system="tombstore", policy=policy, strategy=strategy, open=_ignoring_the_scenario(make))
    yield Contestant(system="oracle", open=lambda scenario: oracle.make(scenario=scenario))
    yield Contestant(system="null", open=_ignoring_the_scenario(null.make))


def _ignoring_the_scenario(make: Callable[[], MemorySystem]) -> OpenSystem:
    return lambda _scenario: make()
