"""The numbers as a table on screen, as the page ``docs/design/benchmarks.md``, and as JSON."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

import collection
import configurations
from extras import Extras
from measure import RANDOM_FRAMES, Density, Result, SizeResult
from peers import Missing, Peer
from targets import Target, judge
from workload import REFERENCE_BOX, Size

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Report", "machine"]

#: No table is wider on screen.
_WIDEST = 300
_COLUMNS = ("write", "sequential", "random", "bulk", "open")
_HEADINGS = (
    "",
    "frames",
    "B/atom/frame",
    "write µs/frame",
    "sequential µs/frame",
    "random µs/frame",
    "bulk µs/frame",
    "open ms",
)
_PAGE = """\
# Benchmarks

Several formats store the same run on the same machine in one go. This page is written by

```console
$ make bench                        # the table on screen
$ {command}
```

{machine}

## The table

{table}
{missing}
**×** is how many times as fast as molrs, the independent implementation of the same layout, at the same precision:
the median over {repetitions} repetitions of the ratio within each repetition. Times are medians too. Peers take turns
within a repetition, operation by operation, in an order drawn anew each time, because a shared machine is never quiet
for long. XTC is compared with molrs at 1e-2; GSD and ASE, which have no precision, with molrs at 1e-3.

**The run.** Atoms are placed uniformly in a cube, of {reference_box:g} Å for 3000 atoms and of the same density
otherwise; then each coordinate takes a Gaussian step of 0.05 Å per frame, and nothing is wrapped back. Before anything
is timed, every frame of every peer is read back in each way and compared with the run, to within its precision.

**Write** is the whole run, closed at the end, from each library's own frame objects made beforehand. molrec and molrs
force what they wrote to the device when they close; the others leave it to the operating system. HDF5 and zarr-python
are told the number of frames and given one array, which they are to round themselves; zarr-python writes whole shards.

**Sequential** reads every frame in order and **random** {random_frames} frames at most, each once, both through the
call the library has for one frame, up to arrays of x, y and z. **Bulk** reads the whole run into arrays; molrs, GSD and
ASE have no faster call, so theirs is a loop over frames. Every read starts with a reader of its own, whose opening
counts, and a warm page cache. **Open** counts the frames too. molrec, molrs and zarr-python may use all cores; the
others use one.

**The formats.** HDF5 holds a chunk per frame with byte shuffle and gzip at its usual level, zarr-python a chunk per
frame with the codecs of a live record, in shards of 4 MiB. GSD keeps float32 and ASE float64, both uncompressed. ASE
and zarr-python get fewer frames where all would take long; the column says how many. XTC rounds to multiples of 0.01 Å
(0.001 nm), molrec and molrs at 1e-2 to multiples of 1/128 Å and at 1e-3 of 1/1024 Å.

## Bytes per atom and frame

All sizes in the cube of {reference_box:g} Å. A short run also carries what does not grow with it: the shard index of a
live record is up to 64 KiB per column. *Further* is what each further frame adds: the growth from a run to one of
twice its length.

{densities}

## Around it

{extras}
{conversions}{renumbering}{pricing}{structures}{collections}{targets}"""
_CONVERSIONS = """
## Converting

An XTC file and a LAMMPS dump of 100000 atoms. MDAnalysis goes through the frames and looks at the positions; molrec
does the same with frames of its own, and converts the file to a record, whose writing is in the number.

{rows}
"""
_PRICING = """
## Force fields

Linking the bonds and angles of flexible water to their parameters, and energy and forces of a box of it, with
Lennard-Jones and Coulomb pairs to 9 Å.

{rows}
"""
_RENUMBERING = """
## Renumbering

A frame of a million atoms in molecules of three, with bonds and angles.

{rows}
"""
_STRUCTURES = """
## Configurations from extended XYZ

`mace_core` on 20000 small molecules in solvent, energies and forces with them: `iter_configurations` through ASE's
reader and through the C parser of `mace-core[fast]`, beside `ase.io.read`, which builds no configurations.

{rows}
"""
_COLLECTIONS = """
## Collections

{count} structures of 9 to 30 atoms with species, positions, forces and an energy, all float64, in each format.
Structures a second, medians over the repetitions. Reading takes turns, each time from a file opened anew, in another
random order, with a warm page cache. 200 structures of every format are held against what was written, bit for bit.

{rows}
{missing}
**Write** is from each library's own objects, made beforehand, to the closed file. **Single** reads are of one
structure, to arrays and the energy; **batches** are of {batch} structures, end to end in one array for each quantity;
**read again** are the same structures in batches of another order, as a second epoch reads them.
**Epoch** is every structure once, shuffled, through a DataLoader with two workers, their start included: a collection
through `molrec.interop.torch`, aselmdb as `Atoms` whose arrays are joined, 5000 of them.

