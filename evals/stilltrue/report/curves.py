"""Dose-response curves as plotly figures: a line per policy with its 95 % intervals, a panel per metric."""

import json
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from stilltrue import plugins
from stilltrue.report.tables import dose_rows
from stilltrue.results import Results, Row

_PANELS = {
    "stale_leak": "returns a retired fact (%)",
    "displaced": "misses a live fact because of retired ones (%)",
    "shrink": "slots lost",
    "live_hit": "returns the current fact (%)",
}
# Told apart without color too: by dash and by marker. Colors: Okabe and Ito, for readers who see few.
_LINES = (
    ("#0072b2", "solid", "circle"),
    ("#d55e00", "dash", "square"),
    ("#009e73", "dot", "diamond"),
    ("#cc79a7", "dashdot", "cross"),
    ("#e69f00", "longdash", "triangle-up"),
    ("#56b4e9", "longdashdot", "x"),
)
_TOO_WIDE = 20
"""Doses that span more than this factor stand side by side at equal distances: most would lie in one corner else."""


def script() -> str:
    """plotly.js itself, to stand in the page once."""
    offline: Any = import_module("plotly.offline")
    return str(offline.get_plotlyjs())


def figures(results: Results) -> list[dict[str, Any]]:
    """One figure per dose: its name, what it asks, and plotly's JSON, safe to stand in a script element."""
    rows = dose_rows(results)
    axes: dict[str, str] = results.run["doses"]
    summaries = dict(plugins.summaries(plugins.DOSES))
    return [
        {
            "name": name,
            "question": summaries.get(name, name),
            "json": _safe(_figure(axes.get(name, name), [row for row in rows if row.study == name])),
        }
        for name in dict.fromkeys(row.study for row in rows)
    ]


def _figure(axis: str, rows: Sequence[Row]) -> Any:
    objects: Any = import_module("plotly.graph_objects")
    subplots: Any = import_module("plotly.subplots")
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    policies = list(dict.fromkeys(row.policy for row in rows))
    figure = subplots.make_subplots(rows=2, cols=2, subplot_titles=list(_PANELS.values()), vertical_spacing=0.16)
    for strategy in strategies:
        for place, metric in enumerate(_PANELS):
            for number, policy in enumerate(policies):
                wanted = (strategy, metric, policy)
                among = [row for row in rows if (row.strategy, row.metric, row.policy) == wanted]
                style = _style(policy, number, in_legend=place == 0, visible=strategy == strategies[-1])
                line = objects.Scatter(**_line(among, metric), **style)
                figure.add_trace(line, row=place // 2 + 1, col=place % 2 + 1)
    _set_axes(figure, axis, rows)
    _lay_out(figure, strategies, per_strategy=len(_PANELS) * len(policies))
    return figure


def _style(policy: str, number: int, *, in_legend: bool, visible: bool) -> dict[str, Any]:
    color, dash, marker = _LINES[number % len(_LINES)]
    return {
        "name": policy,
        "legendgroup": policy,
        "showlegend": in_legend,
        "visible": visible,
        "mode": "lines+markers",
        "line": {"color": color, "dash": dash},
        "marker": {"symbol": marker, "size": 8},
    }


def _line(rows: Sequence[Row], metric: str) -> dict[str, Any]:
    """The values with their intervals, where there are any: a single attribute has no bootstrap interval."""
    scale = 1 if metric == "shrink" else 100
    scored = [row for row in rows if row.value is not None]
    values = [scale * (row.value or 0.0) for row in scored]
    low = [value if row.low is None else scale * row.low for value, row in zip(values, scored, strict=True)]
    high = [value if row.high is None else scale * row.high for value, row in zip(values, scored, strict=True)]
    return {
        "x": [row.dose for row in scored],
        "y": values,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [above - value for above, value in zip(high, values, strict=True)],
            "arrayminus": [value - below for below, value in zip(low, values, strict=True)],
            "thickness": 1,
            "width": 3,
        },
    }


def _set_axes(figure: Any, axis: str, rows: Sequence[Row]) -> None:
    doses = [row.dose for row in rows if row.dose]
    wide = bool(doses) and max(doses) / min(doses) > _TOO_WIDE
    figure.update_xaxes(type="category" if wide else "linear", title_text=axis, title_font_size=11)
    figure.update_yaxes(rangemode="tozero")


def _lay_out(figure: Any, strategies: Sequence[str], *, per_strategy: int) -> None:
    """A menu that shows one strategy's lines at a time, the last one at first."""
    buttons = [
        {
            "label": strategy,
            "method": "update",
            "args": [{"visible": [one == strategy for one in strategies for _ in range(per_strategy)]}],
        }
        for strategy in strategies
    ]
    figure.update_layout(
        updatemenus=[{"buttons": buttons, "active": len(strategies) - 1, "x": 1, "xanchor": "right", "y": 1.2}],
        legend={"orientation": "h", "y": 1.2, "x": 0},
        height=620,
        margin={"l": 50, "r": 20, "t": 110, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(128,128,128,0.07)",
        font={"color": "#777"},
    )


def _safe(figure: Any) -> str:
    """The figure's JSON, in which nothing can end the script element that it stands in."""
    text = json.dumps(json.loads(figure.to_json()), separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
