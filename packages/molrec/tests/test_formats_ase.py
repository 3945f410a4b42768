"""Files ASE reads, as records and back: exactly, and with a word about everything that does not fit."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import molrec as mr
from molrec.conversion import Conversion, convert
from molrec.formats.ase import LazyAtoms
from molrec.formats.ase_atoms import UNITS, frame_of_atoms
from molrec.formats.documents import from_document, to_document
from molrec.formats.images import Images
from molrec.formats.notes import ConversionWarning, Notes
from molrec.formats.registry import formats
from molrec.formats.series import ScannedSeries

pytest.importorskip("ase")

from ase import Atoms, units
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.singlepoint import SinglePointCalculator
from ase.constraints import FixAtoms, FixBondLength
from ase.io import iread, read, write

from molrec.interop.ase import from_atoms, to_atoms

SHARED = Path(os.environ.get("MOLREC_SHARED", Path(__file__).resolve().parents[4] / "shared"))
SOLVENTS = SHARED / "data" / "mace-tutorials"
needs_solvents = pytest.mark.skipif(not SOLVENTS.is_dir(), reason=f"no {SOLVENTS}")


def same(first: Any, second: Any) -> bool:
    """Compare values of ``info`` or ``results``: kind, dtype, shape and bits."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return (
            isinstance(first, np.ndarray)
            and isinstance(second, np.ndarray)
            and first.dtype == second.dtype
            and first.shape == second.shape
            and first.tolist().__repr__() == second.tolist().__repr__()
        )
    if isinstance(first, dict):
        return (
            isinstance(second, dict) and list(first) == list(second) and all(same(first[k], second[k]) for k in first)
        )
    if isinstance(first, (list, tuple)):
        return isinstance(second, (list, tuple)) and len(first) == len(second) and all(map(same, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and repr(plain(first)) == repr(plain(second))


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def assert_same_atoms(found: Any, expected: Any, *, velocities_rounded: bool = False) -> None:
    assert list(found.arrays) == list(expected.arrays) or set(found.arrays) == set(expected.arrays)
    for name, array in expected.arrays.items():
        if name == "momenta" and velocities_rounded:
            np.testing.assert_allclose(found.arrays[name], array, rtol=1e-15)
        else:
            assert same(found.arrays[name], array), name
    assert same(found.cell.array, expected.cell.array)
    assert same(found.pbc, expected.pbc)
    assert same(np.asarray(found.get_celldisp()).ravel(), np.asarray(expected.get_celldisp()).ravel())
    assert found.info.keys() == expected.info.keys()
    for name, value in expected.info.items():
        assert same(found.info[name], value), (name, found.info[name], value)
    assert (found.calc is None) == (expected.calc is None)
    if expected.calc is not None:
        assert found.calc.results.keys() == expected.calc.results.keys()
        for name, value in expected.calc.results.items():
            assert np.array_equal(np.asarray(found.calc.results[name]), np.asarray(value), equal_nan=True), name
    assert repr(found.constraints) == repr(expected.constraints)


def water(count: int = 1, **options: Any) -> Any:
    return Atoms("OH2" * count, positions=np.arange(9 * count, dtype=float).reshape(-1, 3) / 7, **options)


def rich_atoms() -> Any:
    """Atoms with something in every place ASE has."""
    atoms = water(2, cell=[[9.0, 0.5, 0.0], [0.0, 8.0, 0.25], [0.125, 0.0, 7.0]], pbc=(True, False, True))
    atoms.set_celldisp([0.5, -1.0, 2.0])
    atoms.set_tags([0, 1, 1, 0, 2, 2])
    atoms.set_masses([15.9, 2.014, 2.014, 17.999, 1.008, 1.008])
    atoms.set_initial_charges([-0.8, 0.4, 0.4, -0.8, 0.4, 0.4])
    atoms.set_initial_magnetic_moments([0.0, 1.0, -1.0, 0.0, 0.5, -0.5])
    atoms.set_array("molID", np.array([0, 0, 0, 1, 1, 1], dtype=np.int32))
    atoms.set_array("descriptor", np.linspace(-1, 1, 18).reshape(6, 3))
    atoms.set_array("flag", np.array([True, False] * 3))
    atoms.set_array("label", np.array(["a", "bb", "", "d", "e", "f"], dtype=object))
    atoms.set_array("mass", np.full(6, 3.0))  # not ASE's masses: an array that happens to be called so
    atoms.set_array("type", np.array([1, 2, 2, 1, 2, 2]))
    atoms.set_array("offset", np.arange(6))
    atoms.set_array("id", np.arange(6) + 10)
    atoms.set_constraint(FixAtoms([1, 4]))
    atoms.info |= {
        "number": 7,
        "small": np.int32(-7),
        "real": -0.0,
        "nan": float("nan"),
        "yes": True,
        "text": "O'Neil [x] ü",
        "pe": 1.5,
        "units": "mine",
        "a/b": "slash",
        "ase.b": "prefixed",
        "vector": np.array([1.0, 2.0, 3.0]),
        "virial": np.arange(9.0).reshape(3, 3),
        "counts": np.array([1, 2, 3, 4]),
        "nine": np.arange(9.0),
        "grid": np.arange(8, dtype=np.int16).reshape(2, 2, 2),
        "bools": np.array([True, False, True]),
        "nested": {"list": [1, 2.5, "x", None, float("inf")], "array": np.array([[1.0, np.nan]])},
        "huge": 2**70,
        "wide": 2**63,
    }
    atoms.calc = SinglePointCalculator(
        atoms,
        energy=-12.5,
        free_energy=-12.75,
        forces=np.arange(18.0).reshape(6, 3) - 9,
        stress=np.arange(6.0),
        dipole=np.array([0.0, -1.0, 1.0]),
        charges=np.arange(6.0) / 10,
        magmoms=np.arange(6.0) / 3,
        stresses=np.arange(36.0).reshape(6, 6),
    )
    return atoms


# -- one frame --------------------------------------------------------------------------------------------------------


def test_every_place_of_atoms_survives_a_frame() -> None:
    atoms = rich_atoms()
    assert_same_atoms(to_atoms(from_atoms(atoms, strict=True), strict=True), atoms)


def test_canonical_names_and_dtypes() -> None:
    frame = from_atoms(rich_atoms())
    block = frame["atoms"]
    assert {name: block.dtype(name) for name in ("element", "x", "mass", "charge", "fx", "free", "id", "molID")} == {
        "element": "string",
        "x": "f64",
        "mass": "f64",
        "charge": "f64",
        "fx": "f64",
        "free": "bool",
        "id": "u64",
        "molID": "i32",
    }
    assert block["descriptor"].shape == (6, 3)
    assert block["free"].tolist() == [True, False, True, True, False, True]
    assert frame.meta.tag("pe") == "f64"
    assert frame.meta["pe"] == -12.5
    assert frame.meta.tag("stress") == "f64x6"
    assert frame.meta.tag("virial") == "f64x9"
    assert frame.meta.tag("small") == "i32"
    assert frame.box is not None
    assert frame.box.vectors[:, 0].tolist() == [9.0, 0.5, 0.0]  # lattice vectors are the columns
    assert frame.box.boundary.tolist() == [True, False, True]


def test_velocities_are_in_angstrom_per_femtosecond() -> None:
    atoms = water()
    atoms.set_momenta(np.full((3, 3), 2.0))
    frame = from_atoms(atoms)
    expected = atoms.get_velocities()[:, 0] * units.fs
    np.testing.assert_allclose(frame["atoms"]["vx"], expected, rtol=1e-15)
    assert_same_atoms(to_atoms(frame), atoms, velocities_rounded=True)


def test_default_masses_are_no_column() -> None:
    atoms = water()
    atoms.set_masses(atoms.get_masses())
    assert "mass" not in from_atoms(atoms)["atoms"]


def test_calculator_charges_stay_the_calculators() -> None:
    atoms = water()
    atoms.calc = SinglePointCalculator(atoms, charges=np.array([-0.8, 0.4, 0.4]))
    frame = from_atoms(atoms)
    assert frame["atoms"]["charge"].tolist() == [-0.8, 0.4, 0.4]
    back = to_atoms(frame)
    assert not back.has("initial_charges")
    assert back.calc.results["charges"].tolist() == [-0.8, 0.4, 0.4]


def test_forces_that_are_an_array_come_back_as_one() -> None:
    atoms = water()
    atoms.set_array("forces", np.arange(9.0).reshape(3, 3))
    frame = from_atoms(atoms)
    assert frame["atoms"]["fy"].tolist() == [1.0, 4.0, 7.0]
    assert_same_atoms(to_atoms(frame), atoms)


def test_results_of_other_positions_are_not_taken() -> None:
    atoms = bulk("Cu", cubic=True)
    atoms.calc = EMT()
    atoms.get_forces()
    assert "pe" in from_atoms(atoms).meta
    atoms.rattle(0.1, seed=1)
    frame = from_atoms(atoms)
    assert "pe" not in frame.meta
    assert "fx" not in frame["atoms"]


def test_binary32_is_widened_exactly_and_said() -> None:
    atoms = water()
    atoms.set_array("soft", np.array([0.1, 0.2, 0.3], dtype=np.float32))
    block = from_atoms(atoms, strict=True)["atoms"]
    assert block.dtype("soft") == "f64"
    assert np.array_equal(block["soft"].astype(np.float32), atoms.arrays["soft"])


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        (lambda atoms: atoms.info.update({3: "x"}), "info 3"),
        (lambda atoms: atoms.info.update(thing=object()), "info 'thing'"),
        (lambda atoms: atoms.info.update(keys={1: 2}), "info 'keys'"),
        (lambda atoms: atoms.set_array("any", np.array([None, 1, "x"], dtype=object)), "array 'any'"),
        (lambda atoms: atoms.set_constraint(FixBondLength(0, 1)), "constraint FixBondLength"),
    ],
)
def test_what_a_frame_cannot_hold_is_named(change: Any, subject: str) -> None:
    atoms = water()
    change(atoms)
    with pytest.warns(ConversionWarning, match=subject):
        from_atoms(atoms)
    with pytest.raises(mr.SchemaError, match=subject) as refused:
        from_atoms(atoms, strict=True)
    assert refused.value.rule == "reject-lossy-conversion"


