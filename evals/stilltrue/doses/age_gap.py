"""How much younger is the current fact than the outdated ones?"""

from datetime import timedelta
from typing import Any

from stilltrue.doses import DAY, STALE, START, Dose, Level, Material, asked, beside, family, scenario, told
from stilltrue.records import Family


def make(material: Material) -> Dose:
    """From an hour to two years between the last outdated statement and the current one.

    The related facts have their own times, so the wider the gap, the more of them are younger than what is outdated.
    """
    return Dose(
        name="age_gap",
        axis="days between the last retired statement and the current one",
        levels=tuple(
            Level(at=round(days, 3), family=_family(material, timedelta(days=days)))
            for days in (1 / 24, 1, 7, 30, 90, 365, 730)
        ),
    )


def _family(material: Material, gap: timedelta) -> Family:
    scenarios: list[dict[str, Any]] = []
    for probe in material.world.probes:
        stale = probe.stale[:STALE]
        steps = told(probe, stale, start=START - gap - STALE * DAY, gap=gap)
        end = steps[-1]["at"] + timedelta(hours=1)
        steps += beside(material.backgrounds[material.world.related].facts)
        steps.sort(key=lambda step: step["at"])
        scenarios.append(scenario(probe.id, [*steps, *asked(probe, stale, end)], None))
    return family("age_gap", scenarios)
