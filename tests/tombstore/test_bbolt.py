"""What the bbolt reader promises: files of the engine list exactly what it wrote, and damage is refused."""

from __future__ import annotations

import errno
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tombstore.graymatter import bbolt
from tombstore.graymatter.bbolt import PAGE_SIZES, Bolt, Bucket, CorruptDatabase, NotABoltDatabase

DATA = Path(__file__).parent.parent / "data"
each_store = pytest.mark.parametrize("store", [DATA / "graymatter-v0.8.0", DATA / "graymatter-v0.11"])
BRANCH, LEAF, META, FREELIST = 1, 2, 4, 16
EMPTY_BUCKET = struct.pack("<QQQHHI", 0, 0, 0, LEAF, 0, 0)

Tree = dict[bytes, Any]  # a bucket: bytes are values, dicts are buckets inside
Listing = list[tuple[tuple[bytes, ...], bytes | None]]  # every path, with its value or None for a bucket


def listing(bucket: Bucket | None, path: tuple[bytes, ...] = ()) -> Listing:
    assert bucket is not None
    found: Listing = [((*path, key), value) for key, value in bucket.items()]
    for name in bucket.buckets():
        found += [((*path, name), None), *listing(bucket.bucket(name), (*path, name))]
    return found


def read(data: bytes) -> Listing:
    return listing(Bolt("gray.db", data).bucket())


def flattened(tree: Tree, path: tuple[bytes, ...] = ()) -> Listing:
    found: Listing = [((*path, key), value) for key, value in sorted(tree.items()) if isinstance(value, bytes)]
    for name, inside in sorted(tree.items()):
        if not isinstance(inside, bytes):
            found += [((*path, name), None), *flattened(inside, (*path, name))]
    return found


# --- writing small databases ---------------------------------------------------------------------------------------


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def meta_page(number: int, page_size: int, *, root: int, freelist: int, pages: int, transaction: int) -> bytes:
    record = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, page_size, 0, root, 0, freelist, pages, transaction)
    header = struct.pack("<QHHI", number, META, 0, 0)
    return (header + record + struct.pack("<Q", fnv1a(record))).ljust(page_size, b"\0")


def content(flags: int, elements: list[tuple[bytes, bytes, int]]) -> bytes:
    """A page behind its header: elements of key, value, and the child's number or the element's flags."""
    table, data = b"", b""
    for index, (key, value, link) in enumerate(elements):
        position = (len(elements) - index) * 16 + len(data)
        if flags == BRANCH:
            table += struct.pack("<IIQ", position, len(key), link)
        else:
            table += struct.pack("<IIII", link, position, len(key), len(value))
        data += key + value
    return table + data


class Writer:
    """Writes one database: page 2 is the free list, page 3 a stale page, and the root is written last."""

    def __init__(self, page_size: int, per_page: int = 3) -> None:
        self.page_size, self.per_page = page_size, per_page
        self.pages = [b""] * 3
        self.page(LEAF, [(b"stale", b"value", 0)])

    def page(self, flags: int, elements: list[tuple[bytes, bytes, int]]) -> int:
        body = content(flags, elements)
        return self.raw(flags, len(elements), body)

    def raw(self, flags: int, count: int, body: bytes) -> int:
        number, overflow = len(self.pages), (len(body) + 15) // self.page_size
        page = struct.pack("<QHHI", number, flags, count, overflow) + body
        padded = page.ljust((overflow + 1) * self.page_size, b"\0")
        self.pages += [padded[at : at + self.page_size] for at in range(0, len(padded), self.page_size)]
        return number

    def bucket(self, tree: Tree, *, may_inline: bool = True) -> bytes:
        """Write a bucket's pages and return its value in the bucket around it."""
        rows = [
            (key, value, 0) if isinstance(value, bytes) else (key, self.bucket(value), 1)
            for key, value in sorted(tree.items())
        ]
        body = content(LEAF, rows)
        if may_inline and len(body) + 16 <= self.page_size // 4 and not any(link for _, _, link in rows):
            return struct.pack("<QQQHHI", 0, 0, 0, LEAF, len(rows), 0) + body
        flags = LEAF
        while len(rows) > self.per_page:
            chunks = [rows[at : at + self.per_page] for at in range(0, len(rows), self.per_page)]
            rows, flags = [(chunk[0][0], b"", self.page(flags, chunk)) for chunk in chunks], BRANCH
        return struct.pack("<QQ", self.page(flags, rows), 0)

    def finish(self, root: int, transaction: int = 7) -> bytes:
        free = struct.pack("<QHHIQ", 2, FREELIST, 1, 0, 3).ljust(self.page_size, b"\0")
        metas = [
            meta_page(n, self.page_size, root=root, freelist=2, pages=len(self.pages), transaction=transaction - n)
            for n in (0, 1)
        ]
        return b"".join([*metas, free, *self.pages[3:]])


