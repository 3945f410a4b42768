"""GROMACS structure files (``.gro``): one or more frames of atoms in fixed columns, in nm and ps.

A frame is a title, a count of atoms, a line for each atom and a line with the box. The number of decimals is free: the
distance between the decimal points of an atom's coordinates is the width of every real. What a frame becomes:

| file | record |
|---|---|
| residue number and name, atom name | ``res_id``, ``res_name``, ``name`` |
| atom number | ``id``; past 99999 the file starts again from 0 and consecutive numbers are continued |
| position, velocity | ``x y z``, ``vx vy vz``; an atom without velocity has a null one |
| 3 or 9 box numbers | box; all zero for no cell, a direction of length zero is not periodic |
| ``t=`` and ``step=`` at the end of the title, the rest of it | meta ``time``, ``step``, ``title`` |

GROMACS ignores atom numbers. Where they repeat they identify nothing and are left out, with a note. The file has no
elements, masses, charges or bonds. `gro_writer` writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError
from molrec.formats.cells import FlatCellError, box_of_vectors
from molrec.formats.compressed import reading
from molrec.formats.gro_writer import WRAP, write_gro
from molrec.formats.nanometres import UNITS
from molrec.formats.notes import Notes
from molrec.formats.registry import Format
from molrec.formats.residue_numbers import set_residue_numbers
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["GRO", "GroFamily", "GroSource"]

GRO = "gro"

_MALFORMED = "reject-malformed-source"
#: Residue number and name, atom name and number: five characters each.
_LABELS = 20
_COUNT = re.compile(rb"\s*\d+\s*")
_ATOM = re.compile(rb"[ \d-]{4}\d[^\t]{10}[ \d]{5}(\s*-?\d+\.\d*){3}")
_BOX = re.compile(rb"\s*-?\d+\.\d+(\s*-?\d+\.\d+){2}")
_STAMP = re.compile(r"(?P<title>.*?)(\bt=\s*(?P<time>[-+]?[\d.]+([eE][-+]?\d+)?))?\s*(\bstep=\s*(?P<step>\d+))?\s*")


class GroFamily:
    """The one format of this module."""

    def names(self) -> Sequence[str]:
        """Return its name."""
        return [GRO]

    def get(self, name: str) -> Format | None:
        """Return the format by name, or None."""
        if name != GRO:
            return None
        return Format(GRO, "GROMACS structure file", GroSource, write_gro, topology=True)

    def by_content(self, head: bytes) -> str | None:
        """Tell a file by its second line, a count, and its third, an atom in fixed columns or, of no atoms, a box."""
        lines = [line.rstrip(b"\r") for line in head.split(b"\n", 3)[:3]]
        if len(lines) < 3 or not _COUNT.fullmatch(lines[1]):
            return None
        return GRO if (_ATOM if int(lines[1]) else _BOX).match(lines[2]) else None

    def by_name(self, path: Path) -> str | None:
        """Return the format of the suffix ``.gro``."""
        return GRO if path.suffix.lower() == ".gro" else None

    def always_recognized(self, name: str) -> bool:
        """Say no: damaged files, such as one without atoms, are refused with a line number rather than here."""
        del name
        return False


class GroSource:
    """One GRO file.

    Args:
        path: The file, possibly compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``).
    """

    units: Mapping[str, str] | None = UNITS

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def count(self) -> int | None:
        """Return None: the number of frames shows at the end of the file only."""
        return None

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: The file is cut short or a line is not what its place asks for (``reject-malformed-source``).
        """
        with reading(self._path) as file:
            lines, labels = _Lines(self._path, file), _Labels()
            while (title := lines.title()) is not None:
                yield self._frame(title, lines, labels, notes)

    def _frame(self, title: str, lines: _Lines, labels: _Labels, notes: Notes) -> Frame:
        count = lines.count()
        table = _Table(lines, count)
        block = Block(rows=count)
        labels.put(block, table, notes)
        for axis, name in enumerate(("x", "y", "z")):
            block[name] = table.reals(axis, name)
        table.put_velocities(block)
        box = lines.box(count, notes)
        stamp = _STAMP.fullmatch(title)
        assert stamp is not None
        meta = Meta()
        meta.set("title", stamp["title"].rstrip(), tag="string")
        try:
            if stamp["time"] is not None:
                meta.set("time", float(stamp["time"]), tag="f64")
            if stamp["step"] is not None:
                meta.set("step", int(stamp["step"]), tag="i64")
        except ValueError as error:
            raise lines.malformed(f"the time or step in the title is no number ({error})", table.first - 2) from error
        return Frame({"atoms": block}, meta=meta, box=box)


