"""XTC and TRR files written from records: read back by MDAnalysis, and nothing left out without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.conversion import convert
from molrec.formats.images import Images
from molrec.formats.mdanalysis_writer import write_trr, write_xtc
from molrec.formats.notes import Notes

pytestmark = pytest.mark.engines
pytest.importorskip("MDAnalysis", exc_type=ImportError)
pytest.importorskip("MDAnalysisTests", exc_type=ImportError)

from MDAnalysis.lib.formats.libmdaxdr import TRRFile, XTCFile  # noqa: E402 - after the skips
from MDAnalysisTests import datafiles  # noqa: E402

CELL = np.array([[3, 0.5, 0.25], [0, 2, -0.5], [0, 0, 4]])


def frame(count: int = 2, **columns: Any) -> mr.Frame:
    values = {name: np.arange(count) / 8 for name in "xyz"} | columns
    return mr.Frame({"atoms": mr.Block(values)}, box=mr.Box(CELL))


@pytest.mark.parametrize("name", ["XTC_multi_frame", "XTC", "TRR_multi_frame", "TRR_xvf"])
def test_a_trajectory_comes_back_bit_for_bit(tmp_path: Path, name: str) -> None:
    source = Path(getattr(datafiles, name))
    convert([source], tmp_path / "run.mrec", strict=True)
    back = tmp_path / f"back{source.suffix}"
    convert([tmp_path / "run.mrec"], back, strict=True)
    convert([back], tmp_path / "again.mrec", strict=True)
    first, second = mr.open(tmp_path / "run.mrec").trajectory, mr.open(tmp_path / "again.mrec").trajectory
    assert first is not None
    assert second is not None
    assert first.steps.tolist() == second.steps.tolist()
    assert first.times is not None
    assert second.times is not None
    assert first.times.tolist() == second.times.tolist()
    for position in range(len(first)):
        assert first[position] == second[position]
        assert first.box_at(position) == second.box_at(position)


def test_other_units_are_converted_and_the_declared_precision_is_used(tmp_path: Path) -> None:
    block = mr.Block({"x": [12.34], "y": [0.01], "z": [-5.0]})
    schema = mr.SequenceSchema()
    schema.declare_block("atoms", rows=1)
    for name in "xyz":
        schema.declare_column("atoms", name, "f64")
        schema.declare_precision("atoms", name, 1e-2)
    system = mr.Frame(meta={"units": {"length": "angstrom", "time": "fs"}})
    images = Images([mr.Frame({"atoms": block})], system, schema, np.array([7]), np.array([2500.0]))
    write_xtc(tmp_path / "run.xtc", images, Notes(strict=True), None)
    with XTCFile(str(tmp_path / "run.xtc")) as file:
        read = file.read()
    np.testing.assert_allclose(read.x, [[1.234, 0.001, -0.5]], atol=1e-6)
    assert read.step == 7
    assert read.time == 2.5
    assert not read.box.any()


def test_what_an_xtc_does_not_hold_is_named(tmp_path: Path) -> None:
    notes = Notes()
    velocities: dict[str, Any] = {name: [0.0, 1.0] for name in ("vx", "vy", "vz")}
    rich = frame(x=[1 / 3, 0.0], name=["A", "B"], **velocities)
    rich.meta["pe"] = 1.0
    write_xtc(tmp_path / "run.xtc", Images([rich] * 2), notes, None)
    assert {note.subject for note in notes if note.lost} == {"column 'name'", "meta key 'pe'", "velocities"}
    large = Notes()
    write_xtc(tmp_path / "run.xtc", Images([frame(12, x=np.arange(12) / 7)]), large, None)
    assert {note.subject for note in large if note.lost} == {"positions"}


def test_a_trr_holds_what_each_frame_has_and_forces_of_its_unit_only(tmp_path: Path) -> None:
    forces: dict[str, Any] = {name: [1.5, 2.5] for name in ("fx", "fy", "fz")}
    still, pushed = frame(), frame(**forces)
    pushed.meta["lambda"] = 0.25
    stated = mr.Frame(meta={"units": {"length": "nm", "force": "kJ/mol/nm"}})
    write_trr(tmp_path / "run.trr", Images([still, pushed], stated), Notes(strict=True), None)
    with TRRFile(str(tmp_path / "run.trr")) as file:
        first, second = list(file)
    assert (first.hasx, first.hasv, first.hasf) == (True, False, False)
    assert second.f.tolist() == [[1.5] * 3, [2.5] * 3]
    assert second.lmbda == 0.25
    assert second.box.tolist() == [[3, 0, 0], [0.5, 2, 0], [0.25, -0.5, 4]]
    with pytest.raises(mr.SchemaError, match="forces"):
        write_trr(tmp_path / "run.trr", Images([pushed]), Notes(strict=True), None)


@pytest.mark.parametrize(
    ("images", "what"),
    [
        (Images([mr.Frame()]), "x, y and z"),
        (Images([frame(2), frame(3)]), "3 atoms"),
        (Images([frame()], steps=np.array([2**31])), "32 bits"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path, images: Images, what: str) -> None:
    with pytest.raises(mr.SchemaError, match=what) as caught:
        write_xtc(tmp_path / "run.xtc", images, Notes(), None)
    assert caught.value.rule == "reject-foreign-write"
    assert list(tmp_path.iterdir()) == []
