"""What writers refuse: frames, records, options and places, before anything lands."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import molrec as mr

from .good_records import declaration, present, write_run
from .interop import tamper
from .refusals import read_everything, refused, untouched
from .spoiling import array
from .strategies import plain_frame

# -- writing: frames --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BadAppend:
    """One append the writer refuses; `change` spoils a good frame, `stamps` replace its step and time."""

    rule: str
    mentions: tuple[str, ...]
    change: Callable[[mr.Frame], None] = lambda frame: None
    stamps: dict[str, Any] = field(default_factory=dict)


def replace_block(name: str, block: mr.Block) -> Callable[[mr.Frame], None]:
    return lambda frame: frame.__setitem__(name, block)


def precise(precision: float, column: str = "x") -> Callable[[mr.Frame], None]:
    return lambda frame: frame["atoms"].set_precision(column, precision)


def bonds(**columns: Any) -> mr.Block:
    return mr.Block({"ref": np.zeros(1, np.uint64), "order": np.zeros((1, 2), np.int32), **columns})


def targeted(target: str) -> mr.Block:
    block = bonds()
    block.set_target("ref", target)
    return block


def grid(rows: int, shape: tuple[int, ...] | None = None) -> mr.Block:
    return mr.Block({"rho": np.zeros(rows)}, structural_shape=shape)


def masked(frame: mr.Frame) -> None:
    frame["atoms"].set_validity("x", [True, False, True])


def without(*path: str) -> Callable[[mr.Frame], None]:
    def change(frame: mr.Frame) -> None:
        node: Any = frame.meta if path[0] == "meta" else frame[path[0]]
        del node[path[1]]

    return change


BAD_APPENDS: dict[str, BadAppend] = {
    "undeclared block": BadAppend("reject-undeclared", ("'water'",), replace_block("water", mr.Block({"x": [1.0]}))),
    "undeclared column": BadAppend(
        "reject-undeclared", ("'atoms'", "y"), lambda frame: frame["atoms"].__setitem__("y", np.zeros(3))
    ),
    "undeclared meta key": BadAppend("reject-undeclared", ("'ke'",), lambda frame: frame.meta.set("ke", 1.0)),
    "missing column": BadAppend("reject-missing-column", ("'atoms'", "id"), without("atoms", "id")),
    "block without its columns": BadAppend("reject-missing-column", ("'atoms'",), replace_block("atoms", mr.Block())),
    "missing meta key": BadAppend("reject-missing-meta-key", ("'pe'", "fill"), without("meta", "pe")),
    "another dtype": BadAppend(
        "reject-column-disagrees",
        ("'bonds'", "'order'", "i32", "i64"),
        replace_block("bonds", bonds(order=np.zeros((1, 2), np.int64))),
    ),
    "another row shape": BadAppend(
        "reject-column-disagrees",
        ("'bonds'", "'order'", "[2]", "[3]"),
        replace_block("bonds", bonds(order=np.zeros((1, 3), np.int32))),
    ),
    "row shape missing": BadAppend(
        "reject-column-disagrees", ("'bonds'", "'order'"), replace_block("bonds", bonds(order=np.zeros(1, np.int32)))
    ),
    "mask on a column that is not nullable": BadAppend("reject-mask-not-declared", ("'atoms'", "'x'"), masked),
    "another precision": BadAppend(
        "reject-frame-precision-disagrees", ("'atoms'", "'x'", "0.001", "0.002"), precise(2e-3)
    ),
    "precision with the same quantum": BadAppend(
        "reject-frame-precision-disagrees", ("'atoms'", "'x'"), precise(1.1e-3)
    ),
    "precision where none is declared": BadAppend(
        "reject-frame-precision-disagrees", ("'atoms'", "'b_factor'"), precise(1e-3, "b_factor")
    ),
    "another target": BadAppend(
        "reject-frame-target-disagrees",
        ("'bonds'", "'ref'", "'grid'", "'atoms'"),
        replace_block("bonds", targeted("grid")),
    ),
    "too few points of a grid": BadAppend("reject-structural-shape", ("'grid'", "3"), replace_block("grid", grid(3))),
    "no points of a grid": BadAppend("reject-structural-shape", ("'grid'", "0"), replace_block("grid", grid(0))),
    "another grid of the same size": BadAppend(
        "reject-structural-shape", ("'grid'", "(4,)"), replace_block("grid", grid(4, (4,)))
    ),
    "a grid where none is declared": BadAppend(
        "reject-structural-shape",
        ("'atoms'",),
        lambda frame: setattr(frame["atoms"], "structural_shape", (3, 1)),
    ),
    "meta value of another kind": BadAppend(
        "reject-meta-tag-mismatch", ("'pe'", "f64"), lambda frame: frame.meta.set("pe", "low")
    ),
    "meta value of another width": BadAppend(
        "reject-meta-tag-mismatch", ("'dip'", "f64x3"), lambda frame: frame.meta.set("dip", [1.0, 2.0])
    ),
    "undefined cell in a run with a cell": BadAppend(
        "reject-mixed-cells", ("undefined",), lambda frame: setattr(frame, "box", mr.Box(cell_defined=False))
    ),
    "repeated step": BadAppend("reject-step-not-increasing", ("step 11",), stamps={"step": 11}),
    "smaller step": BadAppend("reject-step-not-increasing", ("step 10", "step 11"), stamps={"step": 10}),
    "negative step": BadAppend("reject-step-not-increasing", ("step -1",), stamps={"step": -1}),
    "step beyond i64": BadAppend("reject-step-out-of-range", (str(2**63),), stamps={"step": 2**63}),
    "step below i64": BadAppend(
        "reject-step-out-of-range|reject-step-not-increasing", (str(-(2**63) - 1),), stamps={"step": -(2**63) - 1}
    ),
    "step that is no integer": BadAppend("reject-step-not-increasing", ("12.0",), stamps={"step": 12.0}),
    "step that is a flag": BadAppend("reject-step-not-increasing", ("True",), stamps={"step": True}),
    "time dropped": BadAppend("reject-time-dropped", ("time",), stamps={"time": None}),
    "time that is no number": BadAppend("reject-time-not-a-number", ("'1.0'",), stamps={"time": "1.0"}),
    "time that is a flag": BadAppend("reject-time-not-a-number", ("True",), stamps={"time": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_APPENDS)
def test_a_refused_frame_leaves_writer_and_store_as_they_were(name: str, record: Path) -> None:
    case = BAD_APPENDS[name]
    with mr.TrajectoryWriter(record, declaration()) as writer:
        for ordinal in range(2):
            writer.append(present(ordinal), step=11 * ordinal, time=0.5 * ordinal)
        writer.flush()
        bad = present(2)
        case.change(bad)
        given = plain_frame(bad)
        with untouched(record), refused(case.rule, "frame 2", *case.mentions):
            writer.append(bad, **{"step": 30, "time": 1.0, **case.stamps})
        assert plain_frame(bad) == given
        assert (writer.nstep, writer.committed) == (2, 2)
        with untouched(record):
            writer.flush()
        writer.append(present(2), step=30, time=1.0)
    trajectory = mr.open(record).trajectory
    assert trajectory is not None
    assert trajectory.steps.tolist() == [0, 11, 30]
    for ordinal in range(3):
        assert trajectory[ordinal]["atoms"]["x"].tolist() == [0.0 + ordinal, 1.0 + ordinal, 2.0 + ordinal]
        assert trajectory[ordinal].meta["pe"] == -1.5 * ordinal
        assert trajectory.update_ordinal("atoms", ordinal) == ordinal
    assert trajectory.update_ordinal("bonds", 2) == 2


def test_a_refused_frame_takes_nothing_of_its_good_parts(record: Path) -> None:
    with mr.TrajectoryWriter(record, declaration()) as writer:
        writer.append(present(0), step=0, time=0.0)
        bad = present(7)
        bad.meta["undeclared"] = 1
        with refused("reject-undeclared", "frame 1"):
            writer.append(bad, step=5, time=0.5)
        same = present(0)
        writer.append(same, step=1, time=1.0)
    trajectory = mr.open(record).trajectory
    assert trajectory is not None
    assert trajectory.steps.tolist() == [0, 1]
    assert trajectory.times is not None
    assert trajectory.times.tolist() == [0.0, 1.0]
    assert [trajectory.update_ordinal(name, 1) for name in ("atoms", "grid", "bonds")] == [0, 0, 0]
    assert plain_frame(trajectory[1])["box"] == plain_frame(trajectory[0])["box"]


def test_the_first_frame_may_be_refused_as_well(record: Path) -> None:
    with mr.TrajectoryWriter(record, declaration()) as writer:
        with untouched(record), refused("reject-missing-meta-key", "frame 0", "'pe'"):
            writer.append(mr.Frame())
        with untouched(record), refused("reject-step-out-of-range", "frame 0"):
            writer.append(present(0), step=2**64)
        writer.append(present(0), time=None)
        with untouched(record), refused("reject-time-gained", "frame 1", "time"):
            writer.append(present(1), time=0.5)
        writer.append(present(1))
    trajectory = mr.open(record).trajectory
    assert trajectory is not None
    assert len(trajectory) == 2
    assert trajectory.times is None


def test_a_cell_in_a_run_without_one_is_refused(record: Path) -> None:
    with mr.TrajectoryWriter(record, mr.SequenceSchema()) as writer:
        writer.append(mr.Frame(box=mr.Box(cell_defined=False)))
        writer.append(mr.Frame())
        with refused("reject-mixed-cells", "frame 2", "defined"):
            writer.append(mr.Frame(box=mr.Box(np.eye(3))))
    reopened = mr.TrajectoryWriter.reopen(record)
    with untouched(record), refused("reject-mixed-cells", "frame 2"):
        reopened.append(mr.Frame(box=mr.Box(np.eye(3))))
    reopened.close()


def test_the_rules_hold_after_reopening(record: Path) -> None:
    write_run(record, 2)
    writer = mr.TrajectoryWriter.reopen(record)
    with untouched(record):
        with refused("reject-step-not-increasing", "frame 2"):
            writer.append(present(2), step=11, time=9.0)
        with refused("reject-time-dropped", "frame 2"):
            writer.append(present(2), step=99)
        with refused("reject-undeclared", "frame 2", "'water'"):
            writer.append(mr.Frame({"water": mr.Block()}), step=99, time=9.0)
    writer.close()


def test_a_block_beside_the_system_has_its_row_count_and_ids(record: Path) -> None:
    system = mr.Frame({"atoms": mr.Block({"element": ["O", "H", "H"], "id": np.array([7, 8, 9])})})
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_column("atoms", "id", "u64")
    with mr.TrajectoryWriter(record, schema, system=system) as writer:
        for rows in (2, 4, 0):
            block = mr.Block({"x": np.zeros(rows), "id": np.arange(7, 7 + rows)})
            with untouched(record), refused("reject-system-row-count", "frame 0", "'atoms'", str(rows), "3"):
                writer.append(mr.Frame({"atoms": block}))
        with untouched(record), refused("reject-system-id", "frame 0", "'atoms'"):
            writer.append(mr.Frame({"atoms": mr.Block({"x": np.zeros(3), "id": np.array([7, 9, 8])})}))
        writer.append(mr.Frame({"atoms": mr.Block({"x": np.zeros(3), "id": np.array([7, 8, 9])})}))
    reopened = mr.TrajectoryWriter.reopen(record)
    with refused("reject-system-row-count", "frame 1", "'atoms'"):
        reopened.append(mr.Frame({"atoms": mr.Block({"x": [0.0], "id": np.array([7])})}))
    reopened.close()


# -- writing: records -------------------------------------------------------------------------------------------------


def test_a_path_where_something_is_is_refused(tmp_path: Path) -> None:
    record = write_run(tmp_path / "run.mrec", 1)
    (tmp_path / "file.mrec").write_text("mine")
    (tmp_path / "folder.mrec").mkdir()
    (tmp_path / "link.mrec").symlink_to(tmp_path / "nowhere")
    with untouched(tmp_path):
        for name in ("run.mrec", "file.mrec", "folder.mrec", "link.mrec"):
            with refused("reject-existing-path", name):
                mr.TrajectoryWriter(tmp_path / name, mr.SequenceSchema())
            with refused("reject-existing-path", name):
                mr.write(tmp_path / name, frame=mr.Frame())
        mr.pack(record, tmp_path / "x.mrec.zip")
        with refused("reject-existing-path", "x.mrec.zip"):
            mr.pack(record, tmp_path / "x.mrec.zip")
        with refused("reject-existing-path", "x.mrec.zip"):
            mr.write(tmp_path / "x.mrec.zip", frame=mr.Frame())
        with refused("reject-existing-path", "run.mrec"):
            mr.unpack(tmp_path / "x.mrec.zip", record)
        (tmp_path / "x.mrec.zip").unlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.mrec", "folder.mrec", "link.mrec", "run.mrec"]


def test_what_is_no_record_is_not_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "precious.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "file.zip").write_text("mine")
    with untouched(tmp_path):
        with refused("reject-not-a-record", "data", kind=mr.FormatError):
            mr.write(folder, frame=mr.Frame(), overwrite=True)
        with refused("reject-not-a-record|reject-malformed-zip", "file", kind=mr.FormatError):
            mr.write(tmp_path / "file", frame=mr.Frame(), overwrite=True)
        with refused("reject-not-a-record|reject-malformed-zip", "file.zip", kind=mr.FormatError):
            mr.write(tmp_path / "file.zip", frame=mr.Frame(), overwrite=True)


def test_a_record_being_written_is_not_overwritten(record: Path) -> None:
    with mr.TrajectoryWriter(record, mr.SequenceSchema()) as writer:
        writer.append(mr.Frame())
        writer.flush()
        with untouched(record), refused("reject-second-writer", "run.mrec"):
            mr.write(record, frame=mr.Frame(), overwrite=True)
        writer.append(mr.Frame())
    assert mr.open(record).trajectory is not None


def test_an_empty_record_is_refused(tmp_path: Path) -> None:
    with refused("reject-empty-record"):
        mr.write(tmp_path / "a.mrec")
    with refused("reject-empty-record"):
        mr.write(tmp_path / "a.mrec", meta={"source": "x"}, method={"type": "classical"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", [None, 0, -1, 2, 1.0, True, "1", [1], 2**70])
def test_a_version_of_the_producers_own_is_refused_unless_valid(version: Any, tmp_path: Path) -> None:
    meta = {"molrec_version": version}
    with refused("reject-molrec-version", "molrec_version"):
        mr.write(tmp_path / "a.mrec", frame=mr.Frame(), meta=meta)
    with refused("reject-molrec-version", "molrec_version"):
        mr.TrajectoryWriter(tmp_path / "b.mrec", mr.SequenceSchema(), meta=meta)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [-math.inf]}])
def test_a_document_that_is_not_finite_is_refused(value: Any, tmp_path: Path) -> None:
    for document in ("meta", "status", "method"):
        documents: dict[str, Any] = {document: {"key": value}}
        with refused("reject-json-meta-non-finite", document):
            mr.write(tmp_path / "a.mrec", frame=mr.Frame(), **documents)
    with refused("reject-json-meta-non-finite", "meta"):
        mr.TrajectoryWriter(tmp_path / "b.mrec", mr.SequenceSchema(), meta={"key": value})
    assert list(tmp_path.iterdir()) == []


def test_a_trajectory_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    good, bad = mr.Frame({"a": mr.Block({"x": [1.0]})}, meta={"pe": 1.0}), mr.Frame({"a": mr.Block({"x": [2.0]})})
    with refused("reject-missing-meta-key", "frame 1", "'pe'"):
        mr.write(tmp_path / "a.mrec", trajectory=[good, bad])
    with refused("reject-schema-conflict", "'a'", "'c'"):
        mr.write(
            tmp_path / "a.mrec",
            trajectory=[mr.Frame({"a": mr.Block({"c": [1]})}), mr.Frame({"a": mr.Block({"c": [1.0]})})],
        )
    assert list(tmp_path.iterdir()) == []


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("reject-unknown-profile", {"profile": "fast"}),
    ("reject-unknown-profile", {"profile": None}),
    ("reject-unknown-compression", {"compression": "blosc"}),
    ("reject-unknown-compression", {"compression": "gzip:10"}),
    ("reject-unknown-compression", {"compression": "zstd:23"}),
    ("reject-unknown-compression", {"compression": "zstd:fast"}),
    ("reject-unknown-compression", {"compression": ""}),
    ("reject-unknown-compression", {"compression": 3}),
    ("reject-flush-every", {"flush_every": 0}),
    ("reject-flush-every", {"flush_every": -5}),
    ("reject-flush-every", {"flush_every": True}),
    ("reject-flush-every", {"flush_every": 1.5}),
]


@pytest.mark.parametrize(("rule", "options"), OPTIONS, ids=str)
def test_an_unknown_option_is_refused_before_anything_is_created(
    rule: str, options: dict[str, Any], tmp_path: Path
) -> None:
    with refused(rule, repr(next(iter(options.values())))):
        mr.TrajectoryWriter(tmp_path / "a.mrec", mr.SequenceSchema(), **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("schema", [None, {}, mr.Frame(), {"blocks": {}}])
def test_a_schema_is_a_schema(schema: Any, tmp_path: Path) -> None:
    with refused("reject-malformed-schema", "SequenceSchema"):
        mr.TrajectoryWriter(tmp_path / "a.mrec", schema)
    assert list(tmp_path.iterdir()) == []


# -- writing: who and where -------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_while_the_first_is_open(record: Path) -> None:
    writer = mr.TrajectoryWriter(record, declaration())
    writer.append(present(0), time=0.0)
    writer.flush()
    with untouched(record):
        with refused("reject-second-writer", "run.mrec"):
            mr.TrajectoryWriter.reopen(record)
        with refused("reject-second-writer", "run.mrec"):
            mr.repair(record)
        with refused("reject-pack-open", "run.mrec"):
            mr.pack(record)
        with refused("reject-existing-path", "run.mrec"):
            mr.TrajectoryWriter(record, declaration())
    writer.append(present(1), time=1.0)
    writer.close()
    mr.TrajectoryWriter.reopen(record).close()
    assert not record.with_name("run.mrec.zip").exists()


def test_a_second_writer_in_another_process_is_refused(record: Path) -> None:
    writer = mr.TrajectoryWriter(record, declaration())
    program = textwrap.dedent(
        """
        import sys
        import molrec as mr

        try:
            mr.TrajectoryWriter.reopen(sys.argv[1])
        except mr.SchemaError as error:
            print(error.rule)
        """
    )
    found = subprocess.run([sys.executable, "-c", program, record], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "reject-second-writer"
    writer.close()


def test_a_writer_that_is_closed_takes_nothing_more(record: Path) -> None:
    writer = mr.TrajectoryWriter(record, declaration())
    writer.append(present(0), time=0.0)
    writer.close()
    writer.close()
    with untouched(record):
        with refused("reject-writer-closed", "run.mrec"):
            writer.append(present(1), time=1.0)
        with refused("reject-writer-closed", "run.mrec"):
            writer.flush()


def test_appending_to_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    packed = mr.pack(write_run(tmp_path / "run.mrec", 1))
    with untouched(tmp_path):
        for place in (packed, "s3://bucket/run.mrec", "memory://run.mrec", tmp_path / "nothing.mrec"):
            with refused("reject-append-not-a-directory", str(place)):
                mr.TrajectoryWriter.reopen(place)
        with refused("reject-append-not-a-directory", "new.mrec.zip"):
            mr.TrajectoryWriter(tmp_path / "new.mrec.zip", declaration())


def test_reopening_what_has_no_trajectory_is_refused(tmp_path: Path) -> None:
    mr.write(tmp_path / "a.mrec", frame=mr.Frame())
    (tmp_path / "b.mrec").mkdir()
    with untouched(tmp_path):
        with refused("reject-no-trajectory", "a.mrec", kind=mr.FormatError):
            mr.TrajectoryWriter.reopen(tmp_path / "a.mrec")
        with refused("reject-not-a-record", "b.mrec", kind=mr.FormatError):
            mr.TrajectoryWriter.reopen(tmp_path / "b.mrec")


def test_reopening_arrays_that_cannot_grow_is_refused(record: Path) -> None:
    write_run(record, 3)
    tamper.apply(record, [array("trajectory/grid/rho", "float64", np.repeat(np.arange(3.0), 4))])
    read_everything(record)
    with untouched(record), refused("reject-reopen-layout", "trajectory/grid/rho"):
        mr.TrajectoryWriter.reopen(record)


def test_packing_a_crashed_run_is_refused_until_it_is_repaired(record: Path) -> None:
    writer = mr.TrajectoryWriter(record, declaration())
    writer.append(present(0), time=0.0)
    writer.flush()
    writer._release()
    with untouched(record.parent), refused("reject-pack-open", "run.mrec", "repair"):
        mr.pack(record)
    mr.repair(record)
    assert mr.pack(record).exists()


def test_a_count_whose_commit_was_lost_in_part_is_refused_until_repaired(record: Path) -> None:
    schema = mr.SequenceSchema.from_frames([mr.Frame({"atoms": mr.Block({"x": [0.0]})})])
    writer = mr.TrajectoryWriter(record, schema, flush_every=1)
    writer.append(mr.Frame({"atoms": mr.Block({"x": [1.0]})}))
    writer.flush()
    column = record / "trajectory/atoms/x/zarr.json"
    before = column.read_bytes()
    writer.append(mr.Frame({"atoms": mr.Block({"x": [2.0]})}))
    writer._release()
    column.write_bytes(before)
    with (
        untouched(record),
        refused("reject-torn-commit", "trajectory/atoms/x has 1 rows", "2 frames", kind=mr.FormatError),
    ):
        mr.open(record).trajectory  # noqa: B018 - opened for its checks
    mr.repair(record)
    with mr.open(record) as repaired:
        assert repaired.trajectory is not None
        assert [frame["atoms"]["x"].tolist() for frame in repaired.trajectory] == [[1.0], [2.0]]


def test_packing_what_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("mine")
    with untouched(tmp_path):
        for name in ("empty", "file", "nothing"):
            with refused("reject-not-a-record", name, kind=mr.FormatError):
                mr.pack(tmp_path / name)


FULL_DISK = """
    import resource, signal, sys
    import numpy as np
    import molrec as mr

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64")
    writer = mr.TrajectoryWriter(sys.argv[1], schema)
    writer.append(mr.Frame({"atoms": mr.Block({"x": np.random.default_rng(0).random(1000)})}))
    writer.flush()
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, unlimited[1]))
    writer.append(mr.Frame({"atoms": mr.Block({"x": np.random.default_rng(1).random(1000)})}))
    for _ in range(2):
        try:
            writer.flush()
        except OSError as error:
            print(type(error).__name__, writer.committed, writer.nstep)
    print(len(mr.open(sys.argv[1]).trajectory))
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    writer.close()
    print(len(mr.open(sys.argv[1]).trajectory))
"""


def test_a_full_disk_harms_nothing_committed_and_the_flush_can_be_tried_again(record: Path) -> None:
    program = textwrap.dedent(FULL_DISK)
    found = subprocess.run([sys.executable, "-c", program, record], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["OSError", "1", "2", "OSError", "1", "2", "1", "2"]
    trajectory = mr.open(record).trajectory
    assert trajectory is not None
    for ordinal in range(2):
        assert trajectory[ordinal]["atoms"]["x"].tolist() == np.random.default_rng(ordinal).random(1000).tolist()
