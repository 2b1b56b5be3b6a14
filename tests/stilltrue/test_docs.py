"""What the documents say, held against what the code does."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import tombstore
from stilltrue.evaluation import Options, evaluate
from stilltrue.scenarios import Suite, load_suite
from stilltrue.studies import doses
from stilltrue.vocabulary import vocabulary

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CARD = (ROOT / "datasets/stilltrue_data/CARD.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_readme_counts_the_suite(suite: Suite) -> None:
    scenarios = sum(len(family.scenarios) for family in suite.families)
    assert f"asks {suite.questions} questions about {scenarios} hand-written histories" in README


def test_the_families_cards_are_those_that_the_command_makes(stilltrue: Callable[..., Any]) -> None:
    written = (ROOT / "datasets/stilltrue_data/scenarios/CARDS.md").read_text(encoding="utf-8")
    assert stilltrue("list", "scenarios", "--markdown").stdout == written


def test_the_card_counts_backgrounds_doses_and_the_vocabulary() -> None:
    source = doses.source()
    for name, body in source.backgrounds.items():
        assert name in CARD
        assert f"{len(body.facts):,}" in CARD
    assert (len(source.world.probes), {len(probe.stale) for probe in source.world.probes}) == (16, {32})
    words, _ = vocabulary()
    assert f"{len(words.attributes)} attributes in nine domains" in CARD
    assert len({one.domain for one in words.attributes}) == 9
    assert min(len(one.values) for one in words.attributes) == 24
    assert f"{len(words.fillers)} sentences about other things" in " ".join(CARD.split())


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


# Label your own sample


def test_the_readmes_labelling_works_word_by_word(
    script: Callable[..., Any], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").symlink_to(root / "tests")
    monkeypatch.chdir(tmp_path)
    first, second, adjudicate, agreement, validate = section("Label your own sample")
    done = script(*first, input="s\n" + "o\n" * 19)
    assert "20 of 20 pairs done for first" in done.stdout
    labelled_in_a_browser(second)
    assert "1 of 1 disputed pairs done" in script(*adjudicate, input="c\nthe limit was wrong\n").stdout
    told = script(*agreement)
    assert "20 pairs with two labels" in told.stdout
    assert "among 271 candidate pairs: " in told.stdout
    assert "20 labelled pairs (20 test)" in script(*validate).stdout


def section(title: str) -> list[list[str]]:
    """The commands of a section's first block, as words without the program."""
    text = README.partition(f"## {title}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    return [line.partition("#")[0].split()[1:] for line in block.splitlines()]


def labelled_in_a_browser(arguments: list[str]) -> None:
    """Serve the page, label everything as its script does, and end it with Ctrl-C."""
    command = [str(Path(sys.executable).with_name("stilltrue")), *arguments]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as served:
        assert served.stdout
        url = re.search(r"http://127\.0\.0\.1:\d+/", served.stdout.readline())
        assert url
        page = urlopen(url[0]).read().decode()
        token = page.partition('const token = "')[2].partition('"')[0]
        for place in range(20):
            label = {"relation": "coexists", "should_retire": False, "doubt": False, "note": ""}
            body = json.dumps({"place": place, "label": label}).encode()
            with urlopen(Request(f"{url[0]}label", body, {"X-Token": token})) as answer:
                assert answer.status == 200
        served.send_signal(signal.SIGINT)
        assert "20 of 20 pairs done for second" in served.stdout.read()
    assert served.returncode == 0
