"""The memory store's public operations: put, recall, list, reflect, consolidate, and what became of each fact."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Literal, Self

import numpy as np

from tombstore import lifecycle, plugins
from tombstore.clock import ZERO_TIME, Clock, Instant, system_clock
from tombstore.detection import Detector
from tombstore.embedding import Embedder
from tombstore.errors import FactNotFound, ReadOnlyStore, StoreBusy
from tombstore.fact import FORGOTTEN, SHARED, Embedding, Fact, well_formed
from tombstore.fusion import RRF_K
from tombstore.ids import IdSource, ulids
from tombstore.index import AgentIndex, Columns, Floats, Mask
from tombstore.journal import Event, Journal
from tombstore.lifecycle import HALF_LIFE_HOURS, Cycle, Summarizer
from tombstore.policies import Policy, as_fused, keep_all
from tombstore.recall import Ranking, Receipt, pick, rank, receipt
from tombstore.signals import Query
from tombstore.stats import Stats, statistics
from tombstore.strategies import Strategy
from tombstore.variants import VARIANTS, Variant

DEFAULT_K = 8
CONSOLIDATE_THRESHOLD = 20
MAX_AGENT_BYTES = 32_768
CONFIDENCES = ("verified", "inferred", "unverified")

Action = Literal["add", "update", "forget", "pin", "unpin"]
State = Literal["all", "live", "retired"]


@dataclass(frozen=True, slots=True)
class Reflection:
    """What ``reflect`` did: the facts added and the facts whose state changed, as they were before."""

    action: Action
    agent_id: str
    added: Fact | None
    changed: tuple[Fact, ...]


class MemoryStore:
    """Facts of several agents in one SQLite file, or in memory. Usable as a context manager, from several threads.

    Everything that makes runs differ is injected: ``clock`` (nanoseconds), ``ids``, ``embedder`` (None: no vectors).
    ``policy`` and ``strategy`` are plug-in names or objects; ``variant`` is ``reference`` or a version of the original.
    """

    def __init__(
        self,
        path: str | Path = ":memory:",
        *,
        clock: Clock = system_clock,
        ids: IdSource | None = None,
        embedder: Embedder | None = None,
        policy: str | Policy | None = None,
        strategy: str | Strategy = "hybrid",
        variant: str | Variant = "reference",
        half_life_hours: float = HALF_LIFE_HOURS,
        consolidate_threshold: int = CONSOLIDATE_THRESHOLD,
        summarizer: Summarizer | None = None,
        detector: Detector | None = None,
        detect: bool = False,
        read_only: bool = False,
        wait_seconds: float = 2.0,
    ) -> None:
        if not half_life_hours >= 0:
            raise ValueError(f"half_life_hours is {half_life_hours}, expected 0 (the default of 720) or more")
        self._variant = VARIANTS[variant] if isinstance(variant, str) else variant
        self._half_life = half_life_hours or HALF_LIFE_HOURS
        self._policy = self._named_policy(policy or self._variant.policy)
        self._strategy = self._named_strategy(strategy)
        self._clock, self._ids, self._embedder = clock, ids or ulids(), embedder
        self._threshold, self._summarizer = consolidate_threshold, summarizer
        self._detector = detector if detect else None
        self._indexes: dict[str, AgentIndex] = {}
        self._recalling = RLock()  # one thread at a time brings an index up to date and reads it
        self._accesses: list[tuple[str, str, Instant]] = []
        self._journal = Journal(path, read_only=read_only, wait_seconds=wait_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write pending access counts, if nobody else is writing, and close the file."""
        with self._recalling:
            if self._accesses:
                self._write_accesses()
                self._accesses.clear()
            self._journal.close()

    # Writing

    def put(self, agent_id: str, text: str, *, confidence: str = "", pinned: bool = False) -> Fact:
        """Store a text as a new live fact. Embeds at most once, compares nothing, touches no other fact.

        Raises ValueError for an empty or overlong agent ID or an unknown confidence, ReadOnlyStore, StoreBusy. When the
        embedder fails, the fact is stored without a vector and its ``put`` event says why.
        """
        if confidence and confidence not in CONFIDENCES:
            raise ValueError(f"confidence is {confidence!r}, expected one of {', '.join(CONFIDENCES)}")
        self._check_writable()
        _check_agent(agent_id)
        return self._put(agent_id, text, "put", confidence=confidence, pinned=pinned)

    def _put(
        self, agent_id: str, text: str, cause: str, *, confidence: str = "", pinned: bool = False, kind: str = ""
    ) -> Fact:
        text, now = well_formed(text), self._clock()
        embedding, fault = self._embed(text)
        fact = Fact(
            id=self._ids(now),
            agent_id=agent_id,
            text=text,
            created_at=now,
            accessed_at=now,
            embedding=embedding,
            confidence=confidence,
            kind=kind,
            pinned=pinned,
            pinned_at=now if pinned else ZERO_TIME,
        )
        with self._journal.transaction():
            self._journal.insert([fact])
            self._journal.record(now, agent_id, "put", cause, {fact.id: {"embedding": fault} if fault else {}})
        return fact

    def _embed(self, text: str) -> tuple[Embedding | None, str]:
        if self._embedder is None:
            return None, ""
        try:
            (vector,) = self._embedder([text])
        except Exception as error:  # noqa: BLE001 - whatever a third party's embedder raises, the fact is kept (SPEC 2)
            return None, f"{type(error).__name__}: {error}"
        return array("f", np.asarray(vector, dtype=np.float32).tobytes()) or None, ""

    def import_facts(self, facts: Iterable[Fact]) -> int:
        """Take over whole records, IDs, times and markers included. Returns how many were new.

        A fact that is there already is never rewritten; it only becomes retired when the imported record is. Raises
        ValueError when an ID stands for another text here.
        """
        now, added = self._clock(), 0
        with self._journal.transaction():
            for agent_id, group in _grouped(facts).items():
                _check_agent(agent_id)
                known = {fact.id: fact for fact in self._journal.facts(agent_id, group)}
                for old in known.values():
                    if (old.text, old.created_at) != (group[old.id].text, group[old.id].created_at):
                        raise ValueError(f"{agent_id}: fact {old.id} is here with another text or time")
                new = [fact for fact in group.values() if fact.id not in known]
                self._journal.insert(new)
                self._journal.record(now, agent_id, "put", "import", {fact.id: {} for fact in new})
                markers = {i: group[i].superseded_by for i, old in known.items() if old.live and not group[i].live}
                self._journal.mark_retired(agent_id, markers)
                self._journal.record(now, agent_id, "retire", "import", {i: {"by": by} for i, by in markers.items()})
                added += len(new)
        return added

    def write_back(self, fact: Fact) -> bool:
        """Write a whole record that was read earlier: update, never create, never un-retire (SPEC 2).

        Access state, weight and pin are taken over, a marker too; text, time and ID are not looked at. Returns whether
        it was written: not when the fact is gone, or is retired by now while the record is not.
        """
        with self._journal.transaction():
            stored = self._journal.facts(fact.agent_id, [fact.id])
            if not stored or (fact.live and not stored[0].live):
                return False
            self._journal.rewrite_state(fact)
            if not fact.live and stored[0].superseded_by != fact.superseded_by:
                self._policy.retire(self._journal, stored, fact.superseded_by, self._clock(), "write_back")
        return True

    # Reading

    def recall(self, agent_id: str, query: str, k: int = DEFAULT_K, *, min_relevance: float = 0.0) -> list[Fact]:
        """The ``k`` best live facts for a query, best first; counts as an access of each.

        Facts below ``min_relevance`` times the best score are left out. Raises ValueError for a negative ``k``.
        """
        with self._recalling:
            ranking, rows, now = self._recalled(agent_id, query, k, min_relevance)
            ids = [ranking.index.ids[row] for row in rows]
            return self._returned(agent_id, ids, now)

    def recall_with_receipts(
        self, agent_id: str, query: str, k: int = DEFAULT_K, *, min_relevance: float = 0.0
    ) -> list[Receipt]:
        """As ``recall``, with the ranks, scores and replaced facts of each result."""
        with self._recalling:
            ranking, rows, now = self._recalled(agent_id, query, k, min_relevance)
            by_id = {ranking.index.ids[row]: row for row in rows}
            facts = self._returned(agent_id, list(by_id), now)
        # Whoever has no tombstone has no predecessors to look for.
        trace = self._journal.predecessors if ranking.index.columns.retired.any() else _no_predecessors
        return [receipt(ranking, by_id[f.id], f, now, trace(agent_id, f.id)) for f in facts]

    def rank(self, agent_id: str, query: str, k: int = DEFAULT_K) -> Ranking:
        """All candidates, best first, before floor and cut; ``k`` sizes the vector window. Writes nothing."""
        if k < 0:
            raise ValueError(f"k is {k}, expected 0 or more")
        with self._recalling:
            index = self._index(agent_id)
            return rank(index, Query(query, k, self._clock(), self._embed_query), self._strategy, self._policy)

    def _index(self, agent_id: str) -> AgentIndex:
        index = self._indexes.get(agent_id)
        if index is None or index.mostly_gone:  # a new one, so that rankings of the old one stay readable
            index = self._indexes[agent_id] = AgentIndex(self._journal, agent_id)
        index.refresh()
        return index

    def recall_as_of(self, agent_id: str, query: str, as_of: Instant, k: int = DEFAULT_K) -> list[Fact]:
        """The ``k`` best of the facts that were valid at an instant: stored by then and not retired until then.

        Intervals are half-open: a fact is valid from its creation up to, but not including, its retirement. Facts that
        were pruned or deleted since are lost to it. Ranks as the strategy does at that instant; writes nothing.
        """
        retired_at = self._journal.retired_at(agent_id)

        def valid(columns: Columns) -> Mask:
            over = np.array([i in retired_at and retired_at[i] <= as_of for i in index.ids], dtype=bool)
            return columns.present & ~columns.alias & (columns.created <= as_of) & ~over

        with self._recalling:
            index = self._index(agent_id)
            then = replace(self._policy, eligible=valid, window=valid, rescore=as_fused, after_cut=keep_all)
            ranking = rank(index, Query(query, k, as_of, self._embed_query), self._strategy, then)
            rows = pick(ranking, then, k=k, min_relevance=0.0, distinct_texts=self._variant.distinct_texts)
            ids: list[str] = [index.ids[row] for row in map(int, rows)]
        found = {fact.id: fact for fact in self._journal.facts(agent_id, ids)}
        return [found[fact_id] for fact_id in ids if fact_id in found]

    def recall_shared(self, query: str, k: int = DEFAULT_K) -> list[Fact]:
        """Recall from the shared namespace."""
        return self.recall(SHARED, query, k)

    def recall_all(self, agent_id: str, query: str, k: int = DEFAULT_K) -> list[Fact]:
        """Recall from the agent's facts and the shared ones, merged; a text that both hold counts once, for both."""
        own, shared = self.recall(agent_id, query, k), self.recall_shared(query, k)
        places: dict[str, dict[str, int]] = {}
        for source, facts in (("own", own), ("shared", shared)):
            for place, fact in enumerate(facts, start=1):
                places.setdefault(fact.text, {}).setdefault(source, place)
        first = {fact.text: fact for fact in reversed([*own, *shared])}
        texts = list(places)
        if self._variant.recall_all == "fuse":
            texts.sort(key=lambda text: _merged(text, places[text]))
        return [first[text] for text in texts[:k]]

    def _recalled(self, agent_id: str, query: str, k: int, min_relevance: float) -> tuple[Ranking, list[int], Instant]:
        ranking = self.rank(agent_id, query, k)
        rows = pick(
            ranking, self._policy, k=k, min_relevance=min_relevance, distinct_texts=self._variant.distinct_texts
        )
        return ranking, rows.tolist(), self._clock()

    def _returned(self, agent_id: str, ids: list[str], now: Instant) -> list[Fact]:
        """The facts as they were before this access, in order; the access is written best-effort."""
        found = {fact.id: fact for fact in self._journal.facts(agent_id, ids)}
        if ids and not self._journal.read_only:
            self._accesses += [(agent_id, fact_id, now) for fact_id in ids]
            self._write_accesses()
        return [found[fact_id] for fact_id in ids if fact_id in found]

    def _write_accesses(self) -> None:
        """Never waits: while another process writes, accesses stay pending until the next recall or close."""
        try:
            with self._journal.without_waiting():
                self._journal.touch(self._accesses)
        except (StoreBusy, OSError):
            return
        self._accesses.clear()

    def _embed_query(self, text: str) -> Floats | None:
        embedding, _ = self._embed(text)
        return None if embedding is None else np.array(embedding, dtype=np.float64)

    def get(self, agent_id: str, fact_id: str) -> Fact:
        """One fact, retired or not. Raises FactNotFound."""
        for fact in self._journal.facts(agent_id, [fact_id]):
            return fact
        raise FactNotFound(f"{agent_id} has no fact {fact_id}")

    def list_facts(self, agent_id: str | None = None, *, state: State = "all") -> list[Fact]:
        """Facts of one agent or of all, newest first, equal instants by ID, retired ones too."""
        if state not in ("all", "live", "retired"):
            raise ValueError(f"state is {state!r}, expected all, live or retired")
        facts = self._journal.facts(agent_id)
        return facts if state == "all" else [fact for fact in facts if fact.live == (state == "live")]

    def agents(self) -> list[str]:
        """The agents that have facts."""
        return self._journal.agents()

    def stats(self, agent_id: str | None = None) -> Stats:
        """Counts of one agent or of all: facts, live, tombstones and their share, by age."""
        return statistics(self._journal, agent_id, self._clock())

    def replaced_by(self, agent_id: str, fact_id: str) -> list[str]:
        """The IDs of all facts that this one replaced, directly or through others, nearest first."""
        return self._journal.predecessors(agent_id, fact_id)

    def audit_trail(self, fact_id: str, agent_id: str | None = None) -> list[Event]:
        """The whole life of a fact, oldest event first, also after it was pruned. Raises FactNotFound."""
        trail = self._journal.life(fact_id, agent_id)
        if not trail:
            raise FactNotFound(f"no fact {fact_id} was ever stored")
        return trail

    def holds_bytes(self, text: str) -> bool:
        """Whether the text lies anywhere in the database file: tombstones and events keep what was forgotten."""
        return self._journal.holds_bytes(text.encode())

    def events(self, agent_id: str | None = None) -> list[Event]:
        """The whole audit trail of one agent or of all, oldest first."""
        return self._journal.events(agent_id)

    # Correcting

    def reflect(self, action: Action, agent_id: str, *, text: str = "", target: str = "") -> Reflection:
        """The agent's one way to correct its memory. Targets match whole texts exactly, within the agent's own facts.

        ``add`` needs text; ``update`` text and target; ``forget``, ``pin``, ``unpin`` target or text. Raises ValueError
        for missing arguments, FactNotFound when nothing matches; nothing is written then.
        """
        self._check_writable()
        _check_agent(agent_id)
        if action not in ("add", "update", "forget", "pin", "unpin"):
            raise ValueError(f"unknown action {action!r}: expected add, update, forget, pin or unpin")
        if action in ("add", "update") and not text:
            raise ValueError(f"{action} needs a text")
        if action == "update" and not target:
            raise ValueError("update needs a target, the exact text of the fact to replace")
        cause = f"reflect:{action}"
        if action == "add":
            return Reflection(action, agent_id, self._put(agent_id, text, cause), ())
        wanted = well_formed(target or text)
        if not wanted:
            raise ValueError(f"{action} needs a target, the exact text of the fact")
        # One transaction: if the replacement can't be written, the original is untouched and live.
        with self._journal.transaction():
            matches = self._journal.facts(agent_id, self._journal.with_text(agent_id, wanted))
            # Retired copies keep their receipts; only unpin reaches them, so that they can be let go (SPEC 4).
            matches = [fact for fact in matches if fact.live or action == "unpin"]
            if not matches:
                raise FactNotFound(f"target fact not found: no live fact of {agent_id} has exactly the text {wanted!r}")
            added = None
            if action == "update":
                added = self._put(agent_id, text, cause, kind=matches[0].kind)
            if action in ("pin", "unpin"):
                self._pin(agent_id, matches, pinned=action == "pin", cause=cause)
            else:
                self._policy.retire(self._journal, matches, added.id if added else FORGOTTEN, self._clock(), cause)
        return Reflection(action, agent_id, added, tuple(matches))

    def revise(self, agent_id: str, fact_ids: Sequence[str], text: str) -> Fact:
        """Replace live facts, by ID, with a new text. Raises FactNotFound, ValueError for a retired one."""
        if not text:
            raise ValueError("revise needs a text")
        with self._journal.transaction():
            victims = self._live(agent_id, fact_ids)
            added = self._put(agent_id, text, "revise", kind=victims[0].kind)
            self._policy.retire(self._journal, victims, added.id, self._clock(), "revise")
        return added

    def retire(self, agent_id: str, fact_ids: Sequence[str]) -> None:
        """Retire live facts, given by ID, without a replacement. Raises as ``revise`` does."""
        with self._journal.transaction():
            victims = self._live(agent_id, fact_ids)
            self._policy.retire(self._journal, victims, FORGOTTEN, self._clock(), "retire")

    def _live(self, agent_id: str, fact_ids: Sequence[str]) -> list[Fact]:
        facts = [self.get(agent_id, fact_id) for fact_id in fact_ids]
        if not facts:
            raise ValueError("which facts? give at least one ID")
        for fact in facts:
            if not fact.live:
                raise ValueError(f"{agent_id}: fact {fact.id} is retired already")
        return facts

    def _pin(self, agent_id: str, facts: Sequence[Fact], *, pinned: bool, cause: str) -> None:
        now = self._clock()
        ids = [fact.id for fact in facts]
        self._journal.set_pinned(agent_id, ids, pinned, now if pinned else ZERO_TIME)
        self._journal.record(now, agent_id, "pin" if pinned else "unpin", cause, {fact_id: {} for fact_id in ids})

    def _check_writable(self) -> None:
        if self._journal.read_only:
            raise ReadOnlyStore(f"{self._journal.path}: the store is read-only")

    # Maintenance

    def maybe_consolidate(self, agent_id: str) -> Cycle:
        """Consolidate when the agent has at least the threshold of facts, retired and pinned ones included."""
        if len(self._journal.columns(agent_id, "id")) < self._threshold:
            return Cycle(agent_id, ran=False)
        return self.consolidate(agent_id)

    def consolidate(self, agent_id: str) -> Cycle:
        """Decay, then summarize and detect if configured, then prune. Faults of a model are reported, never fatal."""
        self._check_writable()
        now = self._clock()
        cycle = Cycle(agent_id)
        with self._journal.transaction():
            cycle.decayed = lifecycle.decay(self._journal, agent_id, now, self._half_life)
        for step in (self._summarize, self._detect):
            try:
                step(cycle, now)
            except Exception as error:  # noqa: BLE001 - whatever a model's client raises, the cycle completes
                cycle.faults.append(f"{step.__name__[1:]}: {type(error).__name__}: {error}")
                self._journal.record(now, agent_id, "fault", "consolidate", {None: {"fault": cycle.faults[-1]}})
        with self._journal.transaction():
            cycle.pruned = lifecycle.prune(self._journal, agent_id, now)
        return cycle

    def _summarize(self, cycle: Cycle, now: Instant) -> None:
        if self._summarizer and len(self._journal.columns(cycle.agent_id, "id")) > self._threshold:
            cycle.summarized = lifecycle.summarize(
                self._journal,
                cycle.agent_id,
                now,
                summarizer=self._summarizer,
                put=lambda text, cause: self._put(cycle.agent_id, text, cause),
                retire=self._policy.retire,
                show_retired=self._variant.summarize_retired,
            )

    def _detect(self, cycle: Cycle, now: Instant) -> None:
        # ADR-007: no detection without a consolidation LLM, whatever is switched on.
        if self._detector and self._summarizer:
            cycle.contradicted = lifecycle.detect(
                self._journal, cycle.agent_id, now, detector=self._detector, retire=self._policy.retire
            )

    def _named_policy(self, policy: str | Policy) -> Policy:
        return plugins.make("tombstore.policies", policy) if isinstance(policy, str) else policy

    def _named_strategy(self, strategy: str | Strategy) -> Strategy:
        if strategy == "hybrid":
            return self._variant.hybrid(self._half_life)
        return plugins.make("tombstore.strategies", strategy) if isinstance(strategy, str) else strategy


