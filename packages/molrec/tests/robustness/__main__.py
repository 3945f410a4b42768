"""The fork server: reads one JSON command per line, forks, and answers (see `processes`)."""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from typing import Any

from . import children


def main() -> None:
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        command = json.loads(line)
        if "wait" in command:
            status = os.waitpid(command["wait"], 0)[1] if command["wait"] else 0
            answer = {"status": os.waitstatus_to_exitcode(status)}
        else:
            answer = {"pid": fork(command)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def fork(command: dict[str, Any]) -> int:
    # The files are there before the child is, so that the test can read them at any time.
    files = [os.open(command[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666) for name in ("output", "errors")]
    pid = os.fork()
    if pid:
        for file in files:
            os.close(file)
        return pid
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(files[0], 1)
        os.dup2(files[1], 2)
        getattr(children, command["call"])(**command["arguments"])
        code = 0
    except BaseException:  # noqa: BLE001 - reported, and the child must not go on as a server
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


main()
