"""Facts as text for other programs and for people: JSON, JSON lines, Markdown. Retired facts are in them, marked."""

import re
from collections.abc import Callable, Iterable

from tombstore.clock import format_instant
from tombstore.fact import FORGOTTEN, Fact, fact_to_json


def to_json(facts: Iterable[Fact]) -> str:
    """One pretty-printed array of whole facts, as ``graymatter export`` writes ``memories.json``."""
    items = [fact_to_json(fact, "  ", margin="  ") for fact in facts]
    return "[\n  " + ",\n  ".join(items) + "\n]\n" if items else "[]\n"


def to_jsonl(facts: Iterable[Fact]) -> str:
    """One fact a line, compact."""
    return "".join(f"{fact_to_json(fact)}\n" for fact in facts)


def to_markdown(facts: Iterable[Fact]) -> str:
    """A section a fact, with retired facts struck through and their successor named (the original marks nothing)."""
    return "\n".join(map(_section, facts))


def _section(fact: Fact) -> str:
    lines = [f"## {format_instant(fact.created_at, digits=0)}{'' if fact.live else ' (retired)'}", ""]
    text = [_escaped(line) for line in fact.text.splitlines()] or [""]
    lines += text if fact.live else [f"~~{line}~~" if line.strip() else line for line in text]
    lines += ["", f"*weight {fact.weight:.3f}, {fact.access_count} accesses, `{_code(fact.id)}`{_state(fact)}*", ""]
    return "\n".join(lines)


def _state(fact: Fact) -> str:
    marks = ["pinned"] if fact.pinned else []
    if not fact.live:
        marks.append("forgotten" if fact.superseded_by == FORGOTTEN else f"superseded by `{_code(fact.superseded_by)}`")
    return "".join(f", {mark}" for mark in marks)


def _escaped(line: str) -> str:
    """The line with everything that Markdown or HTML would interpret shown as itself, without indentation (code)."""
    return re.sub(r"([\\`*_{}\[\]()#+\-=.!|<>&~])", r"\\\1", line.strip())


def _code(text: str) -> str:
    return re.sub(r"[`\s]", " ", text)


FORMATS: dict[str, Callable[[Iterable[Fact]], str]] = {"json": to_json, "jsonl": to_jsonl, "markdown": to_markdown}
