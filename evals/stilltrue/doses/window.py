"""How many nearest neighbors does the vector signal look at (m times k)?"""

from stilltrue.doses import STALE, Dose, Level, Material, store_per_probe


def make(material: Material) -> Dose | None:
    """m from 1 to 16; the original's is 2. None without an embedder: there is no window then."""
    if material.similarity is None:
        return None
    family = store_per_probe("window", material, lambda probe: probe.stale[: 2 * STALE])
    return Dose(
        name="window",
        axis="candidate window of the vector signal, in multiples of k",
        levels=tuple(Level(at=m, family=family, window_per_k=m) for m in (1, 2, 3, 4, 8, 16)),
    )
