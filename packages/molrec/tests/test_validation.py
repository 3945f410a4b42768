"""What a validator finds that a reader lets pass, each in a record made for it (``docs/spec/validation.md``)."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import molrec as mr
from molrec.checks import content_findings
from molrec.cli.app import app

from .good_records import write_frame, write_run
from .interop import tamper
from .refusals import read_everything
from .spoiling import GROUP, array, attribute, drop, field, text

_DOCS = Path(__file__).resolve().parents[3] / "docs" / "spec"
UNITS = {"length": "angstrom", "energy": "eV", "time": "fs"}


def u64(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def found(path: Path) -> set[tuple[str, str, str]]:
    """Return rule, place and severity of every finding."""
    return {(finding.rule, finding.where, finding.severity) for finding in mr.validate(path)}


def rules(path: Path) -> set[str]:
    return {finding.rule for finding in mr.validate(path)}


def message(path: Path, rule: str) -> str:
    return next(finding.message for finding in mr.validate(path) if finding.rule == rule)


def frame_of(meta: dict[str, Any] | None = None, **blocks: dict[str, Any]) -> mr.Frame:
    return mr.Frame({name: mr.Block(columns) for name, columns in blocks.items()}, meta=meta or {})


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A record without a finding: a frame with units."""
    frame = frame_of({"units": UNITS}, atoms={"x": [0.0, 1.0], "type": ["a", "b"]})
    return mr.write(tmp_path / "sound.mrec", frame=frame)


# -- values -----------------------------------------------------------------------------------------------------------


def test_a_sound_record_has_no_finding(sound: Path) -> None:
    assert mr.validate(sound) == []
    assert mr.validate(mr.pack(sound)) == []


def test_values_off_the_grid_are_counted_and_nulls_are_none(tmp_path: Path) -> None:
    block = mr.Block({"v": np.arange(6.0), "w": np.arange(6.0)})
    for name in ("v", "w"):
        block.set_precision(name, 0.5)
        block.set_validity(name, [True, True, False, True, True, True])
    path = mr.write(tmp_path / "a.mrec", frame=mr.Frame({"a": block}))
    tamper.apply(path, [array("frame/a/v", "float64", [0, 0.3, 0.3, np.nan, np.inf, 0.7], {"precision": 0.5})])
    tamper.apply(path, [array("frame/a/w", "float64", [0, 1, 0.3, 1, 1, -0.0], {"precision": 0.5})])
    off = [finding for finding in mr.validate(path) if finding.rule == "off-grid-value"]
    assert [(finding.where, finding.severity) for finding in off] == [("frame/a/v", "warning")]
    assert "2 rows, the first 1" in off[0].message


