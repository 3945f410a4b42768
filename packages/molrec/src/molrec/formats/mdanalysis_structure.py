"""Topologies and single structures through MDAnalysis: TPR, ITP, MOL2, PQR and CHARMM's CRD.

A file becomes frames that hold what its atoms are and what joins them (`mdanalysis_topology`), with positions where
the file has them, in the file's own units. Force-field parameters are not read by MDAnalysis and are left out, with a
note. Positions go through binary32: exact for a TPR in single precision, the shortest decimal of it for text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from molrec.errors import FormatError
from molrec.formats.cells import box_of_vectors
from molrec.formats.mdanalysis_import import Reading, require_mdanalysis
from molrec.formats.mdanalysis_text import check_ascii, check_card, check_mol2
from molrec.formats.mdanalysis_topology import blocks_of_topology, shortest_decimals
from molrec.formats.mdanalysis_trajectory import atoms_block
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.frame import Frame

__all__ = ["STRUCTURES", "Structure", "StructureSource"]

_MALFORMED = "reject-malformed-source"
_ANGSTROM = {"length": "angstrom", "mass": "amu", "charge": "e"}


@dataclass(frozen=True, slots=True)
class Structure:
    """One format of topologies or structures.

    Attributes:
        description: What it is, in a few words.
        suffixes: Of its files.
        parser: MDAnalysis' name of it.
        units: Of its numbers.
        text: Whether it holds decimal text.
        positions: Whether its files have positions.
        segments: Whether its files have segments or chains of their own.
        left_out: What MDAnalysis does not read of it.
    """

    description: str
    suffixes: tuple[str, ...]
    parser: str
    units: Mapping[str, str]
    text: bool = True
    positions: bool = False
    segments: bool = True
    left_out: str | None = None


STRUCTURES: dict[str, Structure] = {
    "tpr": Structure(
        "GROMACS run input",
        (".tpr",),
        "TPR",
        {"length": "nm", "time": "ps", "mass": "amu", "charge": "e"},
        text=False,
        positions=True,
        left_out="run parameters and force-field parameters",
    ),
    "itp": Structure(
        "GROMACS topology",
        (".itp",),
        "ITP",
        {"mass": "amu", "charge": "e"},
        segments=False,
        left_out="force-field parameters, pairs, exclusions and constraints",
    ),
    "mol2": Structure("Tripos molecule", (".mol2",), "MOL2", _ANGSTROM, positions=True),
    "pqr": Structure("PDB with charges and radii", (".pqr",), "PQR", _ANGSTROM, positions=True),
    "charmm-crd": Structure("CHARMM coordinate card", (), "CRD", _ANGSTROM, positions=True),
}


class StructureSource:
    """One file of one of `STRUCTURES`.

    Args:
        path: The file.
        structure: Its format.
    """

    def __init__(self, path: Path, structure: Structure) -> None:
        self.name = str(path)
        self._path = path
        self._structure = structure
        self.units: Mapping[str, str] | None = structure.units

    def count(self) -> int | None:
        """Return 1 for a file without positions, else None."""
        return None if self._structure.positions else 1

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield the frame of the file; a MOL2 file may have several.

        Raises:
            FormatError: The file is damaged, a relation joins an atom that is not there, or atoms share a number
                (``reject-malformed-source``).
            ImportError: MDAnalysis is not installed.
        """
        require_mdanalysis()
        self._check_text()
        if self._structure.left_out is not None:
            notes.lost(self.name, f"{self._structure.left_out} are left out; MDAnalysis does not read them")
        blocks = self._blocks(notes)
        if not self._structure.positions:
            yield Frame(blocks)
            return
        yield from self._with_positions(blocks, notes)

    def _check_text(self) -> None:
        if self._structure.text:
            check_ascii(self._path)
        if self._structure.parser == "MOL2":
            check_mol2(self._path)
        if self._structure.parser == "CRD":
            check_card(self._path)

    def _blocks(self, notes: Notes) -> dict[str, Block]:
        from MDAnalysis.core._get_readers import get_parser_for

        with Reading(self.name, "the topology", notes):
            with get_parser_for(self.name, self._structure.parser)(self.name) as parser:
                topology = parser.parse()
            return blocks_of_topology(
                topology,
                self.name,
                notes,
                text=self._structure.text,
                segments=self._structure.segments,
            )

    def _with_positions(self, blocks: dict[str, Block], notes: Notes) -> Iterator[Frame]:
        from MDAnalysis.core._get_readers import get_reader_for

        self._note_precision(notes)
        atoms = blocks["atoms"]
        with Reading(self.name, "the positions", notes):
            reader = get_reader_for(self.name, self._structure.parser)(
                self.name, n_atoms=atoms.rows, convert_units=False
            )
        try:
            for position in range(reader.n_frames):
                with Reading(self.name, f"frame {position}", notes):
                    found = reader[position]
                    block = self._moving(found, atoms)
                    box = self._box(found, notes)
                yield Frame({**blocks, "atoms": block}, box=box)
        finally:
            reader.close()

    def _moving(self, found: Any, atoms: Block) -> Block:
        """Return the atoms with the positions, and velocities, of one timestep."""
        if found.n_atoms != atoms.rows:
            raise FormatError(f"{self.name}: positions of {found.n_atoms} atoms, of {atoms.rows}", _MALFORMED)
        moving = atoms_block(
            self._exact(found.positions) if found.has_positions else None,
            self._exact(found.velocities) if found.has_velocities else None,
        )
        block = Block(rows=atoms.rows)
        for part in (atoms, moving):
            for name, values in part.items():
                block[name] = values
                block.set_validity(name, part.validity(name))
                block.column_attributes(name).update(part.column_attributes(name))
        return block

    def _exact(self, values: Any) -> Any:
        if not self._structure.text:
            return values
        flat = np.asarray(values, dtype=np.float64).reshape(-1)
        return shortest_decimals(flat).reshape(-1, 3)

    @staticmethod
    def _box(found: Any, notes: Notes) -> Box:
        if found.dimensions is None:
            return Box(cell_defined=False)
        return box_of_vectors(np.asarray(found.triclinic_dimensions, dtype=np.float64).T, notes)

    def _note_precision(self, notes: Notes) -> None:
        """Note where the file has more digits than MDAnalysis keeps."""
        with self._path.open("rb") as file:
            head = file.read(4096)
        if self._structure.parser == "TPR" and _tpr_precision(head) == 8:
            notes.lost("double precision", f"of {self.name} is rounded to single; MDAnalysis reads no more")
        if self._structure.parser == "CRD" and any(line.split()[1:] == [b"EXT"] for line in head.splitlines()):
            notes.lost("positions", f"of {self.name} have ten decimals; MDAnalysis keeps seven digits")


def _tpr_precision(head: bytes) -> int:
    """Return the bytes of a real in a TPR file, which follow the version's text, padded to four bytes."""
    if len(head) < 8:
        return 0
    (length,) = struct.unpack(">i", head[4:8])
    start = 8 + (length + 3) // 4 * 4
    return int.from_bytes(head[start : start + 4], "big")
