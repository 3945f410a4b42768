"""Records as a format of ASE's own: ``ase.io.read("run.mrec", ":")``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

import molrec as mr
from molrec.conversion import convert

pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")


@pytest.fixture
def images() -> list[Atoms]:
    rng = np.random.default_rng(3)
    found = []
    for step in range(4):
        atoms = bulk("Cu", cubic=True)
        atoms.positions += rng.normal(0, 0.05, atoms.positions.shape).round(6)
        atoms.info["step"] = 10 * step
        found.append(atoms)
    return found


def same_positions(found: list[Atoms], images: list[Atoms]) -> bool:
    return all(np.array_equal(one.positions, other.positions) for one, other in zip(found, images, strict=True))


@pytest.mark.parametrize("name", ["run.mrec", "run.mrec.zip"])
def test_ase_reads_a_record_by_its_name(name: str, images: list[Atoms], tmp_path: Path) -> None:
    ase.io.write(tmp_path / "run.traj", images)
    convert([tmp_path / "run.traj"], tmp_path / name)
    found = ase.io.read(tmp_path / name, ":")
    assert same_positions(found, images)
    assert np.array_equal(found[0].cell, images[0].cell)
    assert found[2].get_chemical_formula() == "Cu4"
    assert np.array_equal(ase.io.read(str(tmp_path / name)).positions, images[-1].positions)
    assert [len(list(ase.io.iread(tmp_path / name, chosen))) for chosen in ("0", "1:3", "::2")] == [1, 2, 2]


def test_a_fresh_process_knows_the_format(images: list[Atoms], tmp_path: Path) -> None:
    ase.io.write(tmp_path / "run.traj", images)
    convert([tmp_path / "run.traj"], tmp_path / "run.mrec")
    program = f"import ase.io; print(len(ase.io.read({str(tmp_path / 'run.mrec')!r}, ':')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"


def test_folders_that_are_no_record_are_still_bundles(images: list[Atoms], tmp_path: Path) -> None:
    bundle = str(tmp_path / "run.bundle")
    ase.io.write(bundle, images, format="bundletrajectory")
    found = ase.io.read(bundle, ":")
    assert same_positions(found, images)
    assert np.array_equal(ase.io.read(bundle).positions, images[-1].positions)


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.mrec").mkdir()
    (tmp_path / "run.mrec" / "zarr.json").write_text("{")
    with pytest.raises(mr.FormatError, match=r"zarr\.json"):
        ase.io.read(tmp_path / "run.mrec", ":")
