"""One whole run: policies times strategies over the suite and the doses, the ruler's own systems, rows and verdicts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

from stilltrue import environment, gates
from stilltrue.cache import Cache, key_of
from stilltrue.doses import Material
from stilltrue.records import Scenario
from stilltrue.results import Results, Row
from stilltrue.scenarios import Suite
from stilltrue.studies import doses, retrieval
from stilltrue.studies.retrieval import Contestant
from stilltrue.systems import MemorySystem, eager, null, oracle, tombstore

Found: TypeAlias = tuple[list[Row], list[dict[str, Any]]]
"""Rows and query records."""

DOSE_POLICIES = ("tombstone", "tombstone_window", "postfilter", "demote", "append_only")
"""The policies whose curves differ: the others remove what they retire, or ignore it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to run. ``embedder``: a sentence-transformers model by name or path, None for the one that comes along.

    ``doses``: what to vary in dose-response studies, run for those of the policies that are in ``dose_policies``.
    """

    policies: Sequence[str] = tombstore.POLICIES
    strategies: Sequence[str] = tombstore.STRATEGIES
    doses: Sequence[str] = ()
    dose_policies: Sequence[str] = DOSE_POLICIES
    k: int = 5
    seed: int = 0
    embedder: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the run that is computed and kept on its own. ``keep``: not where others' code is in no key."""

    key: str
    compute: Callable[[], Found]
    keep: bool = True


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

    ``started`` gets the number of parts to come, ``advance`` is called after each. Raises UnknownPlugin,
    ModelNotFound, ValueError for a ``k`` below 1.
    """
    if options.k < 1:
        raise ValueError(f"k is {options.k}, expected 1 or more")
    for policy in options.policies:
        tombstore.make(policy=policy, strategy="keyword").close()  # an unknown name fails now, not after minutes
    cache = cache or Cache(None)
    source = doses.source() if options.doses else None
    vectors = _vectors(suite, source, options, cache, jobs)
    parts = [*_retrieval_parts(suite, options, vectors), *_dose_parts(source, options, vectors)]
    run = environment.describe(suite, options, source=source, vectors=vectors)
    results = Results(run={**run, "doses": _axes(source, options, vectors)})
    started(len(parts))
    for rows, queries in _all_found(parts, jobs, cache, advance):
        results.rows += rows
        results.queries += queries
    results.verdicts += gates.verdicts(results.rows, suite.families)
    return results


def _vectors(
    suite: Suite, source: doses.Source | None, options: Options, cache: Cache, jobs: int
) -> tombstore.Recorded | None:
    """Every text of the run, embedded, when a strategy ranks by vectors."""
    if not [name for name in options.strategies if tombstore.uses_vectors(name)]:
        return None
    texts = suite.texts()
    if source:
        texts |= source.texts()
    return tombstore.recorded(sorted(texts), model=options.embedder, cache=cache, jobs=jobs)


# Parts


def _retrieval_parts(suite: Suite, options: Options, vectors: tombstore.Recorded | None) -> Iterator[Part]:
    for one in _contestants(options, vectors):
        identity = {"families": [family.family for family in suite.families], "suite": suite.hash}
        yield _part(one, partial(retrieval.measure, suite, one, k=options.k, seed=options.seed), options, **identity)


def _contestants(options: Options, vectors: tombstore.Recorded | None) -> Iterator[Contestant]:
    for strategy in options.strategies:
        for policy in options.policies:
            yield _reference(policy, strategy, vectors)
    yield Contestant(system="oracle", open=lambda scenario: oracle.make(scenario=scenario))
    yield Contestant(system="null", open=_ignoring_the_scenario(null.make))
    yield Contestant(system="eager", open=_ignoring_the_scenario(eager.make))


def _axes(source: doses.Source | None, options: Options, vectors: tombstore.Recorded | None) -> dict[str, str]:
    return doses.axes(options.doses, _material(source, options, vectors)) if source else {}


def _material(source: doses.Source, options: Options, vectors: tombstore.Recorded | None) -> Material:
    return Material(
        world=source.world,
        backgrounds=source.backgrounds,
        k=options.k,
        similarity=vectors.similarity if vectors else None,
    )


def _dose_parts(source: doses.Source | None, options: Options, vectors: tombstore.Recorded | None) -> Iterator[Part]:
    if source is None:
        return
    material = _material(source, options, vectors)
    for strategy in options.strategies:
        for policy in (name for name in options.policies if name in options.dose_policies):
            compute = partial(
                doses.measure,
                options.doses,
                material,
                partial(_reference, policy, strategy, vectors),
                has_window=tombstore.uses_vectors(strategy),
                seed=options.seed,
            )
            contestant = _reference(policy, strategy, vectors)
            # Whoever is measured: the doses themselves depend on the embedder, and on whether there is one.
            identity = {"doses": options.doses, "source": source.hashes, "similarity": vectors.name if vectors else ""}
            yield _part(contestant, compute, options, **identity)


def _reference(
    policy: str, strategy: str, vectors: tombstore.Recorded | None, window_per_k: int | None = None
) -> Contestant:
    """The reference store under a policy and a strategy."""
    embedder = vectors if tombstore.uses_vectors(strategy) else None
    make = partial(tombstore.make, policy=policy, strategy=strategy, embedder=embedder, window_per_k=window_per_k)
    return Contestant(
        system="tombstore",
        policy=policy,
        strategy=strategy,
        embedder=embedder.name if embedder else "",
        open=_ignoring_the_scenario(make),
    )


def _ignoring_the_scenario(make: Callable[[], MemorySystem]) -> Callable[[Scenario], MemorySystem]:
    return lambda _scenario: make()


def _part(contestant: Contestant, compute: Callable[[], Found], options: Options, **identity: Any) -> Part:
    key = key_of(
        system=contestant.system,
        policy=contestant.policy,
        strategy=contestant.strategy,
        embedder=contestant.embedder,
        k=options.k,
        seed=options.seed,
        versions=environment.versions(),
        **identity,
    )
    names = [contestant.policy, contestant.strategy, *identity.get("doses", ())]
    return Part(key, compute, keep=not any(":" in name for name in names))


# Computing


def _all_found(parts: Sequence[Part], jobs: int, cache: Cache, advance: Callable[[], None]) -> Iterator[Found]:
    """What each part found, in order."""
    found = {part.key: cache.outcome(part.key) for part in parts}
    for outcome in found.values():
        if outcome is not None:
            advance()
    pending = {part.key: part for part in parts if found[part.key] is None}
    for key, (rows, queries) in _computed(list(pending.values()), jobs):
        # As it comes back from the cache, so that a run is the same with and without.
        outcome = {"rows": [asdict(row) for row in rows], "queries": queries}
        found[key] = outcome
        if pending[key].keep:
            cache.keep(key, outcome)
        advance()
    for part in parts:
        if outcome := found[part.key]:
            yield [Row(**row) for row in outcome["rows"]], outcome["queries"]


def _computed(pending: Sequence[Part], jobs: int) -> Iterable[tuple[str, Found]]:
    if jobs == 1 or len(pending) < 2:
        return map(_compute, pending)
    import joblib  # pyright: ignore[reportMissingTypeStubs] - untyped

    delayed: Any = joblib.delayed(_compute)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped
    run: Any = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    return run(delayed(part) for part in pending)


def _compute(part: Part) -> tuple[str, Found]:
    return part.key, part.compute()
