"""What must hold of labelled pairs beyond their form: groups within one split, no copies, balance, hash, canary."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.resources.abc import Traversable
from typing import Any

from stilltrue.pairs import CANARY, Pair, PairSet, counted

BALANCE = (0.35, 0.45)
"""The share of positives, least and most."""

FEWEST_POSITIVES = 300
"""In the test split, unless the file is someone's own sample."""

MOST_SIMILAR = 0.9
"""Cosine of character n-grams above which two texts of different splits are near-duplicates."""


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The two most similar texts of which one is in dev and the other in test; ``similarity`` in [0, 1]."""

    similarity: float
    dev: str
    test: str


def problems(path: Traversable, found: PairSet, *, strict: bool = True) -> list[str]:
    """A line for each thing that is wrong. ``strict``: also what only a published set must have.

    A store, and sets from elsewhere, repeat texts; a published set doesn't.
    """
    return [
        *_header(path, found, strict=strict),
        *_groups(path, found),
        *(_repeated(path, found) if strict else ()),
        *_near(path, found),
        *(_balance(path, found.pairs) if strict else ()),
    ]


def _header(path: Traversable, found: PairSet, *, strict: bool) -> Iterator[str]:
    if found.header is None:
        if strict:
            yield f"{path}:1: no header line (dataset, version, licence, canary, sha256)"
        return
    if found.header.sha256 != found.content:
        yield (
            f"{path}:1: the content's SHA-256 is {found.content}, the header says {found.header.sha256}: "
            "a pair was changed after the file was sealed"
        )
    if strict and found.header.canary != CANARY:
        yield f"{path}:1: the canary is not {CANARY!r}"


def _groups(path: Traversable, found: PairSet) -> Iterator[str]:
    first: dict[str, Pair] = {}
    for pair in found.pairs:
        other = first.setdefault(pair.group, pair)
        if other.split != pair.split:
            yield (
                f"{path}:{found.lines[pair.id]}: {pair.id} is in {pair.split}, {other.id} of the same group "
                f"{pair.group!r} in {other.split}"
            )


def _repeated(path: Traversable, found: PairSet) -> Iterator[str]:
    """Pairs with the same two texts, and texts that stand in two groups."""
    pairs: dict[tuple[str, str], Pair] = {}
    groups: dict[str, Pair] = {}
    for pair in found.pairs:
        texts = (plain(pair.older.text), plain(pair.newer.text))
        if (other := pairs.setdefault(texts, pair)) is not pair:
            yield f"{path}:{found.lines[pair.id]}: {pair.id} has the same texts as {other.id}"
            continue
        for text in texts:
            if (other := groups.setdefault(text, pair)).group != pair.group:
                yield f"{path}:{found.lines[pair.id]}: {pair.id} has a text of {other.id}, of another group: {text!r}"


def _near(path: Traversable, found: PairSet) -> Iterator[str]:
    nearest = across_splits(found.pairs)
    if nearest and nearest.similarity > MOST_SIMILAR:
        yield (
            f"{path}: near-duplicates across splits (similarity {nearest.similarity:.2f}, at most {MOST_SIMILAR}): "
            f"{nearest.dev!r} in dev, {nearest.test!r} in test"
        )


def across_splits(pairs: Sequence[Pair]) -> Neighbors | None:
    """The nearest texts of different splits, by cosine of TF-IDF weighted character 3- to 5-grams."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        texts[pair.split] += [pair.older.text, pair.newer.text]
    if not (texts["dev"] and texts["test"]):
        return None
    text: Any = import_module("sklearn.feature_extraction.text")
    vectorizer = text.TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), preprocessor=plain)
    vectorizer.fit(texts["dev"] + texts["test"])
    similarities: Any = (vectorizer.transform(texts["dev"]) @ vectorizer.transform(texts["test"]).T).tocoo()
    if not similarities.nnz:
        return Neighbors(0.0, texts["dev"][0], texts["test"][0])
    place = int(similarities.data.argmax())
    dev, test = texts["dev"][int(similarities.row[place])], texts["test"][int(similarities.col[place])]
    return Neighbors(min(1.0, float(similarities.data[place])), dev, test)


def _balance(path: Traversable, pairs: Sequence[Pair]) -> Iterator[str]:
    low, high = BALANCE
    by_split = {"all": counted(pairs), **{split: counted(pairs, split) for split in ("dev", "test")}}
    for name, members in by_split.items():
        positives = sum(pair.should_retire for pair in members)
        if not members or not low <= positives / len(members) <= high:
            yield f"{path}: {positives} of {len(members)} pairs are positive ({name}), expected {low:.0%} to {high:.0%}"
    positives = Counter(pair.should_retire for pair in by_split["test"])[True]
    if positives < FEWEST_POSITIVES:
        yield f"{path}: {positives} positives in test, expected at least {FEWEST_POSITIVES}"


def plain(text: str) -> str:
    """The text without case, punctuation and spacing, by which copies are told."""
    return re.sub(r"\W+", " ", text.casefold()).strip()