def test_the_atoms_given_are_not_changed() -> None:
    atoms = rich_atoms()
    before = {name: array.tobytes() for name, array in atoms.arrays.items() if array.dtype != object}
    frame = from_atoms(atoms)
    frame["atoms"]["x"][:] = 99.0
    assert {name: array.tobytes() for name, array in atoms.arrays.items() if array.dtype != object} == before


@pytest.mark.parametrize(
    ("cell", "pbc"),
    [
        ([0, 0, 0], False),
        ([0, 0, 0], (True, False, False)),
        ([3.0, 4.0, 0.0], (True, True, False)),
        ([3.0, 0.0, 0.0], True),
        ([3.0, 4.0, 5.0], (False, True, False)),
    ],
)
def test_any_cell_comes_back(cell: list[float], pbc: Any) -> None:
    atoms = water(cell=cell, pbc=pbc)
    frame = from_atoms(atoms, strict=True)
    assert frame.box is not None
    assert frame.box.cell_defined == any(cell)
    assert_same_atoms(to_atoms(frame), atoms)


def test_a_cell_in_one_plane_is_refused() -> None:
    atoms = water(cell=[[1.0, 0, 0], [2.0, 0, 0], [0, 0, 1.0]])
    with pytest.raises(mr.SchemaError, match="one plane"):
        from_atoms(atoms)


