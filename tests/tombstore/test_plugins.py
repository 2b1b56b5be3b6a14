"""Plug-ins are found by name: a file in the package, an installed entry point, or ``module:make``."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tombstore import MemoryStore, Policy, Strategy, plugins
from tombstore.plugins import UnknownPlugin

PACKAGES = ["tombstore.policies", "tombstore.strategies", "tombstore.signals"]


def test_the_built_in_plug_ins_are_the_files_in_the_package() -> None:
    folder = Path(str(importlib.import_module("tombstore").__file__)).parent
    for package in PACKAGES:
        files = sorted(file.stem for file in (folder / package.rpartition(".")[2]).glob("[!_]*.py"))
        assert plugins.names(package) == files
        assert len(files) >= 5


@pytest.mark.parametrize("package", PACKAGES)
def test_every_plug_in_has_a_first_sentence_and_a_make_that_needs_no_arguments(package: str) -> None:
    summaries = dict(plugins.summaries(package))
    assert list(summaries) == plugins.names(package)
    assert [name for name, summary in summaries.items() if not re.fullmatch(r"[A-Z].*\.", summary)] == []
    kind: Any = {"tombstore.policies": Policy, "tombstore.strategies": Strategy}.get(package)
    for name in summaries:
        made = plugins.make(package, name)
        assert isinstance(made, kind) if kind else callable(made)


def test_options_reach_the_plug_in() -> None:
    strategy: Strategy = plugins.make("tombstore.strategies", "hybrid", recency_weight=2.0)
    assert dict(strategy.weights) == {"vector": 1.0, "keyword": 1.0, "recency": 2.0}
    with pytest.raises(TypeError, match="recency_wait"):
        plugins.make("tombstore.strategies", "hybrid", recency_wait=2.0)


@pytest.mark.parametrize(
    ("package", "name", "message"),
    [
        (
            "tombstore.policies",
            "tombston",
            "unknown policy 'tombston' (did you mean 'tombstone'?); known: append_only, ",
        ),
        ("tombstore.strategies", "hibrid", "unknown strategy 'hibrid' (did you mean 'hybrid'?); known: bm25, hybrid, "),
        ("tombstore.signals", "bm25f", "unknown signal 'bm25f' (did you mean 'bm25'?); known: bm25, keyword, recency"),
        ("tombstore.policies", "xyzzy", "unknown policy 'xyzzy'; known: "),
        ("tombstore.policies", "", "unknown policy ''; known: "),
        ("tombstore.policies", "__init__", "unknown policy '__init__'"),
        (
            "tombstore.policies",
            "no_such_module:make",
            "can't load no_such_module:make: No module named 'no_such_module'",
        ),
        ("tombstore.policies", "json:make", "can't load json:make: module 'json' has no attribute 'make'"),
        ("tombstore.policies", "json:", "can't load json:"),
    ],
)
def test_an_unknown_name_is_told_with_a_suggestion_and_the_list(package: str, name: str, message: str) -> None:
    with pytest.raises(UnknownPlugin) as caught:
        plugins.make(package, name)
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, LookupError)


def test_a_store_passes_the_message_on() -> None:
    with pytest.raises(UnknownPlugin, match="did you mean 'postfilter'"):
        MemoryStore(policy="postfiltre")
    with pytest.raises(UnknownPlugin, match="did you mean 'keyword'"):
        MemoryStore(strategy="keywords")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with a module and two entry points, one of which has the name of a built-in policy."""
    (tmp_path / "their_policies.py").write_text(
        '"""Not ours."""\nfrom tombstore.policies import Policy, write_nothing\n\n\n'
        "def make(*, times: int = 1) -> Policy:\n    return Policy(retire=lambda *_: print('theirs ' * times))\n",
        encoding="utf-8",
    )
    metadata = tmp_path / "theirs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(
        "[tombstore.policies]\nannounce = their_policies:make\ntombstone = their_policies:make\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("installed")
def test_an_entry_point_is_one_of_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert plugins.names("tombstore.policies")[-1] == "announce"
    assert plugins.names("tombstore.policies").count("tombstone") == 1
    with MemoryStore(policy="announce") as store:
        store.put("ann", "note")
        store.reflect("forget", "ann", target="note")
        assert len(store.list_facts(state="live")) == 1
    assert capsys.readouterr().out == "theirs \n"
    with pytest.raises(UnknownPlugin, match="did you mean 'announce'"):
        plugins.make("tombstore.policies", "anounce")


@pytest.mark.usefixtures("installed")
def test_what_is_installed_beside_it_does_not_change_a_built_in_policy(capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryStore(policy="tombstone") as store:
        store.put("ann", "note")
        store.reflect("forget", "ann", target="note")
        assert len(store.list_facts(state="retired")) == 1
    assert capsys.readouterr().out == ""
    assert "announce" not in dict(plugins.summaries("tombstore.policies"))


@pytest.mark.usefixtures("installed")
def test_a_module_and_attribute_need_no_registration(capsys: pytest.CaptureFixture[str]) -> None:
    policy: Policy = plugins.make("tombstore.policies", "their_policies:make", times=2)
    with MemoryStore(policy=policy) as store:
        store.retire("ann", [store.put("ann", "note").id])
    assert capsys.readouterr().out == "theirs theirs \n"
