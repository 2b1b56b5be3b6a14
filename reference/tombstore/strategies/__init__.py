"""Recall strategies: which signals, with which weights, fused how. One file each, named as the user types it."""

from collections.abc import Mapping
from dataclasses import dataclass

from tombstore.fusion import Fusion
from tombstore.signals import Signal


@dataclass(frozen=True, slots=True)
class Strategy:
    """Signals by name in the order in which their contributions are added, their weights, and the fusion."""

    signals: Mapping[str, Signal]
    weights: Mapping[str, float]
    fusion: Fusion
