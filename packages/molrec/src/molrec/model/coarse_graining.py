"""Beads from atoms: a coarse-grained frame that remembers what each bead groups (``docs/spec/vocabulary.md``).

Beads are `atoms` rows. The block `members` has one row for each bead and atom: ``ibead`` references the beads of the
frame itself, ``atom`` the rows of the all-atom frame, which `molrec.write` puts beside it as the section the target
names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from molrec.errors import SchemaError
from molrec.model.block import Block
from molrec.model.frame import Frame

__all__ = ["coarse_grain"]

_RULE = "reject-coarse-grain-mapping"
type Rows = npt.NDArray[np.int64]
#: Atom rows of each bead: alone, or as (name, rows), or by name.
type Beads = Mapping[str, Sequence[int]] | Sequence[Sequence[int] | tuple[str, Sequence[int]]]


def coarse_grain(frame: Frame, mapping: Beads, target: str | None = "/frame/atoms") -> Frame:
    """Return a frame of beads, each the mass-weighted mean of the atoms it groups.

    Args:
        frame: An all-atom frame: `atoms` with ``x y z``, of any positive ``mass`` (one each without that column), and
            `bonds` where there are any. Positions are taken as they are; make molecules whole first.
        mapping: The atom rows of every bead, in order of beads: by name, as pairs of name and rows where a name comes
            more than once, or rows alone. Names become ``bead_type``.
        target: What ``atom`` of `members` references, or None for an opaque handle.

    Returns:
        A frame of `atoms` (``x y z mass``, ``charge`` where atoms have one, ``bead_type``), `bonds` between beads whose
        atoms are bonded, and `members`; the box and the units of the frame are carried.

    Raises:
        SchemaError: A bead without atoms, an atom that is not there or stands in one bead twice, atoms without
            positions, or a total mass that is not positive (``reject-coarse-grain-mapping``).
    """
    names, groups = _groups(mapping)
    atoms = frame["atoms"]
    missing = [axis for axis in "xyz" if axis not in atoms]
    if missing:
        raise SchemaError(f"block 'atoms' has no {', '.join(missing)}; beads need positions", _RULE)
    bead = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    atom = np.concatenate([np.empty(0, dtype=np.int64), *groups])
    _check_members(names, bead, atom, atoms.rows)
    mass = atoms["mass"] if "mass" in atoms else np.ones(atoms.rows)
    total = np.bincount(bead, weights=mass[atom], minlength=len(groups))
    if not (total > 0).all():
        first = int(np.flatnonzero(~(total > 0))[0])
        raise SchemaError(f"bead {first} ({names[first]!r}) has the mass {total[first]}; give its atoms masses", _RULE)
    columns: dict[str, npt.ArrayLike] = {
        axis: np.bincount(bead, weights=mass[atom] * atoms[axis][atom], minlength=len(groups)) / total for axis in "xyz"
    }
    columns["mass"] = total
    if "charge" in atoms:
        columns["charge"] = np.bincount(bead, weights=atoms["charge"][atom], minlength=len(groups))
    columns["bead_type"] = names
    members = Block({"ibead": bead.astype(np.uint64), "atom": atom.astype(np.uint64)})
    members.set_target("ibead", "atoms")
    members.set_target("atom", target)
    blocks = {"atoms": Block(columns), "members": members}
    if "bonds" in frame:
        blocks["bonds"] = _bead_bonds(frame["bonds"], bead, atom, len(groups), atoms.rows)
    meta = {"units": frame.meta["units"]} if "units" in frame.meta else None
    coarse = Frame(blocks, box=frame.box)
    if meta is not None:
        coarse.meta.set("units", meta["units"], tag="json")
    return coarse


def _groups(mapping: Beads) -> tuple[list[str], list[Rows]]:
    pairs = (
        list(mapping.items())
        if isinstance(mapping, Mapping)
        else [
            (one[0], one[1]) if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) else ("", one)
            for one in mapping
        ]
    )
    names = [str(name) for name, _ in pairs]
    groups = []
    for number, (name, rows) in enumerate(pairs):
        group = np.asarray(rows)
        if group.ndim != 1 or not group.size or group.dtype.kind not in "iu":
            raise SchemaError(f"bead {number} ({name!r}) is a list of atom rows, found {rows!r}", _RULE)
        groups.append(group.astype(np.int64))
    return names, groups


def _check_members(names: list[str], bead: Rows, atom: Rows, rows: int) -> None:
    beyond = (atom < 0) | (atom >= rows)
    if beyond.any():
        first = int(np.flatnonzero(beyond)[0])
        raise SchemaError(
            f"bead {bead[first]} ({names[bead[first]]!r}) groups atom {atom[first]}, but there are {rows} atoms", _RULE
        )
    pairs = bead * max(1, rows) + atom
    values, times = np.unique(pairs, return_counts=True)
    if (times > 1).any():
        number, twice = divmod(int(values[times > 1][0]), rows)
        raise SchemaError(f"bead {number} ({names[number]!r}) groups atom {twice} twice", _RULE)


def _bead_bonds(bonds: Block, bead: Rows, atom: Rows, beads: int, atoms: int) -> Block:
    """Return a bond for every pair of beads some bond of their atoms joins; an atom may be in several beads."""
    order = np.argsort(atom, kind="stable")
    starts = np.searchsorted(atom[order], np.arange(atoms + 1))
    first, second = bonds["atomi"].astype(np.int64), bonds["atomj"].astype(np.int64)
    counts_first = starts[first + 1] - starts[first]
    counts_second = starts[second + 1] - starts[second]
    repeated = np.repeat(np.arange(len(first)), counts_first * counts_second)
    within = np.arange(len(repeated)) - np.repeat(
        np.concatenate([[0], np.cumsum(counts_first * counts_second)[:-1]])
        if len(first)
        else np.empty(0, dtype=np.int64),
        counts_first * counts_second,
    )
    left = bead[order[starts[first[repeated]] + within // np.maximum(counts_second[repeated], 1)]]
    right = bead[order[starts[second[repeated]] + within % np.maximum(counts_second[repeated], 1)]]
    apart = left != right
    low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
    pairs = np.unique(low * max(1, beads) + high)
    return Block(
        {"atomi": (pairs // max(1, beads)).astype(np.uint64), "atomj": (pairs % max(1, beads)).astype(np.uint64)}
    )
