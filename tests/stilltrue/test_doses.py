"""Dose-response: every dose is what it promises, its curves are the hand-computed ones, and a run keeps them apart.

At the end, what the doses rest on: bulk loading, embedding in two processes, and the control that retires too much.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tombstore
from stilltrue import baseline, gates, plugins
from stilltrue.cache import Cache
from stilltrue.doses import Dose, Level, Material, store_per_probe
from stilltrue.evaluation import Options, evaluate
from stilltrue.plugins import DOSES, UnknownPlugin
from stilltrue.records import Background, DoseWorld, Family, Question, Recalled, Scenario
from stilltrue.report import tables
from stilltrue.report.json import document
from stilltrue.results import Results, Row, Verdict
from stilltrue.run import scenario_answers
from stilltrue.scenarios import Suite, load_suite
from stilltrue.studies import doses, retrieval
from stilltrue.studies.retrieval import Contestant
from stilltrue.systems import eager
from stilltrue.systems import tombstore as reference
from stilltrue.systems.tombstore import POLICIES, TombstoreSystem
from stilltrue.truth import problems_of, questions, timeline
from tombstore.tokens import tokenize

NAMES = plugins.names(DOSES)
NEEDING_AN_EMBEDDER = {"similarity", "window"}
STALE_VARIES = {"dead_share", "similarity", "stale_siblings"}

Curve = dict[float | None, float | None]


def closeness(seed: int = 0) -> Callable[[str, str], float]:
    """A stand-in for a cosine: from 0 to 0.999, by chance but always the same."""

    def similarity(one: str, other: str) -> float:
        return int(hashlib.sha256(f"{seed} {one} {other}".encode()).hexdigest(), 16) % 1000 / 1000

    return similarity


@pytest.fixture(scope="module")
def shipped() -> doses.Source:
    """The world that comes along."""
    return doses.source()


@pytest.fixture(scope="module")
def material(shipped: doses.Source) -> Material:
    """It, with a stand-in for the embedder."""
    return Material(world=shipped.world, backgrounds=shipped.backgrounds, k=5, similarity=closeness())


def made(name: str, material: Material) -> Dose:
    dose = plugins.make(DOSES, name, material=material)
    assert isinstance(dose, Dose)
    return dose


@pytest.fixture(scope="module")
def by_name(material: Material) -> dict[str, Dose]:
    """Every dose of the shipped world."""
    return {name: made(name, material) for name in NAMES}


def told_in(scenario: Scenario) -> dict[str, tuple[str, datetime]]:
    """The facts that its steps tell: text and instant by ID."""
    steps = ((at, step.remember or step.update) for at, step in timeline(scenario))
    return {told.id: (told.text, at) for at, told in steps if told}


def asked_in(level: Level) -> Iterator[tuple[dict[str, str], Question]]:
    """Each question, with the texts of all facts that its scenario tells."""
    for scenario in level.family.scenarios:
        texts = {fact: text for fact, (text, _) in told_in(scenario).items()}
        yield from ((texts, question) for question in questions(level.family, scenario))


# Every dose


@pytest.mark.parametrize("name", NAMES)
def test_a_dose_is_named_as_its_file_and_its_levels_ascend(name: str, by_name: dict[str, Dose]) -> None:
    dose = by_name[name]
    assert dose.name == name
    assert dose.axis.strip()
    assert len(dose.levels) >= 4
    assert all(lower.at < higher.at for lower, higher in pairwise(dose.levels))


@pytest.mark.parametrize("name", NAMES)
def test_every_level_is_a_family_that_a_suite_could_hold(
    name: str, by_name: dict[str, Dose], material: Material
) -> None:
    for level in by_name[name].levels:
        assert level.family.family == name
        assert level.family.corrections == "explicit"
        ids = [scenario.id for scenario in level.family.scenarios]
        assert len(ids) == len(set(ids))
        for scenario in level.family.scenarios:
            background = material.backgrounds[scenario.background] if scenario.background else None
            assert list(problems_of(scenario, background, implied=False)) == []


@pytest.mark.parametrize("name", NAMES)
def test_at_every_level_every_query_asks_for_what_is_true_now_and_all_that_is_outdated_is_forbidden(
    name: str, by_name: dict[str, Dose], material: Material
) -> None:
    probe_of = {query: probe for probe in material.world.probes for query in probe.queries}
    stale = {text for probe in material.world.probes for text in probe.stale}
    for level in by_name[name].levels:
        asked = list(asked_in(level))
        assert sorted(question.query for _, question in asked) == sorted(probe_of)
        for texts, question in asked:
            probe = probe_of[question.query]
            assert [texts[fact] for fact in question.gold] == [probe.current]
            assert question.forbidden == {fact for fact, text in texts.items() if text in probe.stale}
            assert question.retired == {fact for fact, text in texts.items() if text in stale}
            assert question.as_of is None


@pytest.mark.parametrize("name", sorted(set(NAMES) - STALE_VARIES))
def test_a_dose_of_something_else_leaves_the_outdated_statements_as_they_are(
    name: str, by_name: dict[str, Dose]
) -> None:
    found = {
        frozenset(texts[fact] for texts, question in asked_in(level) for fact in question.forbidden)
        for level in by_name[name].levels
    }
    assert [len(texts) for texts in found] == [16 * (16 if name == "window" else 8)]


@pytest.mark.parametrize("name", ["cutoff", "window"])
def test_a_dose_of_a_setting_asks_the_same_family_at_every_level(name: str, by_name: dict[str, Dose]) -> None:
    first, *others = by_name[name].levels
    assert [level.family for level in others] == [first.family] * len(others)


@pytest.mark.parametrize("name", NAMES)
def test_only_the_dose_of_a_setting_touches_it(name: str, by_name: dict[str, Dose]) -> None:
    levels = by_name[name].levels
    assert [level.k for level in levels] == [level.at if name == "cutoff" else None for level in levels]
    assert [level.window_per_k for level in levels] == [level.at if name == "window" else None for level in levels]


# The promised dose is the real one


def test_as_many_outdated_statements_are_told_as_promised(by_name: dict[str, Dose]) -> None:
    levels = by_name["stale_siblings"].levels
    assert [level.at for level in levels] == [0, 1, 2, 4, 8, 16, 32]
    for level in levels:
        assert {len(question.forbidden) for _, question in asked_in(level)} == {level.at}
        assert {len(question.retired) for _, question in asked_in(level)} == {level.at}


def until_the_first_question(scenario: Scenario) -> Scenario:
    first = next(number for number, step in enumerate(scenario.steps, start=1) if step.ask)
    return scenario.model_copy(update={"steps": scenario.steps[:first]})


def test_the_store_holds_as_large_a_share_of_dead_facts_as_promised(by_name: dict[str, Dose]) -> None:
    levels = by_name["dead_share"].levels
    assert [round(level.at) for level in levels] == [0, 10, 20, 30, 50, 70, 80, 90]
    for level in levels:
        (scenario,) = map(until_the_first_question, level.family.scenarios)
        open_store = lambda _: reference.make(strategy="keyword")  # noqa: E731
        (answer,) = scenario_answers(level.family, scenario, None, open_store, k=5)
        assert answer.holdings is not None
        dead, live = len(answer.holdings.retired), len(answer.holdings.live)
        assert live == 16 + 40
        assert round(100 * dead / (dead + live), 1) == level.at


@given(stale=st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_where_outdated_statements_run_out_the_dose_is_what_there_is(stale: list[int]) -> None:
    world = tiny_world(stale)
    for level in made("dead_share", tiny(world)).levels:
        *_, (texts, question) = asked_in(level)
        assert level.at == round(100 * len(question.retired) / len(texts), 1)
        assert len(texts) - len(question.retired) == len(stale) + 6


def test_the_current_fact_is_as_much_younger_as_promised_and_nothing_else_moves(by_name: dict[str, Dose]) -> None:
    levels = by_name["age_gap"].levels
    assert (levels[0].at, levels[-1].at) == (round(1 / 24, 3), 2 * 365)
    for level in levels:
        for scenario in level.family.scenarios:
            told = told_in(scenario)
            times = [told[f"{scenario.id}-{number}"][1] for number in range(1, 9)]
            asked = {question.at for question in questions(level.family, scenario)}
            current = told[scenario.id][1]
            assert round((current - times[-1]) / timedelta(days=1), 3) == level.at
            assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(days=1)}
            assert (current, asked) == (datetime(2026, 1, 5, 9, tzinfo=UTC), {current + timedelta(hours=1)})
            assert len(told) == 9 + 50


class Listener:
    """A system that counts what it is told and writes down how it is asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked: list[int] = []

    def remember(self, *, text: str, at: datetime) -> None:
        assert at.tzinfo is UTC
        self.texts.append(text)

    def load(self, facts: Sequence[tuple[str, datetime]]) -> list[None]:
        self.texts += (text for text, _ in facts)
        return [None] * len(facts)

    def update(self, *, target: str, text: str, at: datetime) -> None:
        self.texts.remove(target)
        self.remember(text=text, at=at)

    def recall(self, *, query: str, k: int, at: datetime) -> list[Recalled]:
        assert query
        assert at.tzinfo is UTC
        self.asked.append(k)
        return []

    def close(self) -> None:
        pass


