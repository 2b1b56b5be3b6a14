"""``stilltrue compare`` on runs small enough to know every figure: which rows, which queries, and what it refuses."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from stilltrue import paired
from stilltrue.cli import app
from stilltrue.runs import NotARun, load_run

Run = Callable[..., Any]
Compare = Callable[[str], Any]

# At k = 1 the old text, which is shorter, outranks the new one. So append_only returns it instead of the new one, and
# postfilter takes it away after the cut and returns nothing. Crew's third question is about a fact that never changed.
SCENARIO = """\
  - id: {thing}
    domain: test
    steps:
      - {{at: 2026-01-05T09:00Z, remember: {{id: old, text: "The {thing} is in the hall."}}}}
      - {{remember: {{id: rent, text: "Rent falls due on Monday."}}}}
      - {{update: {{target: old, id: new, text: "These days you will find the {thing} in a room upstairs."}}}}
      - {{ask: {{query: "Where is the {thing}?", gold: [new], forbidden: [old]}}}}
      - {{ask: {{query: "{query}", gold: [new], forbidden: [old]}}}}
"""
RENT = '      - {ask: {query: "When is the rent due?", gold: [rent]}}\n'


def a_family(name: str, *scenarios: str) -> str:
    return f"family: {name}\nquestion: Does the old place come back?\nscenarios:\n{''.join(scenarios)}"


def a_scenario(thing: str, query: str = "") -> str:
    return SCENARIO.format(thing=thing, query=query or f"the {thing}")


FAMILIES = {
    "music.yaml": a_family("music", a_scenario("piano"), a_scenario("cello")),
    "work.yaml": a_family("work", a_scenario("desk") + RENT),
}
HOSTILE = "\\e[31mred\\a \\u202etfel the lamp [bold]markup[/bold] [link=http://x]y[/link]"


def measure(folder: Path, files: dict[str, str], out: str, *options: str) -> Path:
    """A run over these scenario files, as the command writes it."""
    suite = folder / f"suite-{out}"
    suite.mkdir()
    for name, text in files.items():
        (suite / name).write_text(text, encoding="utf-8")
    arguments = ["evals", "--suite", str(suite), "--out", str(folder / out), "--no-cache", "--jobs", "1", *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code in (0, 1), result.output
    return folder / out


def policies(*names: str) -> list[str]:
    return [argument for name in names for argument in ("--policy", name)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs ``one`` (k = 1), ``five`` (the same suite, k = 5), ``other`` (another suite)."""
    folder = tmp_path_factory.mktemp("runs")
    three = policies("tombstone", "append_only", "postfilter")
    measure(folder, FAMILIES, "one", *three, "--strategy", "keyword", "--strategy", "bm25", "--k", "1")
    measure(folder, FAMILIES, "five", *policies("append_only", "delete", "tombstone"), "--strategy", "bm25")
    files = {"light.yaml": a_family("light", a_scenario("lamp", HOSTILE))}
    measure(folder, files, "other", *policies("tombstone", "append_only"), "--strategy", "bm25", "--k", "1")
    return folder


