"""LongMemEval: chat histories with questions; its knowledge-update questions, JSON."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from stilltrue.importers import Imported, Importer
from stilltrue.importers._histories import Steps, reader, remember

_KIND = "knowledge-update"


def make() -> Importer:
    """Turns of the user, and all evidence → facts of their session's time; the question → asked at its date.

    The evidence of the last answer session is gold. That of earlier ones is ``implied``: no longer true though nobody
    retired it. Questions of other types are left out.
    """
    return Importer(
        name="longmemeval",
        gives="scenarios",
        source="longmemeval",
        licence="MIT",
        read=reader(
            _converted,
            name="longmemeval",
            question="Does an updated statement in a chat history win over the earlier one?",
            domain="chat",
            implied=True,
        ),
    )


def _converted(value: dict[str, Any], found: Imported) -> tuple[str, Steps] | None:
    if value["question_type"] != _KIND:
        found.left_out[f"a question of another type than {_KIND}"] += 1
        return None
    if str(value["question_id"]).endswith("_abs"):
        found.left_out["a question that has no answer in the history (_abs)"] += 1
        return None
    query = value["questions"][0] if "questions" in value else value["question"]
    told = list(_turns(value))
    evidence = [(at, name) for at, name, _, marked in told if marked]
    if not evidence:
        found.left_out["a question whose history has no turn marked as evidence"] += 1
        return None
    # Turns of one session are minutes apart at most; the last session's turns are what is true when it is asked.
    last = max(at for at, _ in evidence) - timedelta(hours=1)
    steps = [remember(name, at, text) for at, name, text, _ in told]
    ask = {
        "query": query,
        "gold": [name for at, name in evidence if at >= last],
        "implied": [name for at, name in evidence if at < last],
    }
    end = max(_instant(value["question_date"]), *(at for at, *_ in told)) + timedelta(seconds=1)
    return str(value["question_id"]), [*steps, {"at": end, "ask": ask}]


def _turns(value: dict[str, Any]) -> Iterator[tuple[datetime, str, str, bool]]:
    """(instant, name, text, whether it is evidence) of what the user said, and of all evidence."""
    sessions = zip(value["haystack_dates"], value["haystack_sessions"], strict=True)
    for session, (date, turns) in enumerate(sessions, start=1):
        start = _instant(date)
        for number, turn in enumerate(turns, start=1):
            marked = bool(turn.get("has_answer"))
            if (marked or turn["role"] == "user") and str(turn["content"]).strip():
                yield start + timedelta(seconds=number), f"s{session}-{number}", turn["content"], marked


def _instant(text: str) -> datetime:
    return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)