def listening(opened: list[Listener]) -> Callable[[Scenario], Listener]:
    def open_system(_scenario: Scenario) -> Listener:
        opened.append(Listener())
        return opened[-1]

    return open_system


@pytest.mark.parametrize("kind", ["related", "unrelated"])
def test_the_probes_compete_with_as_many_live_facts_as_promised(
    kind: str, by_name: dict[str, Dose], material: Material
) -> None:
    levels = by_name[f"background_{kind}"].levels
    assert [level.at for level in levels] == [0, 50, 500, 5000]
    probes = {probe.current for probe in material.world.probes}
    for level in levels:
        (scenario,) = level.family.scenarios
        assert (scenario.background or "none").removeprefix("fernhill_").startswith((kind, "none"))
        background = material.backgrounds[scenario.background] if scenario.background else None
        opened: list[Listener] = []
        scenario_answers(level.family, scenario, background, listening(opened), k=1)
        for heard in opened:  # told everything, and without what is retired
            assert len(set(heard.texts) - probes) == len(heard.texts) - 16 == level.at


@given(stale=st.lists(st.integers(5, 12), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_similarity_takes_each_probes_statements_apart_from_the_farthest_to_the_closest(
    stale: list[int], seed: int
) -> None:
    world, similarity = tiny_world(stale), closeness(seed)
    levels = made("similarity", tiny(world, similarity=similarity)).levels
    assert len(levels) == 5
    told: dict[str, list[list[float]]] = {}
    for level in levels:
        near: list[float] = []
        for probe, scenario in zip(world.probes, level.family.scenarios, strict=True):
            texts = [text for text, _ in told_in(scenario).values() if text != probe.current and "filler" not in text]
            assert set(texts) <= set(probe.stale)
            told.setdefault(probe.id, []).append([similarity(text, probe.current) for text in texts])
            near += told[probe.id][-1]
        assert level.at == round(sum(near) / len(near), 3)
    for probe in world.probes:
        bins = told[probe.id]
        assert sorted(chain(*bins)) == sorted(similarity(text, probe.current) for text in probe.stale)
        assert all(max(farther) <= min(closer) for farther, closer in pairwise(bins))
        assert max(map(len, bins)) - min(map(len, bins)) <= 1


def test_similarity_of_the_shipped_world_has_fifths_of_32(by_name: dict[str, Dose]) -> None:
    counts = [{len(q.forbidden) for _, q in asked_in(level)} for level in by_name["similarity"].levels]
    assert counts == [{7}, {7}, {6}, {6}, {6}]


# Curves by hand: one probe's first outdated statement outranks the current fact, another's third, the last one's fifth


def tiny_world(stale: Sequence[int], outranking: Sequence[int] = ()) -> DoseWorld:
    """A probe for each number of outdated statements; of those, one says more of the query than the current fact."""
    things = ("bicycle", "barrow", "kettle", "ladder", "lantern", "mirror", "paddle", "saddle")
    places = dict(zip(things, outranking, strict=False))
    probes = [
        {
            "id": thing,
            "current": f"The {thing} stands outside.",
            "stale": [
                f"{thing} {thing}" if places.get(thing) == place else f"nobody knows {thing[:3]} {place}"
                for place in range(1, number + 1)
            ],
            "queries": [f"Which {thing}?"],
        }
        for thing, number in zip(things, stale, strict=False)
    ]
    fields = {"world": "yard", "description": "A yard", "related": "around", "unrelated": "elsewhere"}
    return DoseWorld.model_validate({**fields, "probes": probes})


def bodies() -> dict[str, Background]:
    """What stands for the shipped backgrounds, in six facts or seven."""
    names = ("around", "elsewhere", "related_500", "related_5000", "unrelated_500", "unrelated_5000")
    return {
        name: Background.model_validate(
            {
                "background": name,
                "description": "Fillers",
                "facts": [
                    {"id": f"bg-{day}", "at": f"2025-03-0{day}T00:00Z", "text": f"filler about {name} number {day}0"}
                    for day in range(1, 8 if name == "elsewhere" else 7)
                ],
            }
        )
        for name in names
    }


def tiny(world: DoseWorld, *, k: int = 1, similarity: Callable[[str, str], float] | None = None) -> Material:
    return Material(world=world, backgrounds=bodies(), k=k, similarity=similarity)


YARD = tiny_world((6, 6, 6), outranking=(1, 3, 5))
CORNER = tiny_world((5, 5), outranking=(1, 5))


def of_reference(
    policy: str, strategy: str, embedder: tombstore.Embedder | None = None
) -> Callable[[int | None], Contestant]:
    """The reference store, opened with a candidate window."""

    def open_with(window_per_k: int | None) -> Contestant:
        def open_store(_scenario: Scenario) -> TombstoreSystem:
            return reference.make(policy=policy, strategy=strategy, embedder=embedder, window_per_k=window_per_k)

        return Contestant(system="tombstore", policy=policy, strategy=strategy, open=open_store)

    return open_with


def measured(
    name: str, policy: str, strategy: str = "bm25", *, material: Material | None = None
) -> tuple[list[Row], list[dict[str, Any]]]:
    contestant = of_reference(policy, strategy)
    return doses.measure([name], material or tiny(YARD), contestant, has_window=False, seed=0)


def curve(rows: Sequence[Row], metric: str, *, study: str, policy: str | None = None) -> Curve:
    return {
        row.dose: row.value
        for row in rows
        if (row.study, row.metric) == (study, metric) and policy in (None, row.policy)
    }


RISING = {1: 1 / 3, 2: 1 / 3, 4: 2 / 3, 8: 1, 16: 1, 32: 1}
"""The share of probes that are outranked by the first so many statements."""
ZERO = dict.fromkeys(RISING, 0.0)


@pytest.mark.parametrize(
    ("policy", "leak", "displaced", "shrink"),
    [
        ("append_only", RISING, RISING, ZERO),
        ("postfilter", ZERO, RISING, RISING),
        ("tombstone", ZERO, ZERO, ZERO),
        ("delete", ZERO, ZERO, ZERO),
    ],
)
def test_with_k_1_leak_and_displacement_rise_with_each_sibling_that_outranks_the_current_fact(
    policy: str, leak: Curve, displaced: Curve, shrink: Curve
) -> None:
    rows, _ = measured("stale_siblings", policy)
    assert curve(rows, "stale_leak", study="stale_siblings") == {0: None, **leak}
    assert curve(rows, "displaced", study="stale_siblings") == {0: 0, **displaced}
    assert curve(rows, "shrink", study="stale_siblings") == pytest.approx({0: 0, **shrink})
    hits = {dose: 1 - (value or 0) for dose, value in displaced.items()}
    assert curve(rows, "live_hit", study="stale_siblings") == pytest.approx({0: 1, **hits})


def test_an_outranking_sibling_takes_one_slot_so_k_2_makes_room_for_the_current_fact() -> None:
    rows, _ = measured("cutoff", "append_only")
    ones = dict.fromkeys((2, 3, 5, 10, 20, 50), 1.0)
    assert curve(rows, "stale_leak", study="cutoff") == {1: 1, **ones}
    assert curve(rows, "displaced", study="cutoff") == {1: 1, **dict.fromkeys(ones, 0.0)}
    assert {(row.dose, row.k) for row in rows} == {(k, k) for k in (1, *ones)}


@pytest.mark.parametrize(("name", "strategy"), [("stale_siblings", "keyword"), ("dead_share", "bm25")])
def test_where_nothing_is_retired_every_policy_returns_the_same_and_displaces_nothing(name: str, strategy: str) -> None:
    returned: set[tuple[tuple[str, ...], ...]] = set()
    for policy in POLICIES:
        rows, records = measured(name, policy, strategy, material=tiny(tiny_world((2,)), k=3))
        none = [row for row in rows if row.dose == 0]
        assert [(row.metric, row.value) for row in none if row.metric != "live_hit"] == [
            ("stale_leak", None),
            ("displaced", 0),
            ("shrink", 0),
        ]
        returned.add(tuple(tuple(record["returned"]) for record in records if record["dose"] == 0))
    assert returned == {(("bicycle",),)}


@pytest.fixture(scope="module")
def excerpt(shipped: doses.Source) -> Material:
    """One probe of the shipped world, among all but its largest backgrounds."""
    probes = shipped.world.probes[:1]
    smaller = {name: name.replace("_5000", "_500") for name in shipped.backgrounds}
    return Material(
        world=shipped.world.model_copy(update={"probes": probes}),
        backgrounds={name: shipped.backgrounds[body] for name, body in smaller.items()},
        k=5,
        similarity=closeness(),
    )


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"window"}))
def test_the_reference_neither_leaks_nor_displaces_at_any_level_where_ignoring_corrections_does(
    name: str, excerpt: Material
) -> None:
    rows, records = measured(name, "tombstone", material=excerpt)
    assert {row.value for row in rows if row.metric in ("displaced", "shrink")} == {0}
    assert {row.value for row in rows if row.metric == "stale_leak"} - {None} == {0}
    assert [record["returned"] for record in records] == [record["counterfactual"] for record in records]
    leaking, _ = measured(name, "append_only", material=excerpt)
    leak = [row.value for row in leaking if row.metric == "stale_leak" and row.n]
    assert min(leak) > 0
    assert len(leak) >= 4


