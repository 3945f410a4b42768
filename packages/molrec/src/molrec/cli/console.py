"""What every command does alike: errors in one line, progress on stderr, sizes for people."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from molrec.errors import MolrecError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree

    from molrec.formats.notes import Note

__all__ = [
    "errors_in_one_line",
    "fail",
    "human_bytes",
    "print_json",
    "print_notes",
    "print_tree",
    "progress_bar",
    "stderr",
    "stdout",
]

#: Exit codes: findings or a question answered with no; an error the user can act on; an interrupt, as shells count it.
EXIT_FINDINGS, EXIT_ERROR, EXIT_INTERRUPTED = 1, 2, 130
#: Wider than any line.
_WIDEST = 10_000


def stdout() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def stderr() -> Console:
    """Return the console for everything else."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def errors_in_one_line[**P, T](command: Callable[P, T]) -> Callable[P, T]:
    """Make a command report what the user can act on as one line, with exit code 2, instead of a traceback."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return command(*args, **kwargs)
            except MolrecError as error:
                fail(error.message, error.rule)
            except ImportError as error:
                fail(str(error))
            except OSError as error:
                where = f"{error.filename}: " if error.filename else ""
                fail(f"{where}{error.strerror or error}")
            except KeyboardInterrupt:
                stderr().print("interrupted; nothing was left half-written", style="yellow", markup=False)
                raise typer.Exit(EXIT_INTERRUPTED) from None

    return wrapped


def fail(message: str, rule: str | None = None) -> NoReturn:
    """Print an error with the rule it names and leave with exit code 2."""
    from rich.text import Text

    line = Text("error: ", style="bold red").append(message, style="red")
    if rule is not None:
        line.append(f" [{rule}]", style="dim red")
    stderr().print(line)
    raise typer.Exit(EXIT_ERROR)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)):
        return  # for the authors of the library that issues it
    stderr().print(f"warning: {message}", style="yellow", markup=False)


def print_notes(notes: Iterable[Note]) -> None:
    """Print what a conversion lost (yellow) or kept in another form (dim) on stderr."""
    console = stderr()
    for note in notes:
        style = "yellow" if note.lost else "dim"
        console.print(f"{'lost' if note.lost else 'note'}: {note}", style=style, markup=False)


def print_json(document: Any) -> None:
    """Print a document as JSON on stdout."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def print_tree(tree: Tree) -> None:
    """Print a tree on stdout, each line whole, whatever the width of the terminal."""
    console = stdout()
    console.width = _WIDEST
    console.print(tree, no_wrap=True, overflow="ignore", crop=False)


#: What the steps of a stage are; frames where nothing is said.
_UNITS = {
    "writing shards": "shards",
    "comparing": "structures",
    "repacking": "bytes",
    "packing": "bytes",
    "unpacking": "bytes",
    "validating": "rows",
    "validating records": "records",
    "reading records": "records",
}


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a bar with rate and time left on stderr; nothing where stderr is no terminal.

    Args:
        what: The stage at first, such as ``packing``.

    Yields:
        A function to call with the stage, steps done and steps in all (None: not known).
    """
    console = stderr()
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[count]}", style="progress.download"),
        TextColumn("{task.fields[rate]}", style="progress.data.speed"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None, count="", rate="")
        current = what

        def update(stage: str, done: int, total: int | None) -> None:
            nonlocal current, task
            if stage != current:
                progress.remove_task(task)
                current, task = stage, progress.add_task(stage, total=total, count="", rate="")
            shown = progress.tasks[0]
            unit = _UNITS.get(stage, "frames")
            rate = "" if shown.speed is None else f"{_amount(shown.speed, unit)}/s"
            count = _amount(done, unit) if total is None else f"{_number(done, unit)} of {_amount(total, unit)}"
            progress.update(task, completed=done, total=total, count=count, rate=rate)

        yield update


def _number(number: float, unit: str) -> str:
    return human_bytes(number) if unit == "bytes" else f"{number:,.0f}"


def _amount(number: float, unit: str) -> str:
    return _number(number, unit) if unit == "bytes" else f"{_number(number, unit)} {unit}"


def human_bytes(size: float) -> str:
    """Return a size with three digits, such as ``1.21 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
