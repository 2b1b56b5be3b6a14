"""Reads back what a run wrote: the record, the tidy rows and the query records, as pandas frames."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stilltrue.results import RETRIEVAL, SCHEMA

if TYPE_CHECKING:
    import pandas as pd


class NotARun(ValueError):
    """The folder doesn't hold a run's results."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run's results. ``run``: versions, hashes, options; ``rows``: a figure each; ``queries``: an answer each."""

    path: Path
    run: dict[str, Any]
    rows: "pd.DataFrame"
    queries: "pd.DataFrame"
    verdicts: "pd.DataFrame"

    def contestants(self) -> list[tuple[str, str, str]]:
        """(system, policy, strategy) of the retrieval study, in the order of the run."""
        columns = ["system", "policy", "strategy"]
        retrieval = self.queries.loc[self.queries["study"] == RETRIEVAL, columns]
        return [(str(a), str(b), str(c)) for a, b, c in retrieval.drop_duplicates().itertuples(index=False)]

    def answers(self, system: str, policy: str, strategy: str) -> "pd.DataFrame":
        """One contestant's query records in the retrieval study."""
        frame = self.queries
        wanted = (frame["study"] == RETRIEVAL) & (frame["system"] == system)
        return frame.loc[wanted & (frame["policy"] == policy) & (frame["strategy"] == strategy)]


def load_run(path: Path) -> Run:
    """A run from its folder, or from the results.json in it. Raises NotARun, FileNotFoundError."""
    import pandas as pd

    folder = path.parent if path.name == "results.json" else path
    results = folder / "results.json"
    try:
        document: Any = json.loads(results.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise NotARun(f"{results}: schema {document['schema']}, expected {SCHEMA}")
        return Run(
            path=folder,
            run=document["run"],
            rows=pd.DataFrame(document["rows"]),
            queries=pd.read_parquet(folder / "queries.parquet"),
            verdicts=pd.DataFrame(document["verdicts"]),
        )
    except NotARun:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise NotARun(f"{results}: not a run's results ({type(error).__name__}: {error})") from error