def test_values_off_the_grid_of_a_run_are_found_wherever_they_are(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    values = np.concatenate([np.arange(3.0) + ordinal for ordinal in range(4)])
    values[10] = 0.3
    tamper.apply(path, [array("trajectory/atoms/x", "float64", values)])
    assert ("off-grid-value", "trajectory/atoms/x", "warning") in found(path)
    assert "1 row, the first 10" in message(path, "off-grid-value")


def test_times_that_descend(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(
        path, mr.SequenceSchema().declare_column("a", "v", "f64"), system=frame_of({"units": UNITS})
    ) as run:
        for time in (0.0, 2.0, 1.0, float("nan"), 5.0):
            run.append(frame_of(a={"v": [time]}), time=time)
    assert found(path) == {("time-not-ascending", "trajectory/time", "warning")}


def test_words_keys_and_flags_of_the_vocabulary(tmp_path: Path) -> None:
    frame = frame_of(
        {"units": UNITS, "spin": 1.5, "total_charge": 1},
        atoms={"x": [0.0, 1.0], "ix": np.zeros(2, np.int32)},
        bonds={"atomi": u64(0), "atomj": u64(1), "bond_type": u64(7), "bond_number": u64(2)},
    )
    assert found(mr.write(tmp_path / "a.mrec", frame=frame)) == {
        ("composition-key", "frame", "warning"),
        ("image-flags-in-part", "frame/atoms", "error"),
        ("unknown-word", "frame/bonds/bond_type", "warning"),
    }


def test_a_per_step_key_at_another_tag(tmp_path: Path) -> None:
    schema = mr.SequenceSchema().declare_column("a", "v", "f64").declare_meta("pe", "i64")
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, schema, system=frame_of({"units": UNITS})) as writer:
        writer.append(frame_of({"pe": 3}, a={"v": [1.0]}))
    assert found(path) == {("per-step-tag", "trajectory/meta/pe", "error")}


# -- units ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "missing"),
    [
        (None, ["length", "velocity", "force"]),
        ({"length": "nm"}, ["velocity", "force"]),
        ({"length": "nm", "energy": "kJ/mol"}, ["velocity"]),
        ({"length": "nm", "force": "pN", "velocity": "m/s"}, []),
        ({"preset": "real"}, []),
        ({"preset": "lj"}, []),
        ("metal", []),
    ],
)
def test_quantities_whose_unit_nobody_states(units: Any, missing: list[str], tmp_path: Path) -> None:
    columns: dict[str, Any] = {name: [1.0] for name in ("x", "vx", "fx", "charge", "mass", "occupancy", "own")}
    path = mr.write(tmp_path / "a.mrec", frame=frame_of({} if units is None else {"units": units}, atoms=columns))
    expected = {("unit-not-stated", "frame", "warning")} if missing else set()
    assert found(path) == expected
    if missing:
        assert sorted(re.findall(r"(\w+) \(", message(path, "unit-not-stated"))) == sorted(missing)


def test_the_units_of_the_system_hold_for_the_run(tmp_path: Path) -> None:
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64").declare_meta("pe", "f64")
    for name, units, missing in (("a", UNITS, False), ("b", {"length": "nm"}, True)):
        path = tmp_path / f"{name}.mrec"
        with mr.TrajectoryWriter(path, schema, system=frame_of({"units": units}, beads={"mass": [1.0]})) as writer:
            writer.append(frame_of({"pe": 0.0}, atoms={"x": [1.0]}), time=0.0)
        assert found(path) == ({("unit-not-stated", "trajectory", "warning")} if missing else set())
    assert "energy (pe); time" in message(tmp_path / "b.mrec", "unit-not-stated")


@pytest.mark.parametrize("unit", ["angstroem", "kg", "9**9**9**9", "m**1e9", "m\0", "", "__import__('os')"])
def test_units_that_are_none(unit: str, tmp_path: Path) -> None:
    path = mr.write(tmp_path / "a.mrec", frame=frame_of({"units": {"length": unit}}, a={"v": [1.0]}))
    assert found(path) == {("unknown-unit", "frame", "warning")}


def test_units_out_of_form(tmp_path: Path) -> None:
    path = mr.write(tmp_path / "a.mrec", frame=frame_of({"units": 3}, a={"v": [1.0]}))
    assert found(path) == {("reject-units", "frame", "error")}
    path = mr.write(tmp_path / "b.mrec", frame=frame_of({"units": "imperial"}, a={"v": [1.0]}))
    assert found(path) == {("unknown-unit", "frame", "warning")}


# -- force fields -----------------------------------------------------------------------------------------------------


def forcefield() -> mr.ForceField:
    made = mr.ForceField("toy", {"preset": "real"})
    made.define_style("atom", "full").add("a", mass=1.0, charge=0.5)
    made.define_style("bond", "harmonic").add("a-a", ("a", "a"), k=300.0, r0=1.5)
    made.define_style("bond", "morse")
    return made