def _no_predecessors(_agent_id: str, _fact_id: str) -> list[str]:
    return []


def _check_agent(agent_id: str) -> None:
    size = len(agent_id.encode("utf-8", "surrogatepass"))
    if not 0 < size <= MAX_AGENT_BYTES:
        raise ValueError(f"an agent ID has 1 to {MAX_AGENT_BYTES} bytes, this one has {size}")


def _grouped(facts: Iterable[Fact]) -> dict[str, dict[str, Fact]]:
    groups: dict[str, dict[str, Fact]] = {}
    for fact in facts:
        if "\0" in fact.id:  # SQLite's JSON, in which IDs are looked up, ends a text there
            raise ValueError(f"{fact.agent_id}: a fact's ID can't contain a NUL character: {fact.id!r}")
        if groups.setdefault(fact.agent_id, {}).setdefault(fact.id, fact) is not fact:
            raise ValueError(f"{fact.agent_id}: two imported facts have the ID {fact.id}")
    return groups


def _merged(text: str, places: Mapping[str, int]) -> tuple[float, float, float, str]:
    """Sort key of RecallAll since 0.15: rank fusion of both lists, ties by own rank, then shared rank, then text."""
    own, shared = places.get("own", 0), places.get("shared", 0)
    score = sum(1 / (RRF_K + place) for place in (own, shared) if place)
    return -score, own or np.inf, shared or np.inf, text
