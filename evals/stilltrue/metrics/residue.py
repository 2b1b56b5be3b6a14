"""How many texts that no live fact holds any more still lie in the system's files. For a tombstone store they must."""

from stilltrue.metrics import Metric, Score
from stilltrue.records import Answer


def make() -> Metric:
    """``Σ texts found / Σ retired texts``, for systems whose files can be searched; reported, never gated."""
    return Metric(name="residue", kind="mean", good=None, score=_score)


def _score(answer: Answer) -> Score | None:
    if answer.residue is None or not answer.residue[1]:
        return None
    return Score(*answer.residue)