def test_types_no_table_holds(tmp_path: Path) -> None:
    bonds = {
        "atomi": u64(0, 0, 0, 0),
        "atomj": u64(1, 1, 1, 1),
        "type": ["a-a", "b-b", "a-a", ""],
        "style": ["", "", "morse", ""],
    }
    frame = frame_of({"units": UNITS}, atoms={"x": [0.0, 1.0], "type": ["a", "b"]}, bonds=bonds)
    path = mr.write(tmp_path / "a.mrec", frame=frame, forcefield=forcefield())
    texts = sorted(finding.message for finding in mr.validate(path))
    assert {finding.rule for finding in mr.validate(path)} == {"unresolved-type"}
    assert [text.partition("the type ")[2] for text in texts] == [
        "'a-a' of style 'morse', which 1 row names, the first 2",
        "'b', which 1 row names, the first 1",
        "'b-b', which 1 row names, the first 1",
    ]


def test_rows_with_parameters_of_their_own_need_no_table(tmp_path: Path) -> None:
    bonds = {"atomi": u64(0), "atomj": u64(1), "type": ["mine"], "k": [1.0], "r0": [1.0]}
    frame = frame_of({"units": UNITS}, atoms={"type": ["a", "a"]}, bonds=bonds)
    assert found(mr.write(tmp_path / "a.mrec", frame=frame, forcefield=forcefield())) == set()
    del frame["bonds"]["r0"]
    assert rules(mr.write(tmp_path / "b.mrec", frame=frame, forcefield=forcefield())) == {"unresolved-type"}


def test_types_of_a_run_are_looked_up_in_every_update(tmp_path: Path) -> None:
    schema = mr.SequenceSchema().declare_column("atoms", "v", "f64").declare_column("kinds", "type", "string")
    schema.declare_aligned("kinds", "atoms")
    path = mr.write(tmp_path / "a.mrec", forcefield=forcefield(), system=frame_of({"units": UNITS}, cell={"n": [1.0]}))
    with mr.TrajectoryWriter.in_record(path, schema) as writer:
        for name in ("a", "a", "c"):
            writer.append(frame_of(atoms={"v": [0.0]}, kinds={"type": [name]}))
    schema_names = content_findings.TypeNames("atoms")
    schema_names.add_block(mr.Block({"type": ["a", "c"]}))
    assert schema_names.first == {("a", ""): 0, ("c", ""): 1}
    # The block is not called atoms, so no table belongs to it.
    assert found(path) == set()


def test_types_of_atoms_in_a_run(tmp_path: Path) -> None:
    schema = mr.SequenceSchema().declare_column("atoms", "type", "string")
    path = mr.write(tmp_path / "a.mrec", forcefield=forcefield(), system=frame_of({"units": UNITS}, cell={"n": [1.0]}))
    with mr.TrajectoryWriter.in_record(path, schema) as writer:
        for name in ("a", "a", "c", "d", "c"):
            writer.append(frame_of(atoms={"type": ["a", name]}))
    assert found(path) == {("unresolved-type", "trajectory/atoms", "warning")}
    assert len(mr.validate(path)) == 2


def test_styles_whose_energy_nothing_says(tmp_path: Path) -> None:
    made = forcefield()
    made.define_style("bond", "fene")
    made.define_style("bond", "quartic", expression="k*r^4")
    made.define_style("cmap", "charmm")
    assert found(mr.write(tmp_path / "a.mrec", forcefield=made)) == {
        ("unknown-style", "forcefield/bond.fene", "warning"),
        ("unknown-style", "forcefield/cmap.charmm", "info"),
    }


def test_pairs_priced_twice_and_a_meaning_not_stated(tmp_path: Path) -> None:
    made = mr.ForceField("toy", {"preset": "real"})
    style = made.define_style("pair", "lj/cut")
    style.add("one", ("a", "b"), epsilon=1.0, sigma=1.0)
    style.add("two", ("b", "a"), epsilon=2.0, sigma=1.0)
    path = mr.write(tmp_path / "a.mrec", forcefield=made)
    assert found(path) == {("reject-ff-pair-conflict", "forcefield/pair.lj%2Fcut", "error")}
    tamper.apply(path, [attribute("meta", "modules", {"forcefield": {"version": [2, 0]}})])
    assert found(path) == {("ff-version", "meta", "info")}
    tamper.apply(path, [drop("meta", "modules")])
    assert found(path) == {("ff-version", "meta", "error")}


