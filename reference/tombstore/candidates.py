"""Which pairs of facts are worth a judge's look: near neighbors by cosine, above a floor, so many a fact."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLOOR = 0.3
"""Cosine below which two facts are hardly about the same thing."""

NEIGHBORS = 10
"""How many neighbors of a fact are looked at."""

_BLOCK = 512


def similar_pairs(
    vectors: "NDArray[np.float32]", *, floor: float = FLOOR, neighbors: int = NEIGHBORS
) -> list[tuple[int, int, float]]:
    """(place, later place, cosine) of every two rows of which one is among the other's nearest, in order of places.

    ``vectors``: shape (facts, dimension). A row's nearest are its ``neighbors`` others with the highest cosine of at
    least ``floor``, of equal ones the first. Rows of zeros have no neighbors. Raises ValueError for a negative cap.
    """
    import numpy as np

    if neighbors < 0:
        raise ValueError(f"neighbors is {neighbors}, expected 0 or more")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0)
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(units), _BLOCK):
        for row, cosines in enumerate(units[start : start + _BLOCK] @ units.T, start=start):
            cosines[row] = -np.inf
            near = np.flatnonzero(cosines >= floor)
            for other in near[np.argsort(-cosines[near], kind="stable")][:neighbors].tolist():
                found.setdefault((min(row, other), max(row, other)), float(cosines[other]))
    return [(first, second, cosine) for (first, second), cosine in sorted(found.items())]
