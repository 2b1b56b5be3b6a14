"""``stilltrue list``: what there is to choose from."""

from difflib import get_close_matches
from typing import Annotated

import typer

from stilltrue.cli.output import AsJson, fail, print_json, print_table

NEEDS_ARGUMENTS = False

_PACKAGES = {
    "policies": "tombstore.policies",
    "strategies": "tombstore.strategies",
    "signals": "tombstore.signals",
    "systems": "stilltrue.systems",
    "metrics": "stilltrue.metrics",
}
KINDS = (*_PACKAGES, "families")


def run(
    kind: Annotated[str | None, typer.Argument(help=f"One of {', '.join(KINDS)}. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List policies, strategies, signals, systems, metrics and scenario families, a line each.

    Example: stilltrue list policies
    """
    if kind is not None and kind not in KINDS:
        close = get_close_matches(kind, KINDS, n=1)
        suggestion = f" (did you mean {close[0]!r}?)" if close else ""
        fail(f"unknown kind {kind!r}{suggestion}; known: {', '.join(KINDS)}")
    found = {name: _entries(name) for name in ([kind] if kind else KINDS)}
    if as_json:
        print_json({name: dict(entries) for name, entries in found.items()})
    else:
        for name, entries in found.items():
            print_table((name, "what it is"), entries)


def _entries(kind: str) -> list[tuple[str, str]]:
    from stilltrue import plugins
    from stilltrue.scenarios import load_suite

    if kind == "families":
        return [(family.family, family.question) for family in load_suite().families]
    return list(plugins.summaries(_PACKAGES[kind]))
