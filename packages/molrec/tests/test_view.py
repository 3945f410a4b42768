"""``molrec view``: what its server hands out, to whom, and what it refuses; over real connections."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import molrec as mr
from molrec.cli.app import app
from molrec.viewer.ranges import UnsatisfiableRangeError, requested_range
from molrec.viewer.server import RecordServer

from .good_records import write_run

_ROOT = Path(__file__).resolve().parents[3]
_PAGE = Path(__file__).resolve().parents[1] / "src" / "molrec" / "viewer" / "page"
_MOLREC = Path(sys.executable).with_name("molrec")
_SECRET = "not for the browser"


def serving(record: Path) -> Iterator[RecordServer]:
    with RecordServer(record) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(_SECRET)
    return write_run(tmp_path / "run.mrec")


@pytest.fixture
def server(folder: Path) -> Iterator[RecordServer]:
    yield from serving(folder)


@pytest.fixture
def packed_server(folder: Path) -> Iterator[RecordServer]:
    yield from serving(mr.pack(folder))


class Answer:
    """What the server sent."""

    def __init__(self, response: HTTPResponse) -> None:
        self.status, self.headers, self.body = response.status, response.headers, response.read()


def ask(server: RecordServer, path: str, method: str = "GET", **headers: str) -> Answer:
    """Send a request whose path is taken as it stands, below the token."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    try:
        connection.putrequest(method, urlsplit(server.url).path + path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return Answer(connection.getresponse())
    finally:
        connection.close()


def raw(server: RecordServer, request: bytes) -> bytes:
    """Send bytes and return everything the server answers before it closes."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
        connection.sendall(request)
        found = b""
        while part := connection.recv(1 << 16):
            found += part
        return found


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_every_file_of_a_folder_arrives_as_it_is(server: RecordServer, folder: Path) -> None:
    for name in files_of(folder):
        answer = ask(server, f"record/{name}")
        assert (answer.status, answer.body) == (200, (folder / name).read_bytes()), name
        assert answer.headers["Content-Length"] == str(len(answer.body))
        head = ask(server, f"record/{name}", "HEAD")
        assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", str(len(answer.body)))


def test_a_packed_record_arrives_as_it_is(packed_server: RecordServer, folder: Path) -> None:
    content = folder.with_name("run.mrec.zip").read_bytes()
    assert ask(packed_server, "record.zip").body == content
    described = json.loads(ask(packed_server, "record.json").body)
    assert described == {"name": "run.mrec.zip", "form": "packed", "at": "record.zip"}


def test_a_folder_is_described_by_its_groups_and_arrays(server: RecordServer, folder: Path) -> None:
    described = json.loads(ask(server, "record.json").body)
    nodes = sorted(str(path.parent.relative_to(folder)).removeprefix(".") for path in folder.rglob("zarr.json"))
    assert described == {"name": "run.mrec", "form": "folder", "at": "record/", "nodes": nodes}


def test_a_record_that_goes_away_leaves_a_server_that_says_so(server: RecordServer, folder: Path) -> None:
    folder.rename(folder.with_name("gone.mrec"))
    assert ask(server, "record/zarr.json").status == 404
    assert json.loads(ask(server, "record.json").body)["nodes"] == []


def test_the_page_and_all_it_loads_are_there(server: RecordServer) -> None:
    page = ask(server, "")
    assert (page.status, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    linked = set(re.findall(rb'(?:src|href)="([\w./]+)"', page.body))
    waiting, seen = [name.decode() for name in linked], set[str]()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        answer = ask(server, name)
        assert answer.status == 200, name
        own = answer.body.decode() if "vendor" not in name else ""
        waiting += set(re.findall(r'from "\./([\w./]+)"', own)) - seen - set(waiting)
    assert {"app.js", "style.css", "zip.js", "vendor/zarrita.js", "vendor/3dmol.js", "vendor/fzstd.js"} <= seen


def test_the_page_may_load_from_its_own_server_only(server: RecordServer) -> None:
    for path in ("", "app.js", "record.json", "nothing"):
        headers = ask(server, path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    ("asked", "first", "stop"),
    [
        ("0-0", 0, 1),
        ("5-14", 5, 15),
        ("10-", 10, None),
        ("-7", -7, None),
        ("3-999999999", 3, None),
        ("-999999999", 0, None),
    ],
)
def test_a_range_of_a_file(packed_server: RecordServer, folder: Path, asked: str, first: int, stop: int | None) -> None:
    content = folder.with_name("run.mrec.zip").read_bytes()
    answer = ask(packed_server, "record.zip", Range=f"bytes={asked}")
    assert answer.status == 206
    assert answer.body == content[first:stop]
    begins = first % len(content)
    stated = f"bytes {begins}-{begins + len(answer.body) - 1}/{len(content)}"
    assert answer.headers["Content-Range"] == stated


def test_a_range_past_the_end_is_not_satisfiable(packed_server: RecordServer, folder: Path) -> None:
    size = folder.with_name("run.mrec.zip").stat().st_size
    for asked in (f"{size}-", f"{size}-{size + 5}", "-0"):
        answer = ask(packed_server, "record.zip", Range=f"bytes={asked}")
        assert (answer.status, answer.body) == (416, b"")
        assert answer.headers["Content-Range"] == f"bytes */{size}"


@pytest.mark.parametrize(
    "header", ["bytes=0-1,4-5", "rows=0-1", "bytes=5-2", "bytes=-", "bytes", "bytes=a-b", "bytes=\u0661-"]
)
def test_a_range_of_another_form_is_ignored(header: str) -> None:
    assert requested_range(header, 100) is None


@given(size=st.integers(0, 40), first=st.none() | st.integers(0, 50), last=st.none() | st.integers(0, 50))
def test_a_range_is_what_slicing_gives(size: int, first: int | None, last: int | None) -> None:
    content = bytes(range(size))
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    if first is None:
        expected = None if last is None else content[-last:] if last else b""
    else:
        expected = content[first:] if last is None else content[first : last + 1] if first <= last else None
    if expected == b"":
        with pytest.raises(UnsatisfiableRangeError):
            requested_range(header, size)
        return
    found = requested_range(header, size)
    assert (None if found is None else content[found.start : found.stop]) == expected


def test_without_the_token_there_is_nothing(server: RecordServer) -> None:
    port = server.server_port
    token = urlsplit(server.url).path.strip("/")
    assert len(token) >= 32
    wrong = ["", "index.html", "record.json", f"{token[:-1]}/", f"{token}x/", token, f"{token[::-1]}/record.json", "%/"]
    for path in wrong:
        answer = raw(server, f"GET /{path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 404"), path
    with RecordServer(Path("other.mrec.zip")) as other:
        assert other.url.rpartition(":")[2].split("/")[1] != token


@pytest.mark.parametrize(
    "host", ["example.org", "example.org:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.2:{port}", ""]
)
def test_another_host_is_refused(server: RecordServer, host: str) -> None:
    answer = ask(server, "record.json", Host=host.format(port=server.server_port))
    assert answer.status == 421
    assert b"run.mrec" not in answer.body


def test_a_request_without_a_host_is_refused(server: RecordServer) -> None:
    path = urlsplit(server.url).path
    assert raw(server, f"GET {path} HTTP/1.0\r\n\r\n".encode()).startswith(b"HTTP/1.1 421")


def test_localhost_is_this_host(server: RecordServer) -> None:
    assert ask(server, "record.json", Host=f"LOCALHOST:{server.server_port}").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "record/../secret.txt",
        "record/trajectory/../../../secret.txt",
        "record/%2e%2e/secret.txt",
        "record/%2E%2E%2Fsecret.txt",
        "record/..%2fsecret.txt",
        "record/..\\secret.txt",
        "record/%5c..%5csecret.txt",
        "record//etc/hostname",
        "record/%2fetc%2fhostname",
        "record/zarr.json%00",
        "record/zarr.json%00.txt",
        "record/./zarr.json",
        "record//zarr.json",
        "record/zarr.json/",
        "record/zarr.json/x",
        "record/",
        "record",
        "record/trajectory",
        "record/trajectory/",
        "record/%",
        "record/%ff%fe",
        "record.zip",
        "../secret.txt",
        "..%2fserver.py",
        "vendor/../index.html",
        "vendor",
        "../../server.py",
        "vendor/versions.json",
    ],
)
def test_what_leads_elsewhere_is_not_there(server: RecordServer, path: str) -> None:
    answer = ask(server, path)
    assert answer.status == 404
    assert _SECRET.encode() not in answer.body


def test_a_writers_temporary_files_and_journal_are_not_there(server: RecordServer, folder: Path) -> None:
    for name in (".zarr.json.tmp", "trajectory/.journal", ".hidden/zarr.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
        assert ask(server, f"record/{name}").status == 404
    assert not any("hidden" in node for node in json.loads(ask(server, "record.json").body)["nodes"])


def test_links_and_pipes_in_a_record_are_not_followed(server: RecordServer, folder: Path) -> None:
    (folder / "link.txt").symlink_to("../secret.txt")
    (folder / "inside.json").symlink_to("zarr.json")
    (folder / "out").symlink_to("..", target_is_directory=True)
    os.mkfifo(folder / "pipe")
    for name in ("link.txt", "inside.json", "out/secret.txt", "out/run.mrec/zarr.json", "pipe"):
        assert ask(server, f"record/{name}").status == 404
    assert not any(node.startswith("out") for node in json.loads(ask(server, "record.json").body)["nodes"])


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_only_reading_is_answered(server: RecordServer, folder: Path, method: str) -> None:
    before = {name: (folder / name).read_bytes() for name in files_of(folder)}
    answer = ask(server, "record/zarr.json", method)
    assert answer.status == 501
    assert {name: (folder / name).read_bytes() for name in files_of(folder)} == before


def test_only_the_loopback_address_is_listened_on(server: RecordServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET
    # another address of this very machine
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.server_port), timeout=5)


def test_a_growing_record_is_served_as_it_is_now(server: RecordServer, folder: Path) -> None:
    before = ask(server, "record/trajectory/zarr.json").body
    with mr.TrajectoryWriter.reopen(folder) as writer:
        frame = mr.open(folder).trajectory
        assert frame is not None
        writer.append(frame[len(frame) - 1], step=100_000, time=1e6)
    after = ask(server, "record/trajectory/zarr.json")
    assert after.body != before
    assert after.body == (folder / "trajectory" / "zarr.json").read_bytes()
    assert after.headers["Cache-Control"] == "no-store"


def test_a_reader_that_goes_away_harms_nothing(packed_server: RecordServer) -> None:
    path = urlsplit(packed_server.url).path
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", packed_server.server_port), timeout=20) as connection:
            host = f"127.0.0.1:{packed_server.server_port}"
            connection.sendall(f"GET {path}vendor/3dmol.js HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert ask(packed_server, "record.json").status == 200


def test_the_command_prints_an_address_and_ends_at_an_interrupt(folder: Path) -> None:
    command = [str(_MOLREC), "view", str(folder), "--no-browser"]
    # The jobs a shell runs in the background ignore interrupts, and so would their children.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    try:
        assert process.stdout is not None
        url = urlsplit(process.stdout.readline().strip())
        assert (url.scheme, url.hostname) == ("http", "127.0.0.1")
        connection = http.client.HTTPConnection("127.0.0.1", url.port or 0, timeout=20)
        connection.request("GET", f"{url.path}record/zarr.json")
        assert connection.getresponse().read() == (folder / "zarr.json").read_bytes()
        connection.close()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert said == ""


def test_a_port_can_be_chosen_and_a_taken_one_is_refused(folder: Path) -> None:
    with RecordServer(folder) as server:
        result = CliRunner().invoke(app, ["view", str(folder), "--no-browser", "--port", str(server.server_port)])
    assert result.exit_code == 2
    assert "in use" in result.stderr


def test_what_is_no_record_is_refused_in_one_line(tmp_path: Path) -> None:
    for name, word in (("nothing.mrec", "reject-not-a-record"), ("set.mrec.lmdb", "collection")):
        if word == "collection":
            (tmp_path / name).write_bytes(b"")
        result = CliRunner().invoke(app, ["view", str(tmp_path / name), "--no-browser"])
        assert result.exit_code == 2
        assert word in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.skipif(not (_ROOT / "scripts" / "viewer").is_dir(), reason="the sources are not beside the package")
def test_the_libraries_of_the_page_are_those_pinned() -> None:
    stated = json.loads((_ROOT / "scripts" / "viewer" / "package.json").read_text())["dependencies"]
    locked = json.loads((_ROOT / "scripts" / "viewer" / "package-lock.json").read_text())["packages"]
    built = json.loads((_PAGE / "vendor" / "versions.json").read_text())
    assert built == stated == {name: locked[f"node_modules/{name}"]["version"] for name in stated}
    for name in stated:
        assert (_PAGE / "vendor" / f"{name}.js").stat().st_size > 1000
        assert "opyright" in (_PAGE / "vendor" / f"{name}.LICENSE").read_text()


def test_the_page_names_no_other_address() -> None:
    for path in _PAGE.glob("*.*"):
        assert not re.search(r"https?://|//\w+\.\w+/", path.read_text()), path.name
