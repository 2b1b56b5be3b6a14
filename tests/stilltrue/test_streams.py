"""Streams: the file's form, what a reader must have looked at, and what the candidate step proposes."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stilltrue.contradictions import Contradictions, check, stream_counts
from stilltrue.documents import InvalidData
from stilltrue.report.pair_card import END, START, replaced, statistics
from stilltrue.streams import Stream, in_order, proposals, read_streams, shortcomings, unread

Run = Callable[..., Any]
Write = Callable[..., Path]

STREAM = """\
stream: garden
world: Three neighbors share a garden.
domain: garden
facts:
  - {id: f01, at: "2025-01-05T09:01:00Z", text: "The gate code is 1180."}
  - {id: f02, at: "2025-02-05T09:02:00Z", text: "Jo waters on Mondays."}
  - {id: f03, at: "2025-03-05T09:03:00Z", text: "The gate code is 2260."}
  - {id: f04, at: "2025-04-05T09:04:00Z", text: "The gate squeaks."}
supersessions:
  - {older: f01, newer: f03, why: "another code"}
ambiguous:
  - {older: f02, newer: f04}
"""
LOOKED_AT = json.dumps({"stream": "garden", "pairs": [["f01", "f04"]]}) + "\n"

CLOSE = {"gate": (1.0, 0.0), "Jo": (0.0, 1.0)}


def embed(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([CLOSE["Jo" if "Jo" in text else "gate"] for text in texts], dtype=np.float32)


@pytest.fixture
def garden(write: Write) -> Path:
    return write({"streams/garden.yaml": STREAM, "streams/looked_at.jsonl": LOOKED_AT})


def test_a_stream_is_read_with_what_was_looked_at(garden: Path) -> None:
    found = read_streams(garden)
    (stream,) = found.streams
    assert [fact.id for fact in in_order(stream)] == ["f01", "f02", "f03", "f04"]
    assert found.looked_at == {"garden": frozenset({("f01", "f04")})}
    assert list(found.hashes) == ["streams/garden.yaml", "streams/looked_at.jsonl"]


def test_only_pairs_of_near_facts_are_proposed_the_older_first(garden: Path) -> None:
    assert proposals(read_streams(garden), embed) == {"garden": [("f01", "f03"), ("f01", "f04"), ("f03", "f04")]}


def test_a_proposed_pair_that_nobody_has_read_is_named(garden: Path) -> None:
    found = read_streams(garden)
    assert unread(found, proposals(found, embed)) == ["garden: 1 proposed pairs nobody has read, first f03 → f04"]
    assert unread(found, {"garden": [("f01", "f03"), ("f02", "f04"), ("f01", "f04")]}) == []


WRONG = {
    "an unknown fact": ("newer: f03,", "newer: f09,", "garden.yaml:10: no fact is named 'f09'"),
    "the wrong order": ("older: f01, newer: f03", "older: f03, newer: f01", "yaml:10: 'f03' is not older than 'f01'"),
    "an id twice": ("id: f04", "id: f02", "garden.yaml:8: id: 'f02' is used twice"),
    "a pair twice": ("older: f02, newer: f04", "older: f01, newer: f03", "the pair 'f01', 'f03' is listed twice"),
    "a key too many": ("domain: garden", "domian: garden", "unknown key 'domian'"),
    "no time": ('at: "2025-04-05T09:04:00Z", ', "", "garden.yaml:8: the key 'at' is missing"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_named_with_its_line(write: Write, case: str) -> None:
    old, new, complaint = WRONG[case]
    assert STREAM.count(old) == 1
    root = write({"streams/garden.yaml": STREAM.replace(old, new), "streams/looked_at.jsonl": LOOKED_AT})
    with pytest.raises(InvalidData) as caught:
        read_streams(root)
    assert any(complaint in problem for problem in caught.value.problems)


def test_streams_without_a_record_of_what_was_read_are_refused(write: Write) -> None:
    with pytest.raises(InvalidData, match=r"looked_at\.jsonl: missing beside the streams"):
        read_streams(write({"streams/garden.yaml": STREAM}))
    with pytest.raises(InvalidData, match=r"looked_at\.jsonl:1: not of the form"):
        read_streams(write({"streams/garden.yaml": STREAM, "streams/looked_at.jsonl": "[]\n"}))


def test_what_was_looked_at_must_be_there_and_once(write: Write) -> None:
    for line, complaint in (
        ('{"stream": "gardn", "pairs": []}', "there is no stream 'gardn'"),
        ('{"stream": "garden", "pairs": [["f01", "f77"]]}', "garden has no fact 'f77'"),
        (f"{LOOKED_AT}{LOOKED_AT}", "garden is listed twice"),
    ):
        root = write({"streams/garden.yaml": STREAM, "streams/looked_at.jsonl": line + "\n"})
        with pytest.raises(InvalidData, match=complaint):
            read_streams(root)


def test_any_change_of_a_stream_changes_the_hash_that_the_card_tells(write: Write, garden: Path) -> None:
    before = read_streams(garden).content
    changed = STREAM.replace("1180", "1181")
    after = read_streams(write({"streams/garden.yaml": changed, "streams/looked_at.jsonl": LOOKED_AT}, "other")).content
    assert before != after


def test_a_published_set_needs_many_streams_of_some_size(garden: Path) -> None:
    assert shortcomings(read_streams(garden)) == [
        "garden: 4 facts, expected 40 to 120",
        "streams: 1 of them, expected at least 30",
        "streams: 1 supersessions in all, expected at least 300",
    ]


def test_a_stream_needs_facts() -> None:
    with pytest.raises(ValueError, match="facts"):
        Stream.model_validate({"stream": "s", "world": "w", "domain": "d", "facts": []})


def test_validate_tells_each_streams_size_and_what_nobody_has_read(stilltrue: Run, garden: Path) -> None:
    assert stilltrue("validate", "--static", garden).exit_code == 0
    document = json.loads(stilltrue("validate", "--static", "--json", garden).stdout)
    assert document["streams"] == [
        {"stream": "garden", "facts": 4, "supersessions": 1, "ambiguous": 1, "proposed": None, "reached": None}
    ]
    embedded = stilltrue("validate", garden)
    assert embedded.exit_code == 2
    assert "proposed pairs nobody has read" in embedded.stderr


# The card


def test_statistics_are_put_between_the_markers_and_nowhere_else() -> None:
    page = f"before\n{START}\nold\n{END}\nafter\n"
    assert replaced(page, "new\n") == f"before\n{START}\nnew\n{END}\nafter\n"
    assert replaced(replaced(page, "new\n"), "new\n") == replaced(page, "new\n")
    with pytest.raises(ValueError, match="the page has no section"):
        replaced("before", "new")


def test_the_statistics_of_streams_tell_the_prevalence(garden: Path) -> None:
    found = Contradictions(streams=read_streams(garden))
    found.proposed = proposals(read_streams(garden), embed)
    text = statistics(found)
    assert "Streams: 1, with 4 facts, 1 supersessions and 1 ambiguous pairs, which are in no figure" in text
    assert "proposes 3 pairs, all of which were read; 1 of them are supersessions, a prevalence of 33.33% (" in text
    assert "| garden | 4 | 1 | 1 | 3 | 1 |" in text


def test_a_folder_may_hold_streams_only(garden: Path) -> None:
    found = check(garden, strict=False, embed=embed)
    assert found.pairs is None
    assert found.streams
    (counts,) = stream_counts(found.streams, found.proposed)
    assert (counts.proposed, counts.reached) == (3, 1)