def test_no_atoms_at_all() -> None:
    atoms = Atoms(cell=[1.0, 2.0, 3.0])
    assert_same_atoms(to_atoms(from_atoms(atoms)), atoms)


def test_frames_without_what_ase_needs_are_refused() -> None:
    position = {"x": [0.0], "y": [0.0], "z": [0.0]}
    with pytest.raises(mr.SchemaError, match="neither 'element' nor 'atomic_number'"):
        to_atoms(mr.Frame({"atoms": mr.Block(position)}))
    with pytest.raises(mr.SchemaError, match="no elements: 'Q'"):
        to_atoms(mr.Frame({"atoms": mr.Block(position | {"element": ["Q"]})}))
    with pytest.raises(mr.SchemaError, match="have no z;"):
        to_atoms(mr.Frame({"atoms": mr.Block({"x": [0.0], "y": [0.0], "element": ["O"]})}))


def test_other_units_are_refused_and_equal_ones_under_another_name_taken() -> None:
    block = mr.Block({"x": [0.0], "y": [0.0], "z": [0.0], "element": ["O"]})
    for stated in ({"length": "nm"}, "real", {"preset": "metal"}, {"energy": "nonsense"}):
        with pytest.raises(mr.SchemaError) as refused:
            to_atoms(mr.Frame({"atoms": block}, meta={"units": stated}))
        assert refused.value.rule == "reject-units-disagree"
    to_atoms(mr.Frame({"atoms": block}, meta={"units": {"length": "Å", "energy": "electron_volt", "pressure": "bar"}}))


def test_rows_without_a_value_are_nan_or_noted() -> None:
    block = mr.Block({"x": [0.0, 1], "y": [0.0, 1], "z": [0.0, 1], "element": ["O", "H"], "b": [1.5, 2.5], "n": [1, 2]})
    block.set_validity("b", [True, False])
    block.set_validity("n", [True, False])
    with pytest.warns(ConversionWarning, match="column 'n'"), pytest.warns(ConversionWarning, match="block 'bonds'"):
        atoms = to_atoms(mr.Frame({"atoms": block, "bonds": mr.Block({"atomi": [0], "atomj": [1]})}))
    assert np.isnan(atoms.arrays["b"][1])


