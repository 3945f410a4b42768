"""What is read through MDAnalysis: the file's own numbers in its own units, and a refusal for every damaged file."""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.conversion import convert
from molrec.formats.mdanalysis import MDAnalysisFamily
from molrec.formats.notes import Notes
from molrec.formats.registry import formats

pytestmark = pytest.mark.engines
pytest.importorskip("MDAnalysis", exc_type=ImportError)
pytest.importorskip("MDAnalysisTests", exc_type=ImportError)

from MDAnalysis.lib.formats.libdcd import DCDFile  # noqa: E402 - after the skips
from MDAnalysis.lib.formats.libmdaxdr import TRRFile, XTCFile  # noqa: E402
from MDAnalysisTests import datafiles  # noqa: E402

EYE = np.eye(3, dtype=np.float32)


def frames(path: Path, name: str | None = None, notes: Notes | None = None) -> list[mr.Frame]:
    found = formats().for_reading(path, name)
    assert found.open_source is not None
    return list(found.open_source(path).frames(Notes() if notes is None else notes))


def data(name: str) -> Path:
    return Path(str(getattr(datafiles, name)))


def vectors(frame: mr.Frame, prefix: str = "") -> Any:
    return np.column_stack([frame["atoms"][prefix + axis] for axis in "xyz"])


# -- which format -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("XTC", "xtc"), ("TRR", "trr"), ("DCD", "dcd"), ("NCDF", "amber-netcdf"), ("TRJ", "mdcrd"), ("TPR", "tpr"),
        ("TPR400", "tpr"), ("TPR2026_0", "tpr"), ("PSF", "psf"), ("PRM12", "prmtop"), ("PRM7_ala2", "prmtop"),
        ("ITP", "itp"), ("GMX_TOP", "itp"), ("mol2_molecule", "mol2"), ("PQR", "pqr"), ("PQR_icodes", "pqr"),
        ("CRD", "charmm-crd"), ("TRJncdf", "mdcrd"),
    ],
)  # fmt: skip
def test_content_tells_the_format_without_a_suffix(tmp_path: Path, name: str, expected: str) -> None:
    with data(name).open("rb") as file:
        (tmp_path / "file").write_bytes(file.read(60_000))
    assert formats().for_reading(tmp_path / "file").name == expected


@pytest.mark.parametrize(
    "name", ["PDB_small", "PDB_full", "GRO", "LAMMPSdata", "LAMMPSDUMP_allinfo", "XYZ_mini", "PDB_HOLE"]
)
def test_files_of_other_modules_are_not_claimed(name: str) -> None:
    with data(name).open("rb") as file:
        assert MDAnalysisFamily().by_content(file.read(50_000)) is None


