"""The labelled pairs and streams that come along: sealed, balanced, read twice, and described as they are."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stilltrue import contradictions
from stilltrue.agreement import agreement
from stilltrue.contradictions import Contradictions
from stilltrue.pairchecks import problems
from stilltrue.pairs import CANARY, Pair, counted, read_pairs
from stilltrue.report.pair_card import END, START, replaced, statistics
from stilltrue.splits import divided
from tombstore import default_embedder

FOLDER = Path(__file__).parents[2] / "datasets/stilltrue_data/contradictions"
CARD = (FOLDER / "CARD.md").read_text(encoding="utf-8")

NEGATIVES = {
    "event_vs_state", "habit_vs_exception", "later_mentions_history", "negation_that_agrees", "other_entity",
    "other_environment", "other_sense", "other_time", "paraphrase", "part_vs_whole", "plan_or_hypothetical",
    "plural_values", "preferences_coexist", "question", "quotation_hearsay", "refinement", "role_vs_person",
    "unit_conversion", "unrelated", "versions_side_by_side",
}  # fmt: skip
POSITIVES = {
    "argument_order", "cancelled_plan", "corrected_error", "date_moved", "deprecation", "direct_change", "expiry",
    "implied", "location", "negated", "no_shared_words", "numeric", "ownership", "partial", "pronoun_abbreviation",
    "reversed_decision", "role_handover",
}  # fmt: skip


@pytest.fixture(scope="module")
def data() -> Contradictions:
    """Everything, checked as a published set must be, the streams' candidate pairs included."""
    model = default_embedder()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(model(texts), dtype=np.float32)

    return contradictions.check(FOLDER, strict=True, embed=embed)


@pytest.fixture(scope="module")
def pairs(data: Contradictions) -> tuple[Pair, ...]:
    assert data.pairs
    return data.pairs.pairs


def test_nothing_is_wrong_with_the_data_that_come_along(data: Contradictions) -> None:
    assert data.problems == []


def test_there_are_enough_pairs_in_every_family_and_enough_positives_in_test(pairs: tuple[Pair, ...]) -> None:
    assert len(pairs) >= 1500
    assert sum(pair.should_retire for pair in counted(pairs, "test")) >= 300
    families = Counter(pair.family for pair in pairs)
    assert set(families) == POSITIVES | NEGATIVES
    assert min(families.values()) >= 30
    assert len({pair.domain for pair in pairs}) >= 25


def test_every_pair_has_two_labels_and_every_disagreement_a_reason(pairs: tuple[Pair, ...]) -> None:
    assert all(pair.labels.second for pair in pairs)
    settled = [pair.labels for pair in pairs if pair.labels.second and pair.labels.second != pair.labels.first]
    assert settled
    assert all(labels.adjudicated.reason and len(labels.adjudicated.reason) > 20 for labels in settled)


def test_pairs_are_written_one_by_one_not_made_from_a_template(pairs: tuple[Pair, ...]) -> None:
    """No opening of five words is used often, and texts differ in length and language."""
    openings = Counter(
        " ".join(pair.older.text.lower().split()[:5]) for pair in pairs if len(pair.older.text.split()) > 5
    )
    assert openings.most_common(1)[0][1] <= 3
    lengths = [len(one.text) for pair in pairs for one in (pair.older, pair.newer)]
    assert np.std(lengths) > 25
    assert sum(not pair.newer.text.isascii() for pair in pairs) > 100


def test_there_are_enough_streams_with_enough_supersessions(data: Contradictions) -> None:
    assert data.streams
    assert len(data.streams.streams) >= 30
    assert sum(len(stream.supersessions) for stream in data.streams.streams) >= 300
    assert all(40 <= len(stream.facts) <= 120 for stream in data.streams.streams)


