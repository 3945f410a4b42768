"""What holds from one model of a PDB file to the next: cell, title, header lines on their way to the next atoms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from molrec.dtypes import Array
from molrec.formats import pdb_records as records
from molrec.formats.macromolecule import SPACE_GROUP_KEY, Z_VALUE_KEY, malformed
from molrec.formats.notes import Notes
from molrec.formats.pdb_bonds import Connections
from molrec.formats.pdb_columns import Field
from molrec.formats.residue_numbers import ResidueNumbers
from molrec.model.meta import Meta

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Standing"]


@dataclass(slots=True)
class Standing:
    """What holds from one model to the next.

    Attributes:
        path: The file, for messages.
        notes: Told about what is lost or changed.
        residues: Makes residue numbers unsigned.
        connections: The bonds of the file.
        cell: The line of the CRYST1 record last seen.
        scale: The SCALE records since then, by their names.
        meta: Title, space group and Z last seen.
        header: Lines waiting for the next atoms.
        title: TITLE lines of the present model.
        memory: String columns of the atoms, as `LineFields` remembers them.
    """

    path: str
    notes: Notes
    residues: ResidueNumbers
    connections: Connections
    cell: tuple[int, bytes] | None = None
    scale: dict[bytes, tuple[int, bytes]] = field(default_factory=dict)
    meta: Meta = field(default_factory=Meta)
    header: list[str] = field(default_factory=list)
    title: list[str] = field(default_factory=list)
    memory: dict[Field, tuple[npt.NDArray[np.uint8], Array]] = field(default_factory=dict)

    def finish(self) -> None:
        """Note header lines no atoms follow."""
        for line in self.header:
            self.lost(line[:6])
        self.header = []

    def lost(self, record: str) -> None:
        """Note a record that stands where it has no place."""
        self.notes.lost(f"{record.strip()} record", "stands after the atoms and is left out")

    def take(self, record: bytes, line: bytes, number: int, *, before_atoms: bool) -> None:
        """Keep one line that is neither an atom's nor a bond's.

        Args:
            record: The record's name.
            line: The line.
            number: Its number, from 1.
            before_atoms: Whether atoms follow in the same model.

        Raises:
            FormatError: CRYST1 has a Z that is no number.
        """
        if record == b"CRYST1":
            self.cell = number, line
            self.scale = {}
            group, count = line[records.SPACE_GROUP].strip(), line[records.Z_VALUE].strip()
            for key in (SPACE_GROUP_KEY, Z_VALUE_KEY):
                self.meta.pop(key, None)
            if group:
                self.meta[SPACE_GROUP_KEY] = group.decode()
            if count and not count.isdigit():
                raise malformed(self.path, number, f"CRYST1: Z is {count.decode()!r}, where an integer is expected")
            if count:
                self.meta.set(Z_VALUE_KEY, int(count), tag="i64")
        elif record.startswith(b"SCALE"):
            self.scale[record] = number, line
        elif record == b"TITLE" and before_atoms:
            plain = not line[6:8].strip() and (not line[8:10].strip() or line[8:10].strip().isdigit())
            self.title.append(line[10 if plain else 6 :].decode())
        elif record in (b"MASTER", b"NUMMDL"):
            pass  # counted by the reader
        elif before_atoms:
            self.header.append(line.decode())
        else:
            self.lost(record.decode())