def test_a_netcdf_file_of_ase_stays_ases(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    path.write_bytes(b"CDF\x02" + bytes(60))
    assert formats().for_reading(path).name == "netcdftrajectory"


def test_a_compressed_trajectory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.xtc.gz"
    path.write_bytes(gzip.compress(data("XTC_multi_frame").read_bytes()))
    with pytest.raises(mr.FormatError, match="decompress it first") as caught:
        convert([path], tmp_path / "run.mrec")
    assert caught.value.rule == "reject-malformed-source"


def test_a_wrong_suffix_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.xtc").write_bytes(data("TRR_multi_frame").read_bytes())
    with pytest.raises(mr.FormatError, match="'trr' but the suffix says 'xtc'") as caught:
        formats().for_reading(tmp_path / "run.xtc")
    assert caught.value.rule == "reject-format-disagrees"


def test_without_mdanalysis_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MDAnalysis", None)
    for name in ("XTC", "TRR", "DCD", "TPR", "TRJ", "PQR"):
        with pytest.raises(ImportError, match=r"molrec\[formats\]"):
            frames(data(name))


# -- trajectories -----------------------------------------------------------------------------------------------------


def test_xtc_holds_the_numbers_of_the_file_and_leaves_no_index_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "run.xtc"
    rng = np.random.default_rng(5)
    raw = rng.normal(size=(4, 30, 3)).astype(np.float32)
    box = np.array([[3, 0, 0], [0.5, 2, 0], [0.25, -0.5, 4]], dtype=np.float32)
    with XTCFile(str(path), "w") as file:
        for step, positions in enumerate(raw):
            file.write(positions, box, 500 * step, 0.1 * step, 1000.0)
    with XTCFile(str(path)) as file:
        stored = [frame.x.copy() for frame in file]
    found = frames(path, notes=Notes(strict=True))
    for step, frame in enumerate(found):
        assert np.array_equal(vectors(frame), stored[step].astype(np.float64))
        assert frame.box == mr.Box(box.T.astype(np.float64))
        assert frame.meta == {"step": 500 * step, "time": float(np.float32(0.1 * step))}
    source = formats().get("xtc").open_source
    assert source is not None
    assert source(path).count() == 4
    assert source(path).units == {"length": "nm", "time": "ps", "energy": "kJ/mol", "force": "kJ/mol/nm"}
    assert [file.name for file in tmp_path.iterdir()] == ["run.xtc"]


def test_coordinates_alone_convert(tmp_path: Path) -> None:
    convert([data("XTC_multi_frame")], tmp_path / "run.mrec", strict=True)
    record = mr.open(tmp_path / "run.mrec")
    assert record.trajectory is not None
    assert len(record.trajectory) == 10
    assert set(record.trajectory[0]["atoms"].columns) == {"x", "y", "z"}


def test_trr_frames_may_lack_positions_velocities_or_forces(tmp_path: Path) -> None:
    path = tmp_path / "run.trr"
    values = np.arange(6, dtype=np.float32).reshape(2, 3) / 8
    with TRRFile(str(path), "w") as file:
        file.write(values, values + 1, None, EYE, 0, 0.0, 0.5, 2)
        file.write(None, values + 2, values + 3, EYE, 10, 1.0, 0.75, 2)
    first, second = frames(path)
    assert np.array_equal(vectors(first), values)
    assert "fx" not in first["atoms"]
    assert set(second["atoms"].columns) == {"vx", "vy", "vz", "fx", "fy", "fz"}
    assert [frame.meta["lambda"] for frame in (first, second)] == [0.5, 0.75]
    convert([path], tmp_path / "run.mrec", strict=True)
    record = mr.open(tmp_path / "run.mrec")
    assert record.trajectory is not None
    mask = record.trajectory[1]["atoms"].validity("x")
    assert mask is not None
    assert not mask.any()


CELLS = {
    "no cell": ([0, 90, 0, 90, 90, 0], None),
    "degrees": ([3, 90, 4, 90, 90, 5], np.diag([3.0, 4.0, 5.0])),
    "cosines": ([3, 0.5, 4, 0, 0, 5], [[3, 2, 0], [0, 4 * np.sqrt(0.75), 0], [0, 0, 5]]),
    "matrix": ([30, 1, 31, 2, -3, 32], [[30, 1, 2], [1, 31, -3], [2, -3, 32]]),
}


@pytest.mark.parametrize("case", CELLS)
def test_dcd_cells_of_three_kinds(tmp_path: Path, case: str) -> None:
    numbers, expected = CELLS[case]
    path = tmp_path / "run.dcd"
    with DCDFile(str(path), "w") as file:
        file.write_header(remarks="", natoms=2, istart=100, nsavc=50, delta=2.0, is_periodic=1)
        for value in (1, 2):
            file.write(np.full((2, 3), value, dtype=np.float32), np.array(numbers, dtype=np.float64))
    found = frames(path, notes=Notes(strict=True))
    assert [frame.meta["step"] for frame in found] == [100, 150]
    np.testing.assert_allclose([frame.meta["time"] for frame in found], np.array([200, 300]) * 4.888821e-2, rtol=1e-7)
    box = found[0].box
    assert box is not None
    assert box.cell_defined == (expected is not None)
    if expected is not None:
        np.testing.assert_allclose(box.vectors, expected, rtol=1e-15, atol=1e-15)


def test_netcdf_scales_velocities_in_binary64() -> None:
    from scipy.io import netcdf_file

    (frame, *_) = frames(data("TRJ_NCBOX"), notes=Notes(strict=True))
    with netcdf_file(str(data("TRJ_NCBOX")), mmap=False) as file:
        raw = file.variables["velocities"][0].astype(np.float64)
    assert np.array_equal(vectors(frame, "v"), raw * 20.455)
    assert frame.meta == {"time": 1.0}


def test_amber_text_needs_a_topology_and_keeps_its_decimals(tmp_path: Path) -> None:
    with pytest.raises(mr.FormatError, match="give a topology before it") as caught:
        convert([data("TRJ")], tmp_path / "run.mrec")
    assert caught.value.rule == "reject-topology-mismatch"
    convert([data("PRM"), data("TRJ")], tmp_path / "run.mrec")
    record = mr.open(tmp_path / "run.mrec")
    assert record.trajectory is not None
    assert len(record.trajectory) == 11
    x = record.trajectory[3]["atoms"]["x"]
    assert np.array_equal(x, np.round(x, 3))


CUT = {
    "XTC": (3, 200, 5000),
    "TRR": (3, 200, 5000),
    "DCD": (3, 200, 5000),
    "DCD_TRICLINIC": (3, 200, 4000),
    "NCDF": (3, 200, 5000),
    "TPR2024": (20_000,),
    "PSF": (30_000, 500_000),
    "PSF_NAMD": (3, 20_000),
    "PRM": (60_000,),
    "mol2_molecule": (3000,),
}


@pytest.mark.parametrize(("name", "cut"), [(name, cut) for name, cuts in CUT.items() for cut in cuts])
def test_a_file_cut_short_is_refused_and_named(tmp_path: Path, name: str, cut: int) -> None:
    path = tmp_path / data(name).name
    path.write_bytes(data(name).read_bytes()[:-cut])
    with pytest.raises(mr.FormatError) as caught:
        frames(path)
    assert caught.value.rule == "reject-malformed-source"
    assert str(path) in caught.value.message


def test_the_frame_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.xtc"
    path.write_bytes(data("XTC").read_bytes()[:-100])
    with pytest.raises(mr.FormatError, match=r"run\.xtc, frame 9: "):
        frames(path)


@pytest.mark.parametrize("suffix", ["xtc", "trr", "dcd", "nc", "tpr", "psf", "prmtop", "itp", "mol2", "pqr"])
def test_an_empty_file_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"run.{suffix}"
    path.write_bytes(b"")
    with pytest.raises(mr.FormatError, match="is empty"):
        formats().for_reading(path)
    name = MDAnalysisFamily().by_name(path)
    with pytest.raises(mr.FormatError):
        frames(path, name)


# -- topologies -------------------------------------------------------------------------------------------------------


def test_strict_refuses_what_mdanalysis_does_not_read(tmp_path: Path) -> None:
    with pytest.raises(mr.SchemaError, match="are left out") as caught:
        convert([data("TPR_xvf"), data("TRR_xvf")], tmp_path / "run.mrec", strict=True)
    assert caught.value.rule == "reject-lossy-conversion"


def test_a_topology_alone_converts_to_what_does_not_move(tmp_path: Path) -> None:
    convert([data("PSF")], tmp_path / "run.mrec")
    record = mr.open(tmp_path / "run.mrec")
    assert record.system is not None
    assert record.system["atoms"].rows == 3341
    assert record.system["bonds"].rows == 3365


def test_a_tpr_gives_the_atoms_of_its_trajectory(tmp_path: Path) -> None:
    convert([data("TPR_xvf"), data("TRR_xvf")], tmp_path / "run.mrec")
    record = mr.open(tmp_path / "run.mrec")
    assert record.system is not None
    assert record.trajectory is not None
    assert record.system["atoms"]["segment"][0] == "seg_0_Protein_chain_A"
    assert record.system["atoms"]["chain"][0] == "A"
    assert "id" not in record.system["atoms"]
    assert record.system.meta["units"]["length"] == "nm"
    assert record.system.meta["units"]["charge"] == "e"
    assert set(record.trajectory[0]["atoms"].columns) == {a + b for a in ("", "v", "f") for b in "xyz"}


MOL2 = """\
@<TRIPOS>MOLECULE
water
    3     2     1     0     0
SMALL
USER_CHARGES

@<TRIPOS>ATOM
      1 O          0.0000    0.1000    0.0000 O.3     1  WAT1       -0.8000
      2 H1         0.9000    0.0000    0.0000 H       1  WAT1        0.4000
      3 H2        -0.9000    0.0000    0.0000 H       1  WAT1        0.4000
@<TRIPOS>BOND
     1    1    2    1
     2    1    3    1
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("    3     2 ", "    3     3 ", 13, "2 of 3 bonds"),
        ("    3     2 ", "    4     2 ", 13, "3 of 4 atoms"),
        ("    3     2 ", "    q     2 ", 3, "counts of atoms"),
        ("     2    1    3    1\n", "", 12, "1 of 2 bonds"),
        ("     2    1    3    1\n", "     2    1    4    1\n", 13, "not there"),
        ("      3 H2", "      2 H2", 10, "atom number 2"),
        ("H2 ", "Ĥ ", 10, "ASCII"),
        (
            "     2    1    3    1\n",
            "     2    1    3    1\n" + MOL2.replace("O.3", "N.3"),
            16,
            "other atoms than the first",
        ),
    ],
)
def test_a_mol2_that_contradicts_itself_is_refused(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    path = tmp_path / "water.mol2"
    path.write_text(MOL2.replace("\n", "\r\n"))
    (whole,) = frames(path)
    assert whole["atoms"]["charge"].tolist() == [-0.8, 0.4, 0.4]
    path.write_text(MOL2.replace(old, new))
    with pytest.raises(mr.FormatError, match=what) as caught:
        frames(path)
    assert caught.value.rule == "reject-malformed-source"
    assert caught.value.message.startswith(f"{path}:{line}: ")


def test_double_precision_is_noted_where_mdanalysis_halves_it() -> None:
    notes = Notes()
    frames(data("TPR2020Double"), notes=notes)
    assert "double precision" in {note.subject for note in notes if note.lost}
    single = Notes()
    frames(data("TPR2020"), notes=single)
    assert "double precision" not in {note.subject for note in single}


def test_mol2_bonds_keep_their_order_and_pqr_its_radii() -> None:
    (molecule,) = frames(data("mol2_molecule"), notes=Notes(strict=True))
    orders = dict(zip(molecule["bonds"]["order"].tolist(), molecule["bonds"]["bond_type"].tolist(), strict=True))
    assert orders == {"1": 1, "2": 2, "ar": 4, "am": 0}
    (protein,) = frames(data("PQR"), notes=Notes(strict=True))
    assert protein["atoms"]["radius"][:2].tolist() == [1.85, 0.2245]
    assert protein["atoms"].column_attributes("radius") == {"unit": "angstrom"}
    assert protein["atoms"]["x"][0] == -11.921


def test_a_coordinate_card_that_counts_wrong_is_refused(tmp_path: Path) -> None:
    lines = data("CRD").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.crd").write_bytes(b"".join(lines[:-2]))
    with pytest.raises(
        mr.FormatError, match=f"cut.crd:{len(lines) - 2}: the file ends with 3339 of 3341 atoms"
    ) as caught:
        frames(tmp_path / "cut.crd")
    assert caught.value.rule == "reject-malformed-source"


def test_what_an_itp_leaves_open_is_null() -> None:
    (frame,) = frames(data("ITP_nomass"))
    atoms = frame["atoms"]
    assert "element" not in atoms  # MDAnalysis guesses them
    mask = atoms.validity("mass") if "mass" in atoms else None
    assert mask is None or not mask.all()
    assert "chain" not in atoms
    assert set(frame["dihedrals"]["funct"].tolist()) <= {"1", "1 1", "9", "9 9"} | {"1 1 1"}


def test_reading_changes_nothing_in_the_folder(tmp_path: Path) -> None:
    for name in ("PSF", "DCD", "NCDF", "TRR_multi_frame"):
        shutil.copy(data(name), tmp_path / data(name).name)
    before = sorted(tmp_path.iterdir())
    for path in before:
        frames(path)
    assert sorted(tmp_path.iterdir()) == before