def test_every_candidate_pair_of_a_stream_was_looked_at(data: Contradictions) -> None:
    assert data.streams
    assert data.proposed
    for stream in data.streams.streams:
        told = {(one.older, one.newer) for one in (*stream.supersessions, *stream.ambiguous)}
        assert set(data.proposed[stream.stream]) <= told | data.streams.looked_at[stream.stream]
        assert not told & data.streams.looked_at[stream.stream]


def test_the_card_has_the_statistics_that_the_command_makes(data: Contradictions) -> None:
    assert replaced(CARD, statistics(data)) == CARD


def test_the_card_says_by_whom_and_under_which_licence() -> None:
    told = " ".join(CARD.split())
    assert "By a language model" in told
    assert "No human" in told
    assert "CC BY 4.0" in told
    assert START in CARD
    assert END in CARD


def test_annotators_of_one_model_agree_more_than_the_card_may_claim(pairs: tuple[Pair, ...]) -> None:
    found = agreement(pairs)
    assert found
    assert found.should_retire.value is not None
    (stated,) = re.findall(r"Cohen's kappa of `should_retire` (\d\.\d{3})", CARD)
    assert float(stated) == pytest.approx(found.should_retire.value, abs=5e-4)


def test_the_readme_counts_pairs_and_streams(data: Contradictions, pairs: tuple[Pair, ...]) -> None:
    assert data.streams
    readme = " ".join((FOLDER.parents[2] / "README.md").read_text(encoding="utf-8").split())
    told = sum(len(stream.supersessions) for stream in data.streams.streams)
    assert f"has {len(pairs):,} pairs of facts" in readme
    assert f"and {len(data.streams.streams)} whole small stores with {told} supersessions" in readme


def test_the_splits_are_those_of_the_seed_that_the_card_tells(pairs: tuple[Pair, ...]) -> None:
    (seed,) = re.findall(r"seed (\d+)", CARD)
    assert list(pairs) == divided(pairs, seed=int(seed))


# One change anywhere is noticed


def changed(tmp_path: Path, number: int, change: Callable[[dict[str, Any]], None]) -> list[str]:
    lines = (FOLDER / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    value = json.loads(lines[number])
    change(value)
    lines[number] = json.dumps(value, ensure_ascii=False)
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return problems(tmp_path / "pairs.jsonl", read_pairs(tmp_path / "pairs.jsonl"))


def other_label(pair: dict[str, Any]) -> None:
    relation = "coexists" if pair["should_retire"] else "supersedes"
    label = {"relation": relation, "should_retire": not pair["should_retire"]}
    pair.update(label, labels={"first": label, "second": label, "adjudicated": label}, ambiguous=False)


def other_split(pair: dict[str, Any]) -> None:
    pair["split"] = "dev" if pair["split"] == "test" else "test"


def other_text(pair: dict[str, Any]) -> None:
    pair["newer"]["text"] += " Really."


@pytest.mark.parametrize("change", [other_label, other_split, other_text], ids=["label", "split", "text"])
@pytest.mark.parametrize("number", [1, 700, 1500])
def test_one_changed_label_split_or_text_is_noticed(
    tmp_path: Path, number: int, change: Callable[[dict[str, Any]], None]
) -> None:
    assert any("a pair was changed after the file was sealed" in told for told in changed(tmp_path, number, change))


def test_a_group_torn_apart_is_noticed_even_under_a_new_seal(tmp_path: Path, pairs: tuple[Pair, ...]) -> None:
    torn = next(pair for pair in pairs if sum(one.group == pair.group for one in pairs) > 1)
    number = [pair.id for pair in pairs].index(torn.id) + 1
    assert any("of the same group" in told for told in changed(tmp_path, number, other_split))


def canaries() -> Iterator[Path]:
    yield FOLDER / "pairs.jsonl"
    yield from (FOLDER / "streams").glob("*.yaml")


def test_every_file_carries_a_canary() -> None:
    for file in canaries():
        first = file.read_text(encoding="utf-8").partition("\n")[0]
        assert CANARY in first or re.search(r"canary [\w-]+-stilltrue", first)
