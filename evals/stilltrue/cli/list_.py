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
    "doses": "stilltrue.doses",
    "importers": "stilltrue.importers",
}
KINDS = (*_PACKAGES, "scenarios", "families", "backgrounds", "generators")


def run(
    kind: Annotated[str | None, typer.Argument(help=f"One of {', '.join(KINDS)}. Default: all.")] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="With `scenarios`: the families' cards as a Markdown page.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List what there is to choose from, a line each. `scenarios` tells the families' sizes and sources.

    Example: stilltrue list scenarios
    """
    if kind is not None and kind not in KINDS:
        close = get_close_matches(kind, KINDS, n=1)
        suggestion = f" (did you mean {close[0]!r}?)" if close else ""
        fail(f"unknown kind {kind!r}{suggestion}; known: {', '.join(KINDS)}")
    if markdown:
        if kind != "scenarios":
            fail("--markdown goes with `scenarios` only")
        _print_cards()
        return
    if kind == "scenarios":
        _show_scenarios(as_json)
        return
    found = {name: _entries(name) for name in ([kind] if kind else KINDS) if name != "scenarios"}
    if as_json:
        print_json({name: dict(entries) for name, entries in found.items()})
    else:
        for name, entries in found.items():
            print_table((name, "what it is"), entries)


def _print_cards() -> None:
    from stilltrue.report.cards import cards
    from stilltrue.scenarios import load_suite

    typer.echo(cards(load_suite()), nl=False)


def _entries(kind: str) -> list[tuple[str, str]]:
    from stilltrue import generator, plugins
    from stilltrue.scenarios import GENERATED, load_suite

    if kind == "families":
        return [(family.family, family.question) for family in load_suite().families]
    if kind == "generators":
        return [(name, one.question) for name, one in generator.kinds().items()]
    if kind == "backgrounds":
        by_hand = [(name, body.description) for name, body in load_suite().backgrounds.items() if name not in GENERATED]
        made = [(name, f"{one.facts} generated facts, {_related(one.related)}") for name, one in GENERATED.items()]
        return [*by_hand, *made]
    return list(plugins.summaries(_PACKAGES[kind]))


def _related(related: bool) -> str:
    return f"{'related' if related else 'unrelated'} to a software company"


def _show_scenarios(as_json: bool) -> None:
    from stilltrue.scenarios import counts, load_suite

    lines = [counts(family) for family in load_suite().families]
    if as_json:
        print_json({"families": lines})
        return
    total = ("all", "", *(str(sum(getattr(one, name) for one in lines)) for name in ("scenarios", "queries")), "", "")
    print_table(
        ("family", "corrections", "scenarios", "queries", "languages", "seen in"),
        [
            (
                one.family,
                one.corrections,
                str(one.scenarios),
                str(one.queries),
                ", ".join(one.languages),
                ", ".join(one.seen_in),
            )
            for one in lines
        ]
        + [total],
    )
