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

    from molrec.formats.notes import Note

__all__ = ["errors_in_one_line", "fail", "human_bytes", "print_json", "print_notes", "progress_bar", "stderr", "stdout"]

#: Exit codes: findings or a question answered with no; an error the user can act on; an interrupt, as shells count it.
EXIT_FINDINGS, EXIT_ERROR, EXIT_INTERRUPTED = 1, 2, 130


def stdout() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


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


@contextmanager
def progress_bar(what: str, *, in_bytes: bool = False) -> Iterator[Callable[[str | None, int, int | None], None]]:
    """Show a bar with rate and time left on stderr; nothing where stderr is no terminal.

    Args:
        what: Description at first.
        in_bytes: Whether the steps are bytes.

    Yields:
        A function to call with a new description (or None), steps done and steps in all (None: not known).
    """
    console = stderr()
    if not console.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn() if in_bytes else MofNCompleteColumn(),
        _rate_column(in_bytes=in_bytes),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        current = what

        def update(description: str | None, done: int, total: int | None) -> None:
            nonlocal current, task
            if description is not None and description != current:
                progress.remove_task(task)
                current, task = description, progress.add_task(description, total=total)
            progress.update(task, completed=done, total=total)

        yield update


def _rate_column(*, in_bytes: bool) -> Any:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """Steps a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            if speed is None:
                return Text("-", style="progress.data.speed")
            text = f"{human_bytes(speed)}/s" if in_bytes else f"{speed:,.0f} frames/s"
            return Text(text, style="progress.data.speed")

    return RateColumn()


def human_bytes(size: float) -> str:
    """Return a size with three digits, such as ``1.21 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
