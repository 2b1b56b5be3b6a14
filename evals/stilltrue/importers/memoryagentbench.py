"""MemoryAgentBench, FactConsolidation: numbered facts, some contradicting earlier ones, and questions about them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from stilltrue.importers import Imported, Importer
from stilltrue.importers._histories import Steps, reader, remember

_START = datetime(2024, 1, 1, tzinfo=UTC)
_FACT = re.compile(r"^\s*(\d+)\.\s+(.+?)\s*$", re.MULTILINE)


def make() -> Importer:
    """Each numbered fact → a fact, a minute apart in order of number; each single-hop question → asked at the end.

    Gold is the fact that ends in an accepted answer and is worded most like the question, the last of equal ones. Facts
    with a lower number and the same words before another ending are ``implied``. Multi-hop questions are left out, and
    those for which no fact is found.
    """
    return Importer(
        name="memoryagentbench",
        gives="scenarios",
        source="memoryagentbench",
        licence="MIT",
        read=reader(
            _converted,
            name="fact_consolidation",
            question="Does a fact with a higher number win over an earlier one that it contradicts?",
            domain="general knowledge",
            implied=True,
        ),
    )


def _converted(value: dict[str, Any], found: Imported) -> tuple[str, Steps] | None:
    source = _source(value)
    if "factconsolidation" not in source.replace("_", "").lower():
        found.left_out["not of FactConsolidation"] += 1
        return None
    facts = {int(number): text for number, text in _FACT.findall(value["context"])}
    asked = list(zip(value["questions"], value["answers"], strict=True))
    if "_mh" in source.lower():
        found.left_out["a multi-hop question, whose facts are not told"] += len(asked)
        return None
    ordered = sorted(facts.items())
    steps = [remember(f"f{number}", _START + timedelta(minutes=number), text) for number, text in ordered]
    end = _START + timedelta(minutes=max(facts, default=0) + 1)
    for query, answers in asked:
        if answer := _answering(ordered, query, [answers] if isinstance(answers, str) else answers):
            gold, implied = answer
            steps.append({"at": end, "ask": {"query": query, "gold": [gold], "implied": implied}})
        else:
            found.left_out["a question for which no fact with its answer was found"] += 1
    return f"{source}-{found.rows}", steps


def _source(value: dict[str, Any]) -> str:
    metadata = value.get("metadata")
    named = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    return str(named.get("source", "unnamed"))


def _answering(facts: Sequence[tuple[int, str]], query: str, answers: Sequence[str]) -> tuple[str, list[str]] | None:
    """The fact that answers, and the outdated ones of the same wording."""
    words = _words(query)
    fitting = [
        (len(words & _words(opening)), number, opening)
        for number, text in facts
        for answer in answers
        if (opening := _opening(text, answer)) is not None
    ]
    if not fitting:
        return None
    _, gold, opening = max(fitting)
    outdated = [f"f{number}" for number, text in facts if number < gold and text.startswith(opening)]
    return f"f{gold}", outdated


def _opening(text: str, answer: str) -> str | None:
    """What stands before the answer at the fact's end; None where it ends otherwise or is nothing but the answer."""
    bare = text.rstrip(". ")
    if not answer or not bare.lower().endswith(answer.lower()):
        return None
    return bare[: -len(answer)] or None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
