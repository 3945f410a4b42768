"""Real files become records that say what MDAnalysis says of the same files.

Exact where the file holds binary numbers; where it holds decimals, the record's binary64 rounds to MDAnalysis'
binary32, but for what MDAnalysis computes in binary32: scaled velocities and charges, and positions from fractions.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import molrec as mr
from molrec.conversion import convert

from .real_files import CASES, Case, atom_columns, paths, readable

pytestmark = pytest.mark.engines
mda = pytest.importorskip("MDAnalysis", exc_type=ImportError)
pytest.importorskip("MDAnalysisTests", exc_type=ImportError)

#: Where MDAnalysis finds out the format from the suffix alone, it has to be told.
_TOLD: dict[str, dict[str, Any]] = {
    "PFncdf_Top": {"topology_format": "PRMTOP"},
    "PRM12": {"topology_format": "PRMTOP"},
    "LAMMPSDUMP": {"topology_format": "LAMMPSDUMP"},
    "LAMMPSDUMP_allinfo": {"topology_format": "LAMMPSDUMP", "format": "LAMMPSDUMP"},
    "LAMMPSdata_triclinic": {"atom_style": "id type x y z"},
}
#: Formats of binary numbers, which a record holds exactly.
_BINARY = frozenset(("xtc", "trr", "dcd", "amber-netcdf", "tpr"))
_TEXT = {"name": "names", "res_name": "resnames", "type": "types", "element": "elements", "icode": "icodes"}
_NUMBERS = {"charge": "charges", "mass": "masses", "b_factor": "tempfactors", "occupancy": "occupancies"}


def universe(case: Case) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = _TOLD.get(case.files[0], {})
        return mda.Universe(*map(str, paths(case)), convert_units=False, to_guess=(), **options)


def column(record: mr.Record, name: str) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = atom_columns(record)[name][name][order_of(record)]
    return values


def order_of(record: mr.Record) -> Any:
    """Return the rows as MDAnalysis has them: it sorts LAMMPS' data files, written in any order, by their ids."""
    columns = atom_columns(record)
    return np.argsort(columns["id"]["id"]) if record.meta["source"]["format"] == ["lammps-data"] else slice(None)


READABLE = [case for case in CASES if readable(case)]


@pytest.fixture(scope="module", params=READABLE, ids=lambda case: "-".join(case.files))
def converted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, mr.Record, Any]:
    case: Case = request.param
    path = tmp_path_factory.mktemp("real") / "run.mrec"
    convert(paths(case), path)
    return case, mr.open(path), universe(case)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_atoms_are_those_mdanalysis_sees(converted: tuple[Case, mr.Record, Any]) -> None:
    case, record, found = converted
    columns = atom_columns(record)
    assert next(iter(columns.values())).rows == len(found.atoms)
    for name, attribute in _TEXT.items():
        if name in columns and hasattr(found.atoms, attribute):
            ours, theirs = column(record, name).tolist(), [str(text) for text in getattr(found.atoms, attribute)]
            if name == "type" and case.files[0] == "PSF_NAMD":
                # MDAnalysis cuts some of these types to four characters
                theirs = [whole if whole[:4] == cut else cut for whole, cut in zip(ours, theirs, strict=True)]
            assert ours == theirs, name
    for name, attribute in _NUMBERS.items():
        if name in columns and hasattr(found.atoms, attribute):
            mask = columns[name].validity(name)
            numbers = column(record, name)
            if mask is not None:
                numbers = np.where(mask[order_of(record)], numbers, np.nan)
            expected = np.asarray(getattr(found.atoms, attribute)).astype(np.float32)
            if name == "charge" and case.formats[0] == "prmtop":
                np.testing.assert_allclose(numbers, expected, rtol=2e-7)
            else:
                assert np.array_equal(numbers.astype(np.float32), expected, equal_nan=True), name
    if hasattr(found.atoms, "resids") and "res_id" in columns:
        number = "res_seq" if "res_seq" in columns else "res_id"
        assert column(record, number).astype(np.int64).tolist() == found.atoms.resids.tolist()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_relations_are_those_mdanalysis_sees(converted: tuple[Case, mr.Record, Any]) -> None:
    case, record, found = converted
    assert record.trajectory is not None
    parts = [part for part in (record.system, record.trajectory[0]) if part is not None]
    for name, width in (("bonds", 2), ("angles", 3), ("dihedrals", 4), ("impropers", 4)):
        block = next((part[name] for part in parts if name in part), None)
        theirs = getattr(found, name).indices if hasattr(found, name) else np.empty((0, width), dtype=np.int32)
        if block is None:
            assert not len(theirs) or case.formats[0] == "pdb", name
            continue
        rows = np.column_stack([block[f"atom{letter}"] for letter in "ijkl"[:width]]).astype(np.int64)
        assert _canonical(rows) == _canonical(theirs), name