# What is measured


def test_a_system_is_asked_with_the_doses_k_and_otherwise_with_the_runs() -> None:
    asked: dict[str, list[int]] = {}
    for name in ("cutoff", "dead_share"):
        opened: list[Listener] = []
        contestant = Contestant(system="listener", open=listening(opened))
        doses.measure([name], tiny(YARD, k=4), lambda _, one=contestant: one, has_window=False, seed=0)
        asked[name] = list(dict.fromkeys(k for system in opened for k in system.asked))
    assert asked == {"cutoff": [1, 2, 3, 5, 10, 20, 50], "dead_share": [4]}


def test_a_contestant_is_opened_with_the_doses_window_and_otherwise_with_its_own() -> None:
    windows: list[int | None] = []

    def open_with(window_per_k: int | None) -> Contestant:
        windows.append(window_per_k)
        return Contestant(system="listener", open=listening([]))

    doses.measure(["window", "cutoff"], tiny(YARD, similarity=closeness()), open_with, has_window=True, seed=0)
    assert windows == [1, 2, 3, 4, 8, 16] + 7 * [None]


class Nearness:
    """An embedder by hand: outdated statements are nearer to the query than the current fact, fillers are far away."""

    name = "nearness"

    def __call__(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        angles = [self._angle(text) for text in texts]
        return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)

    def _angle(self, text: str) -> float:
        if text.endswith("?"):
            return 0.0
        if text.startswith("nobody"):
            return 0.1 + len(text) / 1000
        return 0.5 if "stands" in text else 1.0