_names = st.text(min_size=1, max_size=8)
_numbers = (
    st.booleans()
    | st.integers()
    | st.floats()
    | st.builds(np.int32, st.integers(-(2**31), 2**31 - 1))
    | st.builds(np.uint8, st.integers(0, 255))
)
_arrays = st.one_of(
    st.lists(st.floats(), max_size=10).map(lambda items: np.array(items, dtype=float)),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4).map(lambda items: np.array(items, dtype=np.int32)),
    st.lists(st.floats(), min_size=9, max_size=9).map(lambda items: np.array(items).reshape(3, 3)),
)
_values = st.recursive(
    _numbers | st.text(max_size=10) | _arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(_names, _values, max_size=5))
def test_any_info_survives(info: dict[str, Any]) -> None:
    atoms = water()
    atoms.info = dict(info)
    assert_same_atoms(to_atoms(from_atoms(atoms, strict=True)), atoms)


@pytest.mark.parametrize(
    "form", [{"__ndarray__": 3}, {"__ndarray__": [[2], "float64", [1.0]]}, {"__ndarray__": [[], "O", []]}]
)
def test_a_document_that_only_looks_like_an_array_is_left_alone(form: dict[str, Any]) -> None:
    assert from_document(form) == form
    assert to_document(form) == form


# -- runs -------------------------------------------------------------------------------------------------------------


def to_record(tmp_path: Path, images: list[Any], suffix: str = ".traj", **options: Any) -> tuple[mr.Record, Conversion]:
    source = tmp_path / f"source{suffix}"
    write(source, images)
    done = convert([source], tmp_path / "run.mrec", **options)
    return mr.open(done.output), done


def trajectory_of(record: mr.Record) -> mr.TrajectoryReader:
    assert record.trajectory is not None
    return record.trajectory


def columns_of(record: mr.Record) -> tuple[set[str], set[str]]:
    """Return the columns of the atoms in the system and in the trajectory."""
    system = record.system
    assert system is not None
    static = set(system["atoms"].columns) if "atoms" in system else set()
    return static, set(trajectory_of(record).schema.blocks["atoms"].columns)


def test_what_does_not_change_goes_to_the_system(tmp_path: Path) -> None:
    images = []
    for step in range(4):
        atoms = water(cell=[9.0] * 3, pbc=True)
        atoms.positions += step
        atoms.set_tags([step, 0, 0])
        atoms.set_initial_charges([-0.8, 0.4, 0.4])
        atoms.set_momenta(np.zeros((3, 3)))
        images.append(atoms)
    record, _ = to_record(tmp_path, images)
    static, varying = columns_of(record)
    assert static == {"element", "charge"}
    assert varying == {"x", "y", "z", "vx", "vy", "vz", "tags"}
    assert record.system is not None
    assert record.system.meta["units"] == UNITS
    assert mr.validate(tmp_path / "run.mrec") == []


def test_everything_travels_when_the_composition_changes(tmp_path: Path) -> None:
    one, two = water(), water(2)
    record, _ = to_record(tmp_path, [one, two, one])
    assert columns_of(record) == (set(), {"element", "x", "y", "z"})
    trajectory = trajectory_of(record)
    assert [len(frame["atoms"]) for frame in trajectory] == [3, 6, 3]
    swapped = water()
    swapped.symbols[0] = "S"
    record, _ = to_record(tmp_path, [one, swapped], overwrite=True)
    assert columns_of(record)[0] == set()


def test_a_column_missing_from_some_frames_is_null_there(tmp_path: Path) -> None:
    tagged, bare = water(), water()
    tagged.set_array("kind", np.array([1, 2, 3], dtype=np.int8))
    record, _ = to_record(tmp_path, [bare, tagged, bare], suffix=".xyz")
    trajectory = trajectory_of(record)
    assert trajectory.schema.blocks["atoms"].columns["kind"].nullable
    mask = trajectory[0]["atoms"].validity("kind")
    assert mask is not None
    assert not mask.any()
    assert trajectory[1]["atoms"].validity("kind") is None
    convert([tmp_path / "run.mrec"], tmp_path / "back.xyz")
    assert ["kind" in atoms.arrays for atoms in iread(tmp_path / "back.xyz", ":")] == [False, True, False]


def test_meta_missing_from_some_frames_gets_a_fill(tmp_path: Path) -> None:
    first, second = water(), water()
    first.info = {"real": 1.5, "text": "x", "count": 3, "yes": True, "pair": np.array([1, 2]), "mixed": 1}
    second.info = {"mixed": 1.5}
    record, _ = to_record(tmp_path, [first, second])
    trajectory = trajectory_of(record)
    assert {key: declared.tag for key, declared in trajectory.schema.meta.items()} == {
        "real": "f64",
        "text": "string",
        "count": "json",
        "yes": "json",
        "pair": "json",
        "mixed": "json",
    }
    assert np.isnan(trajectory[1].meta["real"])
    assert trajectory[1].meta["text"] == ""
    assert trajectory[1].meta["count"] is None
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    for found, expected in zip(iread(tmp_path / "back.traj", ":"), (first, second), strict=True):
        assert_same_atoms(found, expected)


