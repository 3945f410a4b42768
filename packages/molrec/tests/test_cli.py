"""The command line: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

import molrec as mr
from molrec.cli.app import app
from molrec.cli.console import human_bytes
from molrec.cli.options import parse_frames, parse_precision

pytest.importorskip("ase")

from ase import Atoms
from ase.build import bulk
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import read, write

MOLREC = Path(sys.executable).with_name("molrec")


def invoke(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def images(count: int = 10) -> list[Any]:
    found = []
    for step in range(count):
        atoms = Atoms("OH2", positions=np.arange(9.0).reshape(3, 3) / 7 + step, cell=[9.0, 8.0, 7.0], pbc=True)
        atoms.info = {"step": 10 * step, "time": 0.5 * step, "temp": 300.0 + step}
        atoms.set_array("kind", np.array([1, 2, 2]))
        found.append(atoms)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.xyz"
    write(path, images())
    return path


@pytest.fixture
def run(tmp_path: Path, source: Path) -> Path:
    invoke("convert", source, tmp_path / "run.mrec", "--precision", "1e-3")
    return tmp_path / "run.mrec"


def trajectory_of(path: Path) -> mr.TrajectoryReader:
    trajectory = mr.open(path).trajectory
    assert trajectory is not None
    return trajectory


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -- convert ----------------------------------------------------------------------------------------------------------


def test_file_to_record_and_back(tmp_path: Path, source: Path, run: Path) -> None:
    result = invoke("convert", run, tmp_path / "out.xyz")
    assert "10 frames" in result.output
    for found, expected in zip(read(tmp_path / "out.xyz", ":"), read(source, ":"), strict=True):
        assert found.info == expected.info
        assert np.abs(found.positions - expected.positions).max() <= 0.5e-3
        assert found.arrays["kind"].tolist() == [1, 2, 2]
    invoke("convert", source, tmp_path / "exact.mrec.zip")
    invoke("convert", tmp_path / "exact.mrec.zip", tmp_path / "exact.xyz")
    assert (tmp_path / "exact.xyz").read_bytes() == source.read_bytes()


def test_record_to_record_repacks_every_node(tmp_path: Path, run: Path) -> None:
    (run / "remarks").mkdir()
    (run / "remarks" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"a": null}}')
    for profile, target in (("live", "live.mrec"), ("archive", "archive.mrec.zip")):
        invoke("convert", run, tmp_path / target, "--profile", profile, "--compression", "zstd:5")
        with mr.open(tmp_path / target) as record:
            assert "remarks" in record.sections
            assert record.system == mr.open(run).system
            assert record.trajectory is not None
            assert list(record.trajectory) == list(trajectory_of(run))
            assert record.trajectory.steps.tolist() == trajectory_of(run).steps.tolist()


def test_a_coarser_precision_and_a_selection_rewrite_the_run(tmp_path: Path, run: Path) -> None:
    (run / "remarks").mkdir()
    (run / "remarks" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    invoke("convert", run, tmp_path / "part.mrec", "--precision", "x=1e-1", "--frames", "2:8:3")
    part, whole = trajectory_of(tmp_path / "part.mrec"), trajectory_of(run)
    assert part.steps.tolist() == [20, 50]
    assert part.times is not None
    assert part.times.tolist() == [1.0, 2.5]
    assert np.array_equal(part[1]["atoms"]["x"], mr.quantize(whole[5]["atoms"]["x"], 1e-1))
    assert np.array_equal(part[1]["atoms"]["y"], whole[5]["atoms"]["y"])
    columns = part.schema.blocks["atoms"].columns
    assert [columns[name].precision for name in "xyz"] == [1e-1, 1e-3, 1e-3]
    assert "remarks" in mr.open(tmp_path / "part.mrec").sections
    assert mr.validate(tmp_path / "part.mrec") == [
        finding for finding in mr.validate(tmp_path / "part.mrec") if finding.severity == "info"
    ]
    result = invoke("convert", run, tmp_path / "finer.mrec", "--precision", "x=1e-6", code=2)
    assert "reject-finer-precision" in result.output


def test_records_that_continue_each_other_become_one(tmp_path: Path, run: Path) -> None:
    invoke("convert", run, tmp_path / "a.mrec", "--frames", ":4")
    invoke("convert", run, tmp_path / "b.mrec.zip", "--frames", "4:")
    invoke("convert", tmp_path / "a.mrec", tmp_path / "b.mrec.zip", tmp_path / "both.mrec")
    assert list(trajectory_of(tmp_path / "both.mrec")) == list(trajectory_of(run))
    invoke("convert", tmp_path / "a.mrec", tmp_path / "b.mrec.zip", tmp_path / "both.xyz")
    assert len(read(tmp_path / "both.xyz", ":")) == 10
    result = invoke("convert", tmp_path / "b.mrec.zip", tmp_path / "a.mrec", tmp_path / "no.mrec", code=2)
    assert "reject-step-not-increasing" in result.output
    assert "no.mrec" not in left(tmp_path)


def test_convert_as_json(tmp_path: Path, run: Path) -> None:
    document = json.loads(invoke("convert", run, tmp_path / "out.traj", "--json").stdout)
    assert document["frames"] == 10
    assert document["output"] == str(tmp_path / "out.traj")
    assert document["bytes"] == (tmp_path / "out.traj").stat().st_size
    assert [(note["subject"], note["lost"], note["count"]) for note in document["notes"]] == [
        ("array 'kind'", True, 10)
    ]


def test_a_loss_is_said_and_strict_refuses_it(tmp_path: Path, run: Path) -> None:
    result = invoke("convert", run, tmp_path / "out.traj")
    assert "lost: array 'kind'" in result.stderr
    result = invoke("convert", run, tmp_path / "strict.traj", "--strict", code=2)
    assert "reject-lossy-conversion" in result.stderr
    assert "strict.traj" not in left(tmp_path)


def test_a_format_with_one_frame(tmp_path: Path, run: Path) -> None:
    result = invoke("convert", run, tmp_path / "POSCAR", code=2)
    assert "holds one frame, there are 10" in result.stderr
    invoke("convert", run, tmp_path / "POSCAR", "--frames", "-1")
    assert len(read(tmp_path / "POSCAR")) == 3
    invoke("convert", run, tmp_path / "one", "--frames", "3", "--to", "extxyz")
    invoke("convert", tmp_path / "one", tmp_path / "one.mrec", "--from", "extxyz")
    assert len(trajectory_of(tmp_path / "one.mrec")) == 1


def test_a_record_without_a_run(tmp_path: Path) -> None:
    block = mr.Block({"x": [0.0], "y": [0.0], "z": [0.0], "element": ["O"]})
    mr.write(tmp_path / "frame.mrec", frame=mr.Frame({"atoms": block}))
    invoke("convert", tmp_path / "frame.mrec", tmp_path / "frame.xyz")
    assert len(read(tmp_path / "frame.xyz", ":")) == 1
    invoke("convert", tmp_path / "frame.mrec", tmp_path / "again.mrec.zip")
    assert mr.open(tmp_path / "again.mrec.zip").frame == mr.Frame({"atoms": block})
    assert "reject-no-trajectory" in invoke("plot", tmp_path / "frame.mrec", tmp_path / "x.png", code=2).stderr
    assert "frame" in invoke("info", tmp_path / "frame.mrec").stdout


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["absent.xyz", "out.mrec"], "reject-no-such-file"),
        (["absent.mrec", "out.mrec"], "reject-not-a-record"),
        (["run.mrec", "run.mrec"], "reject-existing-path"),
        (["in.xyz", "run.mrec"], "reject-existing-path"),
        (["run.mrec", "in.xyz"], "reject-existing-path"),
        (["in.xyz", "run.mrec", "out.mrec"], "reject-mixed-inputs"),
        (["in.xyz", "out.xyz"], "reject-mixed-inputs"),
        (["run.mrec", "out.nothing"], "reject-unknown-format"),
        (["run.mrec", "out.mrec", "--from", "extxyz"], "reject-unknown-format"),
        (["run.mrec", "out.mrec", "--to", "extxyz"], "reject-unknown-format"),
        (["in.xyz", "out.mrec", "--from", "traj"], "reject-malformed-source"),
        (["run.mrec", "out.xyz", "--precision", "1e-2"], "reject-precision-on-foreign-file"),
        (["run.mrec", "out.mrec", "--precision", "q=1e-2"], "reject-undeclared"),
        (["in.xyz", "out.mrec", "--precision", "element=1"], "reject-precision-on-non-f64"),
        (["in.xyz", "out.mrec", "--precision", "0"], "reject-precision-out-of-bounds"),
        (["run.mrec", "out.mrec", "--profile", "tiny"], "reject-unknown-profile"),
        (["run.mrec", "out.mrec", "--compression", "rar"], "reject-unknown-compression"),
        (["in.xyz", "out.mrec", "--compression", "rar"], "reject-unknown-compression"),
        (["run.mrec", "out.mrec", "--frames", "50:60"], "reject-no-frames"),
        (["in.xyz", "out.mrec", "--frames", "50:60"], "reject-no-frames"),
    ],
)
def test_refusals_are_one_line_and_leave_nothing(
    tmp_path: Path, run: Path, arguments: list[str], rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = left(tmp_path)
    result = invoke("convert", *arguments, code=2)
    assert result.stderr.startswith("error: ")
    assert f"[{rule}]" in result.stderr
    assert result.stderr.count("\n") == 1
    assert left(tmp_path) == before
    assert run.exists()


def test_overwrite(tmp_path: Path, source: Path, run: Path) -> None:
    (run / "remarks").mkdir()
    (run / "remarks" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    write(source, images(3))
    invoke("convert", source, run, "--overwrite")
    assert len(trajectory_of(run)) == 3
    assert "remarks" in mr.open(run).sections
    invoke("convert", run, tmp_path / "out.xyz")
    invoke("convert", run, tmp_path / "out.xyz", "--overwrite", "--frames", "0")
    assert len(read(tmp_path / "out.xyz", ":")) == 1
    (tmp_path / "other.mrec").mkdir()
    (tmp_path / "other.mrec" / "precious").write_text("keep")
    result = invoke("convert", source, tmp_path / "other.mrec", "--overwrite", code=2)
    assert "reject-not-a-record" in result.stderr
    assert (tmp_path / "other.mrec" / "precious").read_text() == "keep"


@pytest.mark.parametrize("arguments", [["only-one"], ["a", "b", "--precision", "x,y"], ["a", "b", "--frames", "1:x"]])
def test_usage_errors(arguments: list[str]) -> None:
    assert "Usage" in invoke("convert", *arguments, code=2).stderr


def test_precision_spellings() -> None:
    assert parse_precision(None) == {}
    assert parse_precision("1e-3") == {"x": 1e-3, "y": 1e-3, "z": 1e-3}
    assert parse_precision("x,y,z=1e-3,vx=1e-4") == {"x": 1e-3, "y": 1e-3, "z": 1e-3, "vx": 1e-4}
    for text in ("", "x=", "x,y", "x=1,y", "=1", "x=1,x=2", "x=a"):
        with pytest.raises(typer.BadParameter):
            parse_precision(text)


def test_frame_spellings() -> None:
    assert parse_frames(None) == slice(None)
    assert parse_frames("2:8:3") == slice(2, 8, 3)
    assert parse_frames(":") == slice(None, None, None)
    assert parse_frames("-1") == slice(-1, None)
    assert parse_frames("3") == slice(3, 4)
    for text in ("", "a", "1:2:0", "1:2:-1", "1:2:3:4"):
        with pytest.raises(typer.BadParameter):
            parse_frames(text)


# -- info, validate ---------------------------------------------------------------------------------------------------


def test_info_shows_what_is_there(run: Path) -> None:
    text = invoke("info", run).stdout
    for part in (
        "10 frames, steps 0 to 90 by 10",
        "times 0 to 4.5 by 0.5",
        "cell 9 8 7, angles 90 90 90, periodic along abc",
        "x f64",
        "precision 0.001",
        "shuffle:8",
        "bytes per atom and frame",
        "temp f64  300 to 309",
        'source = {"files":["in.xyz"],"format":["extxyz"]}',
        "kind i32",
    ):
        assert part in text, part


def test_info_as_json_counts_every_byte(tmp_path: Path, run: Path) -> None:
    invoke("pack", run)
    for path in (run, tmp_path / "run.mrec.zip"):
        facts = json.loads(invoke("info", path, "--json").stdout)
        files = [file for file in run.rglob("*") if file.is_file()]
        assert facts["bytes"] == sum(file.stat().st_size for file in files)
        assert facts["bytes"] == sum(section["bytes"] for section in facts["sections"].values()) + len(
            (run / "zarr.json").read_bytes()
        )
        trajectory = facts["trajectory"]
        assert trajectory["frames"] == 10
        assert trajectory["steps"] == {"first": 0, "last": 90, "stride": 10}
        assert trajectory["bytes_per_atom_frame"] == pytest.approx(trajectory["bytes"] / 30)
        assert trajectory["blocks"]["atoms"]["columns"]["x"]["precision"] == 1e-3
        assert trajectory["cell"]["lengths"] == [9.0, 8.0, 7.0]
        assert facts["system"]["meta"]["units"]["value"]["length"] == "angstrom"
        assert facts["form"] == ("folder" if path == run else "packed")


def test_info_of_what_is_no_record(tmp_path: Path, source: Path) -> None:
    for path in (tmp_path / "absent.mrec", source, tmp_path):
        assert invoke("info", path, code=2).stderr.startswith("error: ")


def test_validate(tmp_path: Path, run: Path) -> None:
    assert "no findings" in invoke("validate", run).stdout
    assert json.loads(invoke("validate", run, "--json").stdout) == {
        "path": str(run),
        "valid": True,
        "counts": {"error": 0, "warning": 0, "info": 0},
        "findings": [],
    }
    shard = next(
        file for file in (run / "trajectory" / "atoms" / "x").rglob("*") if file.is_file() and "c" in file.parts
    )
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    result = invoke("validate", run, code=1)
    assert "error: trajectory/atoms/x" in result.stdout
    assert "[reject-corrupt-chunk]" in result.stdout
    document = json.loads(invoke("validate", run, "--json", code=1).stdout)
    assert document["valid"] is False
    assert {finding["rule"] for finding in document["findings"]} == {"reject-corrupt-chunk"}
    assert invoke("validate", tmp_path / "absent.mrec", code=2).stdout.startswith("error: ")


# -- pack, unpack, repair, plot ---------------------------------------------------------------------------------------


def test_pack_and_unpack(tmp_path: Path, run: Path) -> None:
    assert "run.mrec.zip" in invoke("pack", run).stdout
    assert "reject-existing-path" in invoke("pack", run, code=2).stderr
    invoke("pack", run, tmp_path / "run.mrec.zip", "--overwrite")
    invoke("unpack", tmp_path / "run.mrec.zip", tmp_path / "again.mrec")
    assert list(trajectory_of(tmp_path / "again.mrec")) == list(trajectory_of(run))
    assert "reject-not-a-record" in invoke("pack", tmp_path / "absent.mrec", code=2).stderr
    assert invoke("unpack", tmp_path / "absent.mrec.zip", code=2).stderr.startswith("error: ")


def test_repair(tmp_path: Path, run: Path) -> None:
    assert "nothing to repair" in invoke("repair", run).stdout
    program = (
        "import os, sys, numpy, molrec as mr\n"
        "frame = mr.Frame({'atoms': mr.Block({'x': numpy.zeros(4)})})\n"
        "writer = mr.TrajectoryWriter(sys.argv[1], mr.SequenceSchema.from_frames([frame]))\n"
        "writer.append(frame); writer.flush(); os._exit(0)\n"
    )
    crashed = tmp_path / "crashed.mrec"
    subprocess.run([sys.executable, "-c", program, crashed], check=True)
    assert "reject-pack-open" in invoke("pack", crashed, code=2).stderr
    assert "closed the record at 1 frames" in invoke("repair", crashed).stdout
    invoke("pack", crashed)


def test_plot(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert invoke("plot", run).stdout == "run.png: step, time, temp\n"
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "reject-existing-path" in invoke("plot", run, code=2).stderr
    invoke("plot", run, "--overwrite", "--keys", "temp")
    result = invoke("plot", run, "other.png", "--keys", "temp,nope", code=2)
    assert "nope is no per-step scalar; its numeric per-step keys are step, time, temp" in result.stderr
    assert "other.png" not in left(tmp_path)


MANUAL = Path(__file__).resolve().parents[3] / "docs" / "guide" / "cli.md"


@pytest.mark.skipif(not MANUAL.is_file(), reason="the manual is not beside the package")
def test_the_manual_prints_what_the_commands_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    generator = np.random.default_rng(5)
    atoms = bulk("Cu", cubic=True) * (2, 2, 2)
    atoms.set_tags([0, 1] * 16)
    run = []
    for step in range(100):
        atoms.positions += generator.normal(0, 0.02, (32, 3))
        frame = atoms.copy()
        frame.info = {"step": 10 * step, "time": 20.0 * step, "temp": 300 + generator.normal(0, 5)}
        energy, forces = -110 + generator.normal(0, 0.1), generator.normal(0, 0.5, (32, 3))
        frame.calc = SinglePointCalculator(frame, energy=energy, forces=forces)
        run.append(frame)
    write("md.xyz", run)
    blocks = re.findall(r"^```console\n(.*?)^```", MANUAL.read_text(), flags=re.DOTALL | re.MULTILINE)
    commands = re.findall(r"^\$ molrec (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), flags=re.MULTILINE)
    assert len(commands) >= 10
    for command, printed in commands:
        result = invoke(*command.split())
        assert without_numbers(result.stderr + result.stdout) == without_numbers(printed), command


def without_numbers(text: str) -> str:
    """Mask what depends on the machine and the versions of the compressors: sizes, ratios, seconds."""
    return re.sub(r"\d[\d.,]* (?:[kMG]?B|s\b|times|bytes)|positions \d[\d.]*|zstd:\d+", "#", text)


# -- the command itself -----------------------------------------------------------------------------------------------


def test_version_and_help() -> None:
    assert invoke("--version").stdout == f"molrec {mr.__version__}\n"
    text = invoke("--help").stdout
    for command in ("convert", "info", "validate", "pack", "unpack", "repair", "plot"):
        assert command in text
        assert "Usage" in invoke(command, "--help").stdout


def test_sizes_for_people() -> None:
    assert [human_bytes(size) for size in (0, 999, 1000, 12_345, 1_234_567, 5e9, 5e13)] == [
        "0 B",
        "999 B",
        "1 kB",
        "12.3 kB",
        "1.23 MB",
        "5 GB",
        "50 TB",
    ]


def test_the_installed_command(tmp_path: Path, source: Path) -> None:
    done = subprocess.run(
        [MOLREC, "convert", source, tmp_path / "run.mrec"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.startswith(f"{tmp_path / 'run.mrec'}: 10 frames")
    assert done.stderr == ""  # no bar where stderr is no terminal
    done = subprocess.run([MOLREC, "info", "nothing.mrec"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    done = subprocess.run([sys.executable, "-m", "molrec", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"molrec {mr.__version__}\n"


def test_importing_the_command_line_is_quiet_and_light() -> None:
    program = (
        "import sys, molrec.cli\n"
        "heavy = {'ase', 'matplotlib', 'zarr', 'numcodecs', 'pydantic', 'rich', 'typer'} & sys.modules.keys()\n"
        "import molrec.cli.app\n"
        "heavy |= {'ase', 'matplotlib', 'zarr', 'pydantic', 'numpy'} & sys.modules.keys()\n"
        "print(sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert done.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("target", ["out.mrec", "out.mrec.zip"])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, target: str) -> None:
    one = images(1)[0] * (8, 8, 8)
    write(tmp_path / "long.xyz", [one] * 60)
    # The jobs a shell runs in the background ignore interrupts, and so would their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [MOLREC, "convert", tmp_path / "long.xyz", tmp_path / target],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    # the temporary folder shows that writing has begun
    while len(left(tmp_path)) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert "interrupted" in error
    assert "Traceback" not in error
    assert left(tmp_path) == ["long.xyz"]
