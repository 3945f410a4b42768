"""The atoms of one frame as columns of an mmCIF table, and how CIF spells values."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array
from molrec.errors import SchemaError
from molrec.formats import mmcif_tags as tags
from molrec.formats.macromolecule_frames import UNWRITABLE, WholeFrame, note_columns
from molrec.formats.notes import Notes
from molrec.vocabulary import CANONICAL_COLUMNS

__all__ = ["TAG", "Sites", "loop", "quoted", "rows_of", "with_nulls"]

#: What a column is called to be a tag of its own.
TAG = re.compile(r"[A-Za-z0-9_.\[\]-]+")

Mask = npt.NDArray[np.bool_]


class Sites:
    """The atoms of one frame as columns of atom_site.

    Args:
        frame: The frame.
        notes: Told about columns mmCIF has no tag for.
        model: Number of its model, None to leave it out.
    """

    def __init__(self, frame: WholeFrame, notes: Notes, model: int | None) -> None:
        self._frame = frame
        self._block = frame.atoms
        self._notes = notes
        self._model = model

    def columns(self) -> dict[str, list[str]]:
        """Return the printed values of each tag."""
        block = self._block
        found = {tag: self._reals(name) for tag, name in tags.COORDINATES.items()}
        found["id"] = self._ids()
        if "hetatm" in block:
            found["group_PDB"] = np.where(block["hetatm"].astype(np.bool_), "HETATM", "ATOM").tolist()
        if "element" in block:
            found["type_symbol"] = self._strings("element", "?", upper=True)
        held = {"x", "y", "z", "id", "hetatm", "element", "u_aniso", "label_seq_id", "res_seq"}
        for name, (tag, _) in tags.LABELS.items():
            if name in block:
                found[tag] = self._strings(name, "." if name == "altloc" else "?")
                held.add(name)
        for tag, name in tags.REALS.items():
            if name in block:
                found[tag] = self._reals(name)
                held.add(name)
        sequence = "label_seq_id" if "label_seq_id" in block else "res_id"
        for tag, name, null in (
            ("label_seq_id", sequence, "."),
            ("pdbx_formal_charge", "formal_charge", "?"),
            ("auth_seq_id", "auth_seq_id" if "auth_seq_id" in block else "res_seq", "?"),
        ):
            if name in block:
                found[tag] = self._integers(name, null)
                held.add(name)
        held |= {"res_id"} if "auth_seq_id" in found or sequence == "res_id" else set()
        if self._model is not None:
            found[tags.MODEL] = [str(self._model)] * block.rows
        for name in block.columns:
            tag = name.removeprefix("atom_site.")
            if (
                block[name].dtype.kind == "T"
                and name not in held
                and name not in CANONICAL_COLUMNS
                and TAG.fullmatch(tag)
            ):
                found[tag] = self._strings(name, None)
                held.add(name)
        note_columns(block, held, "the atoms", "mmCIF", self._notes)
        return found

    def displacements(self) -> list[str]:
        """Return the rows of atom_site_anisotrop."""
        if "u_aniso" not in self._block:
            return []
        known = self._block.validity("u_aniso")
        rows = np.arange(self._block.rows) if known is None else np.flatnonzero(known)
        values = self._block["u_aniso"][rows]
        if values.shape[1:] != (len(tags.ANISOTROPIC),) or not np.isfinite(values).all():
            raise SchemaError(
                f"frame {self._frame.position}: 'u_aniso' is six finite numbers for each atom", UNWRITABLE
            )
        ids = self._ids()
        return [
            f"{ids[row]} {' '.join(map(repr, numbers))}\n" for row, numbers in zip(rows, values.tolist(), strict=True)
        ]

    def _ids(self) -> list[str]:
        if "id" not in self._block:
            return [str(number) for number in range(1, self._block.rows + 1)]
        return self._integers("id", "?")

    def _reals(self, name: str) -> list[str]:
        values, known = self._block[name], self._block.validity(name)
        bad = ~np.isfinite(values) if known is None else ~np.isfinite(values) & known
        if bad.any():
            row = int(bad.argmax())
            raise SchemaError(
                f"frame {self._frame.position}, atom {row}: {name} is {values[row]}, which CIF has no form for",
                UNWRITABLE,
            )
        return with_nulls(list(map(repr, values.tolist())), known, "?")

    def _integers(self, name: str, null: str) -> list[str]:
        values = self._block[name]
        if values.dtype.kind not in "iu":
            raise SchemaError(f"column {name!r} is {self._block.dtype(name)}; mmCIF has integers there", UNWRITABLE)
        return with_nulls(list(map(str, values.tolist())), self._block.validity(name), null)

    def _strings(self, name: str, empty: str | None, *, upper: bool = False) -> list[str]:
        """Return a string column; `empty` stands for "" and null, where None nulls are kept as they are."""
        values = self._block[name]
        known = self._block.validity(name)
        return quoted(np.strings.upper(values) if upper else values, known, empty, f"column {name!r}")


def quoted(values: Array, known: Mask | None, empty: str | None, what: str) -> list[str]:
    """Return strings as CIF spells them."""
    import gemmi

    names, inverse = np.unique(values, return_inverse=True)
    spelled = []
    for name in names.tolist():
        if not name.isascii():
            raise SchemaError(f"{what} holds {name!r}; mmCIF is ASCII", UNWRITABLE)
        quoted = gemmi.cif.quote(name)
        # a text field begins in the first column
        spelled.append("\n" + quoted + "\n" if quoted.startswith(";") else quoted)
    if empty is not None:
        spelled = [empty if not name else text for name, text in zip(names.tolist(), spelled, strict=True)]
    printed = np.array(spelled, dtype=STRING)[inverse]
    if known is not None:
        nulls = values[~known]
        printed[~known] = np.where((nulls == "?") | (nulls == "."), nulls, "?" if empty is None else empty)
    return list(printed.tolist())


def with_nulls(texts: list[str], known: Mask | None, null: str) -> list[str]:
    """Return printed values with `null` where there is none."""
    if known is None:
        return texts
    return [text if has else null for text, has in zip(texts, known.tolist(), strict=True)]


def loop(category: str, names: list[str]) -> str:
    """Return the head of a table."""
    return "\nloop_\n" + "".join(f"{category}{name}\n" for name in names)


def rows_of(columns: list[list[str]]) -> str:
    """Return the rows of a table."""
    return "\n".join(map(" ".join, zip(*columns, strict=True))) + "\n"
