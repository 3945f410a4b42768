"""``molrec view``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from molrec.cli.console import errors_in_one_line, fail, stderr, stdout

__all__ = ["view"]


@errors_in_one_line
def view(
    path: Annotated[Path, typer.Argument(help="Record: folder or packed.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open nothing.")] = False,
) -> None:
    """Show a record in the browser: its atoms, frame by frame, and what it holds. Ctrl-C ends it.

    The page is served to this machine alone, under an address that cannot be guessed, and nothing is written.
    """
    import molrec
    from molrec.viewer.server import RecordServer

    if path.is_file() and path.name.endswith(".lmdb"):
        fail(f"{path} is a collection, which the page does not show; write the record you mean to a file of its own")
    with molrec.open(path):
        pass  # what is no record is refused here, in words
    with RecordServer(path, port) as server:
        try:
            stdout().print(server.url, markup=False)
            if not no_browser:
                _open_browser(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            return  # the way to end it


def _open_browser(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        stderr().print("no browser could be opened; open the address above", style="yellow", markup=False)
