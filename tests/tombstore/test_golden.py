"""The store answers as the original engine did, and the recorded answers notice when it no longer would."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tombstore
from tombstore.graymatter.conformance import InvalidGolden, conform

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*.json"))
SOURCE = Path(tombstore.__file__).parent


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_row_of_a_golden_file_matches(file: Path) -> None:
    found = conform(file)
    assert found.first_difference is None
    assert found.matched == found.checked > 0


def test_the_golden_files_are_the_eighteen_that_were_recorded() -> None:
    """Rows in all: recalls of the ordered engines, the stable ones of 0.8.0, and lifecycle steps."""
    assert len(FILES) == 18
    rows = {engine: sum(conform(file).checked for file in GOLDEN.glob(f"*.{engine}.json")) for engine in ENGINES}
    assert rows == {
        "v0.8.0": 9 + 12 + 3,
        "v0.11": 13 + 7 + 12 + 5 + 7 + 5 + 5,
        "v0.19-scan": 13 + 7 + 12 + 5 + 7 + 7 + 5 + 5,
    }


ENGINES = ("v0.8.0", "v0.11", "v0.19-scan")

DECAY = "np.minimum(weights, np.exp(-math.log(2) / half_life_hours * idle_hours))"
CURVE = "np.exp(-math.log(2) / half_life_hours * idle_hours)"

# What is changed: (file, from, to) each, and the stores whose recorded answers must notice.
MUTATIONS: dict[str, tuple[list[tuple[str, str, str]], str]] = {
    "k of the rank fusion is 50": ([("fusion.py", "RRF_K = 60", "RRF_K = 50")], "s1*"),
    "recency weighs 0.6": (
        [
            ("variants.py", "= (1.0, 1.0, 0.5)", "= (1.0, 1.0, 0.6)"),
            ("strategies/hybrid.py", "recency_weight: float = 0.5", "recency_weight: float = 0.6"),
            ("strategies/weighted.py", "recency_weight: float = 0.5", "recency_weight: float = 0.6"),
        ],
        "s1*",
    ),
    "pruning below 0.02": ([("lifecycle.py", "PRUNE_BELOW = 0.01", "PRUNE_BELOW = 0.02")], "s7*"),
    "pruning at the floor": ([("lifecycle.py", "row[1] < PRUNE_BELOW", "row[1] <= PRUNE_BELOW")], "s7*"),
    "a default half-life of 700 hours": ([("lifecycle.py", "HOURS = 720.0", "HOURS = 700.0")], "s7*"),
    "cycles above the threshold only": ([("store.py", "< self._threshold", "<= self._threshold")], "s7*"),
    "tied facts ranked newest first": (
        [
            (
                "signals/__init__.py",
                "np.lexsort((field.index.columns.order[rows]",
                "np.lexsort((-field.index.columns.order[rows]",
            )
        ],
        "s2*",
    ),
    "facts of one instant ranked by descending ID": (
        [("signals/recency.py", "np.lexsort((columns.id_order[rows]", "np.lexsort((-columns.id_order[rows]")],
        "s2*",
    ),
    "a vector window of 3 k": ([("signals/vector.py", "window_per_k: int = 2", "window_per_k: int = 3")], "s3*"),
    "retired neighbors leave the original's window": (
        [
            ("policies/tombstone_window.py", "window=stored", "window=live"),
            ("policies/tombstone_window.py", "Policy, stored", "Policy, live"),
        ],
        "s9a*",
    ),
    "idf without + 1 below": ([("signals/keyword.py", "(len(rows) + 1)", "len(rows)")], "s1*"),
    "idf without + 1 above": ([("signals/keyword.py", "(n + 1) /", "n /")], "s1*"),
    "length without + 1": ([("signals/keyword.py", "lengths[matching] + 1", "lengths[matching]")], "s1*"),
    "no access is written": ([("store.py", "self._accesses += [", "_ = [")], "s1*"),
    "weights follow the curve upwards": (
        [("lifecycle.py", DECAY, CURVE), ("lifecycle.py", "after < before", "after != before")],
        "s7*",
    ),
    "decay compounds": ([("lifecycle.py", DECAY, f"weights * {CURVE}")], "s7*"),
    "pinned facts decay": ([("lifecycle.py", "if not row[3]", "if True")], "s8*"),
    "pinned facts are pruned": ([("lifecycle.py", "< PRUNE_BELOW and not row[2]", "< PRUNE_BELOW")], "s8*"),
    "retired facts are ranked": ([("policies/__init__.py", "& ~columns.retired", "")], "s1*"),
    "copies of a text take slots": (
        [("variants.py", "distinct_texts: bool = True", "distinct_texts: bool = False")],
        "s2*",
    ),
    "the shared list is appended": ([("store.py", '== "fuse"', '== "append"')], "s6*"),
}

REPLAY = """
import sys, tombstore
from pathlib import Path
from tombstore.graymatter.conformance import conform
assert Path(tombstore.__file__).is_relative_to(sys.argv[1]), tombstore.__file__
for file in sys.argv[2:]:
    if conform(file).first_difference:
        print(file)
"""


def differing(tree: Path, files: list[Path]) -> list[str]:
    """Which files no longer match when replayed by the store in this folder."""
    # PYTHONPATH comes before whatever is installed, in whichever way; the script asserts that it got the copy.
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", REPLAY, str(tree), *map(str, files)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.parametrize("change", MUTATIONS)
def test_the_golden_files_notice_when(change: str, tmp_path: Path) -> None:
    replacements, stores = MUTATIONS[change]
    shutil.copytree(SOURCE, tmp_path / "tombstore", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in replacements:
        file = tmp_path / "tombstore" / name
        source = file.read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{name} no longer holds {old!r} once: the code moved, so must this test"
        file.write_text(source.replace(old, new), encoding="utf-8")
    assert differing(tmp_path, sorted(GOLDEN.glob(f"{stores}.json")))


def test_an_unchanged_copy_matches_in_the_same_way(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "tombstore", ignore=shutil.ignore_patterns("__pycache__"))
    assert differing(tmp_path, FILES) == []


def test_a_difference_is_counted_and_the_first_one_described(tmp_path: Path) -> None:
    golden = json.loads((GOLDEN / "s1_contradictions.v0.11.json").read_text(encoding="utf-8"))
    golden["recalls"][1]["result_texts"][0] = "another text"
    golden["recalls"][4]["ranking"][0]["recency_rank"] += 1
    file = tmp_path / "changed.json"
    file.write_text(json.dumps(golden), encoding="utf-8")
    found = conform(file)
    assert (found.checked, found.matched) == (13, 11)
    assert "recall 2" in str(found.first_difference)
    assert "'another text'" in str(found.first_difference)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": "v0.20"}, "unknown engine 'v0.20'; known: v0.19-scan, v0.11, v0.8.0"),
        ({"engine": "reference", "now": None}, "not a golden file"),
        ({"now": "yesterday"}, "yesterday"),
        ({"facts": [{"text": "no ID"}]}, "needs an id"),
        ({"recalls": [{"query": "x"}]}, "top_k"),
    ],
)
def test_what_is_no_golden_file_is_refused_by_name(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    golden = json.loads((GOLDEN / "s1_contradictions.v0.11.json").read_text(encoding="utf-8")) | change
    file = tmp_path / "golden.json"
    file.write_text(json.dumps(golden), encoding="utf-8")
    with pytest.raises(InvalidGolden) as caught:
        conform(file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("text", ["", "[1]", "null", "{}", "not JSON"])
def test_other_json_is_refused_too(text: str, tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidGolden, match=r"golden\.json"):
        conform(tmp_path / "golden.json")
