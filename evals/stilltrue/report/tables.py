"""The tables that every report shows: policies times strategies, and families, as plain values."""

import re
from collections.abc import Sequence

from stilltrue.results import ALL_FAMILIES, ALL_GENERATED, RETRIEVAL, TOTALS, Results, Row

HEADLINES = ("stale_leak", "live_hit", "displaced", "shrink", "over_retirement", "audit_completeness")
"""The metrics of the main table; all others are in results.json."""


def grid_rows(results: Results) -> list[Row]:
    """The reference store's rows over all families (over all generated ones in a run of nothing else)."""
    rows = [row for row in results.rows if row.study == RETRIEVAL and row.system == "tombstore"]
    total = ALL_FAMILIES if any(row.family == ALL_FAMILIES for row in rows) else ALL_GENERATED
    return [row for row in rows if row.family == total]


def dose_rows(results: Results) -> list[Row]:
    """The rows of all dose-response curves."""
    return [row for row in results.rows if row.study != RETRIEVAL]


def contestants(results: Results) -> list[tuple[str, str]]:
    """(policy, strategy) in the order of the run."""
    return list(dict.fromkeys((row.policy, row.strategy) for row in grid_rows(results)))


def families(results: Results) -> list[str]:
    """The families of the run, in order."""
    names = dict.fromkeys(row.family for row in results.rows if row.study == RETRIEVAL)
    return [name for name in names if name not in TOTALS]


def cell(row: Row | None, *, interval: bool = True) -> str:
    """A figure as text: percent for shares, plain for slots; with its interval; n/a where nothing could be scored."""
    if row is None or row.value is None:
        return "n/a"
    value, *bounds = (_number(row.metric, number) for number in (row.value, row.low, row.high) if number is not None)
    return f"{value} ({'–'.join(bounds)})" if interval and bounds else value


def _number(metric: str, value: float) -> str:
    return f"{value:.2f}" if metric == "shrink" else f"{100 * value:.1f}"


def unit(metric: str) -> str:
    """What the metric's figures are in."""
    return "slots" if metric == "shrink" else "%"


def find(rows: Sequence[Row], **wanted: str) -> Row | None:
    """The first row with these values."""
    return next((row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())), None)


def legal(text: str) -> str:
    """The text with control characters, which XML and HTML can't hold, as U+FFFD."""
    return re.sub("[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
