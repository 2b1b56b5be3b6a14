"""The sheet: a sample with the labels given so far, one JSON line a pair, saved after each label."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from filelock import FileLock
from pydantic import Field, ValidationError

from stilltrue.documents import InvalidData, explained
from stilltrue.labeling.sampling import Sample
from stilltrue.pairs import Adjudicated, Label, Labels, Pair, Statement, Word
from stilltrue.records import Record, Text

ADJUDICATED = "adjudicated"
"""The name under which the final label of a disputed pair is kept."""

_ID_DIGITS = 4


class Given(Label):
    """A label with the annotator's note."""

    note: str = ""


class Item(Record):
    """A drawn pair. ``weight``: how many candidate pairs of its band it stands for. ``labels`` by annotator."""

    id: Word
    agent: str
    older: Statement
    newer: Statement
    similarity: float
    band: Text
    weight: Annotated[float, Field(gt=0)]
    labels: dict[str, Given] = Field(default_factory=dict)


class Design(Record):
    """The first line: how the sample was drawn. ``bands``: candidates and drawn pairs of each band of similarity."""

    sample: int
    seed: int
    embedder: str
    store: str
    bands: dict[str, tuple[int, int]]


@dataclass
class Sheet:
    """A sample under way. ``path`` is rewritten, whole or not at all, at each label; several may write to one sheet."""

    path: Path
    design: Design
    items: list[Item] = field(default_factory=list[Item])

    def annotators(self) -> list[str]:
        """Who has labelled anything, in order of appearance; adjudication is nobody."""
        names = (name for item in self.items for name in item.labels if name != ADJUDICATED)
        return list(dict.fromkeys(names))

    def assigned(self, annotator: str) -> list[int]:
        """Places of the pairs that this annotator is to label: all; for adjudication, the disputed ones."""
        return [place for place, item in enumerate(self.items) if annotator != ADJUDICATED or disputed(item)]

    def open(self, annotator: str) -> list[int]:
        """Of those, the places not labelled yet."""
        return [place for place in self.assigned(annotator) if annotator not in self.items[place].labels]

    def label(self, place: int, annotator: str, label: Given) -> None:
        """Set (or replace) a label and save. What others have labelled on the disk meanwhile is kept."""
        with self._lock():
            if self.path.exists():
                self.items = read_sheet(self.path).items
            item = self.items[place]
            self.items[place] = item.model_copy(update={"labels": {**item.labels, annotator: label}})
            self.save()

    def _lock(self) -> FileLock:
        """Held while a label is written; it lies in the system's folder for such files, not beside the sheet."""
        name = hashlib.sha256(str(self.path.resolve()).encode()).hexdigest()[:16]
        return FileLock(Path(tempfile.gettempdir()) / f"stilltrue-{name}.lock", timeout=10)

    def save(self) -> None:
        """Write the file beside itself first, so that an interruption leaves the old or the new one."""
        path = self.path.resolve()  # through a link, to the file that it means
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        lines = [self.design.model_dump_json(), *(item.model_dump_json(exclude_defaults=True) for item in self.items)]
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
        # Facts are private: whoever may read the sheet stays as it is, and at first it is nobody else.
        unfinished.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o600)
        unfinished.replace(path)


def disputed(item: Item) -> bool:
    """Two annotators gave other relations, or one doubted."""
    return len({one.relation for one in _given(item)}) > 1 or _open(item)


def _open(item: Item) -> bool:
    """They differ, or one is in doubt, on whether the older fact must go."""
    given = _given(item)
    return len({one.should_retire for one in given}) > 1 or any(one.doubt for one in given)


def _given(item: Item) -> list[Given]:
    return [label for name, label in item.labels.items() if name != ADJUDICATED]


def new_sheet(path: Path, sample: Sample, *, size: int, seed: int, embedder: str, store: str) -> Sheet:
    """A sheet of a fresh sample, saved. Raises FileExistsError rather than replace labels."""
    items = [
        Item(
            id=f"pair-{number:0{_ID_DIGITS}}",
            agent=one.agent,
            older=one.older,
            newer=one.newer,
            similarity=one.similarity,
            band=one.band,
            weight=one.weight,
        )
        for number, one in enumerate(sample.pairs, start=1)
    ]
    if path.exists():
        raise FileExistsError(17, "exists already", str(path))
    sheet = Sheet(path, Design(sample=size, seed=seed, embedder=embedder, store=store, bands=sample.bands), items)
    sheet.save()
    return sheet


