"""A headless Chromium, driven over a pipe by the DevTools protocol: nothing is needed beside the browser itself."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: What Debian, Ubuntu, Fedora and Google call it.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1280,800",
)  # fmt: skip
_PATIENCE = 120.0
#: A browser driven over a pipe reads descriptor 3 and writes descriptor 4.
_ON_3_AND_4 = """
import os, sys
for target, source in enumerate(map(int, sys.argv[1:3]), start=3):
    os.dup2(source, target)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Return the browser on this machine, None where there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name)) is not None), None)


class PageError(AssertionError):
    """What went wrong in the page, in its own words."""


class Page:
    """One page of the browser."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._unread = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        #: Errors and warnings the page or the browser reported, oldest first.
        self.complaints: list[str] = []
        #: Addresses the page asked for, with the bytes that came.
        self.requests: list[list[Any]] = []
        self._asked: dict[str, list[Any]] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)

    def open(self, url: str) -> None:
        """Go to an address; the page's scripts run on."""
        self.call("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """Return what a JavaScript expression (a promise is waited for) evaluates to, as JSON."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + _PATIENCE
        while not self.run(script):
            if time.monotonic() > end:
                raise PageError(f"never true: {script}; {self.complaints}")
            time.sleep(0.05)

    def picture(self, path: Path) -> Path:
        """Write what the page looks like as PNG."""
        # two animation frames: what was drawn is then on the screen
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path

    def prefer(self, scheme: str) -> None:
        """Ask for pages that are ``light`` or ``dark``."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key: str) -> None:
        """Press a key such as ``ArrowRight``."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        _write_all(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise PageError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._receive], [], [], _PATIENCE)[0]:
                raise PageError("the browser does not answer")
            part = os.read(self._receive, 1 << 20)
            if not part:
                raise PageError("the browser has ended")
            self._unread += part
        text, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(text))

    def _note(self, event: dict[str, Any]) -> None:
        about = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = about["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            # the driver remarks on each picture taken
            case "Log.entryAdded" if (
                about["entry"]["level"] in ("error", "warning") and "GL Driver Message" not in about["entry"]["text"]
            ):
                self.complaints.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
            case "Runtime.consoleAPICalled" if about["type"] in ("error", "warning", "assert"):
                self.complaints.append(" ".join(str(each.get("value", each)) for each in about["args"]))
            case "Network.requestWillBeSent":
                self.requests.append([about["request"]["url"], 0])
                self._asked[about["requestId"]] = self.requests[-1]
            case "Network.loadingFinished" if about["requestId"] in self._asked:
                self._asked.pop(about["requestId"])[1] = int(about["encodedDataLength"])


@contextmanager
def browser(profile: Path, *flags: str) -> Iterator[Page]:
    """Run a browser with a new profile and yield its page; it is ended whatever happens.

    Args:
        profile: Empty folder for the profile.
        flags: More flags for the browser.
    """
    executable = find_chromium()
    assert executable is not None
    to_browser, send = _pipe()
    receive, from_browser = _pipe()
    command = [executable, *_FLAGS, *flags, "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
    with (profile / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _ON_3_AND_4, str(to_browser), str(from_browser), *command],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    for descriptor in (to_browser, from_browser):
        os.close(descriptor)
    try:
        yield Page(send, receive)
    finally:
        for descriptor in (send, receive):
            os.close(descriptor)  # at which the browser ends by itself
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    # clear of the numbers 3 and 4, which are given away
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
