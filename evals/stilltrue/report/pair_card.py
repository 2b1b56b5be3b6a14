"""The statistics of labelled pairs and streams, as the section of CARD.md that a command writes."""

from collections import defaultdict
from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from statistics import median
from typing import Any

import numpy as np

from stilltrue.agreement import Kappa, agreement
from stilltrue.contradictions import Contradictions, StreamCounts, pair_counts, positives, stream_counts
from stilltrue.pairchecks import Neighbors
from stilltrue.pairs import RELATIONS, Pair, PairSet, counted
from stilltrue.report.markdown import escaped, table
from stilltrue.stats import Estimate

START = "<!-- statistics: stilltrue data card -->"
END = "<!-- end of statistics -->"

_FOLDS = 5
_RESAMPLES = 2000


def replaced(page: str, statistics: str) -> str:
    """The page with the statistics between its two markers. Raises ValueError when it has none."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise ValueError(f"the page has no section from {START!r} to {END!r}")
    return f"{before}{start}\n{statistics}{end}{after}"


def statistics(found: Contradictions) -> str:
    """Both parts, whichever there is."""
    lines = [*(_pairs(found.pairs) if found.pairs else ())]
    if found.streams:
        lines += _streams(found.streams.content, stream_counts(found.streams, found.proposed))
    return "\n".join(["", *lines, ""])


def _pairs(found: PairSet) -> list[str]:
    counts = pair_counts(found)
    header = found.header
    return [
        f"Version {header.version if header else 'none'}, SHA-256 of the pairs `{counts.sha256}`.",
        "",
        *_sizes(found.pairs),
        "",
        _agreement(found.pairs),
        "",
        *_families(found.pairs),
        "",
        *_relations(found.pairs),
        "",
        f"Domains: {escaped(', '.join(sorted({pair.domain for pair in found.pairs})))}.",
        "",
        _surface(found.pairs),
        "",
        _nearest(counts.nearest),
    ]


def _sizes(pairs: Sequence[Pair]) -> list[str]:
    lines: list[tuple[str, ...]] = []
    for split in ("dev", "test", None):
        members = [pair for pair in pairs if split in (None, pair.split)]
        gate = counted(members)
        lines.append(
            (
                split or "all",
                str(len(members)),
                str(len({pair.group for pair in members})),
                str(sum(pair.ambiguous for pair in members)),
                str(positives(gate)),
                f"{positives(gate) / len(gate):.1%}",
                *(str(sum(pair.difficulty == one for pair in members)) for one in ("easy", "medium", "hard")),
            )
        )
    head = ("split", "pairs", "groups", "ambiguous", "positive", "share", "easy", "medium", "hard")
    return [
        "Positive pairs and their share are of those that are not ambiguous.",
        "",
        *table(head, lines),
    ]


def _agreement(pairs: Sequence[Pair]) -> str:
    found = agreement(pairs)
    if not found:
        return "One annotator only."
    changed = sum(
        (pair.relation, pair.should_retire) != (pair.labels.first.relation, pair.labels.first.should_retire)
        for pair in pairs
    )
    return (
        f"Two labels: {found.pairs} pairs. Cohen's kappa of `should_retire` {_kappa(found.should_retire)}, of the "
        f"relation {_kappa(found.relation)}; equal `should_retire` in {_share(found.equal)}. At least one annotator "
        f"doubted {found.doubted} pairs. Adjudication changed the first label of {changed} pairs."
    )


def _families(pairs: Sequence[Pair]) -> list[str]:
    by_family: defaultdict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_family[pair.family].append(pair)
    found = agreement(pairs)
    lines = [
        (
            name,
            str(len(members)),
            str(sum(pair.split == "test" for pair in members)),
            str(positives(counted(members))),
            str(sum(pair.ambiguous for pair in members)),
            _share(found.by_family[name]) if found and name in found.by_family else "",
        )
        for name, members in sorted(by_family.items(), key=lambda item: (-positives(item[1]) / len(item[1]), item[0]))
    ]
    return table(("family", "pairs", "in test", "positive", "ambiguous", "equal should_retire"), lines)


def _relations(pairs: Sequence[Pair]) -> list[str]:
    lines = [(relation, str(sum(pair.relation == relation for pair in pairs))) for relation in RELATIONS]
    return table(("relation", "pairs"), lines)


def _surface(pairs: Sequence[Pair]) -> str:
    """What could be guessed without reading both facts: a good data set gives little away."""
    gate = counted(pairs)
    words = [len(text.split()) for text in chain.from_iterable((p.older.text, p.newer.text) for p in pairs)]
    positive, negative = (
        median(_overlap(pair) for pair in gate if pair.should_retire == kind) for kind in (True, False)
    )
    return (
        f"Texts have {min(words)} to {max(words)} words, {median(words):.0f} in the middle. Word overlap of the two "
        f"facts (Jaccard, median): {positive:.2f} in positives, {negative:.2f} in negatives. A classifier of words "
        "(TF-IDF, logistic regression, cross-validated by group) that sees one fact only tells positives from "
        f"negatives with an area under the ROC curve of {_guessed(gate, 'newer'):.2f} from the newer one and "
        f"{_guessed(gate, 'older'):.2f} from the older one; 0.50 would be chance."
    )


def _nearest(near: Neighbors | None) -> str:
    if near is None:
        return "One split only."
    return (
        f"Nearest texts across splits: similarity {near.similarity:.2f} (cosine of character n-grams), "
        f"“{escaped(near.dev)}” in dev and “{escaped(near.test)}” in test."
    )


def _overlap(pair: Pair) -> float:
    older, newer = (set(one.text.lower().split()) for one in (pair.older, pair.newer))
    return len(older & newer) / len(older | newer)


def _guessed(pairs: Sequence[Pair], which: str) -> float:
    """Area under the ROC curve of the single-fact baseline (Gururangan et al. 2018 and Poliak et al. 2018)."""
    linear, metrics, selection, pipeline, text = (
        _sklearn(name) for name in ("linear_model", "metrics", "model_selection", "pipeline", "feature_extraction.text")
    )
    model = pipeline.make_pipeline(
        text.TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
        linear.LogisticRegression(class_weight="balanced", max_iter=1000),
    )
    labels = [pair.should_retire for pair in pairs]
    scores = selection.cross_val_predict(
        model,
        [getattr(pair, which).text for pair in pairs],
        labels,
        groups=[pair.group for pair in pairs],
        cv=selection.StratifiedGroupKFold(_FOLDS),
        method="decision_function",
    )
    return float(metrics.roc_auc_score(labels, scores))


def _sklearn(name: str) -> Any:
    return import_module(f"sklearn.{name}")


def _streams(content: str, counts: Sequence[StreamCounts]) -> list[str]:
    head = ("stream", "facts", "supersessions", "ambiguous", "proposed pairs", "supersessions among them")
    lines = [(one.stream, *("" if number is None else str(number) for number in _numbers(one))) for one in counts]
    sums = [sum(number or 0 for number in column) for column in zip(*map(_numbers, counts), strict=True)]
    facts, supersessions, ambiguous, proposed, reached = sums
    sentence = (
        f"Streams: {len(counts)}, with {facts:,} facts, {supersessions} supersessions and {ambiguous} ambiguous pairs, "
        f"which are in no figure; SHA-256 of the files `{content}`."
    )
    if proposed:
        low, high = _between_streams(counts)
        sentence += (
            " The candidate step (cosine of at least 0.3, ten neighbors a fact, default embedder) proposes "
            f"{proposed:,} pairs, all of which were read; {reached} of them are supersessions, a prevalence of "
            f"{reached / proposed:.2%} ({low:.2%} to {high:.2%}, bootstrap over streams)."
        )
    return ["", sentence, "", *table(head, lines)]


def _between_streams(counts: Sequence[StreamCounts]) -> tuple[float, float]:
    """The 95 % interval of the prevalence, from whole streams drawn again: facts of one world are alike."""
    random = np.random.default_rng(0)
    pairs = np.array([(one.reached or 0, one.proposed or 0) for one in counts])
    sums = pairs[random.integers(0, len(pairs), (_RESAMPLES, len(pairs)))].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / np.maximum(sums[:, 1], 1), (0.025, 0.975))
    return float(low), float(high)


def _numbers(one: StreamCounts) -> tuple[int | None, ...]:
    return one.facts, one.supersessions, one.ambiguous, one.proposed, one.reached


def _kappa(found: Kappa) -> str:
    return "n/a" if found.value is None else f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def _share(found: Estimate) -> str:
    return "n/a" if found.value is None else f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"