# -- documents --------------------------------------------------------------------------------------------------------


def test_recommended_keys_out_of_their_form(tmp_path: Path) -> None:
    good = {
        "creator": {"name": "x", "version": "1"},
        "author": {"name": "x", "email": "y"},
        "created_at": "2026-01-31T12:00:00+01:00",
        "source": {"file": "a"},
        "record_id": "r",
        "content_hash": "sha256:00",
        "modules": {"m": {"version": [1, 0]}},
        "own": None,
    }
    frame = frame_of(a={"v": [1.0]})
    assert mr.validate(mr.write(tmp_path / "a.mrec", frame=frame, meta=good)) == []
    bad = {
        "creator": "x",
        "author": {"name": 1},
        "created_at": "2026-01-31 12:00",
        "source": 1,
        "record_id": "",
        "content_hash": "00",
        "modules": {"m": {"version": "1.0"}},
    }
    path = mr.write(tmp_path / "b.mrec", frame=frame, meta=bad)
    assert found(path) == {("meta-form", f"meta, key {key!r}", "warning") for key in bad}
    tamper.apply(path, [drop("meta", "molrec_version")])
    assert ("no-version", "meta", "error") in found(path)


def test_meta_without_tags(sound: Path) -> None:
    tamper.apply(sound, [attribute("frame", "_meta_types", {"units": "json"}), attribute("frame", "n", 3)])
    assert found(sound) == {("untyped-meta", "frame", "error")}
    assert "'n'" in message(sound, "untyped-meta")


def test_box_defaults_and_the_form_of_an_undefined_cell(tmp_path: Path) -> None:
    frame = frame_of(a={"v": [1.0]})
    frame.box = mr.Box(np.eye(3))
    path = mr.write(tmp_path / "a.mrec", frame=frame)
    own = {"_molrec": {"every_chunk_written": True}}
    tamper.apply(
        path, [array("frame/box/origin", "float64", np.zeros(3)), attribute("frame/box", "cell_defined", True)]
    )
    assert ("default-written", "frame/box", "warning") in found(path)
    assert "origin, cell_defined" in message(path, "default-written")
    run = tmp_path / "run.mrec"
    with mr.TrajectoryWriter(run, mr.SequenceSchema.from_frames([frame])) as writer:
        writer.append(frame)
    assert found(run) == set()
    tamper.apply(run, [attribute("trajectory/box", "origin", [0.0, 0.0, 0.0])])
    assert found(run) == {("default-written", "trajectory/box", "warning")}
    frame.box = mr.Box(cell_defined=False)
    path = mr.write(tmp_path / "b.mrec", frame=frame)
    assert found(path) == set()
    tamper.apply(path, [array("frame/box/vectors", "float64", np.eye(3) * 2, own)])
    assert ("undefined-cell-form", "frame/box", "error") in found(path)


def test_a_mask_that_marks_nothing(sound: Path) -> None:
    tamper.apply(sound, [array("frame/atoms/_validity/x", "bool", [True, True])])
    assert ("default-written", "frame/atoms", "warning") in found(sound)


# -- how it is stored -------------------------------------------------------------------------------------------------


def test_arrays_of_other_writers(sound: Path) -> None:
    tamper.apply(sound, [array("frame/atoms/x", "float64", [0.0, 1.0])])
    assert found(sound) == {
        ("array-without-checksum", "frame/atoms/x", "error"),
        ("chunks-not-vouched", "frame/atoms/x", "warning"),
    }
    read_everything(sound)