def written(tree: Tree, page_size: int = 4096, per_page: int = 3) -> bytes:
    writer = Writer(page_size, per_page)
    (root,) = struct.unpack_from("<Q", writer.bucket(tree, may_inline=False))
    return writer.finish(root)


def sealed(data: bytearray, **changes: int) -> bytes:
    """The database with changed meta fields and checksums that agree with them."""
    fields = {"page_size": ("<I", 24), "root": ("<Q", 32), "freelist": ("<Q", 48), "pages": ("<Q", 56)}
    for start in (0, 4096):
        for name, value in changes.items():
            form, offset = fields[name]
            struct.pack_into(form, data, start + offset, value)
        struct.pack_into("<Q", data, start + 72, fnv1a(bytes(data[start + 16 : start + 72])))
    return bytes(data)


KEYS = st.binary(min_size=1, max_size=12) | st.integers(0, 30).map(lambda n: b"key%02d" % n)
VALUES = st.binary(max_size=40) | st.integers(0, 9000).map(lambda size: b"x" * size)
BUCKETS: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(KEYS, VALUES, max_size=14),
    lambda inside: st.dictionaries(KEYS, VALUES | inside, max_size=8),
    max_leaves=6,
)
DATABASES = st.dictionaries(KEYS, BUCKETS, max_size=8)


