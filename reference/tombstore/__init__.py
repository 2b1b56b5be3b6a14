"""tombstore: a minimal agent memory that retires facts instead of deleting them (ADR-007 of GrayMatter)."""

from tombstore.clock import ManualClock, format_instant, parse_instant
from tombstore.detection import Contradiction, Detector
from tombstore.embedding import Embedder, ModelNotFound, default_embedder, embedder
from tombstore.errors import FactNotFound, NotAStore, ReadOnlyStore, StoreBusy
from tombstore.fact import FORGOTTEN, SHARED, Fact, InvalidFact, fact_from_json, fact_to_json
from tombstore.ids import ulids
from tombstore.journal import Event
from tombstore.lifecycle import Cycle, InvalidProposal, Summarizer, Summary
from tombstore.policies import Policy
from tombstore.recall import Ranking, Receipt
from tombstore.stats import Stats, Tally
from tombstore.store import MemoryStore, Reflection
from tombstore.strategies import Strategy
from tombstore.variants import VARIANTS, Variant

__all__ = [
    "FORGOTTEN",
    "SHARED",
    "VARIANTS",
    "Contradiction",
    "Cycle",
    "Detector",
    "Embedder",
    "Event",
    "Fact",
    "FactNotFound",
    "InvalidFact",
    "InvalidProposal",
    "ManualClock",
    "MemoryStore",
    "ModelNotFound",
    "NotAStore",
    "Policy",
    "Ranking",
    "ReadOnlyStore",
    "Receipt",
    "Reflection",
    "Stats",
    "StoreBusy",
    "Strategy",
    "Summarizer",
    "Summary",
    "Tally",
    "Variant",
    "default_embedder",
    "embedder",
    "fact_from_json",
    "fact_to_json",
    "format_instant",
    "parse_instant",
    "ulids",
]