def test_a_value_equal_to_the_fill_is_told_from_a_missing_one(tmp_path: Path) -> None:
    first, second = water(), water()
    first.info = {"text": "", "real": float("nan")}
    to_record(tmp_path, [first, second])
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    for found, expected in zip(iread(tmp_path / "back.traj", ":"), (first, second), strict=True):
        assert_same_atoms(found, expected)


def test_an_energy_missing_from_some_frames(tmp_path: Path) -> None:
    labelled, bare = water(), water()
    labelled.calc = SinglePointCalculator(labelled, energy=-1.0, forces=np.ones((3, 3)))
    record, _ = to_record(tmp_path, [labelled, bare])
    assert trajectory_of(record).schema.meta["pe"].tag == "f64"
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    back = read(tmp_path / "back.traj", ":")
    assert back[0].get_potential_energy() == -1.0
    assert back[1].calc is None


@pytest.mark.parametrize(
    ("infos", "steps", "times"),
    [
        ([{}, {}, {}], [0, 1, 2], None),
        ([{"step": 10}, {"step": 20}, {"step": 40}], [10, 20, 40], None),
        ([{"timestep": 5}, {"timestep": 6}, {"timestep": 7}], [5, 6, 7], None),
        ([{"step": 10}, {"step": 10}, {"step": 40}], [0, 1, 2], None),
        ([{"step": 10}, {}, {"step": 40}], [0, 1, 2], None),
        ([{"step": 1.5}, {"step": 2.5}, {"step": 3.5}], [0, 1, 2], None),
        ([{"time": 0}, {"time": 0.5}, {"time": 1.0}], [0, 1, 2], [0.0, 0.5, 1.0]),
        ([{"time": 0.5}, {"time": 0.5}, {}], [0, 1, 2], None),
    ],
)
def test_steps_and_times(tmp_path: Path, infos: list[dict[str, Any]], steps: list[int], times: Any) -> None:
    images = []
    for info in infos:
        atoms = water()
        atoms.info = info
        images.append(atoms)
    record, _ = to_record(tmp_path, images)
    trajectory = trajectory_of(record)
    assert trajectory.steps.tolist() == steps
    assert (None if trajectory.times is None else trajectory.times.tolist()) == times
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    for found, expected in zip(iread(tmp_path / "back.traj", ":"), images, strict=True):
        assert_same_atoms(found, expected)


def test_steps_and_times_of_a_run_reach_the_file(tmp_path: Path) -> None:
    frame = from_atoms(water())
    with mr.TrajectoryWriter(tmp_path / "run.mrec", mr.SequenceSchema.from_frames([frame])) as writer:
        writer.append(frame, step=100, time=0.5)
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    assert read(tmp_path / "back.traj").info == {"step": 100, "time": 0.5}


def test_frames_with_and_without_a_cell_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "mixed.xyz", [water(cell=[9.0] * 3), water()])
    with pytest.raises(mr.SchemaError, match=r"frame 0 has a cell and .*frame 1 has none") as refused:
        convert([tmp_path / "mixed.xyz"], tmp_path / "run.mrec")
    assert refused.value.rule == "reject-mixed-cells"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mixed.xyz"]
    assert convert([tmp_path / "mixed.xyz"], tmp_path / "run.mrec", select=slice(1, None)).frames == 1


def test_columns_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    first, second = water(), water()
    first.set_array("a", np.array(["x", "y", "z"], dtype=object))
    second.set_array("a", np.array([1, 2, 3]))
    write(tmp_path / "odd.xyz", [first, second])
    with pytest.raises(
        mr.SchemaError, match=r"odd.xyz, frame 1: column 'a' is i32, in earlier frames string"
    ) as refused:
        convert([tmp_path / "odd.xyz"], tmp_path / "run.mrec")
    assert refused.value.rule == "reject-schema-conflict"


def test_integers_and_reals_in_one_column_become_reals(tmp_path: Path) -> None:
    first, second = water(), water()
    first.set_array("a", np.array([1, 2, 3]))
    second.set_array("a", np.array([1.5, 2.5, 3.5]))
    record, done = to_record(tmp_path, [first, second], suffix=".xyz")
    assert trajectory_of(record).read("atoms", "a")["a"].tolist() == [[1, 2, 3], [1.5, 2.5, 3.5]]
    assert [note.subject for note in done.notes] == ["column 'a'"]