@given(DATABASES, st.sampled_from([512, 4096, 16384]), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_a_database_reads_back_as_it_was_written(tree: Tree, page_size: int, per_page: int) -> None:
    data = written(tree, page_size, per_page)
    db = Bolt("gray.db", data)
    assert sorted(listing(db.bucket())) == sorted(flattened(tree))
    assert (db.page_size, db.orphan_pages, db.damaged_meta) == (page_size, 0, None)


def test_large_values_overflow_and_many_keys_need_several_levels_of_branches() -> None:
    tree: Tree = {b"many": {b"%05d" % n: b"v" * n for n in range(500)}, b"large": {b"k": os.urandom(100_000)}}
    assert read(written(tree)) == flattened(tree)


def test_buckets_may_lie_a_thousand_deep() -> None:
    writer = Writer(512)
    root = writer.page(LEAF, [(b"key", b"value", 0)])
    for _ in range(1000):
        root = writer.page(LEAF, [(b"b", struct.pack("<QQ", root, 0), 1)])
    deepest = Bolt("gray.db", writer.finish(root)).bucket(*[b"b"] * 1000)
    assert deepest is not None
    assert list(deepest.items()) == [(b"key", b"value")]


def test_a_plain_key_is_no_bucket_and_a_missing_name_is_none() -> None:
    db = Bolt("gray.db", written({b"top": {b"key": b"value", b"inside": {}}}))
    assert list(db.buckets()) == [b"top"]
    assert db.bucket(b"top", b"key") is db.bucket(b"top", b"none") is db.bucket(b"none", b"inside") is None
    assert listing(db.bucket(b"top", b"inside")) == []


# --- the engine's own files ----------------------------------------------------------------------------------------


@each_store
def test_an_original_file_lists_exactly_the_facts_that_the_engine_listed(store: Path) -> None:
    dump = json.loads((store / "dump.json").read_text(encoding="utf-8"))
    with Bolt.open(store / "gray.db") as db:
        facts = db.bucket(b"facts")
        assert facts is not None
        assert [name.decode() for name in facts.buckets()] == sorted(dump)
        assert list(facts.items()) == []
        for agent, listed in dump.items():
            inside = facts.bucket(agent.encode())
            assert inside is not None
            oldest_first = [(key.decode(), json.loads(value)) for key, value in inside.items()]
            assert oldest_first == [(fact["id"], fact) for fact in reversed(listed["list_newest_first"])]
        assert sum(len(listed["list_newest_first"]) for listed in dump.values()) == 42


@each_store
def test_an_original_file_has_the_buckets_of_the_layout_and_no_page_is_lost(store: Path) -> None:
    db = Bolt.open(store / "gray.db")
    agents, meta = db.bucket(b"agents"), db.bucket(b"meta")
    assert agents is not None
    assert meta is not None
    assert list(db.buckets()) == [b"agents", b"facts", b"meta", b"pending_vector", b"sessions"]
    assert dict(agents.items()) == {b"__shared__": b"1", b"agent-a": b"1", b"b": b"1"}
    assert dict(meta.items()) == {b"embed_dims": b"3"}
    assert (db.page_size, db.orphan_pages, db.damaged_meta) == (4096, 0, None)


def outcome(data: bytes) -> tuple[Listing, int | None] | None:
    """The listing and the number of a damaged meta, or None for a file that is refused."""
    try:
        db = Bolt("gray.db", data)
    except CorruptDatabase:
        return None
    return listing(db.bucket()), db.damaged_meta


def in_use(data: bytes) -> Iterator[int]:
    """The offsets of every page header, element table and branch key of the 18 pages that were ever used."""
    yield from range(8192)
    for start in range(2 * 4096, 18 * 4096, 4096):
        _, flags, count, _ = struct.unpack_from("<QHHI", data, start)
        yield from range(
            start, start + 16 + count * (16 if flags != FREELIST else 8) + (count * 26 if flags == 1 else 0)
        )


def joined(found: Listing) -> list[bytes]:
    """Every element's key and value in one, without zeros at the end: that much survives a change of its sizes."""
    return [(path[-1] + (value or b"")).removesuffix(EMPTY_BUCKET).rstrip(b"\0") for path, value in found]


def changed_bytes(before: Listing, after: Listing) -> int:
    """How many bytes of keys and values differ; a listing of another shape counts as a million."""
    pairs = list(zip(joined(before), joined(after), strict=False))
    if len(before) != len(after) or any(len(one) != len(other) for one, other in pairs):
        return 1_000_000
    return sum(a != b for one, other in pairs for a, b in zip(one, other, strict=True))


@each_store
def test_a_flipped_bit_of_the_structure_is_refused_or_harmless(store: Path) -> None:
    data = (store / "gray.db").read_bytes()[: 18 * 4096]
    newest, older = read(data), read(data[:4096] + bytes(4096) + data[8192:])
    draw = random.Random(store.name)
    grown = 0
    for offset in draw.choices(list(in_use(data)), k=2000):
        found = outcome(flipped(data, offset, draw.randrange(8)))
        if found is not None and found[0] != newest:
            listed, damaged_meta = found
            assert listed == older if damaged_meta == 1 else joined(listed) == joined(newest)
            grown += damaged_meta is None
    assert grown < 20  # only the sizes of a page's last element can do this, and only into the zeros behind it


@each_store
def test_a_flipped_bit_anywhere_is_refused_or_changes_at_most_the_byte_it_is_in(store: Path) -> None:
    data = (store / "gray.db").read_bytes()[: 18 * 4096]
    newest, draw = read(data), random.Random(store.name)
    for _ in range(600):
        found = outcome(flipped(data, draw.randrange(2 * 4096, len(data)), draw.randrange(8)))
        assert found is None or changed_bytes(newest, found[0]) <= 1


@each_store
def test_bytes_overwritten_at_random_raise_nothing_but_corrupt_database(store: Path) -> None:
    data, draw = (store / "gray.db").read_bytes()[: 18 * 4096], random.Random(store.name)
    for _ in range(1000):
        damaged, start = bytearray(data), draw.randrange(2 * 4096, len(data))
        damaged[start : start + draw.randrange(1, 600)] = draw.randbytes(draw.randrange(1, 600))
        outcome(bytes(damaged))


@each_store
def test_a_truncated_file_lists_everything_or_is_refused(store: Path) -> None:
    data, draw = (store / "gray.db").read_bytes(), random.Random(store.name)
    everything = (read(data), None)
    ends = [page * 4096 for page in range(33)] + [draw.randrange(len(data)) for _ in range(300)]
    for end in ends:  # the pages from 15 on were free when the file was closed
        assert outcome(data[:end]) == (everything if end >= 15 * 4096 else None)


def flipped(data: bytes, offset: int, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[offset] ^= 1 << bit
    return bytes(damaged)


# --- the two meta pages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_damaged_meta_0_leaves_meta_1_at_any_page_size(page_size: int) -> None:
    tree = {b"facts": {b"key": b"value"}}
    data = written(tree, page_size)
    for offset in range(16, 80):
        db = Bolt("gray.db", flipped(data, offset, 0))
        assert (listing(db.bucket()), db.page_size, db.damaged_meta) == (flattened(tree), page_size, 0)


def test_a_damaged_meta_1_leaves_meta_0_and_both_damaged_leave_nothing() -> None:
    data = written({b"facts": {b"key": b"value"}})
    damaged = flipped(data, 4096 + 40, 3)
    assert outcome(damaged) == (read(data), 1)
    with pytest.raises(NotABoltDatabase, match=r"^gray\.db: page 0: neither meta page is intact"):
        Bolt("gray.db", flipped(damaged, 40, 3))


@pytest.mark.parametrize("newest", [0, 1])
def test_the_highest_transaction_wins(newest: int) -> None:
    writer = Writer(4096)
    roots = [writer.page(LEAF, [(name, writer.bucket({}), 1)]) for name in (b"zero", b"one")]
    pages = [
        meta_page(n, 4096, root=roots[n], freelist=2**64 - 1, pages=len(writer.pages), transaction=8 + (n == newest))
        for n in (0, 1)
    ]
    db = Bolt("gray.db", b"".join([*pages, bytes(4096), *writer.pages[3:]]))
    assert list(db.buckets()) == [(b"zero", b"one")[newest]]
    assert db.orphan_pages is None


def test_two_metas_of_one_transaction_must_agree() -> None:
    data = bytearray(written({b"facts": {}}))
    struct.pack_into("<Q", data, 4096 + 64, 7)
    with pytest.raises(CorruptDatabase, match="page 1: claims the same transaction as page 0") as caught:
        Bolt("gray.db", sealed(data[:4096] + data[4096:], root=4)[:4096] + sealed(data, root=5)[4096:])
    assert caught.value.page == 1


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "the file is empty"),
        (b"SQLite format 3\0" + bytes(4080), "looks like an SQLite database"),
        (b"\x1f\x8b\x08" + bytes(100), "looks like a gzip file"),
        (b"dear diary,\ntoday\n", "looks like text"),
        (bytes(16) + bytes.fromhex("ed0cdaed") + bytes(5000), "big-endian"),
        (bytes(10_000), "no bbolt meta page$"),
        (bytes.fromhex("0123456789abcdef") * 600, "no bbolt meta page$"),
    ],
)
def test_another_kind_of_file_is_no_bolt_database(data: bytes, what: str) -> None:
    with pytest.raises(NotABoltDatabase, match=what) as caught:
        Bolt("gray.db", data)
    assert caught.value.page == 0