def read_sheet(path: Path) -> Sheet:
    """Read a sheet. Raises InvalidData with file and line for what is not of its form."""
    problems: list[str] = []
    lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip().splitlines()
    if not lines:
        raise InvalidData([f"{path}:1: the file is empty"])
    read = [*_read(path, lines, problems)]
    if problems:
        raise InvalidData(problems)
    design, *items = read
    assert isinstance(design, Design)  # noqa: S101 - for the type checker; _read has complained otherwise
    sheet = Sheet(path, design, [item for item in items if isinstance(item, Item)])
    if twice := [item.id for item in sheet.items if sum(one.id == item.id for one in sheet.items) > 1]:
        raise InvalidData([f"{path}: the id {twice[0]!r} is used twice"])
    return sheet


def _read(path: Path, lines: Sequence[bytes], problems: list[str]) -> Iterator[Design | Item]:
    for number, line in enumerate(lines, start=1):
        try:
            yield (Design if number == 1 else Item).model_validate_json(line)
        except ValidationError as error:
            problems += (f"{path}:{number}: {explained(dict(one))}" for one in error.errors())


def as_pairs(sheet: Sheet) -> list[Pair]:
    """The labelled pairs in the form of ``pairs.jsonl``: the first two annotators and the adjudication.

    A dispute on ``should_retire`` that nobody has adjudicated is ambiguous; of other relations the first one stands.
    """
    groups = _groups(sheet.items)
    order = {name: place for place, name in enumerate(sheet.annotators())}
    return [
        _pair(item, groups[item.id], [item.labels[name] for name in sorted(names, key=order.__getitem__)])
        for item in sheet.items
        if (names := [name for name in item.labels if name != ADJUDICATED])
    ]


def _groups(items: Sequence[Item]) -> dict[str, str]:
    """Pairs that share a fact, even by way of others, are one group, named after its first pair."""
    group: dict[str, str] = {}
    of_fact: dict[tuple[str, str], str] = {}
    for item in items:
        facts = [(item.agent, one.text) for one in (item.older, item.newer)]
        known = {of_fact[fact] for fact in facts if fact in of_fact}
        name = min(known, default=item.id)
        group[item.id] = name
        for joined in known - {name}:
            group = {one: name if its == joined else its for one, its in group.items()}
            of_fact = {fact: name if its == joined else its for fact, its in of_fact.items()}
        of_fact |= dict.fromkeys(facts, name)
    return group


def _pair(item: Item, group: str, given: Sequence[Given]) -> Pair:
    first, second = given[0], given[1] if len(given) > 1 else None
    final = _final(item, first)
    return Pair(
        id=item.id,
        group=group,
        older=item.older,
        newer=item.newer,
        relation=final.relation,
        should_retire=final.should_retire,
        ambiguous=final.ambiguous,
        family="own-store",
        domain="own-store",
        difficulty="medium",
        split="test",
        labels=Labels(first=_bare(first), second=second and _bare(second), adjudicated=final),
        rationale=next((one.note for one in item.labels.values() if one.note.strip()), "labelled from a store"),
        weight=item.weight,
        stratum=item.band,
    )


def _final(item: Item, first: Given) -> Adjudicated:
    if disputed(item) and (settled := item.labels.get(ADJUDICATED)):  # a dispute that is over needs no judge
        reason = settled.note.strip() or "adjudicated without a note"
        return Adjudicated(**_bare(settled).model_dump(), ambiguous=settled.doubt, reason=reason)
    if disputed(item):
        reason = "the annotators differ or doubt; not adjudicated"
        return Adjudicated(
            relation=first.relation, should_retire=first.should_retire, ambiguous=_open(item), reason=reason
        )
    return Adjudicated(relation=first.relation, should_retire=first.should_retire)


def _bare(label: Given) -> Label:
    return Label(relation=label.relation, should_retire=label.should_retire, doubt=label.doubt)