def test_precision_and_selection(tmp_path: Path) -> None:
    images = [water() for _ in range(6)]
    for step, atoms in enumerate(images):
        atoms.positions += step / 3
    record, done = to_record(tmp_path, images, precision={"x": 1e-3, "y": 1e-2}, select=slice(-4, None, 2))
    trajectory = trajectory_of(record)
    assert done.frames == 2
    columns = trajectory.schema.blocks["atoms"].columns
    assert [columns[name].precision for name in "xyz"] == [1e-3, 1e-2, None]
    assert np.array_equal(trajectory[0]["atoms"]["x"], mr.quantize(images[2].positions[:, 0], 1e-3))
    assert np.array_equal(trajectory[1]["atoms"]["z"], images[4].positions[:, 2])
    with pytest.raises(mr.SchemaError, match="'q', which no atom has"):
        convert([tmp_path / "source.traj"], tmp_path / "other.mrec", precision={"q": 1.0})


def test_several_files_become_one_run(tmp_path: Path) -> None:
    first, second = water(), water()
    second.positions += 1
    write(tmp_path / "a.xyz", [first, first])
    write(tmp_path / "b.traj", [second])
    done = convert([tmp_path / "a.xyz", tmp_path / "b.traj"], tmp_path / "run.mrec")
    assert done.frames == 3
    with mr.open(done.output) as record:
        assert trajectory_of(record).steps.tolist() == [0, 1, 2]
        assert record.meta["source"] == {"files": ["a.xyz", "b.traj"], "format": ["extxyz", "traj"]}


def test_a_rich_run_through_traj_and_back(tmp_path: Path) -> None:
    images = []
    for step in range(3):
        atoms = rich_atoms()
        for name in ("molID", "descriptor", "flag", "label", "mass", "type", "offset", "id"):
            del atoms.arrays[name]
        atoms.positions += step
        atoms.set_array("momenta", np.full((6, 3), 0.5 + step))
        atoms.calc = SinglePointCalculator(atoms, energy=-1.0 * step, forces=np.ones((6, 3)) * step)
        atoms.calc.name = "model"
        atoms.calc.parameters = {"cutoff": 3.5}
        images.append(atoms)
    write(tmp_path / "expected.traj", images)
    to_record(tmp_path, images)
    convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    expected = read(tmp_path / "expected.traj", ":")
    for found, atoms in zip(iread(tmp_path / "back.traj", ":"), expected, strict=True):
        assert_same_atoms(found, atoms, velocities_rounded=True)
        assert found.calc.name == "model"
        assert found.calc.parameters == {"cutoff": 3.5}


def test_what_a_traj_file_does_not_hold_is_named(tmp_path: Path) -> None:
    atoms = water()
    atoms.set_array("kind", np.arange(3))
    to_record(tmp_path, [atoms], suffix=".xyz")
    done = convert([tmp_path / "run.mrec"], tmp_path / "back.traj")
    assert [note.subject for note in done.notes if note.lost] == ["array 'kind'"]
    with pytest.raises(mr.SchemaError, match="array 'kind'"):
        convert([tmp_path / "run.mrec"], tmp_path / "strict.traj", strict=True)
    assert not (tmp_path / "strict.traj").exists()


class MemorySource:
    """Atoms in memory, in the place of a file."""

    name = "memory"
    units = UNITS

    def __init__(self, images: list[Any]) -> None:
        self._images = images

    def count(self) -> int | None:
        return None

    def frames(self, notes: Notes) -> Iterator[mr.Frame]:
        return (frame_of_atoms(atoms, notes) for atoms in self._images)


@st.composite
def _runs(draw: st.DrawFn) -> list[Any]:
    """Draw a run whose frames have some of a few arrays, results and info keys, of types that may vary."""
    fixed_size = draw(st.booleans())
    has_cell = draw(st.booleans())
    images = []
    for _ in range(draw(st.integers(1, 5))):
        count = 2 if fixed_size else draw(st.integers(1, 3))  # without rows, a column and none are one thing
        symbols = "OH" if draw(st.booleans()) or count != 2 else "HO"
        atoms = Atoms((symbols * 2)[:count], positions=draw(_matrices(count)))
        if has_cell:
            atoms.set_cell(draw(st.sampled_from(([5.0, 6.0, 7.0], [5.0, 5.0, 5.0], [5.0, 0.0, 7.0]))))
            atoms.set_pbc(draw(st.tuples(st.booleans(), st.booleans(), st.booleans())))
        if draw(st.booleans()):
            atoms.set_tags(draw(st.sampled_from(([0] * count, [1] * count))))
        if draw(st.booleans()):
            atoms.set_array("kind", draw(st.sampled_from((np.zeros(count, np.int8), np.ones(count, np.int8)))))
        if draw(st.booleans()):
            atoms.set_array("grid", np.zeros((count, 2, 2)))
        if draw(st.booleans()):
            atoms.set_array("word", np.array([draw(st.text(max_size=3)) for _ in range(count)], dtype=object))
        atoms.info = draw(st.dictionaries(st.sampled_from(("a", "b", "step", "time", "temp")), _values, max_size=3))
        atoms.info.pop("temp", None)  # an integer there becomes a real, as the vocabulary says
        if draw(st.booleans()):
            results = {"energy": draw(st.floats(allow_nan=False)), "forces": draw(_matrices(count))}
            if draw(st.booleans()):
                results["stress"] = np.array(draw(st.lists(st.floats(-1, 1), min_size=6, max_size=6)))
            atoms.calc = SinglePointCalculator(atoms, **results)
        images.append(atoms)
    return images


