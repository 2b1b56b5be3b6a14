"""What the documents say, held against what the code does."""

import re
from pathlib import Path

import pytest

import tombstore
from stilltrue.evaluation import Options, evaluate
from stilltrue.scenarios import Suite, load_suite

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CARD = (ROOT / "datasets/stilltrue_data/CARD.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_readme_counts_the_suite(suite: Suite) -> None:
    scenarios = sum(len(family.scenarios) for family in suite.families)
    assert f"asks {suite.questions} questions about {scenarios} hand-written histories" in README


def test_the_card_lists_every_family_with_its_numbers(suite: Suite) -> None:
    for family in suite.families:
        asks = sum(step.ask is not None for scenario in family.scenarios for step in scenario.steps)
        assert f"| `{family.family}` | {len(family.scenarios)} | {asks} | {family.question} |" in CARD
    scenarios = sum(len(family.scenarios) for family in suite.families)
    assert f"| all | {scenarios} | {suite.questions} | |" in CARD


def test_every_data_file_carries_the_canary() -> None:
    (canary,) = re.findall(r"`([\w-]+-stilltrue)`", CARD)
    files = [*(ROOT / "datasets/stilltrue_data").rglob("*.yaml")]
    assert files
    assert [file.name for file in files if canary not in file.read_text(encoding="utf-8").split("\n")[0]] == []


def test_the_readmes_scenario_is_valid(tmp_path: Path) -> None:
    (text,) = blocks("yaml")
    (tmp_path / "billing.yaml").write_text(text, encoding="utf-8")
    suite = load_suite(tmp_path / "billing.yaml")
    results = evaluate(suite, Options(strategies=("keyword",)), started=lambda _: None, advance=lambda: None)
    assert suite.questions == 1
    assert {one.verdict for one in results.verdicts} == {"pass"}


def test_the_readmes_store_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = blocks("python")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})  # noqa: S102 - our own README
    with tombstore.MemoryStore("memory.db", read_only=True) as store:
        (old,) = store.list_facts(state="retired")
    assert capsys.readouterr().out.startswith(
        # "billing" stands in the only live fact, so its idf is ln(2/2) = 0 and the keyword signal ranks nobody.
        f"We use Polar for billing. {{'vector': 1, 'keyword': 0, 'recency': 1}} ('{old.id}',)"
    )


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert "pip install nox && nox -s evals" in README
    for session in ("tests", "evals"):
        assert f"nox -s {session}" in README
        assert f"nox -s {session}" in ci
