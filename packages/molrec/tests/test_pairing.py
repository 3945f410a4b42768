"""A topology before trajectories with coordinates only: one run, the atoms of the one and the frames of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr
from molrec.conversion import convert
from molrec.formats.notes import Notes
from molrec.formats.pairing import PairedSource, Topology, pair
from molrec.formats.registry import Format
from molrec.formats.series import FrameSource, ScannedSeries


class Frames:
    """Frames in memory as a source."""

    def __init__(self, name: str, frames: list[mr.Frame], units: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.units = units
        self._frames = frames
        self.reads = 0

    def count(self) -> int | None:
        return len(self._frames)

    def frames(self, notes: Notes) -> Iterator[mr.Frame]:
        self.reads += 1
        yield from self._frames


class Sizeless(Frames):
    """Frames that show once the number of atoms is known."""

    def with_atoms(self, atoms: int) -> FrameSource:
        return Frames(self.name, [moving(atoms, 0.5)], self.units)


def moving(atoms: int, start: float, **meta: object) -> mr.Frame:
    x = np.arange(atoms) + start
    return mr.Frame({"atoms": mr.Block({"x": x, "y": x, "z": x})}, meta=meta, box=mr.Box(np.eye(3) * (9 + start)))


def topology(units: Mapping[str, str] | None = None) -> Frames:
    columns: dict[str, Any] = {"x": [9.0] * 3, "y": [9.0] * 3, "z": [9.0] * 3, "ix": np.ones(3, np.int32)}
    columns |= {"name": ["O", "H", "H"], "mass": [16.0, 1.0, 1.0], "b_factor": [10.0, 20.0, 30.0]}
    atoms = mr.Block(columns | {"icode": ["", "", "A"]})
    atoms.set_validity("mass", [True, True, False])
    atoms.set_precision("b_factor", 0.01)
    bonds = mr.Block({"atomi": np.array([0, 0], np.uint64), "atomj": np.array([1, 2], np.uint64)})
    return Frames(
        "top", [mr.Frame({"atoms": atoms, "bonds": bonds}, meta={"title": "water"}, box=mr.Box(np.eye(3)))], units
    )


BARE = Format("bare", "coordinates", None, None, coordinates_only=True)
NAMED = Format("named", "structures", None, None, topology=True)
OTHER = Format("other", "anything", None, None)


def test_the_frames_are_the_trajectorys_with_the_columns_of_the_topology() -> None:
    notes = Notes(strict=True)
    source = topology({"length": "nm", "mass": "amu"})
    trajectories = [
        Frames("a", [moving(3, 0.0, step=1), moving(3, 0.1, step=2)]),
        Frames("b", [moving(3, 0.2, step=5)]),
    ]
    for trajectory in trajectories:
        trajectory.units = {"length": "nm", "time": "ps"}
    paired = pair([NAMED, BARE, BARE], [source, *trajectories])
    series = ScannedSeries(paired, notes=notes)
    system = series.system()
    assert system is not None
    assert set(system["atoms"].columns) == {"name", "mass", "b_factor", "icode"}
    assert system["atoms"].validity("mass") is not None
    assert system["atoms"].precision("b_factor") == 0.01
    assert system["bonds"]["atomj"].tolist() == [1, 2]
    assert system.meta["units"] == {"length": "nm", "time": "ps", "mass": "amu"}
    assert [(timed.step, timed.frame["atoms"]["x"][0]) for timed in series] == [(1, 0.0), (2, 0.1), (5, 0.2)]
    assert {timed.frame.box.vectors[0, 0] for timed in series if timed.frame.box} == {9.0, 9.1, 9.2}
    assert source.reads == 1
    assert [note.message for note in notes if note.subject == "top"] == [
        "says what the atoms are; x, y, z, ix, box, title are not taken, the frames are those after it"
    ]


def test_lengths_of_the_topology_are_converted_and_said_to_be() -> None:
    notes = Notes(strict=True)
    source = PairedSource(Topology(topology({"length": "angstrom"})), Frames("a", [moving(3, 0.0)], {"length": "nm"}))
    (frame,) = source.frames(notes)
    np.testing.assert_allclose(frame["atoms"]["b_factor"], [0.1, 0.2, 0.3], atol=0.5e-4)
    assert frame["atoms"].precision("b_factor") == pytest.approx(1e-4)
    assert frame["atoms"]["x"].tolist() == [0.0, 1.0, 2.0]
    assert "column 'b_factor'" in {note.subject for note in notes}
    assert source.units == {"length": "nm"}


def test_other_numbers_of_atoms_are_refused_with_both_files_and_counts() -> None:
    source = PairedSource(Topology(topology()), Frames("traj", [moving(3, 0.0), moving(4, 0.0)]))
    with pytest.raises(mr.FormatError, match="top has 3 atoms, but frame 1 of traj has 4") as caught:
        list(source.frames(Notes()))
    assert caught.value.rule == "reject-topology-mismatch"


def test_a_trajectory_that_does_not_know_its_atoms_is_told() -> None:
    source = PairedSource(Topology(topology()), Sizeless("traj", []))
    (frame,) = source.frames(Notes())
    assert frame["atoms"]["x"].tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize("kinds", [[BARE, NAMED], [OTHER, BARE], [NAMED, BARE, OTHER], [NAMED, NAMED, BARE]])
def test_a_trajectory_among_files_it_does_not_go_with_is_refused(kinds: list[Format]) -> None:
    with pytest.raises(mr.SchemaError, match="coordinates only") as caught:
        pair(kinds, [topology() for _ in kinds])
    assert caught.value.rule == "reject-mixed-inputs"


@pytest.mark.parametrize("kinds", [[BARE], [BARE, BARE], [NAMED, NAMED], [OTHER, NAMED]])
def test_other_files_are_read_one_after_the_other(kinds: list[Format]) -> None:
    sources = [topology() for _ in kinds]
    assert pair(kinds, sources) == sources


def test_a_topology_without_atoms_is_refused() -> None:
    with pytest.raises(mr.FormatError, match="no atoms") as caught:
        list(PairedSource(Topology(Frames("top", [])), Frames("traj", [moving(1, 0.0)])).frames(Notes()))
    assert caught.value.rule == "reject-malformed-source"


@pytest.mark.engines
def test_convert_pairs_a_structure_with_its_trajectory(tmp_path: Path) -> None:
    pytest.importorskip("MDAnalysis", exc_type=ImportError)
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    rows = [f"    1SOL  {name:>5}{number:5d}   0.100   0.200   0.300" for number, name in enumerate(("OW", "HW"), 1)]
    (tmp_path / "conf.gro").write_text("\n".join(["water", "2", *rows, "1.0 1.0 1.0", ""]))
    positions = np.array([[0.125, 0.25, 0.5], [1.0, 2.0, 3.0]], dtype=np.float32)
    for name, first in (("a.xtc", 0), ("b.xtc", 20)):
        with XTCFile(str(tmp_path / name), "w") as file:
            for step in (first, first + 10):
                file.write(positions + np.float32(step), np.eye(3, dtype=np.float32) * 2, step, step / 4, 1000.0)
    done = convert([tmp_path / name for name in ("conf.gro", "a.xtc", "b.xtc")], tmp_path / "run.mrec", strict=True)
    record = mr.open(tmp_path / "run.mrec")
    assert done.frames == 4
    assert record.system is not None
    assert record.system["atoms"]["name"].tolist() == ["OW", "HW"]
    assert record.trajectory is not None
    assert record.trajectory.steps.tolist() == [0, 10, 20, 30]
    assert record.trajectory.times is not None
    assert record.trajectory.times.tolist() == [0.0, 2.5, 5.0, 7.5]
    assert record.trajectory[3]["atoms"]["z"].tolist() == [30.5, 33.0]
    convert([tmp_path / "run.mrec"], tmp_path / "back.gro", strict=True)
    assert "t= 7.5 step= 30" in (tmp_path / "back.gro").read_text()


@pytest.mark.engines
def test_the_wrong_topology_leaves_nothing_behind(tmp_path: Path) -> None:
    pytest.importorskip("MDAnalysis", exc_type=ImportError)
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    (tmp_path / "conf.gro").write_text("t\n0\n1.0 1.0 1.0\n")
    with XTCFile(str(tmp_path / "a.xtc"), "w") as file:
        file.write(np.zeros((3, 3), np.float32), np.eye(3, dtype=np.float32), 0, 0.0, 1000.0)
    with pytest.raises(mr.FormatError, match=r"conf\.gro has 0 atoms, but frame 0 of .*a\.xtc has 3"):
        convert([tmp_path / "conf.gro", tmp_path / "a.xtc"], tmp_path / "run.mrec")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xtc", "conf.gro"]
