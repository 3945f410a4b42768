"""The page of ``molrec view`` in headless Chromium: every value as stored, and a picture with a molecule in it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import molrec as mr
from molrec.viewer.server import RecordServer

from .chromium import Page, PageError, browser, find_chromium
from .exact_values import READ_FRAMES, parsed, spelled_frame, spelled_run

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine (make engines installs one)"),
]

_ROOT = Path(__file__).resolve().parents[4]
_FIXTURES = _ROOT / "fixtures"
golden = pytest.mark.skipif(not _FIXTURES.is_dir(), reason="the fixtures are not beside the package")
_PICTURES = _ROOT / "build" / "browser"
_MOLREC = Path(sys.executable).with_name("molrec")
_SYMBOLS = ["C", "C", "O", "H", "H", "H", "H", "H", "H"]
_POSITIONS = np.array(
    [
        [-1.27, 0.25, 0.0], [0.0, -0.55, 0.0], [1.15, 0.3, 0.0], [-1.3, 0.9, 0.88], [-1.3, 0.9, -0.88],
        [-2.15, -0.4, 0.0], [0.04, -1.2, 0.88], [0.04, -1.2, -0.88], [1.95, -0.25, 0.0],
    ]
)  # fmt: skip
_BONDS = np.array([[0, 1], [1, 2], [0, 3], [0, 4], [0, 5], [1, 6], [1, 7], [2, 8]], np.uint64)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@contextmanager
def served(record: Path) -> Iterator[RecordServer]:
    """Serve a record as ``molrec view`` does."""
    with RecordServer(record) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def shown(page: Page, record: Path) -> Iterator[RecordServer]:
    """Serve a record, and open the page on it."""
    with served(record) as server:
        page.complaints.clear()
        page.requests.clear()
        page.open(server.url)
        page.wait_for(f"location.href === {json.dumps(server.url)} && window.molrec !== undefined")
        yield server


def published_frames(page: Page, record: mr.Record) -> list[dict[str, Any]]:
    """Return every frame of a run as the page shown offers it to scripts."""
    assert record.trajectory is not None
    found = page.run(f"molrec.ready.then(() => ({READ_FRAMES})(molrec.frame, molrec.length))")
    return parsed(found, record.trajectory.schema)


def ethanol(path: Path) -> mr.TrajectoryWriter:
    """Begin a run of ethanol with its elements and bonds in the system."""
    schema = mr.SequenceSchema()
    for name in "xyz":
        schema.declare_column("atoms", name, "f64").declare_precision("atoms", name, 1e-3)
    schema.declare_meta("pe", "f64")
    atoms, bonds = mr.Block({"element": _SYMBOLS}), mr.Block({"atomi": _BONDS[:, 0], "atomj": _BONDS[:, 1]})
    system = mr.Frame({"atoms": atoms, "bonds": bonds}, meta={"units": {"preset": "real"}})
    return mr.TrajectoryWriter(path, schema, system=system)


def add_frames(writer: mr.TrajectoryWriter, count: int) -> None:
    """Append frames in a tilted cell and make them durable."""
    cell = mr.Box(np.array([[8.0, 0.0, 0.0], [2.0, 7.0, 0.0], [0.0, 0.0, 6.0]]).T, origin=[-4.0, -3.5, -3.0])
    for ordinal in range(writer.nstep, writer.nstep + count):
        moved = _POSITIONS + np.random.default_rng(ordinal).normal(0.0, 0.05, _POSITIONS.shape)
        atoms = mr.Block({name: moved[:, axis] for axis, name in enumerate("xyz")})
        frame = mr.Frame({"atoms": atoms}, meta={"pe": ordinal / 7}, box=cell)
        writer.append(frame, step=10 * ordinal, time=ordinal / 2)
    writer.flush()


def colors_in(picture: Path) -> tuple[float, int]:
    """Return the share of the scene that is not background, and how many coarse colours it has."""
    scene = imread(picture)[60:700, 20:930, :3]
    drawn = np.abs(scene - scene[0, 0]).max(axis=2) > 0.08
    return float(drawn.mean()), len(np.unique((scene[drawn] * 3.99).astype(int), axis=0))


def assert_shows_a_molecule(picture: Path) -> None:
    share, colors = colors_in(picture)
    assert 0.01 < share < 0.8, f"{picture}: {share:.1%} of the scene is drawn on"
    assert colors >= 6, f"{picture}: {colors} colours"


#: Reads a record with the page's own modules; the picture, which takes seconds to begin, is left out.
_READ_RECORD = """
(async (at) => {
  const [{ registerCodecs }, { Record }] = await Promise.all([import(at + "codecs.js"), import(at + "record.js")]);
  registerCodecs();
  const record = await Record.open({ ...(await (await fetch(at + "record.json")).json()), at: at + "record.zip" });
  const found = {};
  if (record.trajectory) found.trajectory = await (READ_FRAMES)((ordinal) => record.values(ordinal), record.length);
  for (const name of ["system", "frame"]) {
    if (record[name]) [found[name]] = await (READ_FRAMES)(() => record[name].values(), 1);
  }
  return found;
})(AT)
""".replace("READ_FRAMES", READ_FRAMES)


@golden
def test_every_value_of_every_golden_record_is_read_as_molrec_reads_it(page: Page) -> None:
    checked = 0
    for path in sorted(_FIXTURES.glob("*.mrec.zip")):
        with mr.open(path) as record, served(path) as server:
            page.open(f"{server.url}record.json")
            read = page.run(_READ_RECORD.replace("AT", json.dumps(server.url)))
            for name, frame in (("system", record.system), ("frame", record.frame)):
                expected = None if frame is None else spelled_frame(frame)
                assert read.get(name) == expected, f"{path.name}, {name}"
            if record.trajectory is not None:
                frames = parsed(read["trajectory"], record.trajectory.schema)
                assert len(frames) == len(record.trajectory), path.name
                for ordinal, expected in enumerate(spelled_run(record)):
                    assert frames[ordinal] == expected, f"{path.name}, frame {ordinal}"
                checked += len(frames)
    assert checked > 50


def test_an_archive_of_very_many_files_is_read(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "many.mrec.zip"
    with ethanol(tmp_path / "run.mrec") as writer:
        add_frames(writer, 2)
    with zipfile.ZipFile(mr.pack(tmp_path / "run.mrec")) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            with target.open(
                name, "w", force_zip64=True
            ) as entry:  # its local header is longer than the directory says
                entry.write(source.read(name))
        for number in range(0x10000):  # more than the directory of a plain ZIP file can count
            target.writestr(f"notes/{number}", b"")
    with mr.open(path) as record, served(path) as server:
        page.open(f"{server.url}record.json")
        read = page.run(_READ_RECORD.replace("AT", json.dumps(server.url)))
        assert read["trajectory"] == spelled_run(record)


@golden
def test_an_archive_that_is_no_packed_record_is_refused(page: Page, tmp_path: Path) -> None:
    packed = _FIXTURES / "precision.mrec.zip"
    with (
        zipfile.ZipFile(packed) as source,
        zipfile.ZipFile(tmp_path / "deflated.zip", "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for name in source.namelist():
            target.writestr(name, source.read(name))
    with zipfile.ZipFile(tmp_path / "outside.zip", "w") as target:
        target.writestr("../zarr.json", b"{}")
    content = packed.read_bytes()
    (tmp_path / "cut.zip").write_bytes(content[:-30])
    (tmp_path / "empty.zip").write_bytes(b"")
    expected = {
        "deflated.zip": "compressed or encrypted",
        "outside.zip": "forbidden",
        "cut.zip": "no ZIP directory at the end",
        "empty.zip": "no ZIP directory at the end",
    }
    for name, words in expected.items():
        with served(tmp_path / name) as server:
            page.open(f"{server.url}record.json")
            with pytest.raises(PageError, match=words):
                page.run(_READ_RECORD.replace("AT", json.dumps(server.url)))


@golden
def test_the_aspirin_of_the_golden_record_is_drawn(page: Page) -> None:
    path = _FIXTURES / "precision.mrec.zip"
    with mr.open(path) as record, shown(page, path) as server:
        assert published_frames(page, record) == spelled_run(record)
        first = page.picture(_PICTURES / "precision.png")
        assert_shows_a_molecule(first)
        page.run("molrec.show(24)")
        assert where(page) == "25 of 25 frames, step 480, time 0.24"
        last = page.picture(_PICTURES / "precision-last.png")
        assert_shows_a_molecule(last)
        assert last.read_bytes() != first.read_bytes()
        page.prefer("dark")
        dark = page.picture(_PICTURES / "precision-dark.png")
        assert_shows_a_molecule(dark)
        assert imread(dark)[300, 5, :3].max() < 0.2
        page.prefer("light")
        assert page.complaints == []
        assert all(url.startswith((server.url, "data:")) for url, _ in page.requests)


def where(page: Page) -> Any:
    return page.run("document.getElementById('where').value")


def facts(page: Page) -> str:
    return str(page.run("document.getElementById('facts').textContent"))


def test_a_run_is_followed_while_it_is_written(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run.mrec"
    with ethanol(path) as writer:
        add_frames(writer, 3)
        command = [str(_MOLREC), "view", str(path), "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            page.complaints.clear()
            page.open(url)
            page.wait_for(f"location.href === {json.dumps(url)} && window.molrec !== undefined")
            with mr.open(path) as record:
                assert published_frames(page, record) == spelled_run(record)
            assert_shows_a_molecule(page.picture(_PICTURES / "run.png"))
            page.press("End")
            page.wait_for("molrec.shown === 2")
            page.press("ArrowLeft")
            page.wait_for("molrec.shown === 1")
            assert where(page) == "2 of 3 frames, step 10, time 0.5"
            page.press("End")
            page.wait_for("molrec.shown === 2")

            add_frames(writer, 40)
            page.run("document.getElementById('again').click()")
            page.wait_for("molrec.shown === 42")
            with mr.open(path) as record:
                assert published_frames(page, record) == spelled_run(record)
            assert "Bonds8" in facts(page)
            assert "Length unitangstrom" in facts(page)
            page.run("document.getElementById('play').click()")  # from the end on to the beginning
            page.wait_for("molrec.shown > 0 && molrec.shown < 42")
            page.run("document.getElementById('play').click()")
            assert_shows_a_molecule(page.picture(_PICTURES / "run-later.png"))
            assert page.complaints == []
            # terminated, as the jobs a shell runs in the background ignore interrupts, and so do their children
            process.terminate()


def test_only_the_frames_that_are_shown_are_read(page: Page, tmp_path: Path) -> None:
    schema = mr.SequenceSchema()
    columns = ("x", "y", "z", "vx", "vy", "vz")
    for name in columns:
        schema.declare_column("atoms", name, "f64")
    noise = np.random.default_rng(0)
    with mr.TrajectoryWriter(tmp_path / "large.mrec", schema) as writer:
        for _ in range(50):
            writer.append(mr.Frame({"atoms": mr.Block({c: noise.random(4000) * 40 for c in columns})}))
    packed = mr.pack(tmp_path / "large.mrec")
    assert packed.stat().st_size > 9_000_000
    with shown(page, packed):
        page.run("molrec.ready.then(() => molrec.show(40))")
        page.run("fetch('record.json').then((answer) => answer.text()).then((text) => text.length)")
        read = sum(size for url, size in page.requests if url.endswith("record.zip"))
        # two frames of positions are 192 kB; the rest is shard indexes and documents
        assert 192_000 < read < 1_000_000
        assert "Coloured bynothing" in facts(page)


def test_a_frame_of_beads_is_coloured_by_type(page: Page, tmp_path: Path) -> None:
    turns = np.arange(60) * 0.4
    ends = np.append(np.arange(59), 0).astype(np.uint64), np.append(np.arange(1, 60), 58).astype(np.uint64)
    chain = mr.Block({"atomi": ends[0], "atomj": ends[1]})
    around = {"x": 20 * np.cos(turns), "y": 20 * np.sin(turns), "z": turns * 2}
    atoms = mr.Block({**around, "type": np.array(["A", "B", "C"] * 20)})
    atoms.set_validity("x", [True] * 59 + [False])
    frame = mr.Frame({"atoms": atoms, "bonds": chain}, box=mr.Box(np.eye(3) * 60.0))
    mr.write(tmp_path / "beads.mrec", frame=frame)
    with shown(page, tmp_path / "beads.mrec"):
        page.run("molrec.ready")
        assert_shows_a_molecule(page.picture(_PICTURES / "beads.png"))
        assert "A 20B 20C 19" in facts(page)
        assert "Atoms59, and 1 without a position" in facts(page)
        assert "Bonds58, and 1 across the cell, not drawn" in facts(page)
        assert where(page) == "one frame"


def test_what_cannot_be_shown_is_said_in_words(page: Page, tmp_path: Path) -> None:
    with ethanol(tmp_path / "run.mrec") as writer:
        add_frames(writer, 2)
    shard = tmp_path / "run.mrec" / "trajectory" / "atoms" / "y" / "c" / "0"
    content = bytearray(shard.read_bytes())
    content[-20] ^= 1  # in the chunk, past the index at the start
    shard.write_bytes(content)
    with shown(page, tmp_path / "run.mrec"):
        assert message(page) == "trajectory/atoms/y cannot be read: a checksum does not match: the file is damaged."
    mr.write(tmp_path / "job.mrec", status={"state": "running", "message": "<i id='markup'>no markup</i>"})
    with shown(page, tmp_path / "job.mrec"):
        assert message(page) == "The record holds no frame to draw; the panel says what it holds."
        assert "staterunningmessage<i id='markup'>no markup</i>" in facts(page)
        assert page.run("document.getElementById('markup') === null")
    (tmp_path / "no.mrec").mkdir()
    with shown(page, tmp_path / "no.mrec"):
        assert message(page) == "no.mrec is no record: it has no Zarr V3 group."


@golden
def test_without_webgl_the_facts_are_still_read(page: Page) -> None:
    script = "HTMLCanvasElement.prototype.getContext = OffscreenCanvas.prototype.getContext = () => null"
    added = page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
    try:
        with shown(page, _FIXTURES / "precision.mrec.zip"):
            assert "cannot draw in 3D" in message(page)
            assert "Atoms21" in facts(page)
            page.run("molrec.show(3)")
            assert where(page).startswith("4 of 25 frames")
    finally:
        page.call("Page.removeScriptToEvaluateOnNewDocument", **added)


def message(page: Page) -> Any:
    """Return what the page says went wrong."""
    page.run("molrec.ready.catch(() => undefined)")
    assert page.run("!document.getElementById('message').hidden")
    return page.run("document.getElementById('message').textContent")
