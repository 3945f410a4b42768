"""Labelled structures for tests, and where the shared files of labelled structures lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["UNITS", "golden_files", "raw_frames", "real_files", "structure"]

UNITS = {"length": "angstrom", "energy": "eV", "force": "eV/angstrom"}
_SHARED = Path(os.environ.get("MOLREC_SHARED") or Path(__file__).resolve().parents[4] / "shared")


def golden_files() -> list[Path]:
    """Return the golden extended-XYZ files that can be read; none where the shared folder is not there."""
    found = sorted(_SHARED.glob("golden/xyz/*/input.xyz"))
    return [path for path in found if path.parent.name != "literal_stress_six_values"]


def real_files() -> list[Path]:
    """Return the files of real training data; none where the shared folder is not there."""
    return sorted(_SHARED.glob("data/mace-tutorials/*.xyz"))


def structure(count: int = 2, **parts: Any) -> Any:
    """Return a structure with the parts given."""
    from mace_core.data.raw_frame import RawFrame

    fields: dict[str, Any] = {
        "frame_number": 0,
        "comment": "",
        "numbers": np.full(count, 8, dtype=np.int64),
        "positions": np.arange(3.0 * count).reshape(count, 3) / 7,
        "cell": np.zeros((3, 3)),
        "pbc": (False, False, False),
        "graph": {},
        "graph_results": {},
        "atom": {},
        "atom_results": {},
    }
    return RawFrame(**{**fields, **parts})


_KEYS = st.sampled_from(
    ["REF_energy", "REF_stress", "head", "config_type", "config_weight", "label", "pe", "units", "as_read", "x/y", "é"]
)
_ARRAY_KEYS = st.sampled_from(
    ["REF_forces", "REF_charges", "tags", "x", "fx", "mol_id", "charge", "mass", "offset", "a:b"]
)
_INTEGERS = st.integers(-(2**63), 2**63 - 1)
_VALUES = st.one_of(
    st.floats().map(np.float64),
    _INTEGERS.map(np.int64),
    st.integers(2**64, 2**70),
    st.text(max_size=5),
    st.booleans(),
    st.lists(st.booleans(), min_size=2, max_size=3),
    st.sampled_from([(3,), (6,), (9,), (3, 3), (4,), (0,)]).flatmap(
        lambda shape: st.lists(st.floats(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(
            lambda values: np.array(values, dtype=np.float64).reshape(shape)
        )
    ),
    st.lists(_INTEGERS, min_size=3, max_size=3).map(lambda values: np.array(values, dtype=np.int64)),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers(0, 9) | st.floats(), max_size=2),
)


@st.composite
def raw_frames(draw: st.DrawFn) -> Any:
    """Draw one structure: any labels, cells of any rank, perhaps no atoms."""
    count = draw(st.integers(0, 3))
    columns = st.one_of(
        st.sampled_from([(), (3,), (2,)]).flatmap(
            lambda shape: st.lists(
                st.floats(), min_size=count * int(np.prod(shape)), max_size=count * int(np.prod(shape))
            ).map(lambda values: np.array(values, dtype=np.float64).reshape(count, *shape))
        ),
        st.lists(st.integers(-(2**31), 2**31 - 1), min_size=count, max_size=count).map(
            lambda values: np.array(values, dtype=np.int32)
        ),
        st.lists(_INTEGERS, min_size=count, max_size=count).map(lambda values: np.array(values, dtype=np.int64)),
        st.lists(st.floats(width=32), min_size=count, max_size=count).map(
            lambda values: np.array(values, dtype=np.float32)
        ),
        st.lists(st.booleans(), min_size=count, max_size=count).map(lambda values: np.array(values, dtype=bool)),
        st.lists(st.text(max_size=3), min_size=count, max_size=count).map(
            lambda texts: np.array([*texts, None], dtype=object)[:-1]
        ),
    )
    cell = draw(
        st.sampled_from(
            [np.zeros((3, 3)), np.diag([3.0, 4.0, 5.0]) - 0.1, np.diag([2.0, 0.0, 3.0]), np.ones((3, 3)), -np.eye(3)]
        )
    )
    return structure(
        count,
        numbers=np.array(draw(st.lists(st.integers(0, 118), min_size=count, max_size=count)), dtype=np.int64),
        positions=np.array(
            draw(st.lists(st.floats(), min_size=3 * count, max_size=3 * count)), dtype=np.float64
        ).reshape(count, 3),
        cell=cell.copy(),
        pbc=tuple(draw(st.lists(st.booleans(), min_size=3, max_size=3))),
        graph=draw(st.dictionaries(_KEYS, _VALUES, max_size=4)),
        graph_results=draw(st.dictionaries(st.sampled_from(["energy", "dipole"]), _VALUES, max_size=2)),
        atom=draw(st.dictionaries(_ARRAY_KEYS, columns, max_size=3)),
        atom_results=draw(st.dictionaries(st.sampled_from(["forces", "charges"]), columns, max_size=2)),
        move_mask=draw(st.none() | st.just(np.arange(count) > 0) | st.just(np.arange(3 * count).reshape(count, 3) > 1)),
    )
