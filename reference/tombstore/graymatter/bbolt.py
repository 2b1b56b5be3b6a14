"""Owns reading bbolt database files: a read-only view of buckets and keys that refuses a file it finds damaged."""

from __future__ import annotations

import errno
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

MAX_FILE_BYTES = 4 << 30
MAX_TREE_DEPTH = 64
PAGE_SIZES = tuple(512 << doubling for doubling in range(8))

_MAGIC, _VERSION = 0xED0CDAED, 2
_NO_FREELIST = 0xFFFF_FFFF_FFFF_FFFF
_BRANCH, _LEAF, _FREELIST = 0x01, 0x02, 0x10
_TREE = (_BRANCH, _LEAF)
_HEADER = struct.Struct("<QHHI")
_META = struct.Struct("<IIIIQQQQQQ")
_BRANCH_ELEMENT = struct.Struct("<IIQ")
_LEAF_ELEMENT = struct.Struct("<IIII")
_BUCKET = struct.Struct("<QQ")
_NUMBER = struct.Struct("<Q")
_ELEMENT_BYTES = 16
_MARK = _MAGIC.to_bytes(4, "little")
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\r\f")
_HEAD_BYTES = PAGE_SIZES[-1] + _HEADER.size + _META.size
_OTHER_FORMATS = {b"SQLite format 3\0": "an SQLite database", b"\x1f\x8b": "a gzip file", b"PK\x03\x04": "a zip file"}


class CorruptDatabase(ValueError):
    """A damaged file: the message names the file, the page and what is wrong; `page` is the page's number if known."""

    def __init__(self, message: str, page: int | None = None) -> None:
        super().__init__(message)
        self.page = page


class NotABoltDatabase(CorruptDatabase):
    """A file without a meta page that can be used: another format, another byte order, or both meta pages lost."""


class Bolt:
    """One bbolt database, as of its newest intact transaction.

    Layout. The file is an array of pages. A page starts with id u64, flags u16 (1 branch, 2 leaf, 4 meta, 16 free
    list), count u16, overflow u32 (how many more pages it runs on). Pages 0 and 1 hold the two meta records at offset
    16: magic u32 0xED0CDAED, version u32 2, page size u32, flags u32, root bucket (page u64, sequence u64), free list
    page u64, high-water page u64, transaction u64, and the FNV-1a-64 checksum of those 56 bytes. Branch elements are
    pos u32, key size u32, page u64; leaf elements flags u32 (1 = bucket), pos u32, key size u32, value size u32; pos
    counts from the element itself. A bucket's value is its root page and sequence (two u64), and when that page is 0
    an inline leaf page follows. Numbers are in the byte order of the machine that wrote; only little-endian is read.

    What is checked. bbolt has no checksum but the metas'. Opening therefore walks the whole file once and refuses it
    unless all is there that bbolt always writes: every page carries its own number and a fitting type; elements lie
    back to back with nothing but zeros behind them; keys ascend; a child begins with the key that its branch names;
    every page is free or has exactly one owner; the top level holds only buckets.

    What cannot be noticed: changed bytes inside a value; a changed key that still sorts between its neighbours, unless
    it is the first of its page; a page's last element grown by the zeros behind it; an empty inner bucket turned into a
    plain key; a page or meta whose last write never reached the disk where the older one still fits; and without a free
    list, which bbolt can be told not to write, a reference to an old copy of a page or to a page further down.

    `orphan_pages` counts the pages that are neither free nor owned, None without a free list. They are what a damaged
    reference leaves behind, so they are refused too; but bbolt itself leaks some when one transaction changes a bucket
    and deletes it. `allow_orphans` reads such a file.

    `page_size` is in bytes. `damaged_meta` is the number of a meta page that could not be used, None when both are
    intact: what is read may then be one transaction old. The file is read into memory at once and without a lock; it is
    closed again when `open` returns.
    """

    def __init__(self, name: str, data: bytes, *, allow_orphans: bool = False) -> None:
        """Read the bytes of a database file, called `name` in messages; raise CorruptDatabase if it is damaged."""
        meta, self.damaged_meta = _newest_meta(name, data)
        pages = _Pages(name=name, data=memoryview(data), page_size=meta.page_size, high_water=meta.high_water)
        root = pages.follow(meta.root, source=meta.page, what="the root bucket", kinds=_TREE)
        census = _Census(pages, meta, root)
        if census.orphans and not allow_orphans:
            raise pages.corrupt(
                census.first_orphan(), "is neither in use nor free: a reference to it is lost (see allow_orphans)"
            )
        self.page_size = meta.page_size
        self.orphan_pages = census.orphans
        self._root = Bucket(root)

    @classmethod
    def open(cls, path: str | Path, *, allow_orphans: bool = False) -> Self:
        """Return the database in a file; raise OSError if it cannot be read, CorruptDatabase if it is damaged."""
        return cls(str(path), _snapshot(Path(path)), allow_orphans=allow_orphans)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Do nothing: the file is not held open."""

    def buckets(self) -> Iterator[bytes]:
        """Return the names of the top-level buckets, ascending."""
        return self._root.buckets()

    def bucket(self, *path: bytes) -> Bucket | None:
        """Return the bucket at a path of names, None if there is none."""
        found: Bucket | None = self._root
        for name in path:
            found = None if found is None else found.bucket(name)
        return found


class Bucket:
    """One bucket of an open database: keys with values, and buckets inside it."""

    def __init__(self, root: _Page) -> None:
        self._root = root

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Return the keys with their values, ascending, without the buckets."""
        for _, elements in _leaves(self._root):
            yield from ((element.key, bytes(element.value)) for element in elements if not element.link)

    def buckets(self) -> Iterator[bytes]:
        """Return the names of the buckets inside, ascending."""
        return iter(self._inside)

    def bucket(self, name: bytes) -> Bucket | None:
        """Return the bucket of that name inside this one, None if there is none or if the name is a plain key."""
        return self._inside.get(name)

    @cached_property
    def _inside(self) -> dict[bytes, Bucket]:
        return {e.key: Bucket(page.bucket(e)) for page, elements in _leaves(self._root) for e in elements if e.link}


