"""Child processes that cost milliseconds: a warm server has everything imported and forks one child per command.

`ForkServer` is the test's end. The server is this package run as a program (``__main__.py``); what its children do is
in `children`. A child's standard output and error are files, so nothing it announced is lost when it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

__all__ = ["Child", "ForkServer"]


class Child:
    """One forked process.

    Args:
        server: Server that forked it.
        pid: Its process id.
        output: File its standard output goes to.
        errors: File its standard error goes to.
    """

    def __init__(self, server: ForkServer, pid: int, output: Path, errors: Path) -> None:
        self.pid = pid
        self._server = server
        self._output = output
        self._errors = errors
        self._status: int | None = None

    def kill(self) -> None:
        """Send SIGKILL, which no process can catch or delay."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end and return the exit code, negative for a signal."""
        if self._status is None:
            self._status = int(self._server.ask({"wait": self.pid})["status"])
        return self._status

    def lines(self) -> list[str]:
        """Return the whole lines it has printed."""
        return self._output.read_text().split("\n")[:-1]

    def errors(self) -> str:
        """Return what it printed to standard error."""
        return self._errors.read_text()


class ForkServer:
    """A process that waits with everything imported. Use it as a context manager.

    Args:
        folder: Where the output of children goes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0

    def __enter__(self) -> Self:
        package = __name__.rpartition(".")[0]
        top = Path(__file__).parents[len(package.split("."))]
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=top,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        assert self.ask({"wait": 0}) == {"status": 0}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stdin, stdout = self._pipes()
        stdin.close()
        self._process.wait()
        stdout.close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send a command and return the answer."""
        stdin, stdout = self._pipes()
        stdin.write(json.dumps(command) + "\n")
        stdin.flush()
        line = stdout.readline()
        assert line, "the server has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def start(self, name: str, **arguments: Any) -> Child:
        """Fork a child that calls a function of `children` with JSON arguments."""
        self._started += 1
        output, errors = (self._folder / f"{self._started}.{part}" for part in ("out", "err"))
        command = {"call": name, "arguments": arguments, "output": str(output), "errors": str(errors)}
        return Child(self, int(self.ask(command)["pid"]), output, errors)
