"""What a run keeps for the next one: embeddings by model and text, outcomes by all that they depend on."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = Mapping[str, NDArray[np.float32]]


class Cache:
    """A folder, or nothing at all (None). Entries are written whole or not at all, so several runs may share it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def outcome(self, key: str) -> dict[str, Any] | None:
        """What was stored under the key, None when nothing was or it can't be read."""
        try:
            return json.loads((self._folder / f"{key}.json").read_bytes()) if self._folder else None
        except (OSError, ValueError):
            return None

    def keep(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Store an outcome."""
        self._write(f"{key}.json", lambda path: path.write_text(json.dumps(outcome), encoding="utf-8"))

    def vectors(
        self, identity: str, texts: Iterable[str], embed: Callable[[Sequence[str]], NDArray[np.float32]]
    ) -> Vectors:
        """A vector for each text, from the folder where the model (``identity``) has embedded it before."""
        name = f"embeddings-{_digest(identity)}.npz"
        known = self._stored(name)
        digests = {text: _digest(text) for text in texts}
        missing = [text for text, digest in digests.items() if digest not in known]
        if missing:
            known.update(zip((digests[text] for text in missing), embed(missing), strict=True))
            keys, matrix = np.array(list(known)), np.stack(list(known.values()))
            self._write(name, lambda path: np.savez(path, keys=keys, vectors=matrix))
        return {text: known[digest] for text, digest in digests.items()}

    def _stored(self, name: str) -> dict[str, NDArray[np.float32]]:
        try:
            if self._folder:
                with np.load(self._folder / name, allow_pickle=False) as found:
                    return dict(zip(found["keys"].tolist(), found["vectors"], strict=True))
        except (OSError, ValueError, KeyError):
            return {}
        return {}

    def _write(self, name: str, write: Callable[[Path], object]) -> None:
        if self._folder:
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = self._folder / f".{os.getpid()}-{name}"
            write(unfinished)
            unfinished.replace(self._folder / name)


def key_of(**parts: Any) -> str:
    """A key that changes with any of its parts and with the code of both packages."""
    return _digest(json.dumps([parts, _code()], sort_keys=True, default=str))


@cache
def _code() -> str:
    """A digest of every source file that an outcome can depend on."""
    digest = hashlib.sha256()
    for package in ("tombstore", "stilltrue"):
        for file in _sources(files(package)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _sources(folder: Traversable) -> Iterable[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
