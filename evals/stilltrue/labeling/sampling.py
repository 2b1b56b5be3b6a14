"""Draws candidate pairs from a store: stratified by similarity, seeded, each pair with the weight that undoes the draw.

Pairs that are worth a label are rare, and most of them are similar; a plain random draw would hardly see one. So
the candidate pairs (cosine of at least 0.3, ten neighbors a fact) are divided into bands of similarity, the sample is
spread evenly over the bands (what a small band can't give goes to the others), and within a band every pair is as
likely as any other. ``weight`` is the number of candidate pairs that a drawn one stands for: band size / drawn.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stilltrue.pairs import Statement
from tombstore.candidates import similar_pairs
from tombstore.clock import format_instant
from tombstore.fact import Fact

EDGES = (0.45, 0.6, 0.75)
"""Where one band of similarity ends and the next begins."""

BANDS = ("under 0.45", "0.45 to 0.6", "0.6 to 0.75", "0.75 and over")

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One pair of the sample. ``weight``: how many candidate pairs of its band it stands for."""

    agent: str
    older: Statement
    newer: Statement
    similarity: float
    band: str
    weight: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The pairs in the (shuffled) order in which they are shown; ``bands`` has each band's (candidates, drawn)."""

    pairs: tuple[Drawn, ...]
    bands: dict[str, tuple[int, int]]


def draw(facts: Sequence[Fact], embed: Embed, *, size: int, seed: int) -> Sample:
    """A sample of the live facts' candidate pairs; all of them when there are no more than ``size``."""
    by_band: defaultdict[str, list[Drawn]] = defaultdict(list)
    for older, newer, cosine in _candidates(facts, embed):
        band = BANDS[bisect_right(EDGES, cosine)]
        by_band[band].append(Drawn(older.agent_id, _stated(older), _stated(newer), round(cosine, 4), band, 1.0))
    shares = spread(size, {band: len(by_band[band]) for band in BANDS})
    random = np.random.default_rng(seed)
    drawn: list[Drawn] = []
    for band in BANDS:
        pairs, number = by_band[band], shares[band]
        places: list[int] = random.choice(np.arange(len(pairs)), number, replace=False).tolist() if number else []
        drawn += (replace(pairs[place], weight=len(pairs) / number) for place in places)
    order: list[int] = random.permutation(len(drawn)).tolist()
    return Sample(tuple(drawn[place] for place in order), {band: (len(by_band[band]), shares[band]) for band in BANDS})


def _stated(fact: Fact) -> Statement:
    return Statement.model_validate({"text": fact.text, "at": format_instant(fact.created_at)})


def _candidates(facts: Sequence[Fact], embed: Embed) -> list[tuple[Fact, Fact, float]]:
    """(older, newer, cosine), agent by agent: nothing is compared across namespaces."""
    by_agent: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in sorted(facts, key=lambda fact: (fact.agent_id, fact.created_at, fact.id)):
        if fact.live and fact.text.strip():
            by_agent[fact.agent_id].append(fact)
    return [
        (members[first], members[second], cosine)
        for members in by_agent.values()
        if len(members) > 1
        for first, second, cosine in similar_pairs(embed([fact.text for fact in members]))
    ]


def spread(size: int, available: dict[str, int]) -> dict[str, int]:
    """How many to draw from each band: even shares; what a small band lacks goes to the others, later ones first."""
    shares = dict.fromkeys(available, 0)
    left = min(size, sum(available.values()))
    while left:
        open_bands = [band for band in available if shares[band] < available[band]]
        even = max(1, left // len(open_bands))
        for band in reversed(open_bands):
            step = min(even, available[band] - shares[band], left)
            shares[band] += step
            left -= step
    return shares
