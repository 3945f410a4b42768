"""The atoms of one frame as lines of a PDB file."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import SchemaError
from molrec.formats import pdb_records as records
from molrec.formats.macromolecule_frames import UNWRITABLE, WholeFrame
from molrec.formats.notes import Notes
from molrec.formats.pdb_atoms import residues_counted_on, serials_counted_on
from molrec.formats.pdb_columns import Field, LinePrinter

__all__ = ["AtomPrinter"]

_LARGEST_CHARGE = 9
#: Last bits a conversion of lengths, there and back, may change.
_SLACK = 8


class AtomPrinter:
    """The atoms of one frame as lines.

    Args:
        frame: The frame.
        notes: Told about digits and columns that have no room.
    """

    def __init__(self, frame: WholeFrame, notes: Notes) -> None:
        self._frame = frame
        self._block = frame.atoms
        self._notes = notes
        self._lines = LinePrinter(frame.atoms.rows, self._describe, b"ATOM  ")

    def _describe(self, row: int) -> str:
        name = f" ({self._block['name'][row]!r})" if "name" in self._block else ""
        return f"frame {self._frame.position}, atom {row}{name}"

    def write(self, file: IO[bytes]) -> npt.NDArray[np.int64]:
        """Write the lines; return the serial numbers.

        Raises:
            SchemaError: Something does not fit its field (``reject-foreign-write``).
        """
        lines, block = self._lines, self._block
        serials = self._serials()
        lines.put_integers(records.SERIAL, serials)
        if "hetatm" in block:
            lines.matrix[self._flags("hetatm"), :6] = np.frombuffer(b"HETATM", dtype=np.uint8)
        self._put_names()
        self._put_text(records.ALTLOC, "altloc")
        self._put_residue_names()
        self._put_chains()
        self._put_residue_numbers()
        self._put_text(records.ICODE, "icode")
        for name, place in zip("xyz", records.COORDINATES, strict=True):
            self._put_real(place, name)
        self._put_real(records.OCCUPANCY, "occupancy")
        self._put_real(records.B_FACTOR, "b_factor")
        self._put_text(records.SEGMENT, "segment")
        elements = self._texts("element")
        if elements is not None:
            lines.put_texts(records.ELEMENT, np.strings.upper(elements), align_left=False)
        self._put_charges()
        file.write(self._with_others(serials))
        return serials

    # -- columns ------------------------------------------------------------------------------------------------------

    def _mask(self, name: str) -> npt.NDArray[np.bool_] | None:
        """Return which rows have no value, None when all have."""
        known = self._block.validity(name)
        return None if known is None else ~known

    def _flags(self, name: str) -> npt.NDArray[np.bool_]:
        known = self._block.validity(name)
        flags: npt.NDArray[np.bool_] = self._block[name].astype(np.bool_)
        return flags if known is None else flags & known

    def _texts(self, *names: str) -> Array | None:
        """Return the first of some string columns, empty where null."""
        name = next((name for name in names if name in self._block), None)
        if name is None:
            return None
        values, absent = self._block[name], self._mask(name)
        if absent is not None:
            values = values.copy()
            values[absent] = ""
        return values

    def _put_chains(self) -> None:
        """Print the authors' chains where there are any."""
        self._put_text(records.CHAIN, "auth_asym_id", "chain")
        chains, author = self._texts("chain"), self._texts("auth_asym_id")
        if chains is not None and author is not None and not np.array_equal(chains, author):
            self._notes.lost("column 'chain'", "is left out; PDB has the authors' chains, auth_asym_id")

    def _put_text(self, place: Field, *names: str) -> None:
        texts = self._texts(*names)
        if texts is not None:
            self._lines.put_texts(place, texts)

    def _put_real(self, place: Field, name: str) -> None:
        if name in self._block and not self._lines.put_reals(
            place, self._block[name], self._mask(name), slack=_SLACK if self._frame.converted else 0
        ):
            self._notes.lost(f"column {name!r}", f"is written with {place.decimals} decimals, all the field has")

    def _serials(self) -> npt.NDArray[np.int64]:
        if "id" not in self._block:
            return np.arange(1, self._block.rows + 1, dtype=np.int64)
        absent = self._mask("id")
        if absent is not None:
            raise SchemaError(f"{self._describe(int(absent.argmax()))} has no id, others have", UNWRITABLE)
        serials = self._block["id"].astype(np.int64)
        if serials_counted_on(serials) is not serials:
            self._notes.lost("ids", "go from 99999 to 0 or 1, or alike; who reads the file counts them on")
        return serials

    def _put_names(self) -> None:
        names, elements = self._texts("name"), self._texts("element")
        if names is None:
            if elements is None:
                return
            names = np.strings.upper(elements)
            self._notes.changed("atom names", "are the elements; the atoms have no names")
        four = np.strings.str_len(names) >= records.NAME.width
        long_element = False if elements is None else np.strings.str_len(elements) > 1
        # two-letter elements and names of four letters begin in column 13
        left = four | long_element
        shifted = Field(records.NAME.name, records.NAME.start + 1, records.NAME.stop)
        self._lines.put_texts(shifted, np.where(left, np.array("", dtype=STRING), names))
        columns = self._lines.matrix[:, records.NAME.start : records.NAME.stop].copy()
        self._lines.put_texts(records.NAME, np.where(left, names, np.array("", dtype=STRING)))
        self._lines.matrix[~left, records.NAME.start : records.NAME.stop] = columns[~left]

    def _put_residue_names(self) -> None:
        """Print residue names right-aligned in three columns; the fourth is the one programs have added."""
        texts = self._texts("res_name")
        if texts is None:
            return
        long = np.strings.str_len(texts) > 3
        empty = np.array("", dtype=STRING)
        usual = Field(records.RESIDUE_NAME.name, records.RESIDUE_NAME.start, records.RESIDUE_NAME.stop - 1)
        self._lines.put_texts(records.RESIDUE_NAME, np.where(long, texts, empty))
        columns = self._lines.matrix[:, records.RESIDUE_NAME.start : records.RESIDUE_NAME.stop].copy()
        self._lines.put_texts(usual, np.where(long, empty, texts), align_left=False)
        self._lines.matrix[long, records.RESIDUE_NAME.start : records.RESIDUE_NAME.stop] = columns[long]

    def _put_residue_numbers(self) -> None:
        block = self._block
        name = next((name for name in ("res_seq", "auth_seq_id", "res_id") if name in block), None)
        if name is None:
            return
        values = block[name]
        if values.dtype.kind not in "iu":
            raise SchemaError(f"column {name!r} is {block.dtype(name)}; residue numbers are integers", UNWRITABLE)
        if values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63:
            raise SchemaError(
                f"{self._describe(int(values.argmax()))}: {name} {values.max()} fits no field", UNWRITABLE
            )
        if name == "auth_seq_id" and "res_id" in block and (values != block["res_id"].astype(np.int64)).any():
            self._notes.lost("column 'res_id'", "is left out; PDB has the authors' residue numbers, auth_seq_id")
        numbers = values.astype(np.int64)
        chain = self._texts("auth_asym_id", "chain")
        if chain is None:
            chain = np.full(len(numbers), "", dtype=STRING)
        if residues_counted_on(numbers, chain) is not numbers:
            self._notes.lost("residue numbers", "go from 9999 to 0; who reads the file counts them on")
        self._lines.put_integers(records.RESIDUE_NUMBER, numbers, self._mask(name))

    def _put_charges(self) -> None:
        if "formal_charge" not in self._block:
            return
        charges, absent = self._block["formal_charge"], self._mask("formal_charge")
        large = np.abs(charges) > _LARGEST_CHARGE
        if large.any():
            row = int(large.argmax())
            raise SchemaError(
                f"{self._describe(row)}: the charge is {charges[row]}; its field holds one digit and a sign", UNWRITABLE
            )
        digits = np.abs(charges).astype(np.uint8) + ord("0")
        signs = np.select([charges > 0, charges < 0], [ord("+"), ord("-")], ord(" ")).astype(np.uint8)
        columns = np.column_stack([digits, signs])
        if absent is not None:
            columns[absent] = ord(" ")
        self._lines.matrix[:, records.CHARGE.start : records.CHARGE.stop] = columns

    # -- lines between the atoms --------------------------------------------------------------------------------------

    def _with_others(self, serials: npt.NDArray[np.int64]) -> bytes:
        """Return the lines with those of ANISOU and TER behind their atoms."""
        parts: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]]] = [
            (np.arange(len(serials)), self._lines.matrix)
        ]
        if "u_aniso" in self._block:
            parts.append(self._displacements())
        if "ter" in self._block:
            parts.append(self._ends(serials))
        if len(parts) == 1:
            return self._lines.text()
        order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
        return np.concatenate([lines for _, lines in parts])[order].tobytes()

    def _displacements(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]]:
        known = self._block.validity("u_aniso")
        rows = np.arange(self._block.rows) if known is None else np.flatnonzero(known)
        describe: Callable[[int], str] = lambda row: self._describe(int(rows[row]))  # noqa: E731
        printer = LinePrinter(len(rows), describe, b"ANISOU")
        printer.matrix[:, 6:27] = self._lines.matrix[rows, 6:27]
        printer.matrix[:, 72:80] = self._lines.matrix[rows, 72:80]
        scaled = self._block["u_aniso"][rows] * records.ANISOTROPIC_SCALE
        numbers = np.rint(np.clip(scaled, -1e12, 1e12))
        if not np.isfinite(scaled).all():
            raise SchemaError(f"frame {self._frame.position}: a number of 'u_aniso' is not finite", UNWRITABLE)
        if not np.array_equal(numbers / records.ANISOTROPIC_SCALE, self._block["u_aniso"][rows]):
            self._notes.lost("column 'u_aniso'", "is written with 4 decimals, all the field has")
        for column, place in enumerate(records.ANISOTROPIC):
            printer.put_reals(place, numbers[:, column])
        return rows, printer.matrix

    def _ends(self, serials: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]]:
        rows = np.flatnonzero(self._flags("ter"))
        printer = LinePrinter(len(rows), self._describe, b"TER")
        printer.put_integers(records.SERIAL, serials[rows] + 1, np.isin(serials[rows] + 1, serials))
        printer.matrix[:, 17:27] = self._lines.matrix[rows, 17:27]
        return rows, printer.matrix
