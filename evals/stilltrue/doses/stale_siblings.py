"""How many outdated versions of the fact are there?"""

from stilltrue.doses import Dose, Level, Material, store_per_probe


def make(material: Material) -> Dose:
    """None to 32 retired statements for one live fact."""
    return Dose(
        name="stale_siblings",
        axis="retired versions of the fact asked for",
        levels=tuple(
            Level(at=number, family=store_per_probe("stale_siblings", material, lambda p, n=number: p.stale[:n]))
            for number in (0, 1, 2, 4, 8, 16, 32)
        ),
    )
