"""ASE's extended-XYZ reader, with a note of what it found in the comment line before it moved anything.

ASE moves entries and columns named like a calculator property into one calculator, where an entry and a column of one
name can no longer be told apart. Here they can.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

from ase.io.extxyz import key_val_str_to_dict, read_xyz

from mace_core.data.raw_frame import GRAPH_RESULTS

if TYPE_CHECKING:
    from ase import Atoms

__all__ = ["AseFrame", "read_atoms"]


class AseFrame(NamedTuple):
    """What ASE makes of one frame.

    Attributes:
        atoms: The structure; its info and arrays lack what is in the calculator.
        entries: All entries of the comment line.
        graph_results: Entries of the comment line that are in the calculator.
        atom_results: Columns that are in the calculator.
    """

    atoms: Atoms
    entries: dict[str, Any]
    graph_results: dict[str, Any]
    atom_results: dict[str, Any]


def read_atoms(text: str) -> AseFrame:
    """Have ASE read one frame.

    Args:
        text: The frame as it stands in a file.

    Raises:
        Exception: Whatever ASE's parsing runs into.
    """
    entries: dict[str, Any] = {}

    def parse(line: str) -> dict[str, Any]:
        entries.update(key_val_str_to_dict(line))
        return dict(entries)

    atoms = next(read_xyz(StringIO(text), 0, properties_parser=parse))
    results = {} if atoms.calc is None else atoms.calc.results
    graph_results = {name: value for name, value in results.items() if name in GRAPH_RESULTS and name in entries}
    atom_results = {name: value for name, value in results.items() if name not in graph_results}
    return AseFrame(atoms, entries, graph_results, atom_results)
