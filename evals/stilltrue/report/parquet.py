"""queries.parquet: one row per query, system, policy and strategy, with everything that a figure was made from."""

from pathlib import Path

from stilltrue.results import Results


def write(results: Results, folder: Path) -> Path:
    """Write the file."""
    import pandas as pd

    path = folder / "queries.parquet"
    pd.DataFrame(results.queries).to_parquet(path, engine="pyarrow", compression="zstd", index=False)
    return path