@pytest.mark.parametrize(
    ("policy", "displaced"), [("tombstone_window", [1, 1, 0, 0, 0, 0]), ("tombstone", [0, 0, 0, 0, 0, 0])]
)
def test_the_current_fact_is_displaced_until_the_window_reaches_past_the_dead(
    policy: str, displaced: list[float]
) -> None:
    # 5 outdated statements are nearer: with k = 2 they fill a window of 2 and of 4 facts, and not one of 6.
    found = tiny(tiny_world((5, 5)), k=2, similarity=closeness())
    contestant = of_reference(policy, "vector", Nearness())
    rows, _ = doses.measure(["window"], found, contestant, has_window=True, seed=0)
    assert list(curve(rows, "displaced", study="window").values()) == displaced


@pytest.mark.parametrize("strategy", ["vector", "hybrid"])
def test_a_window_of_twice_k_is_the_usual_one(strategy: str) -> None:
    found = tiny(tiny_world((12, 12)), k=2, similarity=closeness())
    dose = made("cutoff", found)
    (usual, twice, thrice) = (
        [
            [(hit.fact, hit.score) for hit in answer.returned]
            for scenario in dose.levels[0].family.scenarios
            for answer in scenario_answers(
                dose.levels[0].family,
                scenario,
                found.backgrounds["around"],
                of_reference("tombstone_window", strategy, Nearness())(window_per_k).open,
                k=2,
            )
        ]
        for window_per_k in (None, 2, 6)
    )
    assert usual == twice != thrice