def _matrices(count: int) -> st.SearchStrategy[Any]:
    numbers = st.lists(st.floats(-1e3, 1e3), min_size=3 * count, max_size=3 * count)
    return numbers.map(lambda items: np.array(items, dtype=float).reshape(count, 3))


@given(images=_runs())
def test_any_run_survives(images: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("run") / "run.mrec"
    series = ScannedSeries([MemorySource(images)], notes=Notes(strict=True))
    with mr.TrajectoryWriter(path, series.schema(), system=series.system()) as writer:
        for frame, step, time in series:
            writer.append(frame, step=step, time=time)
    assert [finding for finding in mr.validate(path) if finding.severity == "error"] == []
    with mr.open(path) as record:
        trajectory = trajectory_of(record)
        found = LazyAtoms(Images(trajectory, record.system, trajectory.schema), Notes(strict=True))
        assert len(found) == len(images)
        for atoms, expected in zip(found, images, strict=True):
            for key in [key for key, value in expected.info.items() if value is None]:
                del expected.info[key]  # null says that a frame has no such key
            assert_same_atoms(atoms, expected)


@needs_solvents
@pytest.mark.parametrize("profile", ["archive", "live"])
@pytest.mark.parametrize(
    ("name", "select"),
    [
        ("solvent_train.xyz", slice(None)),
        ("solvent_test.xyz", slice(None)),
        ("solvent_mace_small1_train.xyz", slice(3)),
        ("solvent_mace_small1_train.xyz", slice(3, None)),
    ],
)
def test_real_training_data_comes_back_byte_for_byte(tmp_path: Path, name: str, select: slice, profile: str) -> None:
    source = SOLVENTS / name
    done = convert([source], tmp_path / "run.mrec.zip", select=select, profile=profile, strict=True)
    assert done.notes == ()
    assert mr.validate(done.output) == []
    convert([done.output], tmp_path / "back.xyz", strict=True)
    if select == slice(None):
        assert (tmp_path / "back.xyz").read_bytes() == source.read_bytes()
    expected = read(source, select)
    found = read(tmp_path / "back.xyz", ":")
    for atoms, other in zip(found, expected, strict=True):
        assert_same_atoms(atoms, other)


@needs_solvents
def test_a_real_file_of_clusters_and_periodic_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mr.SchemaError) as refused:
        convert([SOLVENTS / "solvent_mace_small1_train.xyz"], tmp_path / "run.mrec")
    assert refused.value.rule == "reject-mixed-cells"


# -- recognizing files ------------------------------------------------------------------------------------------------


def test_a_format_is_known_by_content_then_suffix(tmp_path: Path) -> None:
    write(tmp_path / "a.xyz", water())
    write(tmp_path / "a.traj", water())
    write(tmp_path / "a.xyz.gz", water())
    write(tmp_path / "POSCAR", water(cell=[9.0] * 3), format="vasp")
    registry = formats()
    assert registry.for_reading(tmp_path / "a.xyz").name == "extxyz"
    assert registry.for_reading(tmp_path / "a.xyz.gz").name == "extxyz"
    assert registry.for_reading(tmp_path / "a.traj").name == "traj"
    assert registry.for_reading(tmp_path / "POSCAR").name == "vasp"
    (tmp_path / "a.xyz").rename(tmp_path / "nameless")
    assert registry.for_reading(tmp_path / "nameless").name == "extxyz"