def _canonical(rows: npt.NDArray[Any]) -> set[tuple[int, ...]]:
    return {min(tuple(row), tuple(row[::-1])) for row in rows.tolist()}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_frames_are_those_mdanalysis_sees(converted: tuple[Case, mr.Record, Any]) -> None:
    case, record, found = converted
    trajectory = record.trajectory
    assert trajectory is not None
    if not hasattr(found, "trajectory"):
        assert "x" not in atom_columns(record)
        return
    assert len(trajectory) == len(found.trajectory)
    rows = order_of(record)
    for position, timestep in enumerate(found.trajectory):
        frame, box = trajectory[position], trajectory.box_at(position)
        for prefix, theirs in (
            ("", timestep.positions if timestep.has_positions else None),
            ("v", timestep.velocities if timestep.has_velocities else None),
            ("f", timestep.forces if timestep.has_forces else None),
        ):
            assert (theirs is not None) == (f"{prefix}x" in frame["atoms"])
            if theirs is not None:
                _compare_vectors(frame["atoms"], prefix, theirs, case, rows, np.zeros(3) if box is None else box.origin)
        _compare_cell(box, timestep.dimensions)
        if case.formats[-1] in {"xtc", "trr"}:
            assert trajectory.steps[position] == timestep.data["step"]
        if case.formats[-1] in {"xtc", "trr", "dcd", "amber-netcdf"} and trajectory.times is not None:
            np.testing.assert_allclose(trajectory.times[position], timestep.time, rtol=1e-12)


def _compare_vectors(
    atoms: mr.Block,
    prefix: str,
    theirs: npt.NDArray[np.float32],
    case: Case,
    rows: Any,
    origin: npt.NDArray[np.float64],
) -> None:
    ours = np.column_stack([atoms[prefix + axis] for axis in "xyz"])[rows]
    if case.formats[-1] == "lammps-dump" and not prefix:
        # MDAnalysis moves the corner of the cell to the origin, and, of fractions of the cell, takes it off once more
        corner = 2 * origin if case.files[-1] == "LAMMPSDUMP" else origin
        np.testing.assert_allclose(ours - corner, theirs, rtol=3e-7, atol=1e-6)
        return
    mask = atoms.validity(f"{prefix}x")
    assert mask is None or isinstance(rows, slice)
    if mask is not None:
        ours, theirs = ours[mask], theirs[mask]
    if prefix == "v" and case.formats[-1] == "amber-netcdf":
        np.testing.assert_allclose(ours, theirs, rtol=3e-7)
        return
    assert np.array_equal(ours.astype(np.float32), theirs)
    # one of these files has binary64, of which MDAnalysis keeps half
    if case.formats[-1] in _BINARY and case.files[-1] != "PFncdf_Trj":
        assert np.array_equal(ours, theirs.astype(np.float64))


def _compare_cell(box: mr.Box | None, dimensions: npt.NDArray[np.float32] | None) -> None:
    if dimensions is None or not dimensions[:3].any():
        assert box is None or not box.cell_defined
        return
    assert box is not None
    lengths = np.linalg.norm(box.vectors, axis=0)
    unit = box.vectors / lengths
    angles = np.rad2deg(np.arccos([unit[:, 1] @ unit[:, 2], unit[:, 0] @ unit[:, 2], unit[:, 0] @ unit[:, 1]]))
    np.testing.assert_allclose([*lengths, *angles], dimensions, rtol=1e-5)


def test_at_least_25_files_are_covered() -> None:
    covered: set[Path] = {path for case in READABLE for path in paths(case)}
    assert len(covered) >= 25
