"""How close are the outdated statements to the current one?"""

from collections.abc import Callable

import numpy as np

from stilltrue.doses import Dose, Level, Material, store_per_probe
from stilltrue.records import Probe

_BINS = 5


def make(material: Material) -> Dose | None:
    """Fifths of each probe's outdated statements, from the farthest to the closest; the dose is their mean cosine.

    None without an embedder, which is what tells how close they are.
    """
    if material.similarity is None:
        return None
    cosine = material.similarity
    return Dose(
        name="similarity",
        axis="cosine of retired and current statement",
        levels=tuple(_level(material, place, cosine) for place in range(_BINS)),
    )


def _level(material: Material, place: int, cosine: Callable[[str, str], float]) -> Level:
    def chosen(probe: Probe) -> list[str]:
        closest_last = sorted(probe.stale, key=lambda text: cosine(text, probe.current))
        return [str(text) for text in np.array_split(closest_last, _BINS)[place]]

    probes = material.world.probes
    closeness = [cosine(text, probe.current) for probe in probes for text in chosen(probe)]
    return Level(at=round(float(np.mean(closeness)), 3), family=store_per_probe("similarity", material, chosen))
