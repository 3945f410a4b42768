"""Formats side by side: the same run in each, one table (``make bench``).

``python benchmarks/run.py [--quick] [--sizes 3000x400,100x10000] [--json FILE] [--markdown FILE]``
"""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from extras import measure_extras
from measure import measure, reference_density
from peers import load
from report import Report, machine
from workload import SIZES, Size

_ROOT = Path(__file__).resolve().parent.parent
_REPETITIONS, _QUICK_REPETITIONS = 7, 3
#: A quick run has a tenth of the frames.
_QUICK_FACTOR = 10
_LONG_FRAMES = 100_000
_STRUCTURES = 20_000
_CONVERTED, _RENUMBERED, _WATERS, _COLLECTED = 100_000, 1_000_000, 10_000, 100_000


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the frames, three repetitions")
    parser.add_argument("--sizes", metavar="AxF,...", help=f"atoms x frames ({','.join(map(str, SIZES))})")
    parser.add_argument("--repetitions", type=int, metavar="N", help=f"per size ({_REPETITIONS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every repetition as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the page of the documentation")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    arguments = _arguments(given)
    sizes = list(map(Size.parse, arguments.sizes.split(","))) if arguments.sizes else list(SIZES)
    if arguments.quick:
        sizes = [Size(size.atoms, max(1, size.frames // _QUICK_FACTOR)) for size in sizes]
    repetitions = arguments.repetitions or (_QUICK_REPETITIONS if arguments.quick else _REPETITIONS)
    peers, missing = load()
    console = Console()
    build = _ROOT / "build"
    build.mkdir(exist_ok=True)
    steps = len(sizes) * len(peers) * (2 + repetitions) + 1
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with (
        Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as progress,
        tempfile.TemporaryDirectory(dir=build, prefix="bench-") as folder,
    ):
        task = progress.add_task("", total=steps)

        def tick(what: str) -> None:
            progress.update(task, description=what, advance=1)
            progress.refresh()  # by hand: a refreshing thread would disturb what is timed

        results = [measure(peers, size, repetitions, Path(folder), tick) for size in sizes]
        densities = {size: reference_density(peers, size, Path(folder), tick) for size in sizes}
        extras = measure_extras(
            Path(folder) / "extras", _LONG_FRAMES // (_QUICK_FACTOR if arguments.quick else 1), tick
        )
    # Not before: a process with more in it collects garbage for longer, which is felt by what is written in Python.
    import collection
    import configurations
    import conversion
    import pricing
    import renumbering

    report = Report(
        machine=machine(peers),
        command=_command(arguments),
        quick=arguments.quick,
        sizes=results,
        densities=densities,
        extras=extras,
        missing=missing,
        conversions=conversion.run(_CONVERTED // (_QUICK_FACTOR if arguments.quick else 1), console=console),
        pricing=pricing.run(
            _WATERS // (_QUICK_FACTOR if arguments.quick else 1),
            _RENUMBERED // (_QUICK_FACTOR if arguments.quick else 1),
            console=console,
        ),
        renumbering=renumbering.run(_RENUMBERED // (_QUICK_FACTOR if arguments.quick else 1), console=console),
        structures=configurations.run(_STRUCTURES // (_QUICK_FACTOR if arguments.quick else 1), console=console),
        collections=collection.run(_COLLECTED // (_QUICK_FACTOR if arguments.quick else 1), console=console),
    )
    report.show(console)
    if arguments.json:
        arguments.json.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(report.page(), encoding="utf-8")


def _command(arguments: argparse.Namespace) -> str:
    """Return the command line that writes the page with these options."""
    words = [".venv/bin/python", "benchmarks/run.py"]
    words += ["--quick"] if arguments.quick else []
    words += ["--sizes", arguments.sizes] if arguments.sizes else []
    words += ["--repetitions", str(arguments.repetitions)] if arguments.repetitions else []
    words += ["--markdown", str(arguments.markdown)] if arguments.markdown else []
    return shlex.join(words)


if __name__ == "__main__":
    main()