class _Lines:
    """The lines of one file, counted."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file
        #: Number of the line read last.
        self.number = 0

    def malformed(self, what: str, number: int | None = None) -> FormatError:
        """Return the refusal that names a line, the last one read unless said otherwise."""
        return FormatError(f"{self._path}:{self.number if number is None else number}: {what}", _MALFORMED)

    def many(self, count: int) -> list[bytes]:
        """Return that many lines without their ends, or those that are left."""
        found = [line.rstrip(b" \r\n") for line in islice(self._file, count)]
        self.number += len(found)
        return found

    def title(self) -> str | None:
        """Return the title of the next frame, or None at the end; blank lines may end a file, nothing else."""
        first = self.many(1)
        if not first:
            if not self.number:
                raise FormatError(f"{self._path}:1: the file is empty", _MALFORMED)
            return None
        try:
            title = first[0].decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise self.malformed(f"the title is not UTF-8 ({error}); save the file as UTF-8") from error
        if title or self._peek_count():
            return title
        while rest := self.many(1):
            if rest[0]:
                raise self.malformed("text after blank lines, where a file ends; remove the blank lines or the text")
        return None

    def _peek_count(self) -> bool:
        place = self._file.tell()
        line = self._file.readline()
        self._file.seek(place)
        return bool(_COUNT.fullmatch(line))

    def count(self) -> int:
        """Return the count of atoms from the next line."""
        line = self.many(1)
        if not line:
            raise self.malformed("the file ends after this title; a count of atoms is expected")
        if not _COUNT.fullmatch(line[0]):
            raise self.malformed(
                f"a count of atoms is expected, found {_shown(line[0])}; check the count of the frame before it"
            )
        return int(line[0])

    def box(self, count: int, notes: Notes) -> Box:
        """Return the box from the next line."""
        line = self.many(1)
        if not line:
            raise self.malformed("the file ends without the line of the box; it was cut short")
        words = line[0].split()
        try:
            numbers = _box_numbers(line[0]) if len(words) not in {3, 9} else [float(word) for word in words]
        except ValueError:
            numbers = []
        if len(numbers) not in {3, 9} or not np.isfinite(numbers).all():
            raise self.malformed(
                f"after {count} atoms the box is expected, 3 or 9 numbers, found {_shown(line[0])}; "
                "check the count of atoms"
            )
        return self._box_of(numbers, notes)

    def _box_of(self, numbers: list[float], notes: Notes) -> Box:
        vectors = np.diag(numbers[:3])
        if len(numbers) == 9:
            # the file's order is xx yy zz xy xz yx yz zx zy: vector first, component second
            for value, (vector, component) in zip(
                numbers[3:], ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)), strict=True
            ):
                vectors[component, vector] = value
        try:
            return box_of_vectors(vectors, notes)
        except FlatCellError as error:
            raise self.malformed(f"{error}; write zeros for no cell") from error


def _box_numbers(line: bytes) -> list[float]:
    """Return the numbers of a box whose columns touch: each ends as many digits after its point as the last one."""
    decimals = len(line) - line.rfind(b".") - 1
    return [float(number) for number in re.findall(rb"\s*-?\d+\.\d{%d}" % decimals, line)]


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("ascii", errors="backslashreplace"))


class _Table:
    """The lines of the atoms of one frame as a table of characters."""

    def __init__(self, lines: _Lines, count: int) -> None:
        #: Number of the first atom's line.
        self.first = lines.number + 1
        self._lines = lines
        self._rows = lines.many(count)
        if len(self._rows) < count:
            raise lines.malformed(f"the file ends after {len(self._rows)} of {count} atoms; it was cut short")
        self._width = self._real_width() if count else 8
        self._check_characters()
        length = max(map(len, self._rows), default=0)
        self._columns = max(length, _LABELS + 6 * self._width)
        self._characters = np.array(self._rows, dtype=f"S{self._columns}").view(np.uint8).reshape(count, self._columns)

    def labels(self) -> bytes:
        """Return the characters before the coordinates of all atoms, one after the other."""
        return self._characters[:, :_LABELS].tobytes()

    def _real_width(self) -> int:
        points = [place for place, character in enumerate(self._rows[0]) if character == ord(".") and place >= _LABELS]
        if len(points) < 3 or points[1] - points[0] != points[2] - points[1]:
            raise self.malformed(0, "three coordinates in columns of one width are expected from character 21 on")
        return points[1] - points[0]

    def _check_characters(self) -> None:
        text = b"\n".join(self._rows)
        if text.isascii() and b"\t" not in text:
            return
        for row, line in enumerate(self._rows):
            if not line.isascii():
                raise self.malformed(row, "the columns are ASCII; replace the other characters")
            if b"\t" in line:
                raise self.malformed(row, "the columns have fixed places, which a tab does not keep; use spaces")

    def text(self, start: int, stop: int) -> Array:
        """Return the characters of some columns of each row, bytes ``(rows,)``."""
        cut: Array = np.ascontiguousarray(self._characters[:, start:stop]).view(f"S{stop - start}")[:, 0]
        return cut

    def malformed(self, row: int, what: str) -> FormatError:
        """Return the refusal of one row."""
        return self._lines.malformed(f"{what}, found {_shown(self._rows[row])}", self.first + row)

    def integers(self, start: int, stop: int, what: str) -> npt.NDArray[np.int64]:
        """Return some columns as int64 ``(rows,)``."""
        return self._converted(self.text(start, stop), np.int64, what)

    def reals(self, place: int, what: str) -> npt.NDArray[np.float64]:
        """Return one of the six reals as float64 ``(rows,)``."""
        start = _LABELS + place * self._width
        return self._converted(self.text(start, start + self._width), np.float64, what)

    def _converted(self, cut: Array, dtype: type[np.generic], what: str) -> Array:
        try:
            return cut.astype(dtype)
        except ValueError:
            for row, text in enumerate(cut.tolist()):
                try:
                    np.array([text]).astype(dtype)
                except ValueError:
                    raise self.malformed(row, f"{what} is no number ({text.decode()!r}); check the columns") from None
            raise

    def put_velocities(self, block: Block) -> None:
        """Add the velocities if any atom has one; those without are null."""
        start = _LABELS + 3 * self._width
        tail = np.isin(self._characters[:, start : start + 3 * self._width], (0, ord(" ")), invert=True).any(axis=1)
        if not tail.any():
            return
        for axis, name in enumerate(("vx", "vy", "vz")):
            cut = self.text(start + axis * self._width, start + (axis + 1) * self._width)
            cut[~tail] = b"0"
            block[name] = self._converted(cut, np.float64, name)
            block.set_validity(name, tail)


class _Labels:
    """What the atoms are; made once while the frames of a file repeat it."""

    def __init__(self) -> None:
        self._known: bytes | None = None
        self._columns = Block()

    def put(self, block: Block, table: _Table, notes: Notes) -> None:
        """Add the columns of the labels to a block of atoms."""
        found = table.labels()
        if found != self._known:
            self._columns = Block(rows=block.rows)
            set_residue_numbers(self._columns, table.integers(0, 5, "the residue number"), notes)
            for name, start in (("res_name", 5), ("name", 10)):
                self._columns[name] = np.strings.strip(table.text(start, start + 5)).astype("U5").astype(STRING)
            self._put_numbers(table, notes)
            self._known = found
        for name, values in self._columns.items():
            block[name] = values

    def _put_numbers(self, table: _Table, notes: Notes) -> None:
        if not self._columns.rows:
            self._columns["id"] = np.empty(0, dtype=np.uint64)
            return
        numbers = table.integers(15, 20, "the atom number")
        consecutive = numbers[0] + np.arange(len(numbers), dtype=np.int64)
        if numbers[0] >= 0 and np.array_equal(numbers, consecutive % WRAP):
            numbers = consecutive
        distinct, first = np.unique(numbers, return_index=True)
        if len(distinct) == len(numbers) and numbers.min() >= 0:
            self._columns["id"] = numbers.astype(np.uint64)
            return
        again = int(np.setdiff1d(np.arange(len(numbers)), first)[0]) if len(distinct) < len(numbers) else 0
        refused = table.malformed(again, f"the atom number {numbers[again]} is there before, or is below zero")
        notes.lost("atom numbers", f"identify no atoms and are left out ({refused.message})")