# --- crafted damage ------------------------------------------------------------------------------------------------

# Pages 4 to 7 are the leaves of `facts`, 8 and 9 the branches over them, 10 its root, 11 the top level.
CRAFTED = written({b"facts": {b"key%02d" % n: b"v" * 95 for n in range(12)}, b"inline": {b"key": b"value"}})
DATA_OF_LEAF, TOP, ROOT_OF_FACTS = 16 + 3 * 16, 11 * 4096, 11 * 4096 + 16 + 2 * 16 + len(b"facts")
INLINE = ROOT_OF_FACTS + 16 + len(b"inline")


@pytest.mark.parametrize(
    ("form", "offset", "value", "page", "what"),
    [
        ("<Q", 5 * 4096, 6, 5, "its header says that it is page 6"),
        ("<H", 5 * 4096 + 8, META, 5, "its type is 0x4, not what branch element 1 on page 8 needs"),
        ("<H", 4 * 4096 + 10, 0xFFFF, 4, "claims 65535 elements, more than fit"),
        ("<H", 4 * 4096 + 10, 2, 4, "the data of element 0 does not begin where the data before it ends"),
        ("<I", 7 * 4096 + 12, 900, 7, "runs on for 900 more pages, past the last one"),
        ("<I", 7 * 4096 + 12, 0xFFFFFFFF, 7, "runs on for 4294967295 more pages"),
        ("<I", 7 * 4096 + 12, 1, 8, "is reached twice"),
        ("<Q", 9 * 4096 + 24, 9, 9, "is reached twice"),
        ("<Q", 9 * 4096 + 24, 10, 10, "is reached twice"),
        ("<Q", 9 * 4096 + 24, 4, 4, "is reached twice"),
        ("<Q", 9 * 4096 + 24, 3, 3, "is in use and on the free list"),
        ("<Q", 9 * 4096 + 24, 1, 9, "branch element 0 points to page 1, outside the pages 2 to 11"),
        ("<Q", 8 * 4096 + 40, 912, 8, "branch element 1 points past the end of the file (page 912, the file has 12)"),
        ("<Q", 8 * 4096 + 40, 2**64 - 1, 8, "branch element 1 points past the end of the file"),
        ("<H", 9 * 4096 + 10, 0, 9, "has data behind its last element"),
        ("<I", 4 * 4096 + 20, 5, 4, "the data of element 0 does not begin where the data before it ends"),
        ("<I", 4 * 4096 + 16 + 2 * 16 + 12, 0xFFFFFFFF, 4, "element 2 runs past the end of the page"),
        ("<I", 4 * 4096 + 16, 2, 4, "element 0 has the impossible flags 0x2"),
        ("<B", 4 * 4096 + DATA_OF_LEAF + 100, 0, 4, "the key of element 1"),
        ("<B", 5 * 4096 + DATA_OF_LEAF + 4, 0x2F, 5, "does not begin with the key that its branch names, b'key03'"),
        ("<B", 4 * 4096 + 4000, 1, 4, "has data behind its last element"),
        ("<Q", ROOT_OF_FACTS, 500, 11, "bucket b'facts' points past the end of the file"),
        ("<Q", ROOT_OF_FACTS, 0, 11, "bucket b'facts' has neither a root page nor an inline one"),
        ("<Q", ROOT_OF_FACTS, 8, 7, "is neither in use nor free: a reference to it is lost"),
        ("<Q", INLINE, 5, 11, "bucket b'inline' has a root page and"),
        ("<H", INLINE + 24, BRANCH, 11, "bucket b'inline' has an inline page that is no leaf page of number 0"),
        ("<I", INLINE + 32, 1, 11, "inline bucket: element 0 has the impossible flags 0x1"),
        ("<I", INLINE + 32 + 12, 4, 11, "inline bucket: has 1 bytes behind its last element"),
        ("<I", TOP + 16, 0, 11, "b'facts' should be a bucket but is marked as a plain key"),
        ("<Q", 2 * 4096 + 16, 99, 2, "lists page 99 as free"),
        ("<H", 2 * 4096 + 10, 5000, 2, "claims 5000 free pages, more than fit"),
        ("<H", 2 * 4096 + 10, 0xFFFF, 2, "lists page 0 as free behind page 1"),
        ("<H", 2 * 4096 + 10, 0, 3, "is neither in use nor free"),
    ],
)
def test_damage_is_refused_with_the_page_and_what_is_wrong(
    form: str, offset: int, value: int, page: int, what: str
) -> None:
    damaged = bytearray(CRAFTED)
    struct.pack_into(form, damaged, offset, value)
    with pytest.raises(CorruptDatabase) as caught:
        Bolt("gray.db", bytes(damaged))
    assert str(caught.value).startswith(f"gray.db: page {page}: {what}")
    assert caught.value.page == page


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"root": 500}, "page 0: the root bucket points past the end of the file"),
        ({"root": 0}, "page 0: the root bucket points to page 0, outside the pages 2 to 11"),
        ({"root": 2}, "page 2: its type is 0x10, not what the root bucket on page 0 needs"),
        ({"freelist": 11}, "page 11: its type is 0x2, not what the free list on page 0 needs"),
        ({"pages": 10}, "page 0: the root bucket points to page 11, outside the pages 2 to 9"),
        ({"pages": 2**63}, "page 12: is neither in use nor free"),
        ({"page_size": 8192}, "page 0: the root bucket points past the end of the file (page 11, the file has 6)"),
        ({"page_size": 3}, "page 0: neither meta page is intact"),
    ],
)
def test_a_meta_that_lies_under_a_valid_checksum_is_refused(changes: dict[str, int], what: str) -> None:
    with pytest.raises(CorruptDatabase) as caught:
        Bolt("gray.db", sealed(bytearray(CRAFTED), **changes))
    assert str(caught.value).startswith(f"gray.db: {what}")