@pytest.mark.parametrize(
    ("similarity", "has_window", "left_out"),
    [(None, True, NEEDING_AN_EMBEDDER), (closeness(), False, {"window"}), (closeness(), True, set[str]())],
)
def test_doses_that_mean_nothing_to_a_contestant_are_left_out(
    similarity: Callable[[str, str], float] | None, has_window: bool, left_out: set[str]
) -> None:
    contestant = Contestant(system="listener", open=listening([]))
    found = tiny(YARD, similarity=similarity)
    rows, records = doses.measure(NAMES, found, lambda _: contestant, has_window=has_window, seed=0)
    assert {row.study for row in rows} == {record["study"] for record in records} == set(NAMES) - left_out


def test_every_row_and_record_carries_study_and_dose_and_the_probe_stands_for_the_scenario() -> None:
    rows, records = measured("dead_share", "append_only")
    at = [level.at for level in made("dead_share", tiny(YARD)).levels]
    metrics = ["stale_leak", "displaced", "shrink", "live_hit"]
    assert [(row.study, row.dose, row.metric) for row in rows] == [("dead_share", d, m) for d in at for m in metrics]
    assert [(record["study"], record["dose"], record["scenario"]) for record in records] == [
        ("dead_share", dose, probe.id) for dose in at for probe in YARD.probes
    ]
    assert {"query", "gold", "returned", "counterfactual", *metrics} <= records[0].keys()
    assert records[0].keys().isdisjoint({"returned_texts", "returned_scores", "forbidden", "retired"})


def test_intervals_of_means_are_over_probes_also_where_all_share_a_store() -> None:
    rows, _ = measured("dead_share", "postfilter", material=tiny(tiny_world((6,) * 8, outranking=(1, 1, 1, 1))))
    *_, shrink = [row for row in rows if row.metric == "shrink"]
    assert shrink.value == 1 / 2
    assert shrink.low is not None
    assert 0 <= shrink.low < 1 / 2 < (shrink.high or 0) <= 1


# In a run


class Words:
    """A made-up embedder: a text's vector is the sum of its words'."""

    def __init__(self, name: str = "words", dtype: str = "float32") -> None:
        self.name, self._dtype = name, dtype

    def __call__(self, texts: Sequence[str]) -> Any:
        return np.array([self._vector(text) for text in texts], dtype=self._dtype)

    def _vector(self, text: str) -> Any:
        digests = [hashlib.sha256(f"{self.name} {word}".encode()).digest() for word in [*tokenize(text), "."]]
        return np.sum([np.frombuffer(digest[:8], dtype=np.int8) / 128 for digest in digests], axis=0)


class Counting(Cache):
    """A cache that counts what was computed."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__(folder)
        self.kept: list[str] = []

    def keep(self, key: str, outcome: Any) -> None:
        self.kept.append(key)
        super().keep(key, outcome)


SOME: dict[str, Any] = {
    "policies": ["tombstone", "append_only"],
    "strategies": ["bm25", "vector"],
    "doses": ["similarity", "window"],
    "k": 1,
}
PARTS = 2 * 2 + 3 + 2 * 2
"""Policies times strategies on the suite, the ruler's own systems, and policies times strategies on the doses."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, billing: str) -> Callable[..., Results]:
    """``run(doses=[...], cache=..., jobs=..., world=...)``: a whole run over one scenario and a tiny world."""
    folder = tmp_path_factory.mktemp("billing")
    (folder / "billing.yaml").write_text(billing)
    loaded = load_suite(folder)

    def run(
        *,
        world: DoseWorld = CORNER,
        cache: Cache | None = None,
        jobs: int = 1,
        advance: Callable[[], None] = lambda: None,
        **options: Any,
    ) -> Results:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(doses, "source", lambda: doses.Source(world, bodies(), {"doses/yard.yaml": "0"}))
            patch.setattr(tombstore, "embedder", lambda name: Words(name or "words"))
            chosen = Options(**{**SOME, **options})
            return evaluate(loaded, chosen, started=lambda _: None, advance=advance, jobs=jobs, cache=cache)

    return run


@pytest.fixture(scope="module")
def usual(run: Callable[..., Results]) -> Results:
    """The run as it is: alone, in one process, without a cache."""
    return run()


def test_a_run_has_the_curves_of_the_policies_that_are_asked_for(run: Callable[..., Results]) -> None:
    three = ["tombstone", "append_only", "delete"]
    found = run(doses=["stale_siblings"], strategies=["bm25"], policies=three, world=YARD)
    assert {row.policy for row in found.rows if row.study == "stale_siblings"} == {"tombstone", "append_only"}
    leak = curve(found.rows, "stale_leak", study="stale_siblings", policy="append_only")
    assert leak == {0: None, **RISING}
    only = run(doses=["stale_siblings"], strategies=["bm25"], policies=three, dose_policies=["delete"])
    assert {row.policy for row in only.rows if row.study == "stale_siblings"} == {"delete"}


