"""PDB files: atoms, models, cells, CONECT bonds and anisotropic displacements, and the header as it stands.

| PDB | record |
|---|---|
| serial number, atom name, residue name, chain, insertion code, alternate location | ``id name res_name chain icode altloc`` |
| residue number | ``res_id``; where a chain has negative ones, moved, and the file's own in ``res_seq`` (i64) |
| x y z, occupancy, B factor, element, charge | ``x y z occupancy b_factor element formal_charge`` |
| ATOM or HETATM, TER, segment | ``hetatm`` (bool), ``ter`` (bool: a TER follows), ``segment`` |
| ANISOU | ``u_aniso``, U11 U22 U33 U12 U13 U23 in angstrom squared |
| CRYST1, SCALE | box, meta ``space_group`` and ``z_value`` |
| CONECT | block ``bonds``; a partner named two or three times is ``bond_type`` 2 or 3 |
| MODEL, TITLE | meta ``model``, ``title`` |
| other lines before the atoms | meta ``pdb_header``, a list, on the frame they stand before |

Serial and residue numbers may be hybrid-36. Where they start again behind the largest decimal number (serial numbers
at 0 or 1 after 99999, residue numbers at 0 after 9999 in a chain) they are counted on; a file says so with a note.
A field that is empty in every line of a model gives no column, one that is empty in some a null there. Elements are
never inferred from names, which programs align as they like. SIGATM and SIGUIJ are not kept; SCALE is, as the
orientation of the box, and ORIGX and MTRIX are header lines. Every model is a frame; the file is read twice, since
CONECT stands at its end. Bonds are a frame's where it has both atoms.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.gemmi_import import require_gemmi
from molrec.formats.macromolecule import MALFORMED, UNITS, malformed
from molrec.formats.notes import Notes
from molrec.formats.pdb_bonds import Connections
from molrec.formats.pdb_model import Model
from molrec.formats.pdb_records import MASTER_ATOMS, Outline, looks_like_pdb, outline, segments
from molrec.formats.pdb_standing import Standing
from molrec.formats.pdb_writer import write_pdb
from molrec.formats.registry import Format
from molrec.formats.residue_numbers import ResidueNumbers
from molrec.model.frame import Frame

__all__ = ["PDB", "PdbFamily", "PdbSource"]

PDB = "pdb"


class PdbFamily:
    """The format ``pdb``."""

    def names(self) -> Sequence[str]:
        """Return the name of the one format."""
        return [PDB]

    def get(self, name: str) -> Format | None:
        """Return the format by its name, or None."""
        if name != PDB:
            return None
        return Format(PDB, "Protein Data Bank format", PdbSource, write_pdb, topology=True)

    def by_content(self, head: bytes) -> str | None:
        """Return ``pdb`` where a file begins with known records and coordinates in PDB's columns."""
        return PDB if looks_like_pdb(head) else None

    def by_name(self, path: Path) -> str | None:
        """Return ``pdb`` for the suffixes ``.pdb`` and ``.ent``."""
        return PDB if path.suffix.lower() in (".pdb", ".ent") else None

    def always_recognized(self, name: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """Tell that not every PDB file is recognized by its content."""
        return False


class PdbSource:
    """One PDB file, which may be compressed; models are read one by one."""

    units: Mapping[str, str] | None = UNITS

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def count(self) -> int | None:
        """Return None: the models are not known without reading them."""
        return None

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield a frame for each model, or one for a file without models.

        Raises:
            FormatError: The file is damaged: cut short, not ASCII, a number that is none, a serial number that occurs
                twice, a bond to an atom that is not there, a count that is wrong (``reject-malformed-source``).
            SchemaError: The notes are strict and something cannot be held.
            ImportError: gemmi is not installed.
        """
        require_gemmi()
        with reading(self._path) as file:
            stated = outline(file)
        connections = Connections.parse(self.name, stated, notes)
        standing = Standing(self.name, notes, ResidueNumbers(), connections)
        counts: list[int] = []
        with reading(self._path) as file:
            for segment in segments(file):
                model = Model.parse(segment, standing)
                if model is not None:
                    frame = model.frame()
                    counts.append(frame["atoms"].rows)
                    yield frame
        standing.finish()
        if not counts:
            raise FormatError(f"{self.name}:1: there is no ATOM or HETATM record; this is no PDB file", MALFORMED)
        self._check_counts(stated, counts)
        connections.check_all_found()

    def _check_counts(self, stated: Outline, counts: Sequence[int]) -> None:
        """Compare with what the file says of itself.

        MASTER counts one model or all, with alternate locations or without, so it only shows that atoms are missing.
        """
        for number, line in zip(stated.numbers.get(b"MASTER", ()), stated.lines.get(b"MASTER", ()), strict=True):
            field = line[MASTER_ATOMS].strip()
            if field.isdigit() and int(field) > sum(counts):
                raise malformed(
                    self.name,
                    number,
                    f"MASTER counts {int(field)} atoms, but the file has {sum(counts)}; it is cut short or edited, get "
                    "it again or correct the record",
                )
        for number, line in zip(stated.numbers.get(b"NUMMDL", ()), stated.lines.get(b"NUMMDL", ()), strict=True):
            field = line[10:14].strip()
            if field.isdigit() and int(field) != len(counts):
                raise malformed(
                    self.name,
                    number,
                    f"NUMMDL says {int(field)} models, but the file has {len(counts)}; it is cut short or edited, get "
                    "it again or correct the record",
                )