molrec keeps x, y and z apart and the others together. atompack is a library in Rust, whose `get_molecules_flat` uses
all cores. HDF5 has one chunked array for each quantity and reads slices of it. Of aselmdb (`ase-db-backends`)
`get_atoms` gives `Atoms` with results, and *rows* what the database holds; it is given {aselmdb} structures, since it
looks up each that it writes in a list of all before. Extended XYZ is parsed whole on opening, into memory; its text
here gives back every float, which ASE's own writer does not. Versions: {versions}.
"""
_TARGETS = """
## Targets

What these numbers are held against, and what came out of this run.

{rows}

Where one is missed: a live record has a zstd frame for each column of a frame, and bulk reading cannot take less than
these take to decode, about 15 µs for 3000 values; an archive holds many frames in one and is read twice as fast.
Writing spends half of its time in zstd, which is called once for each byte plane.

A collection is read in Python. The first time a structure is read its value is found and its header read, which takes
some 15 µs; machine code on all cores takes one. From then on its place is known, and numpy gathers a batch at some 2 µs
a structure. A single structure takes as long as a first reading, half of it for its arrays and the objects they are in.
"""


def machine(peers: Iterable[Peer]) -> str:
    """Return one line: processor, cores, system, Python and the libraries' versions."""
    distributions = dict.fromkeys(name for peer in peers for name in (*peer.distributions, "numpy"))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in distributions)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; {versions}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = fields.get("model name", platform.machine())
    family = [f"{key} {fields[key]}" for key in ("cpu family", "model", "stepping") if key in fields]
    return f"{name} ({', '.join(family)}; {float(fields.get('cpu MHz', 0)):.0f} MHz)" if family else name