@pytest.fixture
def compare(stilltrue: Run, runs: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The command where the runs are: ``compare("one --cases")``."""
    monkeypatch.chdir(runs)
    return lambda arguments: stilltrue("compare", *arguments.split())


@pytest.fixture
def comparisons(compare: Compare) -> Callable[[str], list[dict[str, Any]]]:
    """What the command found, in JSON."""

    def comparisons(arguments: str) -> list[dict[str, Any]]:
        result = compare(f"{arguments} --json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.isascii()
        document = json.loads(result.stdout)
        assert list(document) == ["comparisons"]
        return document["comparisons"]

    return comparisons


@pytest.fixture
def copied(runs: Path, tmp_path: Path) -> Path:
    """A copy of the run ``one``, to be broken."""
    return shutil.copytree(runs / "one", tmp_path / "copied")


def named(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["metric"], one["first"], one["second"]) for one in found]


def complaint(result: Any) -> str:
    """The one line that a mistake is."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line.removeprefix("stilltrue: ")


# Which rows


def test_without_options_the_reference_is_compared_with_each_policy_under_the_last_strategy(
    comparisons: Compare,
) -> None:
    assert named(comparisons("one")) == [
        (metric, "tombstone/bm25", f"{policy}/bm25")
        for metric in ("stale_leak", "displaced", "live_hit", "shrink")
        for policy in ("append_only", "postfilter")
    ]


def test_the_reference_comes_first_wherever_the_run_has_it(comparisons: Compare) -> None:
    assert named(comparisons("five --metric live_hit")) == [
        ("live_hit", "tombstone/bm25", "append_only/bm25"),
        ("live_hit", "tombstone/bm25", "delete/bm25"),
    ]


def test_rows_that_are_named_are_compared_each_with_each_in_that_order(comparisons: Compare) -> None:
    rows = "--row postfilter/bm25 --row tombstore/tombstone/keyword --row oracle/-/-"
    assert named(comparisons(f"one {rows} --metric displaced --metric live_mrr")) == [
        (metric, *pair)
        for metric in ("displaced", "live_mrr")
        for pair in [
            ("postfilter/bm25", "tombstone/keyword"),
            ("postfilter/bm25", "oracle/-/-"),
            ("tombstone/keyword", "oracle/-/-"),
        ]
    ]


def test_between_runs_each_row_is_compared_with_itself(comparisons: Compare) -> None:
    common = ["tombstone/bm25", "append_only/bm25", "oracle/-/-", "null/-/-", "eager/-/-"]  # in the order of the first
    assert named(comparisons("one five --metric displaced")) == [
        ("displaced", f"{row} in one", f"{row} in five") for row in common
    ]
    assert named(comparisons("one five --metric displaced --row append_only/bm25")) == [
        ("displaced", "append_only/bm25 in one", "append_only/bm25 in five")
    ]


def test_more_than_two_runs_are_each_compared_with_the_first(comparisons: Compare) -> None:
    assert named(comparisons("five one five/results.json --metric shrink --row tombstone/bm25")) == [
        ("shrink", "tombstone/bm25 in five", "tombstone/bm25 in one"),
        ("shrink", "tombstone/bm25 in five", "tombstone/bm25 in five"),
    ]


@pytest.mark.parametrize(
    "arguments",
    ["one --row tombstone/bm25", "one five --row postfilter/bm25", "five one --row delete/bm25"],
)
def test_a_row_alone_is_no_comparison(compare: Compare, arguments: str) -> None:
    assert complaint(compare(arguments)) == "nothing to compare: name two rows with --row, or give two runs"


def test_a_run_without_the_reference_needs_rows(compare: Compare, copied: Path) -> None:
    frame = pd.read_parquet(copied / "queries.parquet")
    frame[frame["policy"] != "tombstone"].to_parquet(copied / "queries.parquet")
    assert complaint(compare(f"{copied}")).startswith("nothing to compare: ")
    assert compare(f"{copied} --row append_only/bm25 --row postfilter/bm25").exit_code == 0


# What it finds


UNSCORED_P = {"only_first": None, "only_second": None, "p": None, "p_holm": None}
P = 2 / 2**6
# Holm over the six lines that have a p: five times 2 / 2^6, of which the first pays for six.
FOUND = {
    ("stale_leak", "append_only"): {"n": 6, "first_value": 0, "second_value": 1, "low": -1, "high": -1}
    | {"only_first": 0, "only_second": 6, "p": P, "p_holm": 6 * P},
    ("stale_leak", "postfilter"): {"n": 6, "first_value": 0, "second_value": 0, "low": 0, "high": 0}
    | {"only_first": 0, "only_second": 0, "p": 1, "p_holm": 1},
    # Two scenarios with a difference of 1, desk with 2/3: never drawn in 8 of 27 cases, thrice of three in 1 of 27.
    ("displaced", "append_only"): {"n": 7, "first_value": 0, "second_value": 6 / 7, "low": -1, "high": -2 / 3}
    | {"only_first": 0, "only_second": 6, "p": P, "p_holm": 6 * P},
    ("live_hit", "postfilter"): {"n": 7, "first_value": 1, "second_value": 1 / 7, "low": 2 / 3, "high": 1}
    | {"only_first": 6, "only_second": 0, "p": P, "p_holm": 6 * P},
    ("shrink", "append_only"): {"n": 7, "first_value": 0, "second_value": 0, "low": 0, "high": 0} | UNSCORED_P,
    ("shrink", "postfilter"): {"n": 7, "first_value": 0, "second_value": 6 / 7, "low": -1, "high": -2 / 3} | UNSCORED_P,
}


@pytest.mark.parametrize(("metric", "policy"), FOUND)
def test_a_line_is_what_one_counts_by_hand(comparisons: Compare, metric: str, policy: str) -> None:
    (found,) = (one for one in comparisons("one") if (one["metric"], one["second"]) == (metric, f"{policy}/bm25"))
    expected = FOUND[metric, policy]
    assert found == {
        "metric": metric,
        "first": "tombstone/bm25",
        "second": f"{policy}/bm25",
        "difference": pytest.approx(expected["first_value"] - expected["second_value"]),
        **{name: value if value is None else pytest.approx(value) for name, value in expected.items()},
    }


def test_whoever_asks_for_one_line_pays_for_one(comparisons: Compare) -> None:
    (found,) = comparisons("one --row tombstone/bm25 --row append_only/bm25 --metric displaced")
    assert found["p_holm"] == found["p"] == pytest.approx(P)


def test_the_table_has_the_same_figures(compare: Compare) -> None:
    result = compare("one --metric live_hit --metric shrink --row postfilter/bm25 --row tombstone/bm25")
    assert (result.exit_code, result.stderr) == (0, "")
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    assert cells == [
        ["live_hit", "postfilter/bm25", "tombstone/bm25", "7", "0.143", "1.000", "-0.857 (-1.000 to -0.667)",
         "0", "6", "0.031"],
        ["shrink", "postfilter/bm25", "tombstone/bm25", "7", "0.857", "0.000", "+0.857 (+0.667 to +1.000)",
         "", "", ""],
    ]  # fmt: skip


def test_with_a_single_scenario_no_interval_is_shown(compare: Compare, comparisons: Compare) -> None:
    (found,) = comparisons("other --metric stale_leak")
    assert (found["n"], found["difference"], found["low"], found["high"]) == (2, -1, None, None)
    assert "│ -1.000           │" in compare("other --metric stale_leak").stdout


def test_between_runs_the_same_row_differs_by_what_they_were_asked_for(comparisons: Compare) -> None:
    (found,) = comparisons("one five --row append_only/bm25 --metric displaced")
    assert (found["first_value"], found["second_value"]) == (pytest.approx(6 / 7), 0)
    assert (found["only_first"], found["only_second"], found["p"]) == (6, 0, pytest.approx(P))


def test_a_run_is_no_different_from_itself(comparisons: Compare) -> None:
    found = comparisons("one one")
    assert len(found) == 4 * 9  # metrics; three policies under two strategies, and the ruler's three systems
    for one in found:
        assert (one["difference"], one["p"], one["p_holm"]) in [(0, 1, 1), (0, None, None)]
        assert (one["low"], one["high"]) == (0, 0)


@pytest.mark.parametrize(
    ("families", "n"), [("--family music", 4), ("--family work", 3), ("--family music --family work", 7)]
)
def test_only_the_queries_of_the_families_named_are_compared(comparisons: Compare, families: str, n: int) -> None:
    found = comparisons(f"one {families} --metric displaced")
    assert [one["n"] for one in found] == [n, n]
    assert {one["second_value"] for one in found} == {2 / 3 if families == "--family work" else min(1, 6 / n)}


def test_the_seed_is_that_of_the_intervals(comparisons: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "RESAMPLES", 3)  # so few that each seed has an interval of its own
    found = [comparisons(f"one --metric displaced --seed {seed}") for seed in (*range(5), 0)]
    assert found[0] == found[-1]
    assert len({(one["low"], one["high"]) for one, _ in found}) > 1


def test_other_studies_in_the_run_are_not_mixed_in(comparisons: Compare, copied: Path) -> None:
    frame = pd.read_parquet(copied / "queries.parquet")
    pd.concat([frame, frame.assign(study="dead_share", displaced=0.0)]).to_parquet(copied / "queries.parquet")
    assert comparisons(f"{copied}") == comparisons("one")


# The queries that differ


def listed(output: str) -> list[list[str]]:
    """The cells of the tables of queries."""
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in output.splitlines()
        if line.startswith("│") and "#" in line
    ]