def test_content_and_suffix_that_disagree_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a.xyz", water())
    (tmp_path / "a.xyz").rename(tmp_path / "a.traj")
    with pytest.raises(mr.FormatError, match="content says 'extxyz' but the suffix says 'traj'") as refused:
        formats().for_reading(tmp_path / "a.traj")
    assert refused.value.rule == "reject-format-disagrees"
    assert formats().for_reading(tmp_path / "a.traj", "extxyz").name == "extxyz"
    (tmp_path / "b.traj").write_text("not one\n")
    with pytest.raises(mr.FormatError, match="does not begin like it"):
        formats().for_reading(tmp_path / "b.traj")
    (tmp_path / "c.xyz.gz").write_text("not compressed\n")
    with pytest.raises(mr.FormatError, match="does not decompress"):
        formats().for_reading(tmp_path / "c.xyz.gz")


def test_unknown_files_are_refused_with_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.unheard-of").write_text("hello\n")
    (tmp_path / "empty.xyz").touch()
    for path, why in ((tmp_path / "a.unheard-of", "extxyz, traj, "), (tmp_path / "empty.xyz", "is empty")):
        with pytest.raises(mr.FormatError, match=why) as refused:
            formats().for_reading(path)
        assert refused.value.rule == "reject-unknown-format"
    with pytest.raises(mr.FormatError, match="no such file"):
        formats().for_reading(tmp_path / "absent.xyz")
    with pytest.raises(mr.SchemaError, match="there is no format 'nope'"):
        formats().get("nope")
    with pytest.raises(mr.SchemaError, match="stands for no format"):
        formats().for_writing(tmp_path / "out.unheard-of")


XYZ = "1\nProperties=species:S:1:pos:R:3\nO 0.0 0.0 0.0\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (XYZ + "2\ncomment\nO 0.0 0.0 0.0\n", "frame 1: .* ends within its 2 atoms"),
        (XYZ + "\n" + XYZ, "frame 1: .* an empty line"),
        (XYZ + "x" + XYZ, "frame 1: .* count of atoms"),
        (XYZ.replace("0.0\n", "zero\n"), "frame 0: "),
        (XYZ.replace("O", "Qq"), "frame 0: "),
        (XYZ.replace("pos:R:3", "pos:R:4"), "frame 0: "),
        (XYZ + "1\nProperties=species:S:1:pos:R:3:n:I:1\nO 0.0 0.0 0.0 x\n", "frame 1: "),
    ],
)
def test_a_damaged_file_is_refused_by_name_and_frame(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "bad.xyz").write_text(text)
    with pytest.raises(mr.FormatError, match=f"bad.xyz, {why}") as refused:
        convert([tmp_path / "bad.xyz"], tmp_path / "run.mrec")
    assert refused.value.rule == "reject-malformed-source"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.xyz"]


def test_a_compressed_file_cut_short_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress((XYZ * 2000).encode())
    (tmp_path / "cut.xyz.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(mr.FormatError, match=r"cut.xyz.gz"):
        convert([tmp_path / "cut.xyz.gz"], tmp_path / "run.mrec")


def test_a_calculator_that_shows_no_results_is_named() -> None:
    class Old(Calculator):  # type: ignore[misc]
        results = None

        def __init__(self) -> None:
            """Leave out what a calculator sets up."""

    atoms = water()
    atoms.calc = Old()
    with pytest.warns(ConversionWarning, match="calculator Old"):
        from_atoms(atoms)


def test_without_ase_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['ase'] = None\n"
        "from molrec.formats.registry import formats\n"
        "from molrec.interop.ase import from_atoms\n"
        "from molrec.conversion import convert\n"
        "for call in (lambda: formats().names(), lambda: from_atoms(None)):\n"
        "    try: call()\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("molrec[ase]") == 4


def test_residue_names_take_their_canonical_column_and_come_back(tmp_path: Path) -> None:
    text = (
        '2\nProperties=species:S:1:pos:R:3:resname:S:1:site:I:1 pbc="F F F"\n'
        "O 0.0 0.0 0.0 HOH 1\nH 0.0 0.0 0.96 HOH 2\n"
    )
    (tmp_path / "a.xyz").write_text(text)
    convert([tmp_path / "a.xyz"], tmp_path / "a.mrec")
    with mr.open(tmp_path / "a.mrec") as record:
        assert record.system is not None
        assert record.system["atoms"]["res_name"].tolist() == ["HOH", "HOH"]
        assert "resname" not in record.system["atoms"]
        assert record.system["atoms"]["site"].tolist() == [1, 2]
    convert([tmp_path / "a.mrec"], tmp_path / "b.xyz")
    assert "resname:S:1" in (tmp_path / "b.xyz").read_text()


def test_a_compression_ase_does_not_know_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.xyz.zst").write_bytes(zstandard.compress(b"1\n\nH 0 0 0\n"))
    with pytest.raises(mr.FormatError, match=r"a\.xyz\.zst.*\.zst; decompress"):
        convert([tmp_path / "a.xyz.zst"], tmp_path / "a.mrec")
