"""What a labelled sample says about the store that it was drawn from: prevalence with a stratified interval."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stilltrue.pairs import Pair

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Weighted:
    """A share of the candidate pairs with its 95 % interval, from ``n`` labelled pairs.

    ``stands_for``: candidate pairs in strata of which something is labelled; ``unseen``: in all others.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    stands_for: int
    unseen: int


def prevalence(pairs: Sequence[Pair], sizes: Mapping[str, int]) -> Weighted:
    """The share of candidate pairs of which the older fact must be retired. ``sizes``: candidate pairs by stratum."""
    return weighted_share([(pair.stratum or "", pair.should_retire) for pair in pairs], sizes)


def weighted_share(sample: Sequence[tuple[str, bool]], sizes: Mapping[str, int]) -> Weighted:
    """The share of hits, from (stratum, hit) of each labelled pair; what is not labelled yet is not seen.

    The stratified estimator (Cochran, Sampling Techniques, 5.1): Σ Nh·ph / Σ Nh, with Agresti and Coull's two added
    hits and misses in each stratum's variance, so that a stratum without a hit still says how little it knows (the
    interval is wide where hits are rare); finite populations are accounted for. None without pairs.
    """
    strata: defaultdict[str, list[bool]] = defaultdict(list)
    for stratum, hit in sample:
        strata[stratum].append(hit)
    total = sum(sizes[stratum] for stratum in strata)
    unseen = sum(size for stratum, size in sizes.items() if stratum not in strata)
    if not total:
        return Weighted(None, None, None, 0, 0, unseen)
    value = sum(sizes[stratum] * sum(hits) / len(hits) for stratum, hits in strata.items()) / total
    variance = sum((sizes[stratum] / total) ** 2 * _variance(hits, sizes[stratum]) for stratum, hits in strata.items())
    spread = _Z95 * math.sqrt(variance)
    return Weighted(value, max(0.0, value - spread), min(1.0, value + spread), len(sample), total, unseen)


def _variance(hits: Sequence[bool], size: int) -> float:
    """Of a stratum's share; nothing when every pair of it is labelled."""
    n = len(hits)
    share = (sum(hits) + 2) / (n + 4)
    return share * (1 - share) / (n + 4) * max(0.0, 1 - n / size)