def test_only_strategies_that_rank_by_vectors_have_a_window_and_without_one_nothing_needs_an_embedder(
    run: Callable[..., Results], usual: Results
) -> None:
    both = {(row.strategy, row.study) for row in usual.rows if row.system == "tombstore"}
    assert both == {
        ("bm25", "retrieval"), ("bm25", "similarity"),
        ("vector", "retrieval"), ("vector", "similarity"), ("vector", "window"),
    }  # fmt: skip
    alone = run(strategies=["bm25"], doses=["similarity", "window", "cutoff"])
    assert {row.study for row in alone.rows} == {"retrieval", "cutoff"}


def test_doses_change_nothing_about_verdicts_tables_and_the_lock(run: Callable[..., Results], usual: Results) -> None:
    without, found = run(doses=[]), usual
    assert found.verdicts == without.verdicts
    assert {row.system for row in found.rows} == {"tombstore", "oracle", "null", "eager"}
    assert "pass" in {one.verdict for one in found.verdicts}
    assert (
        tables.grid_rows(found)
        == tables.grid_rows(without)
        == [row for row in found.rows if row.dose is None and (row.system, row.family) == ("tombstore", "*")]
    )
    assert tables.families(found) == ["billing"]
    assert tables.contestants(found) == tables.contestants(without)
    locked, expected = baseline.document(found), baseline.document(without)
    assert (locked["cases"], locked["outcomes"]) == (expected["cases"], expected["outcomes"])
    assert tables.dose_rows(without) == []
    assert {row.dose is None for row in tables.dose_rows(found)} == {False}
    assert [row for row in found.rows if row not in tables.dose_rows(found)] == without.rows


def test_a_curve_that_leaks_is_no_verdict_on_the_suite(run: Callable[..., Results]) -> None:
    found = run(doses=["stale_siblings"], strategies=["bm25"], policies=["tombstone"])
    worst = [replace(row, value=1.0, family="*") for row in tables.dose_rows(found) if row.policy == "tombstone"]
    suite = [row for row in found.rows if row.dose is None]
    families = [Family.model_validate({"family": "billing", "question": "?", "scenarios": [SCENARIO]})]
    assert len(worst) == 7 * 4
    assert gates.verdicts([*worst, *suite], families) == gates.verdicts(suite, families) != []
    assert Results({}, rows=worst).value("stale_leak", policy="tombstone", strategy="bm25") is None


SCENARIO = {"id": "one", "domain": "test", "steps": [{"at": "2026-01-05T09:00Z", "ask": {"query": "?"}}]}


def everything(found: Results) -> dict[str, Any]:
    return {**document(found), "queries": found.queries}


def test_a_run_is_the_same_in_two_processes_and_from_the_cache(
    run: Callable[..., Results], usual: Results, tmp_path: Path
) -> None:
    cache = Counting(tmp_path / "cache")
    assert everything(run(jobs=2, cache=cache)) == everything(usual)
    assert len(set(cache.kept)) == len(cache.kept) == PARTS
    again = Counting(tmp_path / "cache")
    assert everything(run(cache=again)) == everything(usual)
    assert again.kept == []


def test_an_interrupted_run_goes_on_where_it_stopped(
    run: Callable[..., Results], usual: Results, tmp_path: Path
) -> None:
    interrupted, resumed = Counting(tmp_path / "cache"), Counting(tmp_path / "cache")

    def impatient() -> None:
        if len(interrupted.kept) == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cache=interrupted, advance=impatient)
    told: list[None] = []
    found = run(cache=resumed, advance=lambda: told.append(None))
    assert (len(interrupted.kept), len(resumed.kept), len(told)) == (7, PARTS - 7, PARTS)
    assert set(interrupted.kept).isdisjoint(resumed.kept)
    assert everything(found) == everything(usual)


@pytest.mark.parametrize(
    "other", [{"strategies": ["bm25"]}, {"embedder": "other words"}, {"doses": ["window"]}, {"k": 2}]
)
def test_what_another_run_left_in_the_cache_changes_nothing(
    run: Callable[..., Results], usual: Results, tmp_path: Path, other: dict[str, Any]
) -> None:
    cache = Cache(tmp_path / "cache")
    expected = [row for row in usual.rows if row.policy in ("append_only", "-")]
    assert run(cache=cache, policies=["append_only"], **other).rows != expected
    assert run(cache=cache, policies=["append_only"]).rows == expected


