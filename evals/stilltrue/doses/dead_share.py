"""Which share of the store is dead?"""

from collections import Counter
from itertools import cycle, islice

from stilltrue.doses import Dose, Level, Material, one_store
from stilltrue.records import Probe


def make(material: Material) -> Dose:
    """From no retired fact to 90 % of all facts, in one store of all probes and the related background."""
    return Dose(
        name="dead_share",
        axis="retired share of the store (%)",
        levels=tuple(_level(material, share) for share in (0, 10, 20, 30, 50, 70, 80, 90)),
    )


_OTHERS = 40
"""Live facts beside the probes: so few that the probes' outdated statements can make up 90 % of the store."""


def _level(material: Material, percent: int) -> Level:
    probes = material.world.probes
    others = material.backgrounds[material.world.related].facts[:_OTHERS]
    live = len(probes) + len(others)
    counts = Counter(probe.id for probe in islice(cycle(probes), round(live * percent / (100 - percent))))
    dead = sum(min(counts[probe.id], len(probe.stale)) for probe in probes)

    def chosen(probe: Probe) -> tuple[str, ...]:
        return probe.stale[: counts[probe.id]]

    return Level(
        at=round(100 * dead / (live + dead), 1),
        family=one_store("dead_share", material, chosen, others=others),
    )
