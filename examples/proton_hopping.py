"""Types that change rarely, beside coordinates that change always: what an aligned block costs.

A proton hops between water molecules a few times in a run. The types of the atoms stand in a block of their own,
declared aligned with `atoms`, and are stored when they change; the other way is to store them with every frame. Both
records hold the same frames.

``python examples/proton_hopping.py [FOLDER]`` writes them and prints their sizes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import molrec as mr
from molrec.conversion import convert, stored_bytes

ATOMS, FRAMES = 3000, 1000
#: Frames at which the excess proton changes its molecule.
HOPS = (120, 310, 480, 700, 910)


def types_of(hops: int) -> np.ndarray:
    """Return the type of every atom once the proton has hopped some times: water, and one hydronium."""
    types = np.array(["OW", "HW", "HW"] * (ATOMS // 3), dtype=np.dtypes.StringDType())
    types[3 * hops : 3 * hops + 3] = ["OH", "HO", "HO"]
    return types


def frames() -> Iterator[mr.Frame]:
    """Yield the run: atoms that jitter in a box of 31 Å, and the types of each frame."""
    rng = np.random.default_rng(7)
    positions = rng.uniform(0, 31, (3, ATOMS))
    box = mr.Box(np.eye(3) * 31)
    for ordinal in range(FRAMES):
        positions += rng.normal(0, 0.05, positions.shape)
        hops = sum(hop <= ordinal for hop in HOPS)
        atoms = mr.Block(dict(zip("xyz", positions.copy(), strict=True)))
        yield mr.Frame({"atoms": atoms, "atom_types": mr.Block({"type": types_of(hops)})}, box=box)


def declaration(*, with_types: bool) -> mr.SequenceSchema:
    """Return the declaration: coordinates to a thousandth, and, if wanted, types beside them."""
    schema = mr.SequenceSchema().declare_block("atoms", rows=ATOMS)
    for axis in "xyz":
        schema.declare_column("atoms", axis, "f64")
        schema.declare_precision("atoms", axis, 1e-3)
    if with_types:
        schema.declare_block("atom_types", rows=ATOMS)
        schema.declare_column("atom_types", "type", "string")
        schema.declare_aligned("atom_types", "atoms")
    return schema


def write_aligned(path: Path) -> None:
    """Store the types in the aligned block: presented with every frame, written when they change."""
    with mr.TrajectoryWriter(path, declaration(with_types=True)) as writer:
        for frame in frames():
            writer.append(frame)


def write_without(path: Path) -> None:
    """Store no types, to see what the others add."""
    with mr.TrajectoryWriter(path, declaration(with_types=False)) as writer:
        for frame in frames():
            del frame["atom_types"]
            writer.append(frame)


def write_with_every_frame(path: Path) -> None:
    """Store the types as a column of `atoms`, with every frame."""
    schema = declaration(with_types=False)
    schema.declare_column("atoms", "type", "string")
    with mr.TrajectoryWriter(path, schema) as writer:
        for frame in frames():
            frame["atoms"]["type"] = frame["atom_types"]["type"]
            del frame["atom_types"]
            writer.append(frame)


def run(folder: Path) -> dict[str, tuple[int, int]]:
    """Write the three records, live and archived; return the bytes of each."""
    sizes = {}
    for name, write in (
        ("no types", write_without),
        ("aligned block", write_aligned),
        ("with every frame", write_with_every_frame),
    ):
        live = folder / f"{name.replace(' ', '_')}.mrec"
        archive = live.with_name(f"{live.stem}_archive.mrec")
        write(live)
        convert([live], archive)
        sizes[name] = (stored_bytes(live), stored_bytes(archive))
    return sizes


def check(folder: Path) -> None:
    """Read the aligned record back: each frame shows the types of its last hop, joined with the coordinates."""
    with mr.open(folder / "aligned_block_archive.mrec") as record:
        trajectory = record.trajectory
        assert trajectory is not None
        for ordinal in (0, HOPS[0] - 1, HOPS[0], FRAMES - 1):
            hops = sum(hop <= ordinal for hop in HOPS)
            joined = trajectory.joined("atoms", ordinal)
            assert joined["type"].tolist() == types_of(hops).tolist()
            assert trajectory.update_ordinal("atom_types", ordinal) == (0, *HOPS)[hops]


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sizes = run(folder)
        check(folder)
    table = Table(
        "types", "live, bytes", "adds", "archive, bytes", "adds", title=f"{ATOMS} atoms, {FRAMES} frames, 5 hops"
    )
    plain = sizes["no types"]
    for name, found in sizes.items():
        cells = [
            cell
            for size, base in zip(found, plain, strict=True)
            for cell in (f"{size:,}", f"{100 * (size - base) / base:.3f} %")
        ]
        table.add_row(name, *cells)
    console.print(table)


if __name__ == "__main__":
    main()
