"""What the project wants of its numbers, and whether a run got there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from collection import ATOMPACK, BATCH, Collections
from collection import REFERENCE as COLLECTION_REFERENCE
from configurations import FAST, REFERENCE, WANTED, Speed
from extras import Extras
from measure import Density, SizeResult
from workload import Size

__all__ = ["Target", "judge"]

_LIVE, _MOLRS = "molrec-live-1e-3", "molrs-1e-3"

#: Atoms, operation of molrec live, of molrs, least ratio.
_SPEEDS = (
    (3000, "sequential", "sequential", 2.0),
    (3000, "random", "random", 2.0),
    (3000, "write", "write", 1.0),
    (100, "random", "random", 2.0),
    (100, "sequential", "sequential", 0.5),
    (3000, "bulk", "sequential", 5.0),
    (100, "bulk", "sequential", 5.0),
    (100000, "bulk", "sequential", 5.0),
)
#: Peer and the most bytes each further frame of the reference system may add per atom.
_DENSITIES = (
    (_LIVE, 7.7),
    ("molrec-live-1e-2", 5.9),
    ("molrec-archive-1e-3", 5.0),
    ("molrec-archive-1e-2", 3.6),
)
_REFERENCE_ATOMS = 3000
#: What is said of a collection, the operation, the other format, least ratio.
_COLLECTIONS = (
    ("single random reads", "single", COLLECTION_REFERENCE, 30.0),
    (f"shuffled batches of {BATCH}, first reading", "batch", ATOMPACK, 1.0),
    (f"shuffled batches of {BATCH}, read again", "again", ATOMPACK, 1.0),
    ("writing", "write", COLLECTION_REFERENCE, 10.0),
)
_MOST_OPEN_SECONDS, _MOST_IMPORT_SECONDS, _MOST_SMALL_BYTES = 5e-3, 0.3, 12 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """One wish and its outcome, in words."""

    what: str
    wanted: str
    found: str
    reached: bool


def judge(
    sizes: Sequence[SizeResult],
    densities: dict[Size, list[Density]],
    extras: Extras,
    structures: Sequence[Speed],
    collections: Collections,
) -> list[Target]:
    """Hold a run against every target it can speak to."""
    return [
        *_densities(densities),
        *_speeds(sizes),
        *_others(sizes, extras),
        *_structures(structures),
        *_collections(collections),
    ]


def _collections(found: Collections) -> Iterator[Target]:
    for what, operation, other, least in _COLLECTIONS:
        times = found.times_as_fast(operation, other)
        if times is not None:
            yield Target(
                f"collection, {what}, times as fast as {other}", f"≥ {least:g}", f"{times:.3g}", times >= least
            )


def _structures(speeds: Sequence[Speed]) -> Iterator[Target]:
    by_label = {speed.label: speed for speed in speeds}
    if FAST in by_label:
        times = by_label[FAST].times(by_label[REFERENCE])
        yield Target("configurations, times as fast as through ASE", f"≥ {WANTED:g}", f"{times:.1f}", times >= WANTED)


def _densities(densities: dict[Size, list[Density]]) -> Iterator[Target]:
    for size, found in densities.items():
        if size.atoms != _REFERENCE_ATOMS:
            continue
        by_key = {one.key: one for one in found}
        for key, most in _DENSITIES:
            one = by_key[key]
            what = f"B/atom/frame, {one.label}, further frames of {size.atoms} atoms"
            text = f"{one.marginal:.2f} (whole run {one.whole:.2f})"
            yield Target(what, f"≤ {most:g}", text, one.marginal <= most)


def _speeds(sizes: Sequence[SizeResult]) -> Iterator[Target]:
    by_atoms = {one.size.atoms: one for one in sizes}
    for atoms, operation, other, least in _SPEEDS:
        ratio = by_atoms[atoms].times_as_fast(_LIVE, operation, _MOLRS, other) if atoms in by_atoms else None
        if ratio is None:
            continue
        against = "molrs" if operation == other else "molrs frame by frame"
        what = f"{operation} {atoms} × {by_atoms[atoms].size.frames}, times as fast as {against}"
        yield Target(what, f"≥ {least:g}", f"{ratio:.2f}", ratio >= least)


def _others(sizes: Sequence[SizeResult], extras: Extras) -> Iterator[Target]:
    opens = [one.results[_LIVE].median("open") for one in sizes] + [extras.long_open_seconds]
    slowest = max(opens)
    yield Target(
        f"open, the slowest of the sizes above and a run of {extras.long_frames} frames",
        f"< {_MOST_OPEN_SECONDS * 1e3:g} ms",
        f"{slowest * 1e3:.2f} ms",
        slowest < _MOST_OPEN_SECONDS,
    )
    yield Target(
        "import molrec",
        f"< {_MOST_IMPORT_SECONDS * 1e3:g} ms",
        f"{extras.import_seconds * 1e3:.0f} ms",
        extras.import_seconds < _MOST_IMPORT_SECONDS,
    )
    yield Target(
        "10 frames of 20 atoms, packed archive",
        f"< {_MOST_SMALL_BYTES} bytes",
        f"{extras.small_archive_bytes} bytes",
        extras.small_archive_bytes < _MOST_SMALL_BYTES,
    )
