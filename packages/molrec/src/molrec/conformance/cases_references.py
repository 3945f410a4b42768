"""Cases of canonical columns and row references (``docs/spec/vocabulary.md``; ``frame.md``, row references)."""

from __future__ import annotations

from molrec.conformance import looks, tamper
from molrec.conformance.case import Case, Example
from molrec.conformance.content import Column, Frame
from molrec.conformance.making import block, column, f64, frame, i64, strings, u64

__all__ = ["CASES"]

_TOPOLOGY = frame(
    {
        "atoms": block(
            {
                "x": f64(0.0, 1.0, 2.0, 3.0),
                "id": u64(1, 2, 3, 4),
                "atomic_number": u64(8, 1, 1, 0),
                "mol_id": u64(1, 1, 1, 1),
                "res_id": u64(1, 1, 1, 1),
                "charge": f64(-0.8, 0.4, 0.4, 0.0),
                "formal_charge": i64(0, 0, -1, 0),
                "ix": column("i32", [0, -1, 1, 0]),
                "element": strings("O", "H", "H", "M"),
                "free": column("bool", [True, True, False, True]),
            }
        ),
        "bonds": block({"atomi": u64(0, 0), "atomj": u64(1, 2), "bond_type": u64(1, 4), "bond_number": u64(1, 2)}),
        "angles": block({"atomi": u64(1), "atomj": u64(0), "atomk": u64(2)}),
        "pairs": block({"atomi": u64(1), "atomj": u64(2), "is_14": column("bool", [True])}),
        "virtual_sites": block(
            {
                "atomi": u64(3),
                "atomj": u64(0),
                "atomk": u64(1),
                "atoml": u64(0, validity=[False]),
                "type": strings("OM"),
            }
        ),
    }
)

_TARGETS = frame(
    {
        "atoms": block({"x": f64(0.0, 1.0, 2.0)}),
        "beads": block({"ibead": u64(0, 1, 1), "weight": f64(1.0, 0.5, 0.5)}, targets={"ibead": "atoms"}),
        "masked": block({"to": u64(2, 99, validity=[True, False])}, targets={"to": "atoms"}),
        "gone": block({"to": u64()}, targets={"to": "nothing"}),
    }
)


def _pointing(values: Column, target: str = "atoms") -> Frame:
    return frame({"atoms": block({"x": f64(0.0, 1.0)}), "refs": block({"to": values}, targets={"to": target})})


CASES: tuple[Case, ...] = (
    Case(
        "canonical-topology",
        "vocabulary.md",
        "canonical columns have their dtypes; an endpoint of a virtual site may be null",
        (Example("", _TOPOLOGY),),
    ),
    Case(
        "targets-declared",
        "frame.md#row-references",
        "a block says which columns are row indices, and of what",
        (
            Example(
                "",
                _TARGETS,
                looks=(
                    looks.AttributeIs("frame/beads", "targets", {"ibead": "atoms"}),
                    looks.NoAttribute("frame/atoms", "targets"),
                ),
            ),
        ),
    ),
    Case(
        "reject-target-out-of-range",
        "frame.md#row-references",
        "a reference that is not null is below the row count of its target",
        (
            Example("", _pointing(u64(0, 2)), refused=True),
            Example(
                "stored",
                _pointing(u64(0, 1)),
                edits=(tamper.array("frame/refs/to", "u8", [0, 2]),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-target-missing-block",
        "frame.md#row-references",
        "a block with rows refers to a block that is there",
        (
            Example("", _pointing(u64(0, 1), "nothing"), refused=True),
            Example(
                "stored",
                _pointing(u64(0, 1)),
                edits=(tamper.attribute("frame/refs", "targets", {"to": "nothing"}),),
                refused=True,
            ),
        ),
    ),
    Case(
        "reject-target-not-u64",
        "frame.md#row-references",
        "a row reference is a u64 column of its block",
        (
            Example("i64", _pointing(i64(0, 1)), refused=True),
            Example(
                "no column",
                frame({"atoms": block({"x": f64(0.0)}), "refs": block({"to": u64(0)}, targets={"other": "atoms"})}),
                refused=True,
            ),
            Example(
                "stored",
                frame({"atoms": block({"x": f64(0.0, 1.0)}), "refs": block({"to": i64(0, 1)})}),
                edits=(tamper.attribute("frame/refs", "targets", {"to": "atoms"}),),
                refused=True,
            ),
        ),
    ),
)
