"""Writes a run's results as files, one module a format, each with ``write(results, folder)``."""

from pathlib import Path

from stilltrue.report import html, json, junit, markdown, parquet
from stilltrue.results import Results


def write_all(results: Results, folder: Path) -> list[Path]:
    """Write every format into the folder, which is made if need be. Returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [module.write(results, folder) for module in (json, parquet, markdown, junit, html)]