class _Meta(NamedTuple):
    page: int
    page_size: int
    root: int
    freelist: int
    high_water: int
    transaction: int


class _Element(NamedTuple):
    key: bytes
    value: memoryview
    link: int  # on a branch page the child's number, on a leaf page the flags: 1 for a bucket


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pages:
    """The pages of one file; `high_water` is the number of the first page that no transaction has used yet."""

    name: str
    data: memoryview
    page_size: int
    high_water: int

    @property
    def in_file(self) -> int:
        return len(self.data) // self.page_size

    def corrupt(self, page: int, what: str) -> CorruptDatabase:
        return CorruptDatabase(f"{self.name}: page {page}: {what}", page)

    def follow(self, number: int, *, source: int, what: str, kinds: tuple[int, ...]) -> _Page:
        """Return the page that `what` on page `source` points to."""
        if number >= self.in_file:
            past = f"points past the end of the file (page {number}, the file has {self.in_file})"
            raise self.corrupt(source, f"{what} {past}")
        if not 2 <= number < self.high_water:
            raise self.corrupt(source, f"{what} points to page {number}, outside the pages 2 to {self.high_water - 1}")
        start = number * self.page_size
        own_number, flags, count, overflow = _HEADER.unpack_from(self.data, start)
        if own_number != number:
            raise self.corrupt(number, f"its header says that it is page {own_number}")
        if flags not in kinds:
            raise self.corrupt(number, f"its type is 0x{flags:x}, not what {what} on page {source} needs")
        if number + overflow >= min(self.in_file, self.high_water):
            raise self.corrupt(number, f"runs on for {overflow} more pages, past the last one")
        body = self.data[start + _HEADER.size : start + (overflow + 1) * self.page_size]
        return _Page(pages=self, number=number, flags=flags, count=count, body=body, overflow=overflow)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    """One page with those it overflows into; an inline page has the number of the page that it lies in."""

    pages: _Pages
    number: int
    flags: int
    count: int
    body: memoryview
    overflow: int = 0
    inline: bool = False

    def corrupt(self, what: str) -> CorruptDatabase:
        return self.pages.corrupt(self.number, f"inline bucket: {what}" if self.inline else what)

    def elements(self) -> list[_Element]:
        """Return the elements, having checked that they are packed as bbolt packs them and that their keys ascend."""
        end = self.count * _ELEMENT_BYTES
        if end > len(self.body):
            raise self.corrupt(f"claims {self.count} elements, more than fit")
        found: list[_Element] = []
        for index, (position, key_size, value_size, link) in enumerate(self._table()):
            start, key_end = end, end + key_size
            end = key_end + value_size
            if index * _ELEMENT_BYTES + position != start:
                raise self.corrupt(f"the data of element {index} does not begin where the data before it ends")
            if end > len(self.body):
                raise self.corrupt(f"element {index} runs past the end of the page")
            key = bytes(self.body[start:key_end])
            if key <= (found[-1].key if found else b""):
                raise self.corrupt(f"the key of element {index}, {_shown(key)}, is not greater than the one before it")
            found.append(_Element(key, self.body[key_end:end], link))
        self._check_rest(end)
        return found

    def bucket(self, element: _Element) -> _Page:
        """Return the root page of the bucket that is this element's value."""
        what = f"bucket {_shown(element.key)}"
        if len(element.value) < _BUCKET.size:
            raise self.corrupt(f"{what} has a header of only {len(element.value)} bytes")
        root, _ = _BUCKET.unpack_from(element.value)
        if not root:
            return self._inline_page(element.value[_BUCKET.size :], what)
        if len(element.value) > _BUCKET.size:
            raise self.corrupt(f"{what} has a root page and {len(element.value)} bytes")
        return self.pages.follow(root, source=self.number, what=what, kinds=_TREE)

    def _inline_page(self, value: memoryview, what: str) -> _Page:
        if len(value) < _HEADER.size:
            raise self.corrupt(f"{what} has neither a root page nor an inline one")
        number, flags, count, overflow = _HEADER.unpack_from(value)
        if (number, flags, overflow) != (0, _LEAF, 0):
            raise self.corrupt(f"{what} has an inline page that is no leaf page of number 0")
        body = value[_HEADER.size :]
        return _Page(pages=self.pages, number=self.number, flags=flags, count=count, body=body, inline=True)

    def _table(self) -> Iterator[tuple[int, int, int, int]]:
        """Return position, key size, value size and link of every element."""
        table = self.body[: self.count * _ELEMENT_BYTES]
        if self.flags == _BRANCH:
            for position, key_size, child in _BRANCH_ELEMENT.iter_unpack(table):
                yield position, key_size, 0, child
            return
        for index, (flags, position, key_size, value_size) in enumerate(_LEAF_ELEMENT.iter_unpack(table)):
            if flags > (0 if self.inline else 1):
                raise self.corrupt(f"element {index} has the impossible flags 0x{flags:x}")
            yield position, key_size, value_size, flags

    def _check_rest(self, end: int) -> None:
        """Refuse what bbolt never leaves behind the last element: bytes other than zero, or more than a spare page."""
        rest = self.body[end:]
        if len(rest) > (0 if self.inline else self.pages.page_size):
            raise self.corrupt(f"has {len(rest)} bytes behind its last element, more than it can have")
        if bytes(rest).count(0) != len(rest):
            raise self.corrupt("has data behind its last element")


