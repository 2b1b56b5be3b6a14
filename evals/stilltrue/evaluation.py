"""One whole run: policies times strategies over the suite, the ruler's own systems, rows, queries and verdicts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stilltrue import environment, gates
from stilltrue.cache import Cache, key_of
from stilltrue.records import Scenario
from stilltrue.results import Results, Row
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


def evaluate(
    suite: Suite,
    options: Options,
    *,
    started: Callable[[int], None],
    advance: Callable[[], None],
    jobs: int = 1,
    cache: Cache | None = None,
) -> Results:
    """Run everything, in ``jobs`` processes. What is in the cache is not run again, so an interrupted run goes on.

    ``started`` gets the number of contestants to come, ``advance`` is called after each. Raises UnknownPlugin,
    ModelNotFound, ValueError for a ``k`` below 1.
    """
    if options.k < 1:
        raise ValueError(f"k is {options.k}, expected 1 or more")
    for policy in options.policies:
        tombstore.make(policy=policy, strategy="keyword").close()  # an unknown name fails now, not after minutes
    cache = cache or Cache(None)
    vectors = _vectors(suite, options, cache)
    contestants = list(_contestants(options, vectors))
    results = Results(run=environment.describe(suite, options))
    started(len(contestants))
    for outcome in _outcomes(contestants, suite, options, jobs, cache, advance):
        results.rows += (Row(**row) for row in outcome["rows"])
        results.queries += outcome["queries"]
    results.verdicts += gates.verdicts(results.rows, suite.families)
    return results


def _vectors(suite: Suite, options: Options, cache: Cache) -> tombstore.Recorded | None:
    """Every text of the suite, embedded, when a strategy ranks by vectors."""
    if [name for name in options.strategies if tombstore.uses_vectors(name)]:
        return tombstore.recorded(suite.texts(), model=options.embedder, cache=cache)
    return None


def _contestants(options: Options, vectors: tombstore.Recorded | None) -> Iterator[Contestant]:
    for strategy in options.strategies:
        embedder = vectors if tombstore.uses_vectors(strategy) else None
        for policy in options.policies:
            yield Contestant(
                system="tombstore",
                policy=policy,
                strategy=strategy,
                embedder=embedder.name if embedder else "",
                open=_ignoring_the_scenario(_opener(policy, strategy, embedder)),
            )
    yield Contestant(system="oracle", open=lambda scenario: oracle.make(scenario=scenario))
    yield Contestant(system="null", open=_ignoring_the_scenario(null.make))


def _opener(policy: str, strategy: str, embedder: tombstore.Recorded | None) -> Callable[[], MemorySystem]:
    return lambda: tombstore.make(policy=policy, strategy=strategy, embedder=embedder)


def _ignoring_the_scenario(make: Callable[[], MemorySystem]) -> Callable[[Scenario], MemorySystem]:
    return lambda _scenario: make()


def _outcomes(
    contestants: Sequence[Contestant],
    suite: Suite,
    options: Options,
    jobs: int,
    cache: Cache,
    advance: Callable[[], None],
) -> Iterator[dict[str, Any]]:
    """Each contestant's outcome, in order."""
    keys = [_key(contestant, suite, options) for contestant in contestants]
    found = {key: cache.outcome(key) for key in keys}
    for outcome in found.values():
        if outcome is not None:
            advance()
    pending = [(key, one) for key, one in zip(keys, contestants, strict=True) if found[key] is None]
    for key, outcome in _computed(pending, suite, options, jobs):
        found[key] = outcome
        if ":" not in f"{outcome['rows'][0]['policy']}{outcome['rows'][0]['strategy']}":  # others' code is in no key
            cache.keep(key, outcome)
        advance()
    for key in keys:
        outcome = found[key]
        if outcome is not None:
            yield outcome


def _computed(
    pending: Sequence[tuple[str, Contestant]], suite: Suite, options: Options, jobs: int
) -> Iterable[tuple[str, dict[str, Any]]]:
    if jobs == 1 or len(pending) < 2:
        return (_outcome(key, one, suite, options.k, options.seed) for key, one in pending)
    import joblib  # pyright: ignore[reportMissingTypeStubs] - untyped

    delayed: Any = joblib.delayed(_outcome)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
    run: Any = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    return run(delayed(key, one, suite, options.k, options.seed) for key, one in pending)


def _outcome(key: str, contestant: Contestant, suite: Suite, k: int, seed: int) -> tuple[str, dict[str, Any]]:
    metrics = retrieval.all_metrics()
    collected = retrieval.answered(suite, contestant, k=k)
    rows = [asdict(row) for row in retrieval.rows(contestant, collected, metrics, seed=seed)]
    return key, {"rows": rows, "queries": list(retrieval.query_records(contestant, collected, metrics))}


def _key(contestant: Contestant, suite: Suite, options: Options) -> str:
    return key_of(
        system=contestant.system,
        policy=contestant.policy,
        strategy=contestant.strategy,
        embedder=contestant.embedder,
        suite=suite.hash,
        families=[family.family for family in suite.families],
        k=options.k,
        seed=options.seed,
        versions=environment.versions(),
    )
