"""Retrieval: what a system returns over the scenario suite, and every metric over it, per family and overall."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stilltrue import plugins
from stilltrue.metrics import Metric, Score, directly_displaced, displaced_facts
from stilltrue.records import Answer
from stilltrue.results import ALL_FAMILIES, ALL_GENERATED, RETRIEVAL, Row
from stilltrue.run import OpenSystem, answers
from stilltrue.scenarios import Suite
from stilltrue.stats import estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """A system under test with the settings that tell its rows apart; "-" where it has no such setting."""

    system: str
    policy: str = "-"
    strategy: str = "-"
    embedder: str = ""
    open: OpenSystem


def all_metrics() -> list[Metric]:
    """Every metric, by name."""
    return [plugins.make(plugins.METRICS, name) for name in plugins.names(plugins.METRICS)]


def measure(suite: Suite, contestant: Contestant, *, k: int, seed: int) -> tuple[list[Row], list[dict[str, Any]]]:
    """Rows and query records of one contestant over the suite."""
    metrics = all_metrics()
    collected = answered(suite, contestant, k=k)
    return rows(contestant, collected, metrics, seed=seed), list(query_records(contestant, collected, metrics))


def answered(suite: Suite, contestant: Contestant, *, k: int) -> list[Answer]:
    """The contestant's answers to the whole suite."""
    return list(answers(suite, contestant.open, k=k))


def rows(contestant: Contestant, collected: Sequence[Answer], metrics: Sequence[Metric], *, seed: int) -> list[Row]:
    """One row per metric and family, one over all hand-written families, and one over all generated ones."""
    groups: dict[str, list[Answer]] = {ALL_FAMILIES: [], ALL_GENERATED: []}
    for answer in collected:
        groups[ALL_GENERATED if answer.question.generated else ALL_FAMILIES].append(answer)
        groups.setdefault(answer.question.family, []).append(answer)
    return [
        _row(contestant, family, metric, among, seed) for family, among in groups.items() if among for metric in metrics
    ]


def _row(contestant: Contestant, family: str, metric: Metric, among: Sequence[Answer], seed: int) -> Row:
    scored = [(score, one.question.scenario) for one in among if (score := scored_by(metric, one)) is not None]
    found = estimate(metric.kind, [score for score, _ in scored], [scenario for _, scenario in scored], seed=seed)
    return Row(
        study=RETRIEVAL,
        system=contestant.system,
        policy=contestant.policy,
        strategy=contestant.strategy,
        family=family,
        metric=metric.name,
        k=among[0].k,
        **found._asdict(),
    )


def scored_by(metric: Metric, answer: Answer) -> Score | None:
    """The answer's score, None when the metric says nothing about it or the system couldn't be asked."""
    return None if answer.unsupported else metric.score(answer)


def query_records(
    contestant: Contestant, collected: Sequence[Answer], metrics: Sequence[Metric]
) -> Iterator[dict[str, Any]]:
    """One flat record per answer, for queries.parquet: what was asked, expected, returned, and each metric's value.

    A metric whose answers weigh differently has a second column, ``<metric>_of``: its value over answers is the sum of
    value times weight over the sum of weights.
    """
    for answer in collected:
        question = answer.question
        yield {
            "study": RETRIEVAL,
            "system": contestant.system,
            "policy": contestant.policy,
            "strategy": contestant.strategy,
            "family": question.family,
            "scenario": question.scenario,
            "number": question.number,
            "at": question.at.isoformat(),
            "as_of": question.as_of.isoformat() if question.as_of else None,
            "query": question.query,
            "k": answer.k,
            "gold": sorted(question.gold),
            "forbidden": sorted(question.forbidden),
            "implied": sorted(question.implied),
            "retired": sorted(question.retired),
            "returned": [hit.fact for hit in answer.returned],
            "returned_texts": [hit.text for hit in answer.returned],
            "returned_scores": [hit.score for hit in answer.returned],
            "counterfactual": [hit.fact for hit in answer.counterfactual],
            "displaced_directly_facts": sorted(directly_displaced(answer)),
            "displaced_indirectly_facts": sorted(displaced_facts(answer) - directly_displaced(answer)),
            "unsupported": answer.unsupported,
            **_values(metrics, answer),
        }


def _values(metrics: Sequence[Metric], answer: Answer) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for metric in metrics:
        score = scored_by(metric, answer)
        values[metric.name] = None if score is None else score.amount / score.out_of
        if metric.kind == "mean":
            values[f"{metric.name}_of"] = None if score is None else score.out_of
    return values
