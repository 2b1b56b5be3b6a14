"""The commands as a user meets them: help, exit codes, JSON, one clear line for every mistake, and a quick start."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stilltrue.cli
import tombstore
from stilltrue.cli.output import printable
from tombstore import Fact, MemoryStore, parse_instant
from tombstore.export import to_json

Run = Callable[..., Any]
Script = Callable[..., subprocess.CompletedProcess[str]]
Write = Callable[..., Path]

COMMANDS = sorted(info.name for info in stilltrue.cli.app.registered_commands if info.name)
WRITERS = ("generate", "label")  # they write a file, and say so in a line
GOLDEN = Path(__file__).parents[1] / "golden"


def a_fact(name: str, text: str = "tea", by: str = "") -> Fact:
    at = parse_instant("2026-01-05T09:00:00Z")
    return Fact(id=name, agent_id="ann", text=text, created_at=at, accessed_at=at, superseded_by=by)


def lines(result: Any) -> list[str]:
    return result.stderr.splitlines()


# Help


def test_the_commands() -> None:
    assert COMMANDS == ["agreement", "audit", "compare", "conform", "evals", "generate", "label", "list", "validate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_commands_help_says_what_it_does_and_gives_an_example(stilltrue: Run, command: str) -> None:
    for flag in ("--help", "-h"):
        result = stilltrue(command, flag)
        assert result.exit_code == 0
        shown = " ".join(result.stdout.replace("│", " ").split())
        assert f"Usage: stilltrue {command}" in shown
        assert f"Example: stilltrue {command}" in shown
        assert ("--json" in shown) == (command not in WRITERS)


def test_the_help_lists_every_command_and_the_exit_codes(script: Script) -> None:
    done = script("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for command in COMMANDS:
        assert f"│ {command} " in done.stdout
    assert "Exit codes: 0 pass, 1 a gate failed, 2 wrong usage or data, 3 inconclusive." in done.stdout


@pytest.mark.parametrize(
    "arguments", [(), ("agreement",), ("audit",), ("compare",), ("conform",), ("generate",), ("label",)]
)
def test_a_command_that_is_not_complete_shows_its_help(stilltrue: Run, arguments: tuple[str, ...]) -> None:
    result = stilltrue(*arguments)
    assert result.exit_code == 2
    assert "Usage: stilltrue" in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_its_options_are_in_the_readme(stilltrue: Run, root: Path, command: str) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert f"`stilltrue {command}" in readme
    assert "`--json`" in readme


# Exit codes


def test_a_store_within_20_percent_passes_one_above_fails_and_an_empty_one_is_inconclusive(
    stilltrue: Run, tmp_path: Path
) -> None:
    for facts, code in (
        ([a_fact(f"f{n}") for n in range(4)] + [a_fact("r", by="agent")], 0),
        ([a_fact("f"), a_fact("r", by="agent")], 1),
        ([], 3),
    ):
        path = tmp_path / f"{code}.json"
        path.write_text(to_json(facts), encoding="utf-8")
        assert stilltrue("audit", path).exit_code == code


def test_validate_passes_on_a_suite_that_measures(stilltrue: Run, write: Write, billing: str) -> None:
    result = stilltrue("validate", write({"billing.yaml": billing}))
    assert result.exit_code == 0
    assert "pass  ruler: saturation: policies differ on each of 1 families" in result.stdout


def test_a_run_without_questions_that_can_be_scored_is_inconclusive(
    stilltrue: Run, write: Write, billing: str, tmp_path: Path
) -> None:
    suite = write({"billing.yaml": billing.replace("gold: [polar], ", "")})
    result = stilltrue("evals", "--suite", suite, "--strategy", "keyword", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "inconclusive  retrieval: no query could be scored for displaced, live_hit" in result.stdout


def test_conform_passes_on_what_the_original_answered_and_fails_on_anything_else(
    stilltrue: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = GOLDEN / "s7_lifecycle.v0.19-scan.json"
    assert stilltrue("conform", golden).exit_code == 0
    monkeypatch.chdir(tmp_path)
    document = json.loads(golden.read_text(encoding="utf-8"))
    document["lifecycle"][-1]["after"][0]["access_count"] += 1
    Path("changed.json").write_text(json.dumps(document), encoding="utf-8")
    result = stilltrue("conform", "changed.json")
    assert result.exit_code == 1
    assert "changed.json" in result.stdout


def test_the_installed_script_hands_exit_codes_through(script: Script, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("[]", encoding="utf-8")
    assert script("audit", tmp_path / "empty.json").returncode == 3
    assert script("list", "policies").returncode == 0
    missing = script("audit", tmp_path / "nowhere")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == f"stilltrue: {tmp_path / 'nowhere'}: No such file or directory\n"


def test_a_policy_that_is_named_twice_is_run_once(stilltrue: Run, write: Write, billing: str, tmp_path: Path) -> None:
    twice = ("--policy", "tombstone") * 2 + ("--strategy", "keyword") * 2
    result = stilltrue("evals", "--suite", write({"billing.yaml": billing}), *twice, "--out", tmp_path, "--json")
    document = json.loads(result.stdout)
    assert document["run"]["options"]["policies"] == ["tombstone"]
    assert len(document["rows"]) == len(
        {tuple(row[name] for name in ("system", "policy", "strategy", "family", "metric")) for row in document["rows"]}
    )


# JSON


def test_conforms_json_is_as_the_issue_gives_it(stilltrue: Run) -> None:
    files = [GOLDEN / "s7_lifecycle.v0.19-scan.json", GOLDEN / "s8_lifecycle_pinned.v0.19-scan.json"]
    result = stilltrue("conform", *files, "--json")
    document = json.loads(result.stdout)
    assert list(document) == ["checked", "matched", "files"]
    assert [list(one) for one in document["files"]] == [["file", "checked", "matched", "first_difference"]] * 2
    assert [one["file"] for one in document["files"]] == [str(file) for file in files]
    assert document["checked"] == document["matched"] == sum(one["checked"] for one in document["files"]) > 0
    assert {one["first_difference"] for one in document["files"]} == {None}


def test_audits_json_has_every_finding(stilltrue: Run, tmp_path: Path) -> None:
    path = tmp_path / "store.json"
    path.write_text(to_json([a_fact("a", by="b"), a_fact("b"), *(a_fact(f"f{n}") for n in range(4))]), encoding="utf-8")
    result = stilltrue("audit", path, "--now", "2026-01-06T09:00:00Z", "--nearest", "1", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document) == [
        "path", "kind", "total", "by_agent", "verdict", "reason", "ages", "undated", "dangling", "cyclic", "immortal",
        "half_retired", "dimensions", "nearest_to_pruning", "warnings",
    ]  # fmt: skip
    assert document["total"] == {"facts": 6, "live": 5, "tombstones": 1, "share": 1 / 6}
    assert document["by_agent"] == {"ann": document["total"]}
    assert document["ages"]["1-7 days"] == 1
    assert document["nearest_to_pruning"] == [
        {"agent": "ann", "fact": "a", "text": "tea", "live": False, "weight": 2 ** (-1 / 30), "days_left": 198.3}
    ]


def test_validates_json_tells_counts_or_problems(stilltrue: Run, write: Write, billing: str) -> None:
    good = stilltrue("validate", "--static", "--json", write({"billing.yaml": billing}))
    assert json.loads(good.stdout) == {
        "valid": True,
        "problems": [],
        "families": [{"family": "billing", "scenarios": 1, "queries": 1}],
        "verdicts": [],
        "pairs": None,
        "streams": None,
    }
    bad = stilltrue("validate", "--json", write({"billing.yaml": "family: x"}, "bad"))
    assert bad.exit_code == 2
    document = json.loads(bad.stdout)
    assert document["valid"] is False
    assert [problem.rpartition("/")[2] for problem in document["problems"]] == [
        "billing.yaml:1: the key 'question' is missing",
        "billing.yaml:1: the key 'scenarios' is missing",
    ]


def test_evals_json_is_what_it_writes(stilltrue: Run, write: Write, billing: str, tmp_path: Path) -> None:
    suite = write({"billing.yaml": billing})
    result = stilltrue("evals", "--suite", suite, "--strategy", "keyword", "--out", tmp_path, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))


def test_lists_json_has_every_kind_with_a_sentence_for_each_name(stilltrue: Run) -> None:
    document = json.loads(stilltrue("list", "--json").stdout)
    assert list(document) == [
        "policies", "strategies", "signals", "systems", "metrics", "doses", "importers", "families", "backgrounds",
            "generators",
    ]  # fmt: skip
    for kind, entries in document.items():
        assert entries, kind
        assert all(sentence for sentence in entries.values()), kind
        assert json.loads(stilltrue("list", kind, "--json").stdout) == {kind: entries}
    assert {"unrelated_500", "unrelated_5000", "related_500", "related_5000"} < set(document["backgrounds"])
    assert document["backgrounds"]["related_500"] == "500 generated facts, related to a software company"
    assert document["backgrounds"]["unrelated_5000"] == "5000 generated facts, unrelated to a software company"
    assert {"oracle", "null", "eager", "tombstore"} <= set(document["systems"])
    assert {"chain", "crowding", "forget"} < set(document["generators"])


def test_json_is_ascii_so_that_no_terminal_or_encoding_can_spoil_it(stilltrue: Run, tmp_path: Path) -> None:
    path = tmp_path / "store.json"
    path.write_text(to_json([a_fact("a", "café \x9b31m \u202e \x1b[0m")]), encoding="utf-8")
    result = stilltrue("audit", path, "--json")
    assert result.stdout.isascii()
    assert json.loads(result.stdout)["nearest_to_pruning"][0]["text"] == "café \x9b31m \u202e \x1b[0m"


# Mistakes


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 3]


@pytest.fixture
def place(tmp_path: Path, write: Write, billing: str, root: Path) -> Path:
    """A folder with one of every bad file, each named for what is wrong with it."""
    with MemoryStore(tmp_path / "whole.db") as store:
        for number in range(200):
            store.put("ann", f"a text that takes some place {number} " * 20)
    gray = (root / "tests/data/graymatter-v0.11/gray.db").read_bytes()
    tombstore = (tmp_path / "whole.db").read_bytes()
    scenarios = {
        "billing": billing,
        "unknown_key": billing.replace("domain:", "domian:"),
        "duplicate": billing.replace("id: owner", "id: lemon"),
        "gold": billing.replace("gold: [polar]", "gold: [polar, paypal]"),
        "query": billing.replace('"What does billing run on?"', '""'),
    }
    return write(
        {
            "empty": "",
            "text.db": "Dear diary,\n",
            "truncated-gray.db": truncated(gray),
            "truncated-store.db": truncated(tombstore),
            "broken.json": '[{"id": "a", ',
            "numbers.json": "[1, 2]",
            "other-golden.json": '{"engine": "v0.19-scan"}',
            "empty.yaml": "",
            "malformed.yaml": "family: malformed\nscenarios: [\n",
            **{f"{name}.yaml": text.replace("y: billing", f"y: {name}") for name, text in scenarios.items()},
        }
    )


# Arguments in a folder with the files above, and what the one line (or each line) says after the program's name.
MISTAKES: dict[str, tuple[str, str]] = {
    "audit: missing file": ("audit nowhere", "nowhere: No such file or directory"),
    "audit: a folder": ("audit .", ".: Is a directory"),
    "audit: empty file": ("audit empty", "empty: empty file"),
    "audit: not a database": ("audit text.db", "text.db: page 0: no bbolt meta page; this looks like text"),
    "audit: truncated gray.db": ("audit truncated-gray.db", "truncated-gray.db: page "),
    "audit: truncated store": ("audit truncated-store.db", "truncated-store.db: damaged or not a database"),
    "audit: malformed JSON": ("audit broken.json", "broken.json: not valid JSON"),
    "audit: JSON of something else": ("audit numbers.json", "numbers.json: item 1: a fact is a JSON object, not int"),
    "audit: no instant": ("audit billing.yaml --now noon", "not an RFC 3339 time: 'noon'"),
    "audit: half-life of 0": ("audit empty --half-life 0", "--half-life is 0, expected a number of hours above 0"),
    "audit: half-life of nan": ("audit empty --half-life nan", "--half-life is nan, expected a number of hours"),
    "audit: half-life of inf": ("audit empty --half-life inf", "--half-life is inf, expected a number of hours"),
    "conform: missing file": ("conform nowhere", "nowhere: No such file or directory"),
    "conform: empty file": ("conform empty", "empty: not JSON"),
    "conform: a folder": ("conform .", ".: Is a directory"),
    "conform: not JSON": ("conform text.db", "text.db: not JSON"),
    "conform: not a golden file": ("conform other-golden.json", "other-golden.json: not a golden file (it needs"),
    "compare: missing folder": ("compare nowhere", "nowhere/results.json: No such file or directory"),
    "generate: unknown family": (
        "generate --family chian --out new.yaml",
        "unknown kind 'chian' (did you mean 'chain'?); known: supersession, chain, ",
    ),
    "generate: too few facts": (
        "generate --family crowding --n 28 --out new.yaml",
        "28 facts, expected 29 to 100000 for crowding",
    ),
    "generate: too small a store": (
        "generate --family crowding --n 40 --per-store 28 --out new.yaml",
        "28 facts a store with 200 questions, expected at least 29 and 1",
    ),
    "generate: no YAML file": (
        "generate --family chain --out new.txt",
        "--out is new.txt, expected a file named *.yaml",
    ),
    "generate: no name for a family": (
        "generate --family chain --out New-one.yaml",
        "--out is New-one.yaml, expected a file named *.yaml",
    ),
    "generate: missing folder": (
        "generate --family chain --n 20 --out nowhere/new.yaml",
        "nowhere/new.yaml: No such file or directory",
    ),
    "list: unknown kind": ("list polices", "unknown kind 'polices' (did you mean 'policies'?); known: policies, "),
    "list: a kind without its last letter": (
        "list scenario",
        "unknown kind 'scenario' (did you mean 'scenarios'?); known: policies, ",
    ),
    "evals: unknown policy": (
        "evals --strategy keyword --policy tombstne",
        "unknown policy 'tombstne' (did you mean 'tombstone'?); known: ",
    ),
    "evals: unknown strategy": (
        "evals --strategy bm52",
        "unknown strategy 'bm52' (did you mean 'bm25'?); known: bm25, ",
    ),
    "evals: unknown family": ("evals --family chian", "unknown family 'chian' (did you mean 'chain'?); known: "),
    "evals: unknown module": (
        "evals --strategy keyword --policy nope:make",
        "can't load nope:make: No module named 'nope'",
    ),
    "evals: k = 0": ("evals --k 0", "k is 0, expected 1 or more"),
    "evals: k < 0": ("evals --k -3", "k is -3, expected 1 or more"),
    "evals: no embedder": ("evals --embedder=", "--embedder is empty, expected a sentence-transformers model"),
    "evals: missing suite": ("evals --suite nowhere", "nowhere: no such file or folder"),
    "evals: duplicate id": ("evals --suite duplicate.yaml", "duplicate.yaml:8: scenario swap: duplicate id: "),
    "evals: unknown gold": ("evals --suite gold.yaml", "gold.yaml:10: scenario swap: gold names 'paypal', which was "),
    "evals: empty query": ("evals --suite query.yaml", "query.yaml:10: query: the text is blank"),
    "evals: malformed suite": ("evals --suite malformed.yaml", "malformed.yaml:3: malformed YAML: "),
    "evals: reports into a file": ("evals --suite billing.yaml --out empty", "empty: File exists"),
    "validate: missing file": ("validate nowhere", "nowhere: no such file or folder"),
    "validate: empty file": ("validate empty.yaml", "empty.yaml:1: the file is empty"),
    "validate: malformed YAML": ("validate malformed.yaml", "malformed.yaml:3: malformed YAML: "),
    "validate: duplicate id": ("validate duplicate.yaml", "duplicate.yaml:8: scenario swap: duplicate id: "),
    "validate: unknown gold": (
        "validate gold.yaml",
        "gold.yaml:10: scenario swap: gold names 'paypal', which was never ",
    ),
    "validate: empty query": ("validate query.yaml", "query.yaml:10: query: the text is blank"),
    "validate: not YAML": ("validate text.db", "text.db:1: the file: expected keys with values, got 'Dear diary,'"),
}


@pytest.mark.parametrize(("command", "complaint"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_clear_line_and_exit_code_2(
    stilltrue: Run, place: Path, monkeypatch: pytest.MonkeyPatch, command: str, complaint: str
) -> None:
    monkeypatch.chdir(place)
    before = {file: file.read_bytes() for file in place.iterdir()}
    result = stilltrue(*command.split())
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    said = lines(result)
    assert said[0].removeprefix("stilltrue: ").startswith(complaint)
    assert len(said) == 1
    assert {file: file.read_bytes() for file in before} == before
    assert not [*place.glob("[Nn]ew*")]


@pytest.mark.parametrize("command", ["validate", "evals --suite"])
def test_several_mistakes_are_a_line_each(
    stilltrue: Run, place: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(place)
    result = stilltrue(*command.split(), "unknown_key.yaml")
    assert result.exit_code == 2
    assert [line.removeprefix("stilltrue: ") for line in lines(result)] == [
        "unknown_key.yaml:4: the key 'domain' is missing",
        "unknown_key.yaml:5: unknown key 'domian' (did you mean 'domain'?)",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "evals --nonsense",
        "evals --seed -1",
        "evals --k many",
        "audit x --nearest -1",
        "generate --family chain",
        "generate --out new.yaml",
        "generate --family chain --out new.yaml --n 100001",
        "generate --family chain --out new.yaml --n 0",
        "generate --family chain --out new.yaml --seed -1",
        "generate --family chain --out new.yaml --per-store 0",
        "generate --family chain --out new.yaml --questions 0",
        "list a b",
        "evalz",
        "validate a b",
    ],
)
def test_wrong_usage_is_exit_code_2_and_shows_how_to_get_help(stilltrue: Run, command: str) -> None:
    result = stilltrue(*command.split())
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert "for help" in result.stderr


@pytest.mark.parametrize(
    "command", ["audit whole.db", "conform golden.json", "validate billing.yaml", "evals --suite ."]
)
def test_a_file_that_may_not_be_read_is_one_clear_line(
    stilltrue: Run, write: Write, billing: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(write({"whole.db": "x", "golden.json": "{}", "billing.yaml": billing}))
    really_open = Path.open

    def denied(self: Path, *arguments: Any, **options: Any) -> Any:  # as tests may run as root, who may read all
        if self.name in ("whole.db", "golden.json", "billing.yaml"):
            raise PermissionError(13, "Permission denied", str(self))
        return really_open(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", denied)
    result = stilltrue(*command.split())
    assert result.exit_code == 2, result.output
    (line,) = lines(result)
    assert line.endswith(
        ("whole.db: Permission denied", "golden.json: Permission denied", "billing.yaml: Permission denied")
    )


@pytest.mark.parametrize("mistake", ["--k 0", "--strategy keywrd", "--family chian", "--suite malformed.yaml"])
def test_a_mistake_leaves_earlier_reports_alone(
    stilltrue: Run, place: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(place)
    earlier = place / "reports" / "results.json"
    earlier.parent.mkdir()
    earlier.write_text("earlier", encoding="utf-8")
    assert stilltrue("evals", *mistake.split()).exit_code == 2
    assert [file.name for file in earlier.parent.iterdir()] == ["results.json"]
    assert earlier.read_text(encoding="utf-8") == "earlier"


def test_a_model_that_cannot_be_loaded_is_a_mistake_and_not_a_run_without_vectors(
    stilltrue: Run, write: Write, billing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Missing:
        name = "missing"

        def __call__(self, _texts: object) -> Any:
            raise tombstore.ModelNotFound("no sentence-transformers model at missing")

    monkeypatch.setattr(tombstore, "embedder", lambda _name: Missing())
    for strategy in ("vector", "hybrid"):  # a store would keep its facts without vectors and rank by the rest
        suite = write({"billing.yaml": billing})
        result = stilltrue("evals", "--suite", suite, "--strategy", strategy, "--out", tmp_path / "out")
        assert (result.exit_code, result.stdout) == (2, "")
        assert lines(result) == ["stilltrue: no sentence-transformers model at missing"]
    assert list((tmp_path / "out").iterdir()) == []


# What facts say


HOSTILE = "\x1b[31mred\x1b[0m \x9b1m \x07 \u202etfel [bold]markup[/bold] [link=http://x]y[/link] {{ x }}"


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_no_fact_steers_the_terminal(script: Script, tmp_path: Path, as_json: tuple[str, ...]) -> None:
    path = tmp_path / "store.json"
    facts = [a_fact("a\x1b[2J", HOSTILE, by="nobody\x1b]0;title\x07"), a_fact("b", HOSTILE), a_fact("c", HOSTILE)]
    path.write_text(to_json(facts), encoding="utf-8")
    done = script("audit", path, *as_json)
    assert done.returncode == 1
    for output in (done.stdout, done.stderr):
        assert not [character for character in output if not character.isprintable() and character != "\n"]
    assert "[bold]markup[/bold] [link=http://x]y[/link] {{ x }}" in " ".join(done.stdout.split())


def test_no_complaint_about_a_file_steers_the_terminal(stilltrue: Run, write: Write, billing: str) -> None:
    folder = write({"billing.yaml": billing.replace("domain:", '"\\e[31m[red]domain":')})
    for arguments in (("validate", folder), ("evals", "--suite", folder)):
        result = stilltrue(*arguments)
        assert result.exit_code == 2
        assert "\x1b" not in result.output
        assert "unknown key '\\x1b[31m[red]domain'" in result.stderr.replace("\\\\", "\\")


def test_no_name_of_a_file_steers_the_terminal(stilltrue: Run, write: Write, billing: str) -> None:
    folder = write({"\x1b[31m.yaml": billing})
    for arguments in (("validate", folder), ("evals", "--suite", folder), ("audit", folder / "\x1b[32m.db")):
        result = stilltrue(*arguments)
        assert result.exit_code == 2
        assert "\x1b" not in result.output
        assert "/\\x1b[3" in result.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 中 😀", "plain é 中 😀"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc", "a\\x0ab\\x09c"),
        ("\u202e", "\\x202e"),
    ],
)
def test_what_can_be_printed_is_and_the_rest_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown


# A quick start


HEAVY = ("torch", "transformers", "sentence_transformers", "pandas", "sklearn", "litellm", "pyarrow")
PROBE = """
import sys
from stilltrue.cli import main
sys.argv = ["stilltrue", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    code = end.code
heavy = [name for name in {heavy} if name in sys.modules]
print("\\nPROBE", code, *heavy, file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "evals --help",
        "list",
        f"conform {GOLDEN}/s7_lifecycle.v0.11.json",
        "audit GRAY",
        "validate --static SCENARIOS",
    ],
)
def test_a_command_that_embeds_nothing_imports_nothing_heavy(root: Path, command: str) -> None:
    scenarios = str(root / "datasets/stilltrue_data/scenarios")
    gray_db = str(root / "tests/data/graymatter-v0.11/gray.db")
    arguments = command.replace("GRAY", gray_db).replace("SCENARIOS", scenarios).split()
    probe = [sys.executable, "-c", PROBE.format(heavy=HEAVY), *arguments]
    done = subprocess.run(probe, capture_output=True, text=True, encoding="utf-8", check=True)
    assert done.stderr.split("\n")[-2] == "PROBE 0"


def test_the_probe_would_see_a_heavy_import(root: Path) -> None:
    probe = PROBE.format(heavy=HEAVY).replace("import sys", "import sys, pandas", 1)
    done = subprocess.run([sys.executable, "-c", probe, "--help"], capture_output=True, text=True, check=True)
    assert "PROBE 0 pandas" in done.stderr.split("\n")[-2]
