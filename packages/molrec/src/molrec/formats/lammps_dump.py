"""LAMMPS dump files in text form: any number of frames, one in memory at a time.

Atoms are sorted by id within a frame, so that a row means the same atom in every frame; a dump lists them in no
particular order. Numbers of atoms, columns and cells may change from frame to frame. `lammps_dump_columns` says what
the columns become.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.lammps_box import general_box, tilted_box, tilted_box_of_dump
from molrec.formats.lammps_dump_columns import atoms_of_rows
from molrec.formats.lammps_header import UNIT_STYLES
from molrec.formats.lammps_names import BOUNDARY
from molrec.formats.lammps_table import MALFORMED, Field, Place, plain_text, read_table
from molrec.formats.notes import Notes
from molrec.model.box import Box
from molrec.model.frame import Frame
from molrec.model.meta import Meta

__all__ = ["DumpSource"]

_ITEM = b"ITEM:"
_FLAG = re.compile(r"[pfsm]{2}$")
#: Lines that may precede the first atom and hold the unit style.
_PREAMBLE = 20
_TILTED, _GENERAL = ["xy", "xz", "yz"], ["abc", "origin"]


class DumpSource:
    """One dump file, compressed or not."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    @cached_property
    def units(self) -> Mapping[str, str] | None:
        """The unit style of ``ITEM: UNITS``, as a preset, or None when the file does not say."""
        with reading(self._path) as file:
            lines = list(islice(file, _PREAMBLE))
        for number, line in enumerate(lines):
            if line.split() == [_ITEM, b"UNITS"] and number + 1 < len(lines):
                return {"preset": _unit_style(lines[number + 1], Place(self.name, number + 2, "ITEM: UNITS"))}
        return None

    def count(self) -> int | None:
        """Return None: frames are found by reading them."""
        return None

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frames from the first one on.

        Raises:
            FormatError: The file is damaged or cut short (``reject-malformed-source``), or changes its units
                (``reject-units-disagree``).
            SchemaError: The notes are strict and something cannot be held.
        """
        with reading(self._path) as file:
            reader = _DumpReader(self.name, file, notes)
            while (frame := reader.next()) is not None:
                yield frame
            if not reader.frames:
                raise Place(self.name, 1, "file").error(0, "holds no frame; a dump begins with 'ITEM: TIMESTEP'")


def _unit_style(line: bytes, place: Place) -> str:
    style = plain_text(line, place)
    if style not in UNIT_STYLES:
        raise place.error(0, f"{style!r} is no unit style of LAMMPS ({', '.join(UNIT_STYLES)})")
    return style


class _DumpReader:
    """Reads one frame after the other and knows the line it is at."""

    def __init__(self, name: str, file: IO[bytes], notes: Notes) -> None:
        self.frames = 0
        self._name = name
        self._file = file
        self._notes = notes
        self._line = 0
        self._units: str | None = None

    def next(self) -> Frame | None:
        """Return the next frame, None at the end of the file."""
        meta = Meta()
        count: int | None = None
        box: Box | None = None
        started = False
        while True:
            line = self._file.readline()
            self._line += 1
            if not line and not started:
                return None
            if not line:
                raise self._cut_short("before its atoms")
            if not line.strip() and not started:
                continue
            item = self._item(line)
            started = True
            if item == ["TIMESTEP"]:
                meta.set("step", self._integer("ITEM: TIMESTEP"), tag="i64")
            elif item == ["UNITS"]:
                self._check_units()
            elif item == ["TIME"]:
                meta.set("time", self._numbers("ITEM: TIME", 1)[0], tag="f64")
            elif item == ["NUMBER", "OF", "ATOMS"]:
                count = self._integer("ITEM: NUMBER OF ATOMS")
                if count < 0:
                    raise self._place("ITEM: NUMBER OF ATOMS").error(0, f"{count} is no number of atoms")
            elif item[:2] == ["BOX", "BOUNDS"]:
                box = self._box(item[2:], meta)
            elif item[:1] == ["ATOMS"]:
                return self._atoms(item[1:], meta, count, box)
            else:
                raise self._place("file").error(
                    0, f"'ITEM: {' '.join(item)}' is not known here; only dumps of atoms are read (atom, custom)"
                )

    # -- lines ------------------------------------------------------------------------------------------------------

    def _place(self, what: str) -> Place:
        return Place(self._name, self._line, what)

    def _cut_short(self, where: str) -> FormatError:
        return FormatError(
            f"{self._name}:{self._line}: the file ends within frame {self.frames}, {where}; {self.frames} whole frames "
            "precede it (--frames selects them once the rest is cut off)",
            MALFORMED,
        )

    def _item(self, line: bytes) -> list[str]:
        place = self._place("file")
        text = plain_text(line, place)
        if not line.startswith(_ITEM):
            more = "; the frame before has more atoms than it states, or the file is no dump" if self.frames else ""
            raise place.error(0, f"a line 'ITEM: ...' is expected, found {text[:40]!r}{more}")
        return text.split()[1:]

    def _following(self) -> bytes:
        line = self._file.readline()
        self._line += 1
        if not line:
            raise self._cut_short("before its atoms")
        return line

    def _numbers(self, what: str, *lengths: int) -> list[float]:
        """Return the numbers of the next line, as many as one of some lengths."""
        line = self._following()
        place = self._place(what)
        words = plain_text(line, place).split()
        if len(words) not in lengths:
            raise place.error(0, f"{lengths[0]} numbers are expected, found {' '.join(words)!r}")
        fields = [Field(f"number {position}", "real") for position in range(len(words))]
        return [float(values[0]) for values in read_table([line], fields, place).values()]

    def _integer(self, what: str) -> int:
        line = self._following()
        return int(read_table([line], [Field("number", "integer")], self._place(what))["number"][0])

    # -- items ------------------------------------------------------------------------------------------------------

    def _check_units(self) -> None:
        line = self._following()
        style = _unit_style(line, self._place("ITEM: UNITS"))
        if self._units is not None and style != self._units:
            raise FormatError(
                f"{self._name}:{self._line}: units {style!r}, but {self._units!r} in earlier frames; split the file "
                "and convert the parts separately",
                "reject-units-disagree",
            )
        self._units = style

    def _box(self, words: list[str], meta: Meta) -> Box:
        """Return the cell of a BOX BOUNDS item; `words` say its kind and the boundaries."""
        what = "ITEM: BOX BOUNDS"
        place = self._place(what)
        kind = next((kind for kind in (_TILTED, _GENERAL) if words[: len(kind)] == kind), [])
        flags = words[len(kind) :]
        if flags and (len(flags) != 3 or not all(_FLAG.match(flag) for flag in flags)):
            raise place.error(0, f"three boundaries such as 'pp ff ss' are expected, found {' '.join(flags)!r}")
        boundary = [flag == "pp" for flag in flags] if flags else [True, True, True]
        if not all(boundary):
            meta[BOUNDARY] = " ".join(flags)
        width = {0: 2, 3: 3, 2: 4}[len(kind)]
        rows = [self._numbers(what, width) for _ in range(3)]
        if kind == _GENERAL:
            if np.linalg.matrix_rank(np.array(rows)[:, :3]) < 3:
                raise place.error(1, "the edge vectors span no volume")
            return general_box([row[:3] for row in rows], [row[3] for row in rows], boundary)
        low, high = [row[0] for row in rows], [row[1] for row in rows]
        if not any((*low, *high)):
            self._notes.changed("cell", "of zero size is no cell")
            meta.pop(BOUNDARY, None)
            return Box(cell_defined=False)
        for offset, (lower, upper) in enumerate(zip(low, high, strict=True)):
            if lower > upper:
                raise place.error(offset + 1, f"the bounds {lower} {upper} are in the wrong order")
        if kind == _TILTED:
            return tilted_box_of_dump(low, high, [row[2] for row in rows], boundary)
        return tilted_box(low, high, (0.0, 0.0, 0.0), boundary)

    def _atoms(self, names: list[str], meta: Meta, count: int | None, box: Box | None) -> Frame:
        place = self._place("ITEM: ATOMS")
        missing = [
            item
            for item, found in (
                ("TIMESTEP", "step" in meta),
                ("NUMBER OF ATOMS", count is not None),
                ("BOX BOUNDS", box is not None),
            )
            if not found
        ]
        if missing or count is None or box is None:
            raise place.error(0, f"no 'ITEM: {missing[0]}' precedes the atoms of frame {self.frames}")
        if not names:
            raise place.error(0, "names no columns; dumps that old are not read")
        if len(set(names)) < len(names):
            raise place.error(0, f"a column is there twice: {' '.join(names)}")
        lines = list(islice(self._file, count))
        first = Place(self._name, self._line + 1, f"ITEM: ATOMS of frame {self.frames}")
        self._line += len(lines)
        if len(lines) < count:
            self._line += 1
            raise self._cut_short(f"after {len(lines)} of {count} atoms")
        try:
            atoms = atoms_of_rows(names, lines, box, first, self._notes)
        except FormatError:
            early = next((offset for offset, line in enumerate(lines) if line.startswith(_ITEM)), None)
            if early is None:
                raise
            # the rows are fewer than stated, which is what is wrong, not the row that is none
            raise first.error(early, f"the frame ends after {early} of {count} atoms") from None
        self.frames += 1
        return Frame({"atoms": atoms}, meta=meta, box=box)
