"""mmCIF (PDBx) files: atoms, models, cells, connections and anisotropic displacements, other categories as they stand.

| mmCIF | record |
|---|---|
| ``_atom_site``: id, label_atom_id, label_comp_id, label_asym_id, label_alt_id, pdbx_PDB_ins_code | ``id name res_name chain altloc icode`` |
| label_seq_id, else auth_seq_id | ``res_id``; ``label_seq_id`` (i64, nullable) where some atoms have none |
| Cartn_x, Cartn_y, Cartn_z, occupancy, B_iso_or_equiv, type_symbol, pdbx_formal_charge | ``x y z occupancy b_factor element formal_charge`` |
| group_PDB, auth_seq_id | ``hetatm`` (bool), ``auth_seq_id`` (i64) |
| other tags of ``_atom_site`` | string columns under their own names |
| ``_atom_site_anisotrop`` | ``u_aniso``, U11 U22 U33 U12 U13 U23 in angstrom squared |
| ``_cell``, space group, ``_struct.title`` | box, meta ``z_value``, ``space_group``, ``title`` |
| ``_struct_conn`` | block ``bonds``: conn_type_id is ``type``, pdbx_value_order ``bond_type``, id ``conn_id``, others own names |
| pdbx_PDB_model_num | meta ``model`` |
| everything else of the data block | meta ``mmcif_categories``, CIF text, on the first frame of the block |

Comments are not kept. A label that a file leaves out is taken from the author's. Each model of each data block with atoms is a frame. CIF is
one table for all models, so its text is in memory as a whole; the frames are made one at a time.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from molrec.errors import FormatError
from molrec.formats.compressed import reading
from molrec.formats.gemmi_import import require_gemmi
from molrec.formats.macromolecule import MALFORMED, UNITS, malformed
from molrec.formats.mmcif_block import DataBlock
from molrec.formats.mmcif_tags import ATOM_SITE
from molrec.formats.mmcif_writer import write_mmcif
from molrec.formats.notes import Notes
from molrec.formats.registry import Format
from molrec.model.frame import Frame

if TYPE_CHECKING:
    import gemmi

__all__ = ["MMCIF", "MmcifFamily", "MmcifSource"]

MMCIF = "mmcif"

_DATA = re.compile(rb"\A(?:\s*#[^\n]*\n|\s)*data_", re.IGNORECASE)
#: Tags of small-molecule CIF have no dots; those of magnetic CIF have, but none of these.
_MACROMOLECULAR = re.compile(
    rb"^\s*_(?:atom_site\.(?:group_PDB|id|type_symbol|label_|auth_|Cartn_|pdbx_)|entry\.id|"
    rb"audit_conform\.dict_name\s+mmcif)",
    re.MULTILINE,
)
_PLACE = re.compile(r"^string:(\d+)(?::\d+\(\d+\))?:?\s*(.*)", re.DOTALL)


class MmcifFamily:
    """The format ``mmcif``."""

    def names(self) -> Sequence[str]:
        """Return the name of the one format."""
        return [MMCIF]

    def get(self, name: str) -> Format | None:
        """Return the format by its name, or None."""
        if name != MMCIF:
            return None
        return Format(MMCIF, "PDBx/mmCIF", MmcifSource, write_mmcif, topology=True)

    def by_content(self, head: bytes) -> str | None:
        """Return ``mmcif`` for a CIF file with tags of the macromolecular dictionary."""
        return MMCIF if _DATA.match(head) and _MACROMOLECULAR.search(head) else None

    def by_name(self, path: Path) -> str | None:
        """Return ``mmcif`` for the suffixes ``.cif``, which small molecules have too, ``.mmcif`` and ``.pdbx``."""
        return MMCIF if path.suffix.lower() in (".cif", ".mmcif", ".pdbx") else None

    def always_recognized(self, name: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """Tell that not every mmCIF file is recognized by its content."""
        return False


class MmcifSource:
    """One mmCIF file, which may be compressed."""

    units: Mapping[str, str] | None = UNITS

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def count(self) -> int | None:
        """Return None: the models are not known without reading them."""
        return None

    def frames(self, notes: Notes) -> Iterator[Frame]:
        """Yield a frame for each model of each data block that has atoms.

        Raises:
            FormatError: The file is damaged: cut short, not ASCII, no CIF, a number that is none, an id that occurs
                twice, a connection of atoms that are not there (``reject-malformed-source``).
            SchemaError: The notes are strict and something cannot be held.
            ImportError: gemmi is not installed.
        """
        require_gemmi()
        found = False
        for block in self._document():
            if not block.find_mmcif_category(ATOM_SITE):
                notes.lost(f"data block {block.name!r}", "has no atoms and is left out")
                continue
            found = True
            yield from DataBlock(self._path, block, notes).frames()
        if not found:
            raise FormatError(
                f"{self.name}:1: no data block has the category _atom_site; a small-molecule CIF is read with --from "
                "cif",
                MALFORMED,
            )

    def _document(self) -> gemmi.cif.Document:
        import gemmi

        with reading(self._path) as file:
            text = file.read()
        if not text.isascii():
            place = next(place for place, code in enumerate(text) if code > 127)
            raise malformed(
                self.name,
                1 + text.count(b"\n", 0, place),
                f"the byte 0x{text[place]:02x} is not ASCII text, as mmCIF is; the file is damaged or of another kind",
            )
        try:
            return gemmi.cif.read_string(text.decode())
        except (ValueError, RuntimeError) as error:
            found = _PLACE.match(str(error))
            line, why = (int(found[1]), found[2]) if found else (1, str(error))
            raise malformed(
                self.name, line, f"this is no CIF: {why}; the file is cut short or damaged, get it again"
            ) from error
