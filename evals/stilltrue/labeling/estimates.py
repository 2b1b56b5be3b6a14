"""What a labelled sample says about the store that it was drawn from: prevalence with a stratified interval."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from stilltrue.pairs import Pair

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Weighted:
    """A share of the candidate pairs with its 95 % interval, ``n`` labelled pairs, ``stands_for`` candidate pairs."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    stands_for: float


def prevalence(pairs: Sequence[Pair]) -> Weighted:
    """The share of candidate pairs of which the older fact must be retired, each pair counted by its weight."""
    return weighted_share([(pair.stratum or "", pair.weight or 1.0, pair.should_retire) for pair in pairs])


def weighted_share(sample: Sequence[tuple[str, float, bool]]) -> Weighted:
    """The share of hits, from (stratum, weight, hit) of each drawn pair.

    The stratified estimator (Cochran, Sampling Techniques, 5.1): Σ Nh·ph / Σ Nh, with Agresti and Coull's two added
    hits and misses in each stratum's variance, so that a stratum without a hit still says how little it knows; the
    finite population is accounted for. None without pairs.
    """
    strata: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for stratum, weight, hit in sample:
        strata[stratum].append((weight, hit))
    total = sum(weight for _, weight, _ in sample)
    if not sample:
        return Weighted(None, None, None, 0, 0.0)
    value = sum(weight for _, weight, hit in sample if hit) / total
    spread = _Z95 * math.sqrt(sum(_variance(members, total) for members in strata.values()))
    return Weighted(value, max(0.0, value - spread), min(1.0, value + spread), len(sample), total)


def _variance(members: Sequence[tuple[float, bool]], total: float) -> float:
    """A stratum's part of the variance; nothing when every pair of it was labelled."""
    size, n = sum(weight for weight, _ in members), len(members)
    share = (sum(hit for _, hit in members) + 2) / (n + 4)
    unseen = max(0.0, 1 - n / size)
    return (size / total) ** 2 * share * (1 - share) / (n + 4) * unseen