def test_the_queries_that_differ_are_named_and_no_others(compare: Compare) -> None:
    rows = "--row tombstone/bm25 --row postfilter/bm25"
    result = compare(f"one {rows} --metric live_hit --cases")
    assert listed(result.stdout) == [
        ["music/piano#1", "Where is the piano?", "1", "0"],
        ["music/piano#2", "the piano", "1", "0"],
        ["music/cello#1", "Where is the cello?", "1", "0"],
        ["music/cello#2", "the cello", "1", "0"],
        ["work/desk#1", "Where is the desk?", "1", "0"],
        ["work/desk#2", "the desk", "1", "0"],
    ]
    assert "live_hit: tombstone/bm25 against postfilter/bm25, 6 queries differ" in " ".join(result.stdout.split())
    assert listed(compare(f"one {rows} --metric live_hit").stdout) == []  # only when asked for


def test_where_no_query_differs_none_is_named(compare: Compare) -> None:
    result = compare("one --row tombstone/bm25 --row postfilter/bm25 --metric stale_leak --cases")
    assert listed(result.stdout) == []
    assert "against postfilter/bm25, 0 queries differ" in " ".join(result.stdout.split())


def test_no_query_steers_the_terminal(compare: Compare) -> None:
    result = compare("other --metric stale_leak --cases")
    assert result.exit_code == 0
    assert not [character for character in result.stdout if not character.isprintable() and character != "\n"]
    shown = "\\x1b[31mred\\x07 \\x202etfel the lamp [bold]markup[/bold] [link=http://x]y[/link]"
    assert ["light/lamp#2", shown, "0", "1"] in listed(result.stdout)


# What it refuses


