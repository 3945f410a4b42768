"""Row references and aligned blocks, case by case; each case is stored as a folder and as an archive."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import molrec as mr

from .interop import tamper
from .refusals import read_everything, refused
from .spoiling import array

Stored = Callable[[Path], Path]


def as_folder(path: Path) -> Path:
    return path


def as_archive(path: Path) -> Path:
    return mr.pack(path)


@pytest.fixture(params=[as_folder, as_archive], ids=["folder", "zip"])
def stored(request: pytest.FixtureRequest) -> Stored:
    """Turn a record folder into the form to be read."""
    form: Stored = request.param
    return form


def u64(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def water() -> mr.Frame:
    """Three atoms with every relation block, a massless site among the atoms, and a null endpoint."""
    atoms = mr.Block(
        {
            "x": [0.0, 0.96, -0.24, 0.1],
            "type": ["OW", "HW", "HW", "M"],
            "charge": [0.0, 0.52, 0.52, -1.04],
            "mass": [15.999, 1.008, 1.008, 0.0],
            "res_id": u64(7, 7, 7, 7),
            "ix": np.array([0, -1, 2, 0], dtype=np.int32),
            "iy": np.zeros(4, dtype=np.int32),
            "iz": np.zeros(4, dtype=np.int32),
            "free": [True, True, False, True],
        }
    )
    sites = mr.Block({"atomi": u64(3), "atomj": u64(0), "atomk": u64(1), "atoml": u64(0), "type": ["M"]})
    sites.set_validity("atoml", [False])
    return mr.Frame(
        {
            "atoms": atoms,
            "bonds": mr.Block(
                {"atomi": u64(0, 0), "atomj": u64(1, 2), "type": ["OH", "OH"], "style": ["harmonic"] * 2}
            ),
            "angles": mr.Block({"atomi": u64(1), "atomj": u64(0), "atomk": u64(2)}),
            "exclusions": mr.Block({"atomi": u64(0), "atomj": u64(3)}),
            "constraints": mr.Block({"atomi": u64(1), "atomj": u64(2), "r0": [1.51]}),
            "virtual_sites": sites,
        },
        meta={"units": {"preset": "real"}},
    )


def beads() -> mr.Frame:
    members = mr.Block({"ibead": u64(0, 0, 1), "atom": u64(0, 1, 2)})
    members.set_target("ibead", "atoms")
    members.set_target("atom", "/system/atoms")
    return mr.Frame({"atoms": mr.Block({"x": [0.0, 5.0], "bead_type": ["W", "W"]}), "members": members})


# -- frames -----------------------------------------------------------------------------------------------------------


def test_canonical_topology(tmp_path: Path, stored: Stored) -> None:
    mr.write(tmp_path / "a.mrec", frame=water())
    with mr.open(stored(tmp_path / "a.mrec")) as record:
        assert record.frame == water()
        assert record.frame is not None
        assert record.frame["virtual_sites"].validity("atoml").tolist() == [False]  # type: ignore[union-attr]
        assert record.frame.units == {"preset": "real"}


def test_targets_declared(tmp_path: Path, stored: Stored) -> None:
    mr.write(tmp_path / "a.mrec", frame=beads(), system=water())
    with mr.open(stored(tmp_path / "a.mrec")) as record:
        assert record.frame is not None
        assert record.frame["members"].targets == {"ibead": "atoms", "atom": "/system/atoms"}


def test_reject_target_out_of_range(tmp_path: Path, stored: Stored) -> None:
    frame = beads()
    frame["members"]["ibead"] = u64(0, 2, 1)
    with refused("reject-target-out-of-range", "'members'", "'ibead'", "row 2", "'atoms'"):
        mr.write(tmp_path / "bad.mrec", frame=frame)
    mr.write(tmp_path / "a.mrec", frame=beads())
    tamper.apply(tmp_path / "a.mrec", [array("frame/members/ibead", "uint64", [0, 2, 1])])
    with refused("reject-target-out-of-range", "'members'", "'ibead'", "row 2", kind=mr.FormatError):
        read_everything(stored(tmp_path / "a.mrec"))


def test_reject_target_missing_block(tmp_path: Path, stored: Stored) -> None:
    frame = beads()
    del frame["atoms"]
    with refused("reject-target-missing-block", "'members'", "'ibead'", "'atoms'"):
        mr.write(tmp_path / "bad.mrec", frame=frame)
    mr.write(tmp_path / "a.mrec", frame=beads())
    shutil.rmtree(tmp_path / "a.mrec" / "frame" / "atoms")
    with refused("reject-target-missing-block", "'members'", kind=mr.FormatError):
        read_everything(stored(tmp_path / "a.mrec"))


def test_reject_target_not_u64() -> None:
    block = mr.Block({"n": np.array([1, 2])})
    with refused("reject-target-not-u64", "'n'", "i64"):
        block.set_target("n", "atoms")
    with refused("reject-target-not-u64", "'m'"):
        block.set_target("m", "atoms")


# -- records ----------------------------------------------------------------------------------------------------------


def test_targets_absolute(tmp_path: Path, stored: Stored) -> None:
    """An absolute target is checked where its section is there, and means nothing where it is not."""
    mr.write(tmp_path / "alone.mrec", frame=beads())
    read_everything(stored(tmp_path / "alone.mrec"))
    frame = beads()
    frame["members"]["atom"] = u64(0, 1, 4)
    with refused("reject-target-out-of-range", "'members'", "'atom'", "row 4", "'/system/atoms'"):
        mr.write(tmp_path / "bad.mrec", frame=frame, system=water())
    mr.write(tmp_path / "a.mrec", frame=beads(), system=water())
    tamper.apply(tmp_path / "a.mrec", [array("frame/members/atom", "uint64", [0, 1, 4])])
    with refused("reject-target-out-of-range", "'atom'", "'/system/atoms'", kind=mr.FormatError):
        read_everything(stored(tmp_path / "a.mrec"))


def test_reject_target_into_trajectory() -> None:
    with refused("reject-target-into-trajectory", "'/trajectory/atoms'", "'atom'"):
        beads()["members"].set_target("atom", "/trajectory/atoms")
    schema = mr.SequenceSchema.from_frames([beads()])
    with refused("reject-target-into-trajectory", "'/trajectory/atoms'"):
        schema.declare_target("members", "ibead", "/trajectory/atoms")


# -- trajectories: references ---------------------------------------------------------------------------------------


def test_targets_pinned(tmp_path: Path, stored: Stored) -> None:
    """The declaration holds for every resolved frame, whichever of the two blocks a frame presents."""
    frame = beads()
    frame["members"].set_target("atom", "/system/fine")
    schema = mr.SequenceSchema.from_frames([frame])
    system = mr.Frame({"fine": water()["atoms"]})
    smaller = mr.Frame({"atoms": mr.Block({"x": [1.0], "bead_type": ["W"]})})
    with mr.TrajectoryWriter(tmp_path / "a.mrec", schema, system=system) as writer:
        writer.append(frame)
        with refused("reject-target-out-of-range", "frame 1", "'members'", "'ibead'", "row 1"):
            writer.append(smaller)
        fewer = mr.Block({"ibead": u64(0), "atom": u64(2)})
        writer.append(mr.Frame({"atoms": smaller["atoms"], "members": fewer}))
    with mr.open(stored(tmp_path / "a.mrec")) as record:
        trajectory = record.trajectory
        assert trajectory is not None
        assert trajectory.schema.blocks["members"].targets == {"ibead": "atoms", "atom": "/system/fine"}
        assert [shown["members"].targets for shown in trajectory] == 2 * [{"ibead": "atoms", "atom": "/system/fine"}]
        assert trajectory[1]["members"]["ibead"].tolist() == [0]


# -- trajectories: alignment ------------------------------------------------------------------------------------------


def aligned_schema() -> mr.SequenceSchema:
    schema = mr.SequenceSchema().declare_block("atoms").declare_column("atoms", "x", "f64")
    schema.declare_block("atom_types").declare_column("atom_types", "type", "string")
    return schema.declare_aligned("atom_types", "atoms")


def shown(positions: list[float] | None, types: str | None = None) -> mr.Frame:
    blocks = {} if positions is None else {"atoms": mr.Block({"x": np.array(positions)})}
    if types is not None:
        blocks["atom_types"] = mr.Block({"type": np.array(list(types), dtype=np.dtypes.StringDType())})
    return mr.Frame(blocks)


def write_run(path: Path, *frames: mr.Frame) -> None:
    with mr.TrajectoryWriter(path, aligned_schema()) as writer:
        for frame in frames:
            writer.append(frame)


def resolved(path: Path) -> list[tuple[int | None, str | None]]:
    """Return the atoms of every frame and the types beside them."""
    with mr.open(path) as record:
        trajectory = record.trajectory
        assert trajectory is not None
        return [
            (
                frame["atoms"].rows if "atoms" in frame else None,
                "".join(frame["atom_types"]["type"].tolist()) if "atom_types" in frame else None,
            )
            for frame in trajectory
        ]


def test_aligned_carries_forward(tmp_path: Path, stored: Stored) -> None:
    moving = [shown([0.0, 1.0, float(step)], {0: "OHH", 3: "HOH"}.get(step)) for step in range(5)]
    write_run(tmp_path / "a.mrec", *moving)
    path = stored(tmp_path / "a.mrec")
    assert resolved(path) == [(3, "OHH")] * 3 + [(3, "HOH")] * 2
    with mr.open(path) as record:
        assert record.trajectory is not None
        assert [record.trajectory.update_ordinal("atom_types", frame) for frame in range(5)] == [0, 0, 0, 3, 3]


def test_aligned_restated_on_growth(tmp_path: Path, stored: Stored) -> None:
    write_run(tmp_path / "a.mrec", shown([0, 1, 2], "OHH"), shown([0, 1, 3]), shown([0, 1, 2, 3], "OHHX"))
    assert resolved(stored(tmp_path / "a.mrec")) == [(3, "OHH"), (3, "OHH"), (4, "OHHX")]


def test_aligned_absent_then_present(tmp_path: Path, stored: Stored) -> None:
    write_run(tmp_path / "a.mrec", shown([0, 1]), shown([0, 2], "OH"))
    assert resolved(stored(tmp_path / "a.mrec")) == [(2, None), (2, "OH")]


def test_aligned_empty_target(tmp_path: Path, stored: Stored) -> None:
    write_run(tmp_path / "a.mrec", shown([0, 1], "OH"), shown([0, 2]), shown([], ""), shown([]))
    assert resolved(stored(tmp_path / "a.mrec")) == [(2, "OH"), (2, "OH"), (0, ""), (0, "")]


def test_reject_aligned_not_restated(tmp_path: Path) -> None:
    with mr.TrajectoryWriter(tmp_path / "a.mrec", aligned_schema()) as writer:
        writer.append(shown([0, 1, 2], "OHH"))
        with refused("reject-aligned-not-restated", "'atom_types'", "'atoms'", "frame 1", "4", "3"):
            writer.append(shown([0, 1, 2, 3]))
        writer.append(shown([0, 1, 3]))
    assert resolved(tmp_path / "a.mrec") == [(3, "OHH")] * 2


def test_reject_aligned_count_mismatch(tmp_path: Path, stored: Stored) -> None:
    mismatch = refused("reject-aligned-count-mismatch", "'atoms'", "atom_types", "frame 0", "3", "2")
    with mr.TrajectoryWriter(tmp_path / "b.mrec", aligned_schema()) as writer, mismatch:
        writer.append(shown([0, 1, 2], "OH"))
    write_run(tmp_path / "a.mrec", shown([0, 1], "OH"), shown([0, 1, 2], "OHH"))
    tamper.apply(tmp_path / "a.mrec", [array("trajectory/atom_types/offset", "uint64", [0, 3, 5])])
    with refused("reject-aligned-count-mismatch", "atom_types", "'atoms'", "frame 0", kind=mr.FormatError):
        resolved(stored(tmp_path / "a.mrec"))


def test_reject_aligned_target_absent(tmp_path: Path) -> None:
    absent = refused("reject-aligned-target-absent", "atom_types", "'atoms'", "frame 0", "2")
    with mr.TrajectoryWriter(tmp_path / "a.mrec", aligned_schema()) as writer, absent:
        writer.append(shown(None, "OH"))


@pytest.mark.parametrize(
    ("rule", "block", "target"),
    [
        ("reject-aligned-target-undeclared", "labels", "nothing"),
        ("reject-aligned-chain", "labels", "atom_types"),
        ("reject-aligned-chain", "labels", "labels"),
        ("reject-aligned-shared-column", "twin", "atoms"),
    ],
)
def test_an_alignment_that_cannot_be_declared(rule: str, block: str, target: str) -> None:
    schema = aligned_schema()
    schema.declare_block("labels").declare_column("labels", "mark", "bool")
    schema.declare_block("twin").declare_column("twin", "x", "f64")
    with refused(rule, f"'{block}'", f"'{target}'"):
        schema.declare_aligned(block, target)


def test_reject_aligned_shares_system_name(tmp_path: Path) -> None:
    system = mr.Frame({"atom_types": mr.Block({"mass": [1.0, 1.0]})})
    with refused("reject-aligned-shares-system-name", "'atom_types'"):
        mr.TrajectoryWriter(tmp_path / "a.mrec", aligned_schema(), system=system)
    assert not (tmp_path / "a.mrec").exists()


def test_the_joined_view_has_the_columns_of_both(tmp_path: Path, stored: Stored) -> None:
    write_run(tmp_path / "a.mrec", shown([0, 1]), shown([0, 2], "OH"), shown([0, 3]))
    with mr.open(stored(tmp_path / "a.mrec")) as record:
        trajectory = record.trajectory
        assert trajectory is not None
        assert trajectory.joined("atoms", 0).columns == ("x",)
        last = trajectory.joined("atoms", -1)
        assert {name: values.tolist() for name, values in last.items()} == {"x": [0.0, 3.0], "type": ["O", "H"]}
        assert trajectory.joined("atom_types", 2) == trajectory[2]["atom_types"]
        with pytest.raises(KeyError, match="'nothing'"):
            trajectory.joined("nothing", 0)


# -- the validator ----------------------------------------------------------------------------------------------------


def findings(path: Path) -> list[tuple[str, str, str]]:
    return [(finding.rule, finding.where, finding.severity) for finding in mr.validate(path)]


def test_the_validator_follows_references_through_a_run(tmp_path: Path, stored: Stored) -> None:
    frame = beads()
    frame["members"].set_target("atom", "/system/fine")
    system = mr.Frame({"fine": water()["atoms"]}, meta={"units": {"preset": "real"}})
    with mr.TrajectoryWriter(tmp_path / "a.mrec", mr.SequenceSchema.from_frames([frame]), system=system) as writer:
        for step in range(4):
            frame["atoms"]["x"] = np.array([0.0, float(step)])
            writer.append(frame)
    assert findings(tmp_path / "a.mrec") == []
    tamper.apply(tmp_path / "a.mrec", [array("trajectory/members/ibead", "uint64", [0, 0, 2])])
    assert ("reject-target-out-of-range", "trajectory/members", "error") in findings(stored(tmp_path / "a.mrec"))


def test_the_validator_follows_absolute_references_of_a_run(tmp_path: Path, stored: Stored) -> None:
    frame = beads()
    frame["members"].set_target("atom", "/system/fine")
    with mr.TrajectoryWriter(
        tmp_path / "a.mrec", mr.SequenceSchema.from_frames([frame]), system=mr.Frame({"fine": water()["atoms"]})
    ) as writer:
        writer.append(frame)
    tamper.apply(tmp_path / "a.mrec", [array("trajectory/members/atom", "uint64", [0, 1, 4])])
    assert ("reject-target-out-of-range", "trajectory/members", "error") in findings(stored(tmp_path / "a.mrec"))


def test_an_endpoint_nothing_is_declared_for_is_a_warning(tmp_path: Path, stored: Stored) -> None:
    frame = water()
    frame["bonds"]["atomj"] = u64(1, 9)
    mr.write(tmp_path / "a.mrec", frame=frame)
    path = stored(tmp_path / "a.mrec")
    read_everything(path)
    assert findings(path) == [("loose-endpoint", "frame/bonds", "warning")]
    with mr.TrajectoryWriter(tmp_path / "b.mrec", mr.SequenceSchema.from_frames([frame])) as writer:
        writer.append(frame)
        writer.append(frame)
    rules = [finding[0] for finding in findings(tmp_path / "b.mrec")]
    assert rules == ["loose-endpoint"]


# -- units ------------------------------------------------------------------------------------------------------------


def test_units_of_a_frame() -> None:
    assert mr.Frame().units is None
    assert mr.Frame(meta={"units": "metal"}).units == {"preset": "metal"}
    frame = mr.Frame(meta={"units": {"length": "nm", "energy": "kJ/mol"}})
    assert frame.units == {"length": "nm", "energy": "kJ/mol"}
    with refused("reject-units", "units", "3"):
        mr.Frame(meta={"units": 3}).units  # noqa: B018 - refused when looked at


def test_the_whole_of_a_frame_is_system_and_trajectory(tmp_path: Path, stored: Stored) -> None:
    system = mr.Frame({"atoms": mr.Block({"id": u64(5, 6), "mass": [1.0, 2.0]})}, meta={"units": {"preset": "real"}})
    frame = mr.Frame({"atoms": mr.Block({"id": u64(5, 6), "x": [0.0, 1.0]})}, box=mr.Box(np.eye(3)))
    with mr.TrajectoryWriter(tmp_path / "a.mrec", mr.SequenceSchema.from_frames([frame]), system=system) as writer:
        writer.append(frame)
    with mr.open(stored(tmp_path / "a.mrec")) as record:
        whole = record.joined()
    assert {name: values.tolist() for name, values in whole["atoms"].items()} == {
        "id": [5, 6], "mass": [1.0, 2.0], "x": [0.0, 1.0],
    }  # fmt: skip
    assert (whole.units, whole.box) == ({"preset": "real"}, frame.box)
    mr.write(tmp_path / "b.mrec", frame=frame)
    with mr.open(tmp_path / "b.mrec") as record:
        assert record.joined() == frame
    mr.write(tmp_path / "c.mrec", status={"state": "running"})
    with mr.open(tmp_path / "c.mrec") as record, refused("reject-no-frames", "c.mrec"):
        record.joined()
