"""Divides labelled pairs into dev and test: whole groups, stratified by family, seeded."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from stilltrue.pairs import Pair, Split

_PARTS, _TEST_PARTS = 5, 3


def divided(pairs: Sequence[Pair], *, seed: int) -> list[Pair]:
    """The pairs in their order, three fifths of them in test: by group, each family in about that share."""
    import numpy as np

    selection: Any = import_module("sklearn.model_selection")
    folds = selection.StratifiedGroupKFold(_PARTS, shuffle=True, random_state=seed)
    families, groups = [pair.family for pair in pairs], [pair.group for pair in pairs]
    splits: list[Split] = ["dev"] * len(pairs)
    for part, (_, members) in enumerate(folds.split(np.zeros(len(pairs)), families, groups)):
        for member in members if part < _TEST_PARTS else ():
            splits[member] = "test"
    return [pair.model_copy(update={"split": split}) for pair, split in zip(pairs, splits, strict=True)]