def test_arrays_nobody_knows_may_be_stored_in_any_way(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    write_frame(tmp_path / "b.mrec")
    (tmp_path / "b.mrec" / "frame").rename(path / "frame")
    before = rules(path)
    places = ("trajectory/mine", "trajectory/atoms/mine", "frame/atoms/group/mine", "frame/mine", "mine/mine")
    tamper.apply(path, [array(place, "float64", [1.0, 2.0]) for place in places])
    tamper.apply(path, [text("frame/atoms/group/zarr.json", GROUP)])
    assert rules(path) - before <= {"unknown-node", "unknown-section"}


def test_chunks_under_other_names(sound: Path) -> None:
    folder = sound / "frame" / "atoms" / "x"
    (folder / "c" / "0").rename(folder / "c.0")
    (folder / "c").rmdir()
    tamper.apply(sound, [field("frame/atoms/x", "/chunk_key_encoding/configuration/separator", ".")])
    assert found(sound) == {("chunk-key-encoding", "frame/atoms/x", "error")}
    read_everything(sound)


def test_archives_that_are_read_and_others_do_not_unpack(sound: Path, tmp_path: Path) -> None:
    packed = mr.pack(sound)
    with zipfile.ZipFile(packed) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    shuffled = tmp_path / "b.mrec.zip"
    with zipfile.ZipFile(shuffled, "w") as archive:
        for name in sorted(content, reverse=True):
            archive.writestr(zipfile.ZipInfo(name), content[name])
    assert found(shuffled) == {("archive-order", "/", "warning")}
    raw = bytearray(packed.read_bytes())
    entry = b"frame/atoms/x/c/0"
    place = raw.rindex(entry) - 46
    assert raw[place : place + 4] == b"PK\1\2"
    raw[place + 16 : place + 20] = struct.pack("<I", 1)
    wrong = tmp_path / "c.mrec.zip"
    wrong.write_bytes(raw)
    assert ("archive-checksum", entry.decode(), "error") in found(wrong)


def test_what_nobody_declared(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    for node in ("trajectory/extra", "trajectory/atoms/extra", "trajectory/meta/extra"):
        (path / node).mkdir()
        tamper.apply(path, [text(f"{node}/zarr.json", "no JSON")])
    assert {where for rule, where, severity in found(path) if (rule, severity) == ("unknown-node", "info")} == {
        "trajectory/extra",
        "trajectory/atoms/extra",
        "trajectory/meta/extra",
    }


def test_an_uncommitted_tail(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    tamper.apply(path, [attribute("trajectory", "nstep", 3)])
    assert ("uncommitted-tail", "trajectory/atoms", "info") in found(path)


# -- all at once ------------------------------------------------------------------------------------------------------


def test_every_fault_of_a_frame_is_reported(tmp_path: Path) -> None:
    path = write_frame(tmp_path / "a.mrec")
    (path / "status").mkdir()
    for name in ("x", "n"):
        chunk = path / "frame" / "atoms" / name / "c" / "0"
        chunk.write_bytes(chunk.read_bytes()[:-1])
    tamper.apply(
        path,
        [
            attribute("frame", "t", "no number"),
            attribute("frame/grid", "structural_shape", [7]),
            attribute("frame/box", "cell_defined", 3),
            text("status/zarr.json", "[]"),
        ],
    )
    errors = {(rule, where) for rule, where, severity in found(path) if severity == "error"}
    assert errors == {
        ("reject-corrupt-chunk", "frame/atoms/x"),
        ("reject-corrupt-chunk", "frame/atoms/n"),
        ("reject-meta-tag-mismatch", "frame, key 't'"),
        ("reject-structural-shape", "frame/grid"),
        ("reject-box-shape", "frame/box"),
        ("reject-malformed-json", "status"),
    }


def test_every_fault_of_a_run_is_reported(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a.mrec")
    tamper.apply(
        path,
        [
            array("trajectory/bonds/step_index", "uint64", [2, 0]),
            array("trajectory/grid/rho", "float64", np.zeros(3)),
            array("trajectory/box/vectors", "float64", np.zeros((1, 3, 3))),
            array("trajectory/meta/pe", "float64", np.zeros(2), {"meta_dtype": "f64"}),
        ],
    )
    errors = {(rule, where) for rule, where, severity in found(path) if severity == "error"}
    assert errors >= {
        ("reject-array-short", "trajectory"),
        ("reject-step-index-not-ascending", "trajectory/bonds"),
        ("reject-uniform-rows", "trajectory/grid"),
    }


# -- the command ------------------------------------------------------------------------------------------------------


def run(*arguments: object, code: int) -> str:
    result = CliRunner().invoke(app, ["validate", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.stdout


def test_exit_codes(sound: Path, tmp_path: Path) -> None:
    assert run(sound, code=0) == f"{sound}: no findings\n"
    bare = mr.write(tmp_path / "bare.mrec", frame=frame_of(atoms={"x": [1.0]}))
    assert "1 warning" in run(bare, code=0)
    run(bare, "--strict", code=1)
    tamper.apply(bare, [attribute("frame/atoms", "count", 2)])
    run(bare, code=1)
    run(tmp_path / "absent.mrec", code=2)
    run(sound, "--severity", "grave", code=2)


def test_findings_alike_are_counted_and_filtered(tmp_path: Path) -> None:
    frame = frame_of({"units": UNITS}, atoms={"v": [0.0]}, bonds={"atomi": u64(0), "atomj": u64(1)})
    path = tmp_path / "a.mrec"
    with mr.TrajectoryWriter(path, mr.SequenceSchema.from_frames([frame])) as writer:
        for ordinal in range(20):
            frame["bonds"]["atomj"] = u64(ordinal + 1)
            writer.append(frame)
    printed = run(path, code=0)
    assert printed.count("[loose-endpoint]") == 3
    assert "  and 17 more like this\n" in printed
    assert printed.endswith(": 20 warnings\n")
    assert run(path, "--all", code=0).count("[loose-endpoint]") == 20
    assert run(path, "--severity", "error", code=0) == f"{path}: 20 warnings\n"
    document = json.loads(run(path, "--json", "--severity", "error", code=0))
    assert document == {
        "path": str(path),
        "valid": True,
        "counts": {"error": 0, "warning": 20, "info": 0},
        "findings": [],
    }


# -- the documentation ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not _DOCS.is_dir(), reason="the documentation is not beside the package")
def test_every_finding_is_documented() -> None:
    sources = Path(content_findings.__file__).parent
    pages = [page for page in sources.glob("*_findings.py") if "collection" not in page.name]
    used: set[str] = set()
    for page in (*pages, sources / "validation.py"):
        code = page.read_text()
        used |= set(re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)",\s*[^=\]]*?"(?:error|warning|info)"', code))
        used |= set(re.findall(r'yield "([a-z]+(?:-[a-z0-9]+)+)"', code))
    advice = {rule for rule in used if not rule.startswith("reject-")}
    assert len(advice) > 25
    table = (_DOCS / "validation.md").read_text()
    listed = set(re.findall(r"`([a-z0-9-]+)`", (_DOCS / "rules.md").read_text()))
    assert advice - listed == set()
    assert advice - set(re.findall(r"`([a-z0-9-]+)`", table)) == set()


@pytest.mark.skipif(not _DOCS.is_dir(), reason="the documentation is not beside the package")
def test_every_rule_of_the_format_is_in_the_table() -> None:
    """The refusals of the format, that is above those of this library's own operations."""
    above = (_DOCS / "rules.md").read_text().partition("## Refusals of this library's frame operations")[0]
    wanted = set(re.findall(r"^\| `(reject-[\w-]+)`", above, flags=re.MULTILINE))
    table = set(re.findall(r"`(reject-[\w-]+)`", (_DOCS / "validation.md").read_text()))
    assert wanted - table == set()