@dataclass(slots=True)
class Report:
    """Everything one run found."""

    machine: str
    command: str
    quick: bool
    sizes: list[SizeResult]
    densities: dict[Size, list[Density]]
    extras: Extras
    missing: list[Missing]
    structures: list[configurations.Speed]
    collections: collection.Collections
    conversions: list[tuple[str, str, str, str]]
    renumbering: dict[str, float]
    pricing: list[tuple[str, str]]

    def targets(self) -> list[Target]:
        """Return the targets; none for a quick run, whose runs are too short to tell."""
        if self.quick:
            return []
        return judge(self.sizes, self.densities, self.extras, self.structures, self.collections)

    def to_json(self) -> dict[str, Any]:
        """Return all of it, each repetition included; times in seconds."""
        return {
            "machine": self.machine,
            "command": self.command,
            "quick": self.quick,
            "sizes": [
                {
                    "size": str(one.size),
                    "box": one.box,
                    "repetitions": one.repetitions,
                    "peers": [asdict(result) for result in one.results.values()],
                }
                for one in self.sizes
            ],
            "densities": {str(size): [asdict(one) for one in found] for size, found in self.densities.items()},
            "extras": asdict(self.extras),
            "targets": [asdict(target) for target in self.targets()],
            "missing": [asdict(one) for one in self.missing],
            "structures": [asdict(one) for one in self.structures],
            "collections": asdict(self.collections),
            "conversions": self.conversions,
            "renumbering": self.renumbering,
            "pricing": self.pricing,
        }

    # -- on screen --------------------------------------------------------------------------------------------------

    def show(self, console: Console) -> None:
        """Print the tables, at the width they need."""
        console.print(self.machine, style="dim", highlight=False)
        table = Table(box=box.SIMPLE_HEAD, title="the same run in every format (× = times as fast as molrs)")
        for place, heading in enumerate(_HEADINGS):
            split = heading.replace(" ", "\n", 1).replace("B/atom/", "B/atom\n/")
            table.add_column(split, justify="left" if not place else "right", no_wrap=True)
        for one in self.sizes:
            table.add_row(f"[bold]{_title(one)}[/bold]")
            for result in one.results.values():
                table.add_row(*_cells(one, result))
            table.add_section()
        _print(console, table)
        for heading, rows in (
            (f"B/atom/frame in a cube of {REFERENCE_BOX:g} Å", self._density_rows()),
            ("around it", self._extra_rows()),
            ("targets", [_TARGET_HEADINGS, *map(_target_row, self.targets())]),
        ):
            if len(rows) > 1:
                _print(console, _screen_table(heading, rows))
        for absent in self.missing:
            console.print(f"not installed: {absent.label} ({absent.reason})", style="yellow", highlight=False)

    # -- as a page --------------------------------------------------------------------------------------------------

    def page(self) -> str:
        """Return the page of the documentation."""
        rows: list[tuple[str, ...]] = [_HEADINGS]
        for one in self.sizes:
            rows.append((f"**{_title(one)}**", *[""] * (len(_HEADINGS) - 1)))
            rows += [_cells(one, result) for result in one.results.values()]
        targets = [_target_row(target) for target in self.targets()]
        missing = "".join(f"\nNot installed and so not measured: {one.label}.\n" for one in self.missing)
        return _PAGE.format(
            command=self.command,
            machine=self.machine,
            table=_markdown(rows),
            missing=missing,
            repetitions=" or ".join(dict.fromkeys(str(one.repetitions) for one in self.sizes)),
            reference_box=REFERENCE_BOX,
            random_frames=RANDOM_FRAMES,
            densities=_markdown(self._density_rows()),
            extras=_markdown(self._extra_rows()),
            structures=self._structures(),
            collections=self._collections(),
            conversions=_CONVERSIONS.format(rows=_markdown(self.conversions)) if self.conversions else "",
            pricing=_PRICING.format(rows=_markdown(self.pricing)),
            renumbering=_RENUMBERING.format(rows=_markdown(self._renumbering_rows())),
            targets=_TARGETS.format(rows=_markdown([_TARGET_HEADINGS, *targets])) if targets else "",
        )

    def _structures(self) -> str:
        """Return the section about configurations, empty where their source file is not there."""
        if not self.structures:
            return ""
        return _STRUCTURES.format(rows=_markdown(configurations.rows(self.structures)))

    def _collections(self) -> str:
        found = self.collections
        aselmdb = found.results.get(collection.REFERENCE)
        return _COLLECTIONS.format(
            count=found.structures,
            batch=collection.BATCH,
            rows=_markdown(collection.rows(found)),
            missing="".join(f"\nNot measured: {absent}.\n" for absent in found.missing),
            versions=", ".join(found.versions),
            aselmdb=found.structures if aselmdb is None else aselmdb.structures,
        )

    def _renumbering_rows(self) -> list[tuple[str, ...]]:
        rows = [(label, f"{1e3 * seconds:.0f}") for label, seconds in self.renumbering.items()]
        return [("operation", "ms"), *rows]

    def _density_rows(self) -> list[tuple[str, ...]]:
        heading = [""]
        lines: dict[str, list[str]] = {}
        for size, found in self.densities.items():
            heading += [f"{size.atoms} × {size.frames}", "further"]
            for one in found:
                lines.setdefault(one.label, []).extend([f"{one.whole:.2f}", f"{one.marginal:.2f}"])
        return [tuple(heading), *((label, *numbers) for label, numbers in lines.items())]

    def _extra_rows(self) -> list[tuple[str, ...]]:
        found = self.extras
        return [
            ("", ""),
            ("`import molrec`, fresh process", f"{found.import_seconds * 1e3:.0f} ms"),
            ("`import molrec` and every public name", f"{found.import_all_seconds * 1e3:.0f} ms"),
            (
                f"open a live record of {found.long_frames} frames, 10 atoms, cell, energies",
                f"{found.long_open_seconds * 1e3:.2f} ms",
            ),
            ("10 frames of 20 atoms, packed, archive", f"{found.small_archive_bytes} bytes"),
            ("10 frames of 20 atoms, packed, live", f"{found.small_live_bytes} bytes"),
        ]


_TARGET_HEADINGS = ("", "wanted", "found", "")


def _target_row(target: Target) -> tuple[str, ...]:
    return (target.what, target.wanted, target.found, "reached" if target.reached else "**not reached**")


def _title(one: SizeResult) -> str:
    return f"{one.size.atoms} atoms × {one.size.frames} frames"


def _cells(one: SizeResult, result: Result) -> tuple[str, ...]:
    cells = [result.label, str(result.frames), f"{result.bytes_per_atom_frame:.2f}"]
    for operation in _COLUMNS:
        scaled = result.median(operation) * (1e3 if operation == "open" else 1e6)
        ratio = one.times_as_fast(result.key, operation, result.baseline)
        against = "" if ratio is None or result.key == result.baseline else f" ×{_short(ratio)}"
        cells.append(f"{_short(scaled)}{against}")
    return tuple(cells)


def _short(value: float) -> str:
    """Write a number with about three digits."""
    for bound, digits in ((10, 2), (100, 1)):
        if value < bound:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _print(console: Console, table: Table) -> None:
    """Print a table whole, wider than the console where it must be."""
    usual = console.width
    needed = console.measure(table, options=console.options.update(width=_WIDEST)).maximum
    console.width = max(usual, needed)
    console.print(table)
    console.width = usual


def _screen_table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    table = Table(*rows[0], box=box.SIMPLE_HEAD, title=title, show_header=any(rows[0]))
    for row in rows[1:]:
        table.add_row(*(cell.replace("**", "").replace("`", "") for cell in row))
    for column in table.columns[1:]:
        column.justify = "right"
    return table
