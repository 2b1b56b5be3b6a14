"""LoCoMo: very long conversations with questions about them, JSON (locomo10.json)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import BaseModel

from stilltrue.importers import Imported, Importer
from stilltrue.importers._histories import Steps, reader, remember, slug
from stilltrue.records import Text

_ADVERSARIAL = 5


class _Question(BaseModel):
    question: Text
    evidence: list[str] | None = None
    category: int | None = None


_SESSION = re.compile(r"session_(\d+)$")


def make() -> Importer:
    """Each turn → a fact of its session's time, each question → asked at the end, its evidence turns are gold.

    Nothing is retired in it, so it tells about recall, not about stale facts. Adversarial questions (category 5,
    without an answer) and questions whose evidence isn't in the conversation are left out.
    """
    return Importer(
        name="locomo",
        gives="scenarios",
        source="locomo",
        licence="CC BY-NC 4.0",
        read=reader(
            _converted,
            name="locomo",
            question="Does recall find the turns that answer a question about a long conversation?",
            domain="conversation",
            implied=False,
        ),
    )


def _converted(value: dict[str, Any], found: Imported) -> tuple[str, Steps]:
    told = dict(_turns(value["conversation"]))
    questions = [_Question.model_validate(one) for one in value["qa"]]
    steps = [remember(_name(turn), at, text) for turn, (at, text) in told.items()]
    end = max((at for at, _ in told.values()), default=datetime(2023, 1, 1, tzinfo=UTC)) + timedelta(hours=1)
    for one in questions:
        gold = [turn for turn in one.evidence or () if turn in told]
        if one.category == _ADVERSARIAL:
            found.left_out["an adversarial question, which has no answer"] += 1
        elif not gold:
            found.left_out["a question without evidence in the conversation"] += 1
        else:
            ask = {"query": one.question, "gold": [_name(turn) for turn in dict.fromkeys(gold)]}
            steps.append({"at": end, "ask": ask})
    return str(value["sample_id"]), steps


def _turns(conversation: dict[str, Any]) -> Iterator[tuple[str, tuple[datetime, str]]]:
    """(dia_id, (instant, text)) of every turn that says something, seconds apart within its session."""
    for key, turns in conversation.items():
        if not (session := _SESSION.match(key)):
            continue
        start = _instant(conversation[f"session_{session[1]}_date_time"])
        for number, turn in enumerate(turns):
            if str(turn.get("text", "")).strip():
                yield turn["dia_id"], (start + timedelta(seconds=number), f"{turn['speaker']}: {turn['text']}")


def _instant(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _name(turn: str) -> str:
    return slug(turn)
