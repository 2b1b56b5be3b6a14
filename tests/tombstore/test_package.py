"""The package as a whole: what importing it brings along, what it exports, and whom it does not know."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tombstore

PACKAGE = Path(tombstore.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = [
    "torch",
    "sentence_transformers",
    "transformers",
    "pandas",
    "sklearn",
    "scipy",
    "rank_bm25",
    "litellm",
    "pydantic",
]


def loaded_by(script: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after the script and had not before."""
    tell = "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import sys\nbefore = set(sys.modules)\n{script}\n{tell}"],
        env={"PYTHONPATH": str(PACKAGE.parent), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_importing_it_imports_nothing_beyond_the_standard_library_and_numpy() -> None:
    loaded = loaded_by("import tombstore, tombstore.export, tombstore.plugins, tombstore.graymatter.files")
    assert loaded - sys.stdlib_module_names == {"numpy", "tombstore"}


@pytest.mark.parametrize("strategy", ["keyword", "hybrid", "weighted"])
def test_put_and_recall_without_an_embedder_load_no_heavy_library(strategy: str) -> None:
    loaded = loaded_by(
        "from tombstore import MemoryStore\n"
        f"with MemoryStore(strategy={strategy!r}) as store:\n"
        "    store.put('ann', 'billing by Polar')\n"
        "    store.put('ann', 'deploy on Fridays')\n"
        "    assert [fact.text for fact in store.recall('ann', 'billing', 1)] == ['billing by Polar']\n"
        "    store.consolidate('ann')"
    )
    assert loaded & set(HEAVY) == set()
    assert loaded - sys.stdlib_module_names == {"numpy", "tombstore"}


def test_naming_the_default_embedder_loads_no_heavy_library_before_the_first_text() -> None:
    loaded = loaded_by("from tombstore import MemoryStore, embedder\nMemoryStore(embedder=embedder()).close()")
    assert loaded & set(HEAVY) == set()


def test_the_public_names_are_sorted_and_all_there() -> None:
    """Constants, then classes, then functions, each in alphabetical order."""

    def order(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert tombstore.__all__ == sorted(tombstore.__all__, key=order)
    assert len(set(tombstore.__all__)) == len(tombstore.__all__)
    assert [name for name in tombstore.__all__ if not hasattr(tombstore, name)] == []


def test_every_public_class_and_function_is_documented() -> None:
    exported: dict[str, Any] = {name: getattr(tombstore, name) for name in tombstore.__all__ if not name.isupper()}
    assert [name for name, value in exported.items() if not (inspect.getdoc(value) or "").strip()] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_no_module_knows_the_harness(module: Path) -> None:
    """Imports run one way: the harness drives the store."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(str(node.module).partition(".")[0])
    assert imported & {"stilltrue", "stilltrue_data", "evals", "datasets", "reports"} == set()


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_the_scan_reads_every_module() -> None:
    assert len(MODULES) > 30
    assert PACKAGE / "store.py" in MODULES
