"""The layout that STYLE asks for: nothing shadows other people's packages, imports run one way, plug-ins are files."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

from stilltrue.cli.list_ import KINDS
from tombstore import plugins

ROOT = Path(__file__).parents[2]
PACKAGES = {"tombstore": "reference", "stilltrue_data": "datasets", "stilltrue": "evals"}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def modules(package: str) -> Iterator[tuple[str, ast.Module]]:
    """Each module of a package: its path within the package, and its syntax tree."""
    folder = ROOT / PACKAGES[package] / package
    for file in sorted(folder.rglob("*.py")):
        yield file.relative_to(folder).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> set[str]:
    """The top-level packages that a syntax tree imports, anywhere in it."""
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in found}


# Nothing to shadow


@pytest.mark.parametrize("folder", ["datasets", "evals", "reference", "reports", "tests"])
def test_a_top_level_folder_holds_no_module(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert [file.name for file in (ROOT / folder).glob("*.py")] == []


def test_the_only_module_in_the_root_is_the_noxfile() -> None:
    assert [file.name for file in ROOT.glob("*.py")] == ["noxfile.py"]


@pytest.mark.parametrize("name", ["datasets", "evals", "reference", "reports", "tests"])
def test_no_folder_of_ours_can_be_imported_from_the_root(name: str) -> None:
    probe = f"from importlib.util import find_spec; print(find_spec({name!r}))"
    safe = {**os.environ, "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT, env=safe)
    assert str(ROOT) not in done.stdout


def test_pytest_and_every_command_of_nox_keep_the_root_off_the_path() -> None:
    assert "--import-mode=importlib" in PYPROJECT["tool"]["pytest"]["ini_options"]["addopts"]
    assert PYPROJECT["tool"]["pytest"]["ini_options"]["filterwarnings"] == ["error"]
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    (safe,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SAFE"
    ]
    assert safe["PYTHONSAFEPATH"] == "1"
    runs = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "session.run"]
    ours = [node for node in runs if ast.literal_eval(node.args[0]) in ("stilltrue", "pytest")]
    assert len(ours) >= 2
    for node in ours:
        env = {option.arg: ast.unparse(option.value) for option in node.keywords}["env"]
        assert env == "SAFE" or env.startswith("{**SAFE,")
    assert not [node for node in runs if ast.literal_eval(node.args[0]).startswith("python")]


# Imports run one way


def test_the_reference_store_knows_nothing_of_the_harness() -> None:
    assert [name for name, tree in modules("tombstore") if imported(tree) & {"stilltrue", "stilltrue_data"}] == []


def test_the_harness_meets_the_reference_store_in_few_places() -> None:
    users = {name for name, tree in modules("stilltrue") if "tombstore" in imported(tree)}
    assert users == {
        "audit.py",  # the study of a store
        "cli/audit.py",
        "cli/conform.py",
        "cli/embedding.py",
        "cli/evals.py",  # only for ModelNotFound
        "cli/label.py",
        "labeling/sampling.py",  # draws pairs from a store
        "plugins.py",
        "streams.py",  # what the candidate step proposes
        "systems/eager.py",  # a control: the reference store with hasty corrections
        "systems/tombstore.py",
    }


def test_the_data_package_is_data_only() -> None:
    ((name, tree),) = modules("stilltrue_data")
    assert name == "__init__.py"
    assert [type(node) for node in tree.body] == [ast.Expr]  # its docstring


def test_the_store_alone_loads_the_standard_library_and_numpy() -> None:
    probe = (
        "import sys; before = set(sys.modules); import tombstore; "
        "found = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(*sorted(found - sys.stdlib_module_names - {'tombstore'}))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["numpy"]


# The wheel


def files_of(package: str) -> set[str]:
    folder = ROOT / PACKAGES[package]
    return {
        file.relative_to(folder).as_posix()
        for file in (folder / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }


def test_the_wheel_holds_the_three_packages_with_all_their_files_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hatchling.build import build_wheel

    monkeypatch.chdir(ROOT)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        names = {name for name in wheel.namelist() if not name.endswith("/")}
        (entry_points,) = [wheel.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    assert entry_points.split() == ["[console_scripts]", "stilltrue", "=", "stilltrue.cli:main"]
    packaged = {name for name in names if ".dist-info/" not in name}
    assert {PurePosixPath(name).parts[0] for name in packaged} == {"tombstore", "stilltrue", "stilltrue_data"}
    assert packaged == files_of("tombstore") | files_of("stilltrue") | files_of("stilltrue_data")
    assert packaged >= {
        "stilltrue/py.typed",
        "tombstore/py.typed",
        "stilltrue/report/report.html.j2",
        "stilltrue_data/scenarios/chain.yaml",
        "stilltrue_data/backgrounds/small_company.yaml",
        "stilltrue_data/doses/fernhill.yaml",
        "stilltrue_data/generator/vocabulary.yaml",
    }
    assert [name for name in names if name.endswith("licenses/LICENSE")]


# The file is the registration


PLUGIN_PACKAGES = (
    "tombstore.policies",
    "tombstore.strategies",
    "tombstore.signals",
    "stilltrue.systems",
    "stilltrue.metrics",
    "stilltrue.doses",
    "stilltrue.importers",
)
PLUGINS = [(package, name) for package in PLUGIN_PACKAGES for name, _ in plugins.summaries(package)]
# The oracle knows the scenario; a dose is made of a material.
NEEDS = {one: "material" for one in PLUGINS if one[0] == "stilltrue.doses"}
NEEDS["stilltrue.systems", "oracle"] = "scenario"


@pytest.mark.parametrize(("package", "name"), PLUGINS)
def test_a_plug_in_is_a_file_with_a_make_of_typed_keyword_options(package: str, name: str) -> None:
    module = import_module(f"{package}.{name}")
    assert module.__doc__, "a plug-in says in a sentence what it is; `stilltrue list` shows it"
    assert inspect.getdoc(module.make)
    signature = inspect.signature(module.make)
    assert signature.return_annotation is not inspect.Signature.empty
    for option in signature.parameters.values():
        assert option.kind is inspect.Parameter.KEYWORD_ONLY or option.name == NEEDS.get((package, name)) == "material"
        assert option.annotation is not inspect.Parameter.empty


@pytest.mark.parametrize("package", PLUGIN_PACKAGES)
def test_every_file_in_a_plug_in_folder_is_a_plug_in_that_can_be_listed(package: str) -> None:
    top, _, folder = package.partition(".")
    files = {file.stem for file in (ROOT / PACKAGES[top] / top / folder).glob("[!_]*.py")}
    assert files == {name for of, name in PLUGINS if of == package} != set()
    assert folder in KINDS


@pytest.mark.parametrize(("package", "name"), PLUGINS)
def test_only_the_oracle_and_the_doses_need_something(package: str, name: str) -> None:
    options = inspect.signature(import_module(f"{package}.{name}").make).parameters.values()
    needed = [option.name for option in options if option.default is inspect.Parameter.empty]
    assert needed == ([NEEDS[package, name]] if (package, name) in NEEDS else [])


@pytest.mark.parametrize(("package", "name"), [one for one in PLUGINS if one not in NEEDS])
def test_a_plug_in_works_without_any_option(package: str, name: str) -> None:
    made = plugins.make(package, name)
    assert made is not None
    getattr(made, "close", lambda: None)()


# Nothing of the machine that it was made on


def texts() -> Iterator[tuple[str, str]]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in done.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            content = (ROOT / name).read_bytes()
            if b"\0" not in content:
                yield name, content.decode("utf-8")


MACHINE = re.compile(
    r"(?<![\w.~])/(?:work|root|home|Users|tmp)/\w"  # a path of somebody's machine
    r"|[A-Z]:\\Users"
    r"|--(?:extra-)?index-ur[l]|--trusted-hos[t]|files\.pythonhosted|pypi\.org/simple|artifactor[y]|/nexu[s]"
)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_no_file_of_the_repository_names_a_path_of_a_machine_or_a_package_index() -> None:
    found = {name: match[0] for name, text in texts() if (match := MACHINE.search(text))}
    assert found == {}


def test_such_a_path_would_be_seen() -> None:
    for text in ('open("/' + 'root/x")', "see /" + "work/main", "pip install --" + "index-url x"):
        assert MACHINE.search(text)
    for text in ("reference/tests/x", "https://example.org/home/page", "~/.graymatter/gray.db", "a/tmp/b"):
        assert not MACHINE.search(text)
