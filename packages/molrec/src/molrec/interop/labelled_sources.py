"""Files of labelled structures: extended XYZ, the databases of ASE, whatever else ASE reads as atoms.

Extended XYZ goes through the reader of `mace_core`, whole: every entry and column of it is kept, whatever keys are
asked for. A database of ASE (``.db``, ``.aselmdb``) adds to each structure its key-value pairs and its data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.errors import FormatError
from molrec.formats.ase_import import require_ase

if TYPE_CHECKING:
    from ase import Atoms

    from mace_core.data.raw_frame import RawFrame

__all__ = ["DATABASE_SUFFIXES", "LabelledSource", "is_database", "labelled_source", "structure_of_atoms"]

DATABASE_SUFFIXES = (".db", ".aselmdb")
_SQLITE = b"SQLite format 3\0"
_MALFORMED = "reject-malformed-source"


@dataclass(frozen=True, slots=True)
class LabelledSource:
    """One file of labelled structures; it can be pickled.

    Attributes:
        path: The file.
        kind: ``extxyz``, ``database``, or ASE's name of a format.
        stamp: Entries written over those of every structure.
    """

    path: Path
    kind: str
    stamp: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_in_ase_units(self) -> bool:
        """Whether its numbers are in ASE's units by the definition of the format; those of text are in anybody's."""
        return self.kind != "extxyz"

    def structures(self) -> Iterator[RawFrame]:
        """Yield the structures from the first one on; may be called again.

        Raises:
            FormatError: The file is damaged (``reject-malformed-source``).
            OSError: It cannot be opened.
        """
        read: Callable[[Path], Iterator[RawFrame]]
        read = {"extxyz": _extended_xyz, "database": _database}.get(self.kind, self._with_ase)
        for raw in read(self.path):
            raw.graph.update(self.stamp)
            yield raw

    def _with_ase(self, path: Path) -> Iterator[RawFrame]:
        require_ase()
        from ase.io import iread

        images = iread(str(path), index=slice(None), format=self.kind, do_not_split_by_at_sign=True)
        yield from _structures(path, images, lambda atoms: atoms)


def labelled_source(path: Path, kind: str | None = None) -> LabelledSource | None:
    """Return the source behind a file, None where it is no file of atoms as ASE has them.

    Args:
        path: The file.
        kind: Its format, where that is known.

    Raises:
        FormatError: No such file, or its format is not recognized.
    """
    from molrec.formats.ase import AseSource
    from molrec.formats.registry import formats

    if kind == "db" or (kind is None and is_database(path)):
        return LabelledSource(path, "database")
    found = formats().for_reading(path, kind)
    assert found.open_source is not None
    return LabelledSource(path, found.name) if isinstance(found.open_source(path), AseSource) else None


def is_database(path: Path) -> bool:
    """Tell whether a file is a database of ASE."""
    if not path.is_file():
        return False
    if path.suffix in DATABASE_SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _extended_xyz(path: Path) -> Iterator[RawFrame]:
    from mace_core.data.errors import DataError
    from mace_core.data.frames import EVERYTHING, chosen_parser, iter_raw_frames

    try:
        yield from iter_raw_frames(str(path), EVERYTHING, chosen_parser())
    except DataError as error:
        raise FormatError(str(error), _MALFORMED) from error


def _database(path: Path) -> Iterator[RawFrame]:
    require_ase()
    try:
        from ase.db import connect

        database = connect(str(path))
    except ImportError as error:
        raise ImportError(f"{path}: ASE needs its further databases for it: pip install ase-db-backends") from error

    # not every kind of database is to be closed
    with database if hasattr(database, "__exit__") else nullcontext():
        yield from _structures(path, database.select(), _atoms_of_row)


def _atoms_of_row(row: Any) -> Atoms:
    atoms: Atoms = row.toatoms()
    atoms.info.update({**row.data, **row.key_value_pairs})
    return atoms


def _structures(path: Path, items: Iterator[Any], atoms_of: Callable[[Any], Atoms]) -> Iterator[RawFrame]:
    number = 0
    while True:
        try:
            item = next(items, None)
            raw = None if item is None else structure_of_atoms(atoms_of(item), number)
        except (OSError, ImportError):
            raise
        except Exception as error:
            # a parser of someone else's file may raise anything; nothing is swallowed
            raise FormatError(
                f"{path}, structure {number}: ASE cannot read it ({type(error).__name__}: {error})", _MALFORMED
            ) from error
        if raw is None:
            return
        yield raw
        number += 1


def structure_of_atoms(atoms: Atoms, number: int) -> RawFrame:
    """Return what an `ase.Atoms` holds: info, arrays, results of its calculator, constraints that fix atoms.

    The atoms are read, never changed; nothing is computed.
    """
    from mace_core.data.ase_frames import move_mask_of
    from mace_core.data.raw_frame import GRAPH_RESULTS, RawFrame, three_bools

    results = {} if atoms.calc is None else atoms.calc.results
    per_atom = {name for name, value in results.items() if name not in GRAPH_RESULTS}
    return RawFrame(
        frame_number=number,
        comment="",
        numbers=np.array(atoms.numbers, dtype=np.int64),
        positions=np.array(atoms.positions, dtype=np.float64),
        cell=np.array(atoms.cell.array, dtype=np.float64),
        pbc=three_bools(atoms.pbc),
        graph={str(name): value for name, value in atoms.info.items() if value is not None},
        graph_results={name: _copied(value) for name, value in results.items() if name not in per_atom},
        atom={name: np.array(array) for name, array in atoms.arrays.items()},
        atom_results={name: np.array(results[name]) for name in per_atom if results[name] is not None},
        move_mask=move_mask_of(atoms),
    )


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value