class _Census:
    """Who owns which page: the free list, or the tree of one bucket; `orphans` counts those that nobody owns."""

    def __init__(self, pages: _Pages, meta: _Meta, root: _Page) -> None:
        self._pages = pages
        self._used = bytearray(pages.in_file)
        self._free = bytearray(pages.in_file)
        freed = None if meta.freelist == _NO_FREELIST else self._mark_free(meta)
        self._claim(root)
        self._claim_buckets(root)
        self.orphans = None if freed is None else meta.high_water - 2 - freed - sum(self._used)

    def first_orphan(self) -> int:
        """Return the number of the first page that nobody owns, which may be the first that the file lacks."""
        owned = (used or free for used, free in zip(self._used[2:], self._free[2:], strict=True))
        return next((number for number, owner in enumerate(owned, 2) if not owner), self._pages.in_file)

    def _claim(self, page: _Page) -> None:
        for number in range(page.number, page.number + page.overflow + 1):
            if self._used[number]:
                raise self._pages.corrupt(number, "is reached twice, but a page has only one owner")
            if self._free[number]:
                raise self._pages.corrupt(number, "is in use and on the free list")
            self._used[number] = 1

    def _claim_buckets(self, top: _Page) -> None:
        roots = [top]
        while roots:
            root = roots.pop()
            for page, elements in _leaves(root, self._claim):
                for element in elements:
                    if element.link:
                        roots.extend(self._claim_bucket(page.bucket(element)))
                    elif root is top or _is_inline_bucket(page, element):
                        raise page.corrupt(f"{_shown(element.key)} should be a bucket but is marked as a plain key")

    def _claim_bucket(self, root: _Page) -> list[_Page]:
        """Return what is still to be walked: nothing for an inline bucket, which cannot have buckets inside."""
        if root.inline:
            root.elements()
            return []
        self._claim(root)
        return [root]

    def _mark_free(self, meta: _Meta) -> int:
        page = self._pages.follow(meta.freelist, source=meta.page, what="the free list", kinds=(_FREELIST,))
        last, freed = 1, 0
        for (number,) in _free_numbers(page):
            if not last < number < meta.high_water:
                raise page.corrupt(f"lists page {number} as free behind page {last} (pages end at {meta.high_water})")
            if number < self._pages.in_file:
                self._free[number] = 1
            last, freed = number, freed + 1
        self._claim(page)
        return freed


def _free_numbers(page: _Page) -> Iterator[tuple[int]]:
    """Return the numbers on a free list page; a count of 0xFFFF says that the real count is the first of them."""
    first, count = (0, page.count) if page.count < 0xFFFF else (1, _NUMBER.unpack_from(page.body)[0])
    if count > len(page.body) // _NUMBER.size - first:
        raise page.corrupt(f"claims {count} free pages, more than fit")
    return _NUMBER.iter_unpack(page.body[first * _NUMBER.size : (first + count) * _NUMBER.size])