# A dose from outside


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``outside(0, 3)``: the dose ``outside_doses:make`` has these numbers of outdated statements as levels."""
    module = ModuleType("outside_doses")
    monkeypatch.setitem(sys.modules, "outside_doses", module)

    def define(*numbers: int) -> None:
        def make(material: Material) -> Dose:
            levels = [
                Level(at=n, family=store_per_probe("any_name", material, lambda probe, n=n: probe.stale[:n]))
                for n in numbers
            ]
            return Dose(name="by_thirds", axis="outdated statements", levels=tuple(levels))

        module.__dict__["make"] = make

    return define


def test_a_dose_may_come_from_outside(run: Callable[..., Results], outside: Callable[..., None]) -> None:
    outside(3, 6)
    found = run(doses=["outside_doses:make"], strategies=["bm25"], world=YARD)
    leak = curve(found.rows, "stale_leak", study="by_thirds", policy="append_only")
    assert leak == {3: 2 / 3, 6: 1}  # the first and the third statement outrank; then the fifth
    assert {record["dose"] for record in found.queries if record["study"] == "by_thirds"} == {3, 6}


def test_a_dose_from_outside_is_measured_anew_since_no_key_knows_its_code(
    run: Callable[..., Results], outside: Callable[..., None], tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache")
    for numbers in ((3, 6), (1, 2)):
        outside(*numbers)
        found = run(doses=["outside_doses:make"], strategies=["bm25"], cache=cache)
        assert {row.dose for row in found.rows if row.study == "by_thirds"} == set(numbers)


def test_an_unknown_dose_fails_before_anything_runs_with_a_suggestion(run: Callable[..., Results]) -> None:
    def never() -> None:
        raise AssertionError

    with pytest.raises(UnknownPlugin, match=r"unknown dose 'cutof' \(did you mean 'cutoff'\?\); known: age_gap, "):
        run(doses=["cutof"], advance=never)


# The world that comes along


def test_the_shipped_world_is_16_probes_of_32_outdated_statements_and_three_queries_and_says_nothing_twice(
    shipped: doses.Source,
) -> None:
    probes = shipped.world.probes
    assert len({probe.id for probe in probes}) == 16
    assert {(len(probe.stale), len(probe.queries)) for probe in probes} == {(32, 3)}
    texts = [text for probe in probes for text in (probe.current, *probe.stale, *probe.queries)]
    bodies = (shipped.backgrounds[name] for name in (shipped.world.related, shipped.world.unrelated))
    texts += [fact.text for body in bodies for fact in body.facts]
    assert len({" ".join(text.casefold().split()) for text in texts}) == len(texts) == 16 * 36 + 2 * 50


def test_the_third_query_of_a_shipped_probe_shares_no_word_with_the_current_fact(shipped: doses.Source) -> None:
    def stems(text: str) -> set[str]:
        return {token[:4] for token in tokenize(text)}

    shared = {probe.id: stems(probe.queries[2]) & stems(probe.current) for probe in shipped.world.probes}
    assert {name: words for name, words in shared.items() if words} == {}
    assert all(stems(probe.queries[0]) & stems(probe.current) for probe in shipped.world.probes)


def test_a_source_names_every_text_that_a_system_may_be_told_or_asked() -> None:
    source = doses.Source(YARD, bodies(), {})
    found = tiny(YARD, similarity=closeness())
    heard = {fact.text for body in found.backgrounds.values() for fact in body.facts}
    for level in (level for name in NAMES for level in made(name, found).levels):
        for texts, question in asked_in(level):
            heard |= {question.query, *texts.values()}
    assert source.texts() == heard


# Loading at once


Told = list[tuple[str, datetime]]
TOLD = st.lists(
    st.tuples(st.sampled_from(["red door", "green door", "red tea", "tea", "Ünlü ☕", "a\x00b"]), st.integers(0, 3)),
    max_size=6,
).map(lambda told: [(text, datetime(2026, 1, 5 + day, tzinfo=UTC)) for text, day in sorted(told, key=lambda t: t[1])])


def lived(
    told: Told, policy: str, embedder: tombstore.Embedder | None, *, at_once: bool, shared: bool
) -> tuple[Any, ...]:
    """Everything that can be seen of a store that is told facts and a correction of the first one."""
    system = reference.make(policy=policy, strategy="hybrid", embedder=embedder)
    place = system.shared if shared else system
    handles = place.load(told) if at_once else [place.remember(text=text, at=at) for text, at in told]
    now = datetime(2026, 2, 1, tzinfo=UTC)
    seen: list[Any] = [handles, system.export()]
    seen.append(system.recall(query="red door tea", k=3, at=now))
    if told:
        seen.append(place.update(target=told[0][0], text="the door is blue", at=now))
    seen.append(system.recall(query="red door tea", k=3, at=now))
    seen.append(place.recall_as_of(query="door", k=9, at=now, as_of=datetime(2026, 1, 6, tzinfo=UTC)))
    seen += [system.list_facts(), system.export()]
    system.close()
    return tuple(seen)


@given(
    told=TOLD,
    policy=st.sampled_from(["tombstone", "append_only", "delete"]),
    vectors=st.sampled_from([None, "float16", "float32", "float64"]),
    shared=st.booleans(),
)
def test_loading_facts_at_once_is_remembering_one_after_the_other(
    told: Told, policy: str, vectors: str | None, shared: bool
) -> None:
    embedder = Words(dtype=vectors) if vectors else None
    at_once, one_by_one = (lived(told, policy, embedder, at_once=how, shared=shared) for how in (True, False))
    assert at_once == one_by_one
    assert len(at_once[0]) == len(at_once[1]) == len(told)


def test_loaded_facts_have_their_own_times_and_the_clock_stands_at_the_last_of_them() -> None:
    told = [("red door", datetime(2026, 1, 5, tzinfo=UTC)), ("green door", datetime(2026, 1, 7, tzinfo=UTC))]
    system = reference.make(strategy="keyword")
    system.load(told)
    created = {fact.text: fact.created_at for fact in system.export()}
    assert created == {text: round(at.timestamp()) * 10**9 for text, at in told}
    assert {event.at for event in system.store.events("agent")} == {created["green door"]}


# Embedding in two processes


def by_letters(calls: list[int]) -> Callable[[Sequence[str]], Any]:
    """An embedder that notes how many texts it was called with: in another process, nobody here sees that."""

    class Letters:
        name = "letters"

        def __call__(self, texts: Sequence[str]) -> Any:
            calls.append(len(texts))
            return np.array([[len(text), sum(map(ord, text))] for text in texts], dtype=np.float32)

    return Letters()


@pytest.mark.parametrize(("number", "here"), [(1999, [1999]), (2001, [])])
def test_two_processes_embed_many_texts_as_one_does(number: int, here: list[int]) -> None:
    texts = [f"{'x' * (place % 7)} {place}" for place in range(number)]
    calls: list[int] = []
    shared = reference._embed(by_letters(calls), 2, texts)
    assert calls == here
    alone = reference._embed(by_letters(calls), 1, texts)
    assert calls == [*here, number]
    assert shared.dtype == alone.dtype == np.float32
    assert shared.tolist() == alone.tolist()
    assert shared.shape == (number, 2)


# The control that retires too much


GATE = "control: eager, over_retirement"


def of_gate(found: Sequence[Verdict]) -> list[tuple[str, str]]:
    return [(one.verdict, one.reason) for one in found if one.gate == GATE]


def over_retirement(suite: Suite, system: str, open_system: Callable[[Scenario], TombstoreSystem]) -> list[Row]:
    contestant = Contestant(system=system, open=open_system)
    metric = plugins.make(plugins.METRICS, "over_retirement")
    return retrieval.rows(contestant, retrieval.answered(suite, contestant, k=5), [metric], seed=0)


@pytest.fixture(scope="module")
def claiming(suite: Suite) -> Suite:
    """The families that claim to reveal over-retirement."""
    kept = tuple(family for family in suite.families if "over_retirement" in family.reveals)
    assert len(kept) >= 4
    return replace(suite, families=kept)


def test_the_hasty_control_over_retires_on_every_family_that_claims_it_and_the_reference_on_none(
    claiming: Suite,
) -> None:
    hasty = over_retirement(claiming, "eager", lambda _: eager.make())
    assert [row.family for row in hasty if (row.value or 0) > 0] == ["*", *(one.family for one in claiming.families)]
    told = over_retirement(claiming, "tombstore", lambda _: reference.make(strategy="keyword"))
    assert [row.value for row in told] == [0] * len(hasty)
    reason = f"shows over_retirement on every family that claims it ({len(claiming.families)})"
    assert of_gate(gates.verdicts([*hasty, *told], claiming.families)) == [("pass", reason)]


def test_a_control_that_is_not_hasty_fails_the_gate(claiming: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "_ALIKE", 1.1)
    calm = over_retirement(claiming, "eager", lambda _: eager.make())
    names = ", ".join(one.family for one in claiming.families)
    reason = f"over_retirement is 0 on {names}, which claims to reveal over_retirement"
    assert of_gate(gates.verdicts(calm, claiming.families)) == [("fail", reason)]


def eager_rows(**by_family: float | None) -> list[Row]:
    one = Row(
        study="retrieval", system="eager", policy="-", strategy="-", family="*", metric="over_retirement", k=5,
        value=None, low=None, high=None, n=0,
    )  # fmt: skip
    return [replace(one, family=family, value=value) for family, value in by_family.items()]


SHOWN = "shows over_retirement on every family that claims it (2)"
MISSING = "over_retirement is 0 on crowd, which claims to reveal over_retirement"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"plain": 0.1, "crowd": 0.2, "quiet": 0.0}, [("pass", SHOWN)]),
        ({"plain": 0.1, "crowd": 0.0, "quiet": 0.1}, [("fail", MISSING)]),
        ({"plain": 0.1, "crowd": None}, [("fail", MISSING)]),
        ({"plain": 0.1}, [("fail", MISSING)]),
        ({"quiet": 0.3}, []),
        ({}, []),
    ],
)
def test_the_gate_wants_over_retirement_on_each_family_that_claims_it(
    family: Callable[..., Family], values: dict[str, float | None], expected: list[tuple[str, str]]
) -> None:
    step = {"ask": {"query": "?"}}
    families = [
        family(step, name="plain", reveals=["leak", "over_retirement"]),
        family(step, name="crowd", reveals=["over_retirement"]),
        family(step, name="quiet"),
    ]
    assert of_gate(gates.verdicts(eager_rows(**values), families)) == expected


def test_the_hasty_control_forgets_what_shares_a_fifth_of_its_words_and_spares_the_rest() -> None:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    system = eager.make()
    texts = [
        "red door north",
        "red lamp west attic",  # 1 of 6 words in common with the first: fewer than a fifth
        "red lamp west",  # 1 of 5
        "blue door north",  # 2 of 4
        "tea",
    ]
    for text in texts:
        system.remember(text=text, at=at)
    system.update(target="red door north", text="red door south", at=at)
    listed = {fact.text: fact.retired for fact in system.list_facts()}
    assert listed == {
        "red door north": True,
        "red lamp west attic": False,
        "red lamp west": True,
        "blue door north": True,
        "tea": False,
        "red door south": False,  # 2 of 4, but it is the correction itself
    }
    system.forget(target="red door south", at=at)
    assert [text for text, retired in ((f.text, f.retired) for f in system.list_facts()) if not retired] == [
        "red lamp west attic",
        "tea",
    ]