def test_another_suite_is_refused_with_both_digests(compare: Compare, runs: Path) -> None:
    one, other = (json.loads((runs / name / "results.json").read_bytes())["run"]["suite"] for name in ("one", "other"))
    assert one != other
    for arguments in ("one other", "one five other", "one other --row tombstone/bm25 --json"):
        line = complaint(compare(arguments))
        assert line == f"one and other can't be compared, their suite differ: {one} and {other}"


def test_metrics_of_another_definition_are_refused(compare: Compare, copied: Path) -> None:
    document = json.loads((copied / "results.json").read_bytes())
    document["run"]["metrics"]["displaced"] += 1
    (copied / "results.json").write_text(json.dumps(document), encoding="utf-8")
    assert complaint(compare(f"one {copied}")).startswith(f"one and {copied} can't be compared, their metrics differ: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "five --row tombstone/bm52 --row delete/bm25",
            "the run has no row 'tombstone/bm52' (did you mean 'tombstone/bm25'?); it has: append_only/bm25, ",
        ),
        ("five --row \x1b[31m", "the run has no row '\\x1b[31m'; it has: append_only/bm25, "),
        ("five --metric shrunk", "unknown metric 'shrunk' (did you mean 'shrink'?); known: audit_completeness, "),
        ("nowhere", "nowhere/results.json: No such file or directory"),
        ("nowhere/results.json", "nowhere/results.json: No such file or directory"),
        ("five nowhere", "nowhere/results.json: No such file or directory"),
        ("five/yesterday", "five/yesterday/results.json: No such file or directory"),  # and not five
        ("five/queries.parquet", "five/queries.parquet/results.json: Not a directory"),
    ],
)
def test_a_mistake_is_one_line(compare: Compare, arguments: str, said: str) -> None:
    assert complaint(compare(arguments)).startswith(said)


def test_a_typing_mistake_beside_a_run_is_not_that_run(compare: Compare, runs: Path, copied: Path) -> None:
    for path in (copied / "nowhere", copied / "summary.txt"):
        with pytest.raises(FileNotFoundError):
            load_run(path)
    assert load_run(copied / "results.json").path == load_run(copied).path == copied


BROKEN = {
    "empty": b"",
    "cut": b'{"schema": 1, "run": {',
    "not text": b"\xff\xfe",
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "a text": b'"schema"',
    "without a schema": b"{}",
    "without rows": b'{"schema": 1, "run": {}, "verdicts": []}',
    "rows that are none": b'{"schema": 1, "run": {}, "rows": 3, "verdicts": []}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_record_of_a_run_is_refused(compare: Compare, copied: Path, content: bytes) -> None:
    (copied / "results.json").write_bytes(content)
    assert complaint(compare(f"{copied}")).startswith(f"{copied / 'results.json'}: not a run's results (")
    with pytest.raises(NotARun):
        load_run(copied)


@pytest.mark.parametrize("schema", [0, 2, "1"])
def test_a_record_of_another_schema_is_refused(compare: Compare, copied: Path, schema: object) -> None:
    document = json.loads((copied / "results.json").read_bytes())
    (copied / "results.json").write_text(json.dumps(document | {"schema": schema}), encoding="utf-8")
    assert complaint(compare(f"{copied}")) == f"{copied / 'results.json'}: schema {schema}, expected 1"


def test_a_run_without_its_queries_is_refused(compare: Compare, copied: Path) -> None:
    path = copied / "queries.parquet"
    whole = path.read_bytes()
    for content in (b"", b"query,score\n", whole[: len(whole) // 2]):
        path.write_bytes(content)
        assert str(path) in complaint(compare(f"{copied}"))
    path.unlink()
    assert str(path) in complaint(compare(f"one {copied}"))


# Reading a run back


def test_a_run_is_read_back_as_it_was_written(runs: Path) -> None:
    run = load_run(runs / "one")
    assert run.run["options"]["k"] == 1
    assert run.contestants() == [
        *(("tombstore", policy, strategy) for strategy in ("keyword", "bm25")
          for policy in ("tombstone", "append_only", "postfilter")),
        *((system, "-", "-") for system in ("oracle", "null", "eager")),
    ]  # fmt: skip
    answers = run.answers("tombstore", "postfilter", "bm25")
    assert list(zip(answers["family"], answers["scenario"], answers["number"], answers["live_hit"], strict=True)) == [
        (family, scenario, number, float((scenario, number) == ("desk", 3)))
        for family, scenario, questions in (("music", "piano", 2), ("music", "cello", 2), ("work", "desk", 3))
        for number in range(1, questions + 1)
    ]
    assert run.answers("tombstore", "delete", "bm25").empty
    assert set(run.verdicts["gate"]) >= {"retrieval"}
    overall = run.rows.query("family == '*' and metric == 'displaced' and policy == 'postfilter'")
    assert list(overall["value"]) == [pytest.approx(6 / 7)] * 2