def _is_inline_bucket(page: _Page, element: _Element) -> bool:
    """Tell whether a plain value is, to the byte, an inline bucket with something in it: no such thing is a value."""
    if len(element.value) <= _BUCKET.size + _HEADER.size or any(element.value[:8]):
        return False
    try:
        return bool(page.bucket(element).elements())
    except CorruptDatabase:
        return False


def _leaves(root: _Page, claim: Callable[[_Page], None] = lambda _: None) -> Iterator[tuple[_Page, list[_Element]]]:
    """Yield the leaf pages of a tree in key order, with their elements; every page but the root is claimed."""
    pending: list[tuple[_Page, bytes, int]] = [(root, b"", 0)]
    last = b""
    while pending:
        page, first, depth = pending.pop()
        elements = page.elements()
        if first and (not elements or elements[0].key != first):
            raise page.corrupt(f"does not begin with the key that its branch names, {_shown(first)}")
        if page.flags == _BRANCH:
            children = _children(page, elements, depth)
            for child, _, _ in children:
                claim(child)
            pending.extend(reversed(children))
            continue
        if elements and elements[0].key <= last:
            raise page.corrupt(f"its first key, {_shown(elements[0].key)}, is not greater than the last one before it")
        last = elements[-1].key if elements else last
        yield page, elements


def _children(page: _Page, elements: list[_Element], depth: int) -> list[tuple[_Page, bytes, int]]:
    if not elements:
        raise page.corrupt("is a branch without elements")
    if depth == MAX_TREE_DEPTH:
        raise page.corrupt(f"lies {depth} branches deep, deeper than any real tree")
    return [
        (page.pages.follow(e.link, source=page.number, what=f"branch element {i}", kinds=_TREE), e.key, depth + 1)
        for i, e in enumerate(elements)
    ]


def _newest_meta(name: str, data: bytes) -> tuple[_Meta, int | None]:
    """Return the intact meta of the highest transaction, and the number of the other meta page if it is damaged."""
    first = _intact_meta(data, 0, 0)
    offsets = (first.page_size,) if first else PAGE_SIZES
    second = next((meta for offset in offsets if (meta := _intact_meta(data, 1, offset))), None)
    if first and second:
        if first.transaction == second.transaction and first._replace(page=1) != second:
            raise CorruptDatabase(f"{name}: page 1: claims the same transaction as page 0 but differs from it", 1)
        return max(first, second, key=lambda meta: meta.transaction), None
    if first:
        return first, 1
    if second:
        return second, 0
    raise NotABoltDatabase(f"{name}: page 0: {_without_meta(data)}", 0)


def _intact_meta(data: bytes, page: int, offset: int) -> _Meta | None:
    record = data[offset + _HEADER.size : offset + _HEADER.size + _META.size]
    if len(record) < _META.size:
        return None
    magic, version, page_size, _, root, _, freelist, high_water, transaction, checksum = _META.unpack(record)
    if (magic, version, checksum) != (_MAGIC, _VERSION, _fnv1a(record[: -_NUMBER.size])):
        return None
    if page_size not in PAGE_SIZES or offset != page * page_size:
        return None
    return _Meta(page, page_size, root, freelist, high_water, transaction)


def _fnv1a(data: bytes) -> int:
    """Return the 64-bit FNV-1a hash."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF
    return value


def _without_meta(data: bytes) -> str:
    """Say what a file without an intact meta page looks like."""
    if not data:
        return "the file is empty"
    for start, described in _OTHER_FORMATS.items():
        if data.startswith(start):
            return f"no bbolt meta page; this looks like {described}"
    marks = {data[offset + _HEADER.size :][: len(_MARK)] for offset in (0, *PAGE_SIZES)}
    if _MARK in marks:
        return "neither meta page is intact, or they are of another format version or page size"
    if _MARK[::-1] in marks:
        return "written on a big-endian machine; only little-endian files can be read"
    looks = "; this looks like text" if not _CONTROL & set(data[:512]) else ""
    return f"no bbolt meta page{looks}"


def _snapshot(path: Path) -> bytes:
    """Return a file's bytes; a writer that got in between is an error, for the pages might not fit each other."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if status.st_size > MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"more than {MAX_FILE_BYTES} bytes", str(path))
    with path.open("rb") as file:
        data = file.read(status.st_size)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head != data[:_HEAD_BYTES]:
        raise OSError(errno.EBUSY, "changed while it was being read: close the engine, or read a copy", str(path))
    return data


def _shown(key: bytes) -> str:
    return repr(key) if len(key) <= 40 else f"{key[:40]!r}..."
