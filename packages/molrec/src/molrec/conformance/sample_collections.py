"""Collections that several modules of cases use, and short ways to say others."""

from __future__ import annotations

from typing import Any

from molrec.conformance.content import Collection, CollectionRecord, Frame, Run, Schema
from molrec.conformance.making import aligned, block, declared, f64, frame, meta, run, strings

__all__ = ["ALIGNED", "SYSTEM", "TWO", "UNITS", "aligned_run", "atoms", "both", "collection", "labelled"]

UNITS = {"length": "angstrom", "energy": "eV", "force": "eV/angstrom"}


def atoms(count: int, shift: float = 0.0, energy: float | None = -1.5, **columns: Any) -> Frame:
    """Return a frame of atoms with an energy, None for none."""
    values = {} if energy is None else {"pe": meta("f64", energy)}
    return frame({"atoms": block({"x": f64(*(shift + row for row in range(count))), **columns})}, meta=values)


def labelled(count: int, shift: float = 0.0, energy: float = -1.5) -> CollectionRecord:
    """Return a labelled structure: one frame with an energy."""
    return CollectionRecord({"config_type": "bulk"}, None, run([atoms(count, shift, energy)], declared([atoms(1)])))


def collection(*records: CollectionRecord, schema: Schema | None = None, **options: Any) -> Collection:
    """Return a collection in the usual units."""
    return Collection(dict(UNITS), list(records), schema, **options)


SYSTEM = frame({"atoms": block({"element": strings("O", "H", "H")})})
TWO = collection(labelled(3), labelled(2, 5.0, -2.5))


def both(atoms: int, types: str | None) -> Frame:
    """Return a frame of some atoms and types, one letter of `types` a row; None leaves the types out."""
    blocks = {"atoms": block({"x": f64(*range(atoms))})}
    if types is not None:
        blocks["types"] = block({"type": strings(*types)})
    return frame(blocks)


ALIGNED = aligned(declared([both(1, "a")]), "types", "atoms")


def aligned_run(*frames: Frame) -> Run:
    """Return a run whose types are aligned with its atoms."""
    return run(list(frames), ALIGNED)
