"""How far two annotators agree: Cohen's kappa with its interval, and the share of equal labels by family."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stilltrue.pairs import RELATIONS, Label, Pair
from stilltrue.stats import Estimate, share

Both = tuple[Label, Label]


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa in [-1, 1] with its 95 % interval (asymptotic); None when each used one label only."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over the pairs that both have labelled. Shares are of equal ``should_retire``; ``doubted`` counts pairs."""

    pairs: int
    should_retire: Kappa
    relation: Kappa
    equal: Estimate
    by_family: dict[str, Estimate]
    doubted: int


def agreement(pairs: Sequence[Pair]) -> Agreement | None:
    """Of the first and the second annotator; None when no pair has two labels."""
    both = [(pair.family, (pair.labels.first, second)) for pair in pairs if (second := pair.labels.second)]
    return agreed(both) if both else None


def agreed(both: Sequence[tuple[str, Both]]) -> Agreement:
    """The same from (family, the two labels) of each pair; at least one."""
    by_family: defaultdict[str, list[Both]] = defaultdict(list)
    for family, labels in both:
        by_family[family].append(labels)
    everything = [labels for _, labels in both]
    return Agreement(
        pairs=len(both),
        should_retire=kappa([(a.should_retire, b.should_retire) for a, b in everything], (True, False)),
        relation=kappa([(a.relation, b.relation) for a, b in everything], RELATIONS),
        equal=_equal(everything),
        by_family={name: _equal(by_family[name]) for name in sorted(by_family)},
        doubted=sum(a.doubt or b.doubt for a, b in everything),
    )


def kappa(labels: Sequence[tuple[object, object]], values: Sequence[object]) -> Kappa:
    """Cohen's kappa of pairs of labels, by statsmodels (Fleiss, Cohen and Everitt 1969 for the interval)."""
    import numpy as np

    inter_rater: Any = import_module("statsmodels.stats.inter_rater")
    table = np.zeros((len(values), len(values)))
    for first, second in labels:
        table[values.index(first), values.index(second)] += 1
    if not labels or (table.sum(axis=0) > 0).sum() == (table.sum(axis=1) > 0).sum() == 1:
        return Kappa(None, None, None, len(labels))  # chance alone would agree as well
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a perfect agreement has no variance
        found = inter_rater.cohens_kappa(table)
    low, high = (float(found.kappa) if np.isnan(v) else float(v) for v in (found.kappa_low, found.kappa_upp))
    return Kappa(float(found.kappa), max(-1.0, low), min(1.0, high), len(labels))


def _equal(labels: Sequence[Both]) -> Estimate:
    return share(sum(a.should_retire == b.should_retire for a, b in labels), len(labels))
