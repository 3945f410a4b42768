"""Frames to GROMACS structure files (``.gro``); the table of what goes where is in `gro`.

Positions have the fewest decimals, three to nine, that hold them, or those of their declared precision; velocities one
more, as GROMACS has it. Lengths and times in other units are converted to nm and ps.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

from molrec.dtypes import Array
from molrec.errors import SchemaError
from molrec.formats.compressed import replacing
from molrec.formats.images import Images
from molrec.formats.nanometres import POSITIONS, VELOCITIES, Scale, WholeAtoms, stated_units
from molrec.formats.notes import Notes
from molrec.formats.residue_numbers import SIGNED_RESIDUES
from molrec.formats.series import Progress
from molrec.formats.survey import STEP_KEYS
from molrec.model.box import Box
from molrec.model.frame import Frame

__all__ = ["WRAP", "write_gro"]

#: Numbers have five digits and start again from 0 here.
WRAP = 100_000

_FEWEST, _MOST = 3, 9
_RULE = "reject-foreign-write"
#: Roundings of a unit conversion: two of them.
_ULPS = 4 * np.finfo(np.float64).eps


def write_gro(path: Path, images: Images, notes: Notes, progress: Progress | None) -> None:
    """Write frames to a GRO file; it is there complete or not at all.

    Args:
        path: The file; one that is there is replaced.
        images: The frames; a title, step and time of each go to its title line.
        notes: Told about what the format does not hold.
        progress: Called with frames done and frames in all.

    Raises:
        SchemaError: No atoms or positions, or a number too large for its column (``reject-foreign-write``); units that
            are no lengths and times (``reject-units-disagree``).
    """
    writer = _GroWriter(path, images, notes)
    with replacing(path) as file:
        for position in range(len(images.frames)):
            file.write(writer.text(position).encode())
            if progress is not None:
                progress(position + 1, len(images.frames))


class _GroWriter:
    def __init__(self, path: Path, images: Images, notes: Notes) -> None:
        self._path = path
        self._images = images
        self._notes = notes
        self._system = Frame() if images.system is None else images.system
        self._units: dict[str, str] = {}
        self._scale = Scale(self._units)
        self._decimals = _FEWEST
        self._labels: tuple[tuple[Array | None, ...], list[str]] | None = None
        self._note_rest(self._system)

    def text(self, position: int) -> str:
        """Return the lines of one frame."""
        frame = self._images.frames[position]
        self._note_rest(frame)
        units = {**dict(stated_units(self._system)), **dict(stated_units(frame))}
        if units != self._units:
            self._units, self._scale = units, Scale(units, self._notes)
        scale = self._scale
        where = f"{self._path}, frame {position}"
        atoms = WholeAtoms(self._system, frame)
        positions = atoms.vector(POSITIONS)
        if positions is None or not positions[1].all():
            raise SchemaError(f"{where}: a GRO file needs x, y and z of every atom", _RULE)
        lengths = scale.length(positions[0])
        found = atoms.vector(VELOCITIES)
        velocities = None if found is None else (scale.velocity(found[0]), found[1])
        decimals = self._choose_decimals(atoms, lengths, velocities, scale)
        rows = self._rows(atoms, lengths, velocities, decimals, where)
        box = self._box(frame.box or self._system.box, scale, where)
        return f"{self._title(frame, position, scale)}\n{len(lengths):5d}\n{''.join(rows)}{box}\n"

    # -- one frame --------------------------------------------------------------------------------------------------

    def _title(self, frame: Frame, position: int, scale: Scale) -> str:
        title = str(frame.meta.get("title", self._system.meta.get("title", "")))
        plain = " ".join(title.splitlines())
        if plain != title:
            self._notes.lost("title", "has several lines; a GRO file has one")
        time, step = frame.meta.get("time"), next((frame.meta[key] for key in STEP_KEYS if key in frame.meta), None)
        if self._images.times is not None:
            time = float(self._images.times[position])
        if self._images.steps is not None and not self._images.numbered:
            step = int(self._images.steps[position])
        words = [plain] if plain else []
        if time is not None:
            words.append(f"t= {scale.time(float(time))!r}")
        if step is not None:
            words.append(f"step= {step}")
        return " ".join(words)

    def _rows(
        self,
        atoms: WholeAtoms,
        positions: npt.NDArray[np.float64],
        velocities: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None,
        decimals: int,
        where: str,
    ) -> list[str]:
        width = decimals + 5
        _check_fits(positions, width, decimals, f"{where}: a position")
        labels = self._labels_of(atoms, where)
        real = f"%{width}.{decimals}f"
        if velocities is None:
            pattern = "%s" + 3 * real + "\n"
            return list(map(pattern.__mod__, zip(labels, *positions.T.tolist(), strict=True)))
        values, present = velocities
        _check_fits(values[present], width, decimals + 1, f"{where}: a velocity")
        fast = f"%{width}.{decimals + 1}f"
        pattern = "%s" + 3 * real + 3 * fast + "\n"
        rows = list(map(pattern.__mod__, zip(labels, *positions.T.tolist(), *values.T.tolist(), strict=True)))
        for row in np.flatnonzero(~present).tolist():
            rows[row] = ("%s" + 3 * real + "\n") % (labels[row], *positions[row].tolist())
        return rows

    def _choose_decimals(
        self,
        atoms: WholeAtoms,
        positions: npt.NDArray[np.float64],
        velocities: tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]] | None,
        scale: Scale,
    ) -> int:
        declared = self._declared_precision(atoms)
        if declared is not None:
            decimals = math.ceil(-math.log10(scale.length_of(declared)) - 1e-9)
            return min(max(decimals, 1), _MOST)
        tolerance = 0.0 if scale.plain else _ULPS
        for decimals in range(self._decimals, _MOST + 1):
            if _holds(positions, decimals, tolerance) and (
                velocities is None or _holds(velocities[0][velocities[1]], decimals + 1, tolerance)
            ):
                self._decimals = decimals
                return decimals
        self._notes.lost("positions or velocities", f"are rounded to {_MOST} decimals (velocities to {_MOST + 1})")
        return _MOST

    def _declared_precision(self, atoms: WholeAtoms) -> float | None:
        schema = self._images.schema
        columns = {} if schema is None or "atoms" not in schema.blocks else schema.blocks["atoms"].columns
        found = [columns[name].precision if name in columns else atoms.precision(name) for name in POSITIONS]
        stated = [precision for precision in found if precision is not None]
        return min(stated) if len(stated) == 3 else None

    def _labels_of(self, atoms: WholeAtoms, where: str) -> list[str]:
        """Return the first twenty characters of every atom's line."""
        signed = atoms.take(SIGNED_RESIDUES)
        columns = (
            atoms.take("res_id") if signed is None else signed,
            *(atoms.take(name) for name in ("res_name", "name", "id", "element")),
        )
        if self._labels is not None and all(new is old for new, old in zip(columns, self._labels[0], strict=True)):
            return self._labels[1]
        residues, residue_names, names, numbers, elements = columns
        rows = atoms.rows
        if residues is None:
            self._notes.changed("res_id", "is not there; every atom is written as of residue 1")
            residues = np.ones(rows, dtype=np.uint64)
        elif (residues >= WRAP).any() or (residues.astype(np.int64) <= -WRAP // 10).any():
            self._notes.lost("res_id", f"is written modulo {WRAP}; the column has five characters")
        if names is None and elements is not None:
            self._notes.changed("name", "is not there; the element is written as the name of an atom")
            names = elements
        elif elements is not None:
            self._notes.lost("column 'element'", "is left out; a GRO file has no elements")
        if numbers is None:
            numbers = np.arange(1, rows + 1, dtype=np.uint64)
        elif rows and (numbers >= WRAP).any() and (np.diff(numbers.astype(np.int64)) != 1).any():
            self._notes.lost("id", f"is written modulo {WRAP}; the column has five digits")
        labels = list(
            map(
                "%5d%-5s%5s%5d".__mod__,
                zip(
                    _five_digits(residues),
                    self._five("res_name", residue_names, rows, where),
                    self._five("name", names, rows, where),
                    _five_digits(numbers),
                    strict=True,
                ),
            )
        )
        self._labels = columns, labels
        return labels

    def _five(self, what: str, names: Array | None, rows: int, where: str) -> list[str]:
        if names is None:
            self._notes.changed(what, "is not there; its column is blank")
            return [""] * rows
        texts: list[str] = names.tolist()
        together = "".join(texts)
        if not together.isascii() or not together.isprintable():
            raise SchemaError(f"{where}: {what} holds characters other than printable ASCII; replace them", _RULE)
        if max(map(len, texts), default=0) > 5:
            self._notes.lost(what, "is cut to five characters")
            texts = [text[:5] for text in texts]
        return texts

    def _box(self, box: Box | None, scale: Scale, where: str) -> str:
        if box is None or not box.cell_defined:
            return "   0.00000   0.00000   0.00000"
        if box.origin.any():
            self._notes.lost("box origin", "is left out; a GRO file has none")
        if not box.boundary.all():
            self._notes.lost("box boundary", "is left out; a GRO file does not say which directions are periodic")
        vectors = scale.length(box.vectors)
        numbers = [*np.diag(vectors), *(vectors[j, i] for i, j in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)))]
        if not any(numbers[3:]):
            numbers = numbers[:3]
        values = np.array(numbers, dtype=np.float64)
        tolerance = 0.0 if scale.plain else _ULPS
        decimals = next((count for count in range(5, 16) if _holds(values, count, tolerance)), None)
        if decimals is None:
            decimals = 15
            self._notes.lost("box", "is rounded to 15 decimals")
        if not np.isfinite(values).all():
            raise SchemaError(f"{where}: the box {numbers} is not finite; a GRO file holds finite numbers", _RULE)
        texts = [f"{value:.{decimals}f}" for value in numbers]
        # a number that fills its column is set off by a space
        return "".join(text.rjust(decimals + 5) if len(text) < decimals + 5 else f" {text}" for text in texts)

    # -- what is left out -------------------------------------------------------------------------------------------

    def _note_rest(self, frame: Frame) -> None:
        for name, block in frame.items():
            if name != "atoms":
                self._notes.lost(f"block {name!r}", "is left out; a GRO file has atoms only")
                continue
            held = {SIGNED_RESIDUES, "res_id", "res_name", "name", "id", "element", *POSITIONS, *VELOCITIES}
            for column in block.columns:
                mask = block.validity(column)
                if column not in held and (mask is None or mask.any()):
                    self._notes.lost(f"column {column!r}", "is left out; a GRO file has no place for it")
        for key in frame.meta:
            if key not in {"title", "time", "units", *STEP_KEYS}:
                self._notes.lost(f"meta key {key!r}", "is left out; a GRO file has no place for it")


def _holds(values: npt.NDArray[np.float64], decimals: int, tolerance: float) -> bool:
    rounded = np.round(values, decimals)
    return bool((np.abs(rounded - values) <= tolerance * np.abs(values)).all())


def _check_fits(values: npt.NDArray[np.float64], width: int, decimals: int, what: str) -> None:
    if not values.size:
        return
    if not np.isfinite(values).all():
        raise SchemaError(f"{what} is not finite; a GRO file holds finite numbers", _RULE)
    for value in (float(values.min()), float(values.max())):
        if len(f"{value:.{decimals}f}") > width:
            raise SchemaError(
                f"{what}, {value:.{decimals}f}, has more than the {width} characters of its column", _RULE
            )


def _five_digits(numbers: Array) -> list[int]:
    """Return integers as they go into a column of five characters, a sign included."""
    signed = numbers.astype(np.int64)
    wrapped: list[int] = np.where(signed >= 0, signed % WRAP, -(-signed % (WRAP // 10))).tolist()
    return wrapped
