"""What the harness's tests share: scenarios and answers written in a line, the suite measured once, the commands."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from typer.testing import CliRunner

from stilltrue.cli import app
from stilltrue.evaluation import Options, evaluate
from stilltrue.records import Answer, Family, Hit, Holdings, Question
from stilltrue.results import Results
from stilltrue.scenarios import Suite, load_suite

# The same examples in every run, and no time limit: a loaded machine is no failure.
settings.register_profile("stilltrue", deadline=None, derandomize=True, database=None, max_examples=40)
settings.load_profile("stilltrue")

ROOT = Path(__file__).parents[2]
START = "2026-01-05T09:00Z"

BILLING = """\
family: billing
question: Does the old provider come back?
scenarios:
  - id: swap
    domain: software team
    steps:
      - {at: 2026-01-05T09:00Z, remember: {id: lemon, text: "Billing runs on Lemon Squeezy."}}
      - {remember: {id: owner, text: "Refunds are up to Ines."}}
      - {at: 2026-03-01T09:00Z, update: {target: lemon, id: polar, text: "Billing runs on Polar now."}}
      - {at: 2026-03-02T09:00Z, ask: {query: "What does billing run on?", gold: [polar], forbidden: [lemon]}}
"""


@pytest.fixture(scope="session")
def billing() -> str:
    """A family of one scenario with one question, as a file holds it: steps on lines 7 to 10, the last one asks."""
    return BILLING


def make_family(*steps: Mapping[str, Any], name: str = "fam", **fields: Any) -> Family:
    first, *others = steps
    scenario = {"id": f"{name}-1", "domain": "test", "steps": [{"at": START, **first}, *others]}
    return Family.model_validate(
        {"family": name, "question": "What comes back?", "scenarios": [scenario | fields.pop("scenario", {})], **fields}
    )


@pytest.fixture(scope="session")
def family() -> Callable[..., Family]:
    """A family with one scenario of these steps, of which the first happens on 2026-01-05 at 9:00."""
    return make_family


def make_answer(
    returned: str = "",
    *,
    clean: str | None = None,
    reachable: str = "",
    live: str | None = None,
    as_of: bool = False,
    k: int = 5,
    **given: Any,
) -> Answer:
    """Facts are words: ``answer("new old", gold="new", retired="old")``; ``?`` is a text that no step stored.

    ``live`` (and ``marked``, ``revived``): what a system that lists its facts shows as live (retired, live again).
    """

    def hits(words: str) -> tuple[Hit, ...]:
        return tuple(Hit(None if word == "?" else word, f"text of {word}") for word in words.split())

    def words(name: str) -> frozenset[str]:
        return frozenset(given.pop(name, "").split())

    at = datetime(2026, 1, 5, tzinfo=UTC)
    sets = {name: words(name) for name in ("gold", "forbidden", "retired", "implied", "surviving", "traceable")}
    question = Question(family="fam", scenario="one", number=1, query="?", at=at, as_of=at if as_of else None, **sets)
    holdings = None if live is None else Holdings(frozenset(live.split()), words("marked"), words("revived"))
    return Answer(
        question=question,
        k=k,
        returned=hits(returned),
        counterfactual=hits(returned if clean is None else clean),
        reachable=hits(reachable),
        holdings=holdings,
        **given,
    )


@pytest.fixture(scope="session")
def answer() -> Callable[..., Answer]:
    """R, and by keyword R' (``clean``), G (``gold``), F (``forbidden``), T (``retired``) and so on, each as words."""
    return make_answer


def measured(suite: Suite, **options: Any) -> Results:
    return evaluate(suite, Options(**options), started=lambda _total: None, advance=lambda: None)


@pytest.fixture(scope="session")
def measure() -> Callable[..., Results]:
    """``measure(suite, policies=..., strategies=...)``: a whole run, without the command line."""
    return measured


@pytest.fixture(scope="session")
def suite() -> Suite:
    """The suite that comes along."""
    return load_suite()


# What the tests measure: enough for every claim about the ruler. `nox -s evals` measures everything.
FAMILIES = (
    "chain",
    "crowding",
    "forget_then_recall",
    "forget_without_replacement",
    "paraphrased_update",
    "pinned_facts",
    "post_filter_shrink",
    "simple_supersession",
)
POLICIES = ("tombstone", "append_only", "weight_zero", "postfilter", "tombstone_window", "delete")


@pytest.fixture(scope="session")
def core() -> Suite:
    """The families of explicit corrections that every policy is measured on here."""
    return load_suite(only=FAMILIES)


@pytest.fixture(scope="session")
def lexical(core: Suite) -> Results:
    """The core families under six policies, with the strategies that need no model. Measured once."""
    return measured(core, policies=POLICIES, strategies=("keyword", "bm25"))


@pytest.fixture(scope="session")
def dense(core: Suite) -> Results:
    """The same with the strategies that rank by vectors. A test that takes it loads the embedding model, and torch."""
    return measured(core, policies=POLICIES, strategies=("vector", "hybrid"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes files given by relative path, as text or bytes, into a folder and returns it."""

    def write(files: Mapping[str, str | bytes], folder: str = "suite") -> Path:
        root = tmp_path / folder
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return root

    return write


@pytest.fixture
def stilltrue() -> Callable[..., Any]:
    """The command line, in this process and without a cache: ``stilltrue("list", "policies").stdout``."""

    def run(*arguments: object, typed: str | None = None) -> Any:
        here = ("--jobs", "1", "--no-cache") if arguments[:1] == ("evals",) else ()
        return CliRunner().invoke(app, [str(argument) for argument in (*arguments, *here)], input=typed)

    return run


@pytest.fixture
def script() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command as it is installed, in a process of its own."""
    installed = Path(sys.executable).with_name("stilltrue")

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command: Sequence[str] = [str(installed), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False, **options)

    return run


@pytest.fixture(scope="session", autouse=True)
def _a_cache_of_our_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands in processes of their own neither find nor leave anything in the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT
