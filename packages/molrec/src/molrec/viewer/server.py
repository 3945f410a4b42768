"""The server of ``molrec view``: the page and the bytes of one record, to this machine alone, for reading.

It listens on the loopback address only. Every URL begins with a random token, so that other users of the machine and
other pages in the browser cannot guess one; the ``Host`` header must name the loopback address, so that a page whose
name was pointed here reads nothing either. It answers ``GET`` and ``HEAD``, ranges included, and writes nothing. The
page may load from this server alone (``Content-Security-Policy``).

Not a server for a network: it has no TLS, no users and no limits.
"""

from __future__ import annotations

import hmac
import io
import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote

from molrec.viewer.ranges import UnsatisfiableRangeError, requested_range
from molrec.viewer.record_files import PackedFile, RecordFolder, safe_parts

__all__ = ["RecordServer"]

_LOOPBACK = "127.0.0.1"
_COPIED_AT_ONCE = 1 << 18
_JSON = "application/json"
_BYTES = "application/octet-stream"
_PAGE_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".LICENSE": "text/plain; charset=utf-8",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",  # a record may be growing
}


class _Content(NamedTuple):
    file: BinaryIO
    media_type: str


class RecordServer(ThreadingHTTPServer):
    """Serves the page for one record until it is shut down.

    Args:
        record: Record folder or packed record; whether it is one is the caller's to check.
        port: Port to listen on; 0 takes a free one.

    Raises:
        OSError: The port is taken.
    """

    daemon_threads = True

    def __init__(self, record: Path, port: int = 0) -> None:
        self._token = secrets.token_urlsafe(24)
        self._name = record.name or str(record.resolve().name)
        self._folder = RecordFolder(record) if record.is_dir() else None
        self._packed = None if record.is_dir() else PackedFile(record)
        super().__init__((_LOOPBACK, port), _Handler)
        # the name a browser may have used, and the address itself
        self._hosts = {f"{host}:{self.server_port}" for host in (_LOOPBACK, "localhost")}

    @property
    def url(self) -> str:
        """The address of the page, token included."""
        return f"http://{_LOOPBACK}:{self.server_port}/{self._token}/"

    def is_host(self, host: str | None) -> bool:
        """Tell whether a ``Host`` header names this server."""
        return host is not None and host.lower() in self._hosts

    def content(self, path: str) -> _Content | None:
        """Return what stands at the path of a URL; None for a wrong token and for what is not there.

        The page is at the token; beside it ``record.json`` says what record this is, ``record.zip`` is a packed one,
        and ``record/`` has the files of a folder.
        """
        token, slash, name = path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self._token.encode()) or not slash:
            return None
        if name == "record.json":
            return _Content(io.BytesIO(json.dumps(self._description()).encode()), _JSON)
        if name == "record.zip" and self._packed is not None:
            file = self._packed.open()
        elif name.startswith("record/") and self._folder is not None:
            file = self._folder.open(unquote(name.removeprefix("record/"), errors="surrogateescape"))
        else:
            return _page_file(name or "index.html")
        return None if file is None else _Content(file, _BYTES)

    def _description(self) -> dict[str, object]:
        if self._folder is None:
            return {"name": self._name, "form": "packed", "at": "record.zip"}
        return {"name": self._name, "form": "folder", "at": "record/", "nodes": self._folder.nodes()}


def _page_file(name: str) -> _Content | None:
    parts = safe_parts(name)
    media_type = _PAGE_TYPES.get(Path(name).suffix)
    if parts is None or media_type is None:
        return None
    file = resources.files("molrec.viewer").joinpath("page", *parts)
    return _Content(io.BytesIO(file.read_bytes()), media_type) if file.is_file() else None


class _Handler(BaseHTTPRequestHandler):
    server: RecordServer
    protocol_version = "HTTP/1.1"
    server_version = "molrec"
    sys_version = ""
    timeout = 60.0

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if not self.server.is_host(self.headers.get("Host")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "this server answers at its own address only")
            return
        content = self.server.content(self.path.partition("?")[0])
        if content is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            with content.file:
                self._send(content, with_body)
        except ConnectionError:
            self.close_connection = True  # the browser went on to something else

    def _send(self, content: _Content, with_body: bool) -> None:
        size = content.file.seek(0, io.SEEK_END)
        try:
            asked = requested_range(self.headers.get("Range"), size)
        except UnsatisfiableRangeError:
            self.send_response(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
            self.send_header("Content-Range", f"bytes */{size}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        sent = range(size) if asked is None else asked
        self.send_response(HTTPStatus.OK if asked is None else HTTPStatus.PARTIAL_CONTENT)
        if asked is not None:
            self.send_header("Content-Range", f"bytes {asked.start}-{asked.stop - 1}/{size}")
        self.send_header("Content-Type", content.media_type)
        self.send_header("Content-Length", str(len(sent)))
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if with_body:
            content.file.seek(sent.start)
            self._copy(content.file, len(sent))

    def _copy(self, file: BinaryIO, count: int) -> None:
        while count:
            part = file.read(min(count, _COPIED_AT_ONCE))
            if not part:  # cut short while it was sent: the browser must not take the next answer for the rest
                self.close_connection = True
                return
            self.wfile.write(part)
            count -= len(part)

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing: the terminal belongs to the command."""