def branch_chain(writer: Writer) -> int:
    root = writer.page(LEAF, [(b"b", writer.bucket({}), 1)])
    for _ in range(80):
        root = writer.page(BRANCH, [(b"b", b"", root)])
    return root


UNLIKE_BBOLT: list[tuple[Callable[[Writer], int], str]] = [
    (branch_chain, "lies 64 branches deep"),
    (lambda w: w.raw(LEAF, 0, bytes(5000)), "has 8176 bytes behind its last element"),
    (lambda w: w.page(BRANCH, []), "is a branch without elements"),
    (lambda w: w.page(LEAF, [(b"", w.bucket({}), 1)]), "the key of element 0, b'', is not greater"),
    (lambda w: w.page(LEAF, [(b"b", b"short", 1)]), "bucket b'b' has a header of only 5 bytes"),
    (lambda w: w.page(BRANCH, [(b"b", b"", w.page(LEAF, []))]), "does not begin with the key"),
    (lambda w: w.page(LEAF, [(b"k" * 99, b"v", 0)]), "b'" + "k" * 40 + "'... should be a bucket"),
]


@pytest.mark.parametrize(("make", "what"), UNLIKE_BBOLT)
def test_a_tree_that_bbolt_would_not_write_is_refused(make: Callable[[Writer], int], what: str) -> None:
    writer = Writer(4096)
    with pytest.raises(CorruptDatabase) as caught:
        Bolt("gray.db", writer.finish(make(writer)))
    assert what in str(caught.value)


