"""Whether LMDB can walk the pages of a file without leaving it (``docs/spec/lmdb.md``, damage).

LMDB trusts the pages it maps: a number changed in one of them may lead it past the end of the file, and the process
ends. `check_head` looks at the two meta pages, which takes no time and is done on every opening. `check_pages` walks
the whole tree, vectorized over the pages of a level: every page is what its parent takes it for, every node lies in its
page, every large value in the file, and the keys ascend so that each is found. Values are not looked into.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from molrec.errors import FormatError

__all__ = ["Head", "check_head", "check_pages"]

type Bytes = npt.NDArray[np.uint8]
type Integers = npt.NDArray[np.int64]
type Words = npt.NDArray[np.uint64]

_DAMAGED, _NOT_ONE = "reject-damaged-collection", "reject-not-a-collection"

#: Page header: page number, padding, flags, then two 16-bit bounds or the number of overflow pages.
_PAGE = struct.Struct("=QHHHH")
#: Magic, version, address, size of the map; two databases follow, then the last page and the transaction.
_META = struct.Struct("=IIQQ")
#: Padding, flags, depth, branch, leaf and overflow pages, entries, root; the padding of the first is the page size.
_DATABASE = struct.Struct("=IHHQQQQQ")
_LAST = struct.Struct("=QQ")
_HEAD_BYTES = _PAGE.size + _META.size + 2 * _DATABASE.size + _LAST.size
_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF, _OVERFLOW, _META_PAGE = 0x01, 0x02, 0x04, 0x08
#: The bits of a page's flags that say of what kind it is.
_KIND = 0x6F
_BIG = 0x01
_NODE_BYTES = 8
_NO_ROOT = 2**64 - 1
_LONGEST_KEY = 511
_MOST_DEPTH = 32
_SMALLEST_PAGE, _LARGEST_PAGE = 512, 65536
#: Pages whose nodes are looked at together.
_PAGES_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Head:
    """What the meta page in force says.

    Attributes:
        page_size: Bytes of a page.
        last_page: Number of the last page in use.
        root: Page of the root, None for an empty database.
        depth: Levels of the tree.
        entries: Keys in it.
    """

    page_size: int
    last_page: int
    root: int | None
    depth: int
    entries: int


def check_head(path: Path) -> Head:
    """Check the meta pages of a file against its size and return the one in force.

    Raises:
        FormatError: No LMDB file (``reject-not-a-collection``), shorter than its pages
            (``reject-truncated-collection``), or with meta pages that make no sense (``reject-damaged-collection``).
    """
    with path.open("rb") as file:
        file.seek(0, 2)
        size = file.tell()
        file.seek(0)
        first = file.read(_HEAD_BYTES)
        page_size = _page_size(first, path)
        file.seek(page_size)
        second = file.read(_HEAD_BYTES)
    candidates = [_read_meta(raw, number, page_size, path) for number, raw in enumerate((first, second))]
    # LMDB takes the later one, and the first of two equals.
    transaction, head = max(candidates, key=lambda candidate: candidate[0])
    if transaction == candidates[0][0]:
        head = candidates[0][1]
    if size < (head.last_page + 1) * page_size:
        raise FormatError(
            f"{path} is cut short: {size} bytes of {(head.last_page + 1) * page_size}", "reject-truncated-collection"
        )
    return head


def _page_size(raw: bytes, path: Path) -> int:
    if len(raw) < _HEAD_BYTES or _META.unpack_from(raw, _PAGE.size)[:2] != (_MAGIC, _VERSION):
        raise FormatError(f"{path} is not a collection: no LMDB file of version {_VERSION}", _NOT_ONE)
    page_size = int(_DATABASE.unpack_from(raw, _PAGE.size + _META.size)[0])
    if not _SMALLEST_PAGE <= page_size <= _LARGEST_PAGE or page_size & (page_size - 1):
        _refuse(path, f"the first page states a page size of {page_size} bytes")
    return page_size


def _read_meta(raw: bytes, number: int, page_size: int, path: Path) -> tuple[int, Head]:
    what = f"meta page {number}"
    if len(raw) < _HEAD_BYTES:
        raise FormatError(f"{path} is cut short: {what} is not there", "reject-truncated-collection")
    _, _, flags, _, _ = _PAGE.unpack_from(raw)
    place = _PAGE.size
    if not flags & _META_PAGE or _META.unpack_from(raw, place)[:2] != (_MAGIC, _VERSION):
        _refuse(path, f"{what} is none")
    place += _META.size
    stated_size, _, _, _, _, _, _, _ = _DATABASE.unpack_from(raw, place)
    _, flags, depth, _, _, _, entries, root = _DATABASE.unpack_from(raw, place + _DATABASE.size)
    last, transaction = _LAST.unpack_from(raw, place + 2 * _DATABASE.size)
    if stated_size != page_size or flags or not 1 <= last < 2**47:
        _refuse(path, f"{what} states pages of {stated_size} bytes up to number {last}, flags {flags}")
    empty = root == _NO_ROOT
    if (not empty and not 2 <= root <= last) or depth > _MOST_DEPTH or empty != (depth == 0):
        _refuse(path, f"{what} states the root {root} and {depth} levels; the last page is {last}")
    return transaction, Head(page_size, last, None if empty else root, depth, entries)


def check_pages(path: Path) -> None:
    """Walk the tree of a file and check every page in it; only pages of values too large for a leaf are left unread.

    Raises:
        FormatError: As `check_head`, or a page that LMDB must not follow (``reject-damaged-collection``).
    """
    head = check_head(path)
    if head.root is None:
        return
    _Walk(path, head, np.memmap(path, np.uint8, mode="r")).run()


class _Walk:
    """One walk from the root down, a level at a time, pages in the order of their keys."""

    def __init__(self, path: Path, head: Head, flat: Bytes) -> None:
        self._path = path
        self._head = head
        self._flat = flat
        self._seen = np.zeros(head.last_page + 1, dtype=np.bool_)
        self._entries = 0

    def run(self) -> None:
        """Go down to the leaves."""
        pages: Integers = np.array([self._head.root], dtype=np.int64)
        # The least key a page may hold, as its parents say: two words and a length.
        bounds: Words = np.zeros((1, 3), dtype=np.uint64)
        for depth in range(self._head.depth):
            is_leaf = depth == self._head.depth - 1
            pages, bounds = self._level(pages, bounds, is_leaf=is_leaf)
        if self._entries != self._head.entries:
            self._refuse(f"the tree holds {self._entries} keys, the meta page states {self._head.entries}")

    def _level(self, pages: Integers, bounds: Words, *, is_leaf: bool) -> tuple[Integers, Words]:
        self._see(pages)
        below: list[Integers] = []
        lows: list[Words] = []
        for first in range(0, len(pages), _PAGES_AT_ONCE):
            part = slice(first, first + _PAGES_AT_ONCE)
            after = bounds[first + _PAGES_AT_ONCE : first + _PAGES_AT_ONCE + 1]
            starts, owners, keys = self._nodes(pages[part], bounds[part], after, is_leaf=is_leaf)
            if is_leaf:
                self._entries += len(starts)
                self._check_values(starts, pages[part][owners])
            else:
                below.append(self._children(starts))
                # What stands in the first node of a branch is no key: its child begins where the branch does.
                is_first = np.append(True, owners[1:] != owners[:-1])
                keys[is_first] = bounds[part][owners[is_first]]
                lows.append(keys)
        if is_leaf:
            return pages, bounds
        return np.concatenate(below), np.concatenate(lows)

    def _see(self, pages: Integers) -> None:
        """Refuse a page that is reached twice."""
        if self._seen[pages].any() or len(np.unique(pages)) != len(pages):
            self._refuse("a page is reached in two ways")
        self._seen[pages] = True

    def _words(self, places: Integers, size: int) -> Integers:
        """Return integers of `size` bytes, in the order of this machine, as LMDB writes them, at places of the file."""
        found = np.zeros(len(places), dtype=np.int64)
        for number in range(size):
            place = number if sys.byteorder == "little" else size - 1 - number
            found |= self._flat[places + place].astype(np.int64) << (8 * number)
        return found

    def _nodes(
        self, pages: Integers, bounds: Words, after: Words, *, is_leaf: bool
    ) -> tuple[Integers, Integers, Words]:
        """Check the nodes of pages; return where each begins, its page's place in `pages`, and its key."""
        size = self._head.page_size
        starts = pages * size
        lower, upper = self._words(starts + 12, 2), self._words(starts + 14, 2)
        counts = (lower - _PAGE.size) // 2
        kinds = self._words(starts + 10, 2) & _KIND
        least = 1 if is_leaf else 2
        wrong = (
            (self._words(starts, 8) != pages)
            | (kinds != (_LEAF if is_leaf else _BRANCH))
            | (lower > upper)
            | (upper > size)
            | (lower % 2 != 0)
            | (counts < least)
        )
        self._refuse_page(pages, wrong, "is no leaf" if is_leaf else "is no branch")
        owners = np.repeat(np.arange(len(pages)), counts)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        pointers = self._words(starts[owners] + _PAGE.size + 2 * within, 2)
        wrong = (pointers < upper[owners]) | (pointers + _NODE_BYTES > size)
        self._refuse_page(pages[owners], wrong, "has a node outside of it")
        nodes = starts[owners] + pointers
        lengths = self._words(nodes + 6, 2)
        ends = pointers + _NODE_BYTES + lengths
        if is_leaf:
            big = (self._words(nodes + 4, 2) & _BIG).astype(np.bool_)
            ends += np.where(big, 8, self._words(nodes, 4))
        named = lengths > 0 if is_leaf else np.ones(len(lengths), dtype=np.bool_)
        wrong = (ends > size) | (lengths > _LONGEST_KEY) | ~named
        self._refuse_page(pages[owners], wrong, "has a node that does not fit into it")
        keys = self._keys(nodes, lengths)
        self._check_order(pages, owners, keys, bounds, after, is_leaf=is_leaf)
        return nodes, owners, keys

    def _keys(self, nodes: Integers, lengths: Integers) -> Words:
        """Return the first 16 bytes of every key as two words that compare alike, and its length."""
        keys = np.zeros((len(nodes), 3), dtype=np.uint64)
        for number in range(16):
            has = lengths > number
            byte = np.zeros(len(nodes), dtype=np.uint64)
            byte[has] = self._flat[nodes[has] + _NODE_BYTES + number]
            keys[:, number // 8] |= byte << np.uint64(56 - 8 * (number % 8))
        keys[:, 2] = np.minimum(lengths, 17)
        return keys

    def _check_order(
        self, pages: Integers, owners: Integers, keys: Words, bounds: Words, after: Words, *, is_leaf: bool
    ) -> None:
        """Refuse keys that do not ascend, within a page and from page to page, or lie where nobody looks for them."""
        is_first = np.append(True, owners[1:] != owners[:-1])
        is_last = np.append(is_first[1:], True)
        own = keys if is_leaf else np.where(is_first[:, None], bounds[owners], keys)
        ascending = np.append(True, _less(own[:-1], own[1:], strict=True))
        # From one page to the next the bounds decide.
        wrong = ~ascending & ~is_first
        wrong[is_first] |= ~_less(bounds[owners[is_first]], own[is_first], strict=False)
        limits = np.concatenate([bounds[1:], after])
        limited = np.flatnonzero(is_last)[: len(limits)]
        wrong[limited] |= ~_less(own[limited], limits[owners[limited]], strict=True)
        self._refuse_page(pages[owners], wrong, "has keys out of order")

    def _children(self, nodes: Integers) -> Integers:
        children = self._words(nodes, 4) | (self._words(nodes + 4, 2) << 32)
        wrong = (children < 2) | (children > self._head.last_page)
        self._refuse_page(children, wrong, "is no page of the file, and a branch leads there")
        return children

    def _check_values(self, nodes: Integers, pages: Integers) -> None:
        """Check nodes of leaves: flags, and where the large values lie."""
        flags = self._words(nodes + 4, 2)
        self._refuse_page(pages, (flags & ~_BIG) != 0, "has a node of a kind that no collection has")
        big = nodes[flags == _BIG]
        if not big.size:
            return
        lengths = self._words(big + 6, 2)
        targets = self._words(big + _NODE_BYTES + lengths, 8)
        outside = (targets < 2) | (targets > self._head.last_page)
        self._refuse_page(targets, outside, "is no page of the file, and a large value lies there")
        starts = targets * self._head.page_size
        spans = self._words(starts + 12, 4)
        needed = _PAGE.size + self._words(big, 4)
        wrong = (
            (self._words(starts, 8) != targets)
            | ((self._words(starts + 10, 2) & _KIND) != _OVERFLOW)
            | (spans < 1)
            | (spans > self._head.last_page + 1 - targets)
            | (spans * self._head.page_size < needed)
        )
        self._refuse_page(targets, wrong, "does not hold the large value that lies there")
        self._see_spans(targets, spans)

    def _see_spans(self, targets: Integers, spans: Integers) -> None:
        pages = np.repeat(targets, spans) + np.arange(int(spans.sum())) - np.repeat(np.cumsum(spans) - spans, spans)
        self._see(pages)

    # -- refusals -----------------------------------------------------------------------------------------------------

    def _refuse_page(self, pages: Integers, wrong: npt.NDArray[np.bool_], what: str) -> None:
        if wrong.any():
            self._refuse(f"page {int(pages[np.argmax(wrong)])} {what}")

    def _refuse(self, what: str) -> NoReturn:
        _refuse(self._path, what)


def _less(one: Words, other: Words, *, strict: bool) -> npt.NDArray[np.bool_]:
    """Tell which keys come before others; keys alike in all that is held of them are let pass."""
    less = np.zeros(len(one), dtype=np.bool_)
    equal = np.ones(len(one), dtype=np.bool_)
    for word in range(3):
        less |= equal & (one[:, word] < other[:, word])
        equal &= one[:, word] == other[:, word]
    # Keys of more than 16 bytes are known in part.
    return less | (equal & ((one[:, 2] > 16) if strict else True))


def _refuse(path: Path, what: str) -> NoReturn:
    raise FormatError(f"{path}: {what}; the file is damaged, take another copy of it", _DAMAGED)
