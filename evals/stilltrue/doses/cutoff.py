"""How many results may a query return (k)?"""

from stilltrue.doses import STALE, Dose, Level, Material, store_per_probe


def make(material: Material) -> Dose:
    """k from 1 to 50."""
    family = store_per_probe("cutoff", material, lambda probe: probe.stale[:STALE])
    return Dose(
        name="cutoff", axis="k", levels=tuple(Level(at=k, family=family, k=k) for k in (1, 2, 3, 5, 10, 20, 50))
    )