def test_an_inner_bucket_that_lost_its_flag_is_refused_rather_than_listed_as_a_value() -> None:
    writer = Writer(4096)
    inside = writer.bucket({b"key": b"value"})
    facts = writer.page(LEAF, [(b"agent", inside, 0)])
    with pytest.raises(CorruptDatabase, match="b'agent' should be a bucket but is marked as a plain key"):
        Bolt("gray.db", writer.finish(writer.page(LEAF, [(b"facts", struct.pack("<QQ", facts, 0), 1)])))


def test_an_empty_inner_bucket_that_lost_its_flag_cannot_be_told_from_a_value() -> None:
    writer = Writer(4096)
    facts = writer.page(LEAF, [(b"agent", EMPTY_BUCKET, 0)])
    data = writer.finish(writer.page(LEAF, [(b"facts", struct.pack("<QQ", facts, 0), 1)]))
    assert read(data) == [((b"facts",), None), ((b"facts", b"agent"), EMPTY_BUCKET)]


def test_a_value_of_zeros_is_a_value() -> None:
    tree: Tree = {b"facts": {b"a": bytes(8), b"b": bytes(100), b"c": struct.pack("<QQQQ", 0, 5, 0, 1 << 16)}}
    assert read(written(tree)) == flattened(tree)


def test_orphan_pages_are_read_past_when_allowed() -> None:
    damaged = bytearray(CRAFTED)
    struct.pack_into("<H", damaged, 2 * 4096 + 10, 0)
    db = Bolt("gray.db", bytes(damaged), allow_orphans=True)
    assert (listing(db.bucket()), db.orphan_pages) == (read(CRAFTED), 1)


