"""queries.parquet: one row per query, system, policy and strategy, with everything that a figure was made from."""

from pathlib import Path

from stilltrue.results import Results


def write(results: Results, folder: Path) -> Path:
    """Write the file."""
    import pandas as pd

    path = folder / "queries.parquet"
    frame = pd.DataFrame(results.queries)
    for instant in ("at", "as_of"):
        frame[instant] = pd.to_datetime(frame[instant], utc=True, format="ISO8601")
    frame.to_parquet(path, engine="pyarrow", compression="zstd", index=False)
    return path