@given(st.binary(max_size=3000), st.integers(0, 12), st.lists(st.sampled_from([0, 1, 2, 3, 16]), max_size=12))
@settings(max_examples=200, deadline=None)
@example(b"\xff" * 3000, 2, [1, 2, 16])
def test_arbitrary_pages_raise_nothing_but_corrupt_database(noise: bytes, freelist: int, kinds: list[int]) -> None:
    writer = Writer(512)
    for number, kind in enumerate(kinds):
        writer.raw(kind, noise[number] if number < len(noise) else 3, noise[number * 200 :][:480])
    data = bytearray(writer.finish(len(writer.pages) - 1))
    outcome(bytes(data))
    meta = meta_page(0, 512, root=len(writer.pages) - 1, freelist=freelist, pages=99, transaction=9)
    outcome(meta + bytes(data[512:]))
    outcome(noise)


@given(DATABASES, st.data())
@settings(max_examples=60, deadline=None)
def test_overwritten_bytes_raise_nothing_but_corrupt_database(tree: Tree, data: st.DataObject) -> None:
    damaged = bytearray(written(tree, 512))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(1024, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    outcome(bytes(damaged))


# --- files ---------------------------------------------------------------------------------------------------------


def test_the_message_names_the_file_that_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "gray.db"
    path.write_bytes(CRAFTED[: 6 * 4096])
    with pytest.raises(CorruptDatabase, match=r"gray\.db: page 0: the root bucket points past the end .* has 6\)"):
        Bolt.open(str(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_an_os_error_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing"):
        with pytest.raises(OSError, match=r"regular file|No such file"):
            Bolt.open(path)


def test_a_file_too_large_for_memory_is_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bbolt, "MAX_FILE_BYTES", 4096)
    (tmp_path / "gray.db").write_bytes(CRAFTED)
    with pytest.raises(OSError, match="more than 4096 bytes") as caught:
        Bolt.open(tmp_path / "gray.db")
    assert caught.value.errno == errno.EFBIG


def test_a_file_that_changes_while_it_is_read_is_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real_open = tmp_path / "gray.db", Path.open
    path.write_bytes(CRAFTED)

    def racing(self: Path, mode: str = "r") -> Any:
        file = real_open(self, mode)
        with real_open(self, "r+b") as other:
            other.write(os.urandom(64))
        return file

    monkeypatch.setattr(Path, "open", racing)
    with pytest.raises(OSError, match="changed while it was being read") as caught:
        Bolt.open(path)
    assert caught.value.errno == errno.EBUSY
