"""Runs spoilt collections through the library, in a process of its own: values put anew, files damaged.

A value has no checksum: a changed number is a number. What is held against each case is that nothing but a documented
exception ends it, that the records whose values were left alone read as before, and that a validator finds what a
reader refuses. A damaged file is examined before anything is read of it, as the specification asks.
"""

from __future__ import annotations

import os
import random
import shutil
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

import molrec as mr
from molrec.storage.lmdb.page_check import check_pages

from . import record_mutations
from .record_fuzz import guard_process, say, time_limit
from .record_mutations import damage_bytes
from .runs import content

type Values = dict[bytes, bytes]

_UNITS = {"length": "angstrom", "energy": "eV", "force": "eV/angstrom", "time": "fs"}
_STRING = np.dtypes.StringDType()


# -- the collections --------------------------------------------------------------------------------------------------


def write_bases(folder: Path) -> None:
    """Write the sound collections that are spoilt."""
    with mr.CollectionWriter(folder / "plain.mrec.lmdb", units=_UNITS) as writer:
        for number in range(6):
            atoms = mr.Block({name: np.arange(2.0 + number % 3) + number for name in ("x", "y", "z", "fx", "fy", "fz")})
            writer.append(mr.Frame({"atoms": atoms}, meta={"pe": -1.5 * number, "w": 1.0}), meta={"config_type": "a"})
    _write_rich(folder / "rich.mrec.lmdb")
    rng = np.random.default_rng(3)
    with mr.CollectionWriter(folder / "deep.mrec.lmdb", units=_UNITS) as writer:
        for number in range(300):
            rows = 700 if number % 90 == 0 else 1 + number % 4
            writer.append(mr.Frame({"atoms": mr.Block({"x": rng.normal(size=rows)})}), meta={"n": number})


def _write_rich(path: Path) -> None:
    schema = mr.SequenceSchema()
    schema.declare_column("atoms", "x", "f64").declare_precision("atoms", "x", 1e-3)
    schema.declare_column("atoms", "name", "string", nullable=True).declare_column("atoms", "flag", "bool")
    schema.declare_column("kinds", "type", "string").declare_aligned("kinds", "atoms")
    schema.declare_column("bonds", "atomi", "u64").declare_column("bonds", "phase", "c128", (2,))
    schema.declare_target("bonds", "atomi", "atoms")
    schema.declare_meta("pe", "f64", fill=0.0).declare_meta("note", "json", fill=None).declare_meta(
        "d", "f64x3", fill=(0, 0, 0)
    )
    system = mr.Frame(
        {"rest": mr.Block({"mass": [1.0, 2.0], "n": np.arange(2, dtype=np.int16)})}, meta={"spin": np.int64(1)}
    )
    system["rest"].set_precision("mass", 1e-2)
    system.box = mr.Box(np.eye(3) * 9, origin=[1.0, 0, 0])
    forcefield = mr.ForceField("toy", {"preset": "metal"})
    forcefield.define_style("atom", "full").add("a", mass=1.0, charge=0.5)
    index = {"molecule_id": lambda record: "m"}
    with mr.CollectionWriter(path, units=_UNITS, schema=schema, forcefield=forcefield, index=index) as writer:
        for number in range(4):
            frames = [_rich_frame(number, ordinal) for ordinal in range(number % 3 + 1)]
            writer.append(
                frames, system=system if number % 2 else None, meta={"number": number, "deep": {"a": [1, None]}}
            )
        writer.append(None, system=system)
        writer.append([])


def _rich_frame(number: int, ordinal: int) -> mr.Frame:
    atoms = mr.Block({"x": np.arange(3.0) + ordinal, "name": ["a", "", "é"], "flag": [True, False, True]})
    atoms.set_validity("name", [True, number % 2 == 0, True])
    frame = mr.Frame({"atoms": atoms}, meta={"pe": float(number)})
    if ordinal == 0:
        frame["kinds"] = mr.Block({"type": ["a", "b", "a"]})
        frame["bonds"] = mr.Block({"atomi": np.array([0, 2], np.uint64), "phase": np.ones((2, 2)) * 1j})
        frame.box = mr.Box(np.eye(3) * 8)
        frame.meta["note"] = {"x": [ordinal, None]}
    return frame


def read_values(path: Path) -> Values:
    """Return everything a file holds."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as file, file.begin() as transaction:
        return dict(transaction.cursor())


def write_values(path: Path, values: Values) -> None:
    """Write a file of its own."""
    path.unlink(missing_ok=True)
    with (
        lmdb.open(str(path), map_size=2**23, subdir=False, lock=False, sync=False, metasync=False) as file,
        file.begin(write=True) as transaction,
    ):
        for key, value in values.items():
            transaction.put(key, value)


# -- damage to values -------------------------------------------------------------------------------------------------


def mutate(values: Values, rng: random.Random) -> tuple[str, Values, set[bytes]]:
    """Return the kind of damage, what is stored afterwards, and the keys that were touched."""
    kind, make = rng.choice(_KINDS)
    changed = dict(values)
    touched: set[bytes] = set()
    for _ in range(rng.choice((1, 1, 2))):
        touched |= make(changed, rng)
    return kind, changed, touched


def _header(value: bytes) -> tuple[bytes, bytes] | None:
    """Split frame bytes into header and payload."""
    if value[:4] != b"MRF1" or len(value) < 8:
        return None
    length = int.from_bytes(value[4:8], "little")
    end = 8 + length
    return value[8:end], value[end + -end % 8 :]


def _joined(header: bytes, payload: bytes) -> bytes:
    end = 8 + len(header)
    return b"MRF1" + len(header).to_bytes(4, "little") + header + bytes(-end % 8) + payload


def _bytes(values: Values, rng: random.Random) -> set[bytes]:
    key = rng.choice([key for key, value in values.items() if value])
    values[key] = damage_bytes(values[key], rng)
    return {key}


def _json(values: Values, rng: random.Random) -> set[bytes]:
    """Edit a document: that of a record, of the collection, or the header of frame bytes."""
    key = rng.choice(list(values))
    parts = _header(values[key])
    text = values[key] if parts is None else parts[0]
    files = {"zarr.json": text}
    edit = rng.choice((record_mutations.edit_json, record_mutations.edit_json, record_mutations.write_text))
    if not text.startswith(b"{"):
        return set()
    edit(files, rng)
    values[key] = files["zarr.json"] if parts is None else _joined(files["zarr.json"], parts[1])
    return {key}


def _payload(values: Values, rng: random.Random) -> set[bytes]:
    key = rng.choice(list(values))
    parts = _header(values[key])
    if parts is None or not parts[1]:
        return set()
    values[key] = _joined(parts[0], damage_bytes(parts[1], rng))
    return {key}


def _swap(values: Values, rng: random.Random) -> set[bytes]:
    one, other = rng.choice(list(values)), rng.choice(list(values))
    values[one], values[other] = values[other], values[one]
    return {one, other}


def _remove(values: Values, rng: random.Random) -> set[bytes]:
    key = rng.choice(list(values))
    if len(values) > 1:
        del values[key]
    return {key}


def _foreign(values: Values, rng: random.Random) -> set[bytes]:
    key = rng.choice((b"x", b"meta2", b"r", b"f" + bytes(8), b"s" + bytes(8), b"f" + b"\xff" * 8, b"r" * 400, b"\0"))
    values[key] = rng.choice((b"", b"{}", b"MRF1", rng.randbytes(40), rng.choice(list(values.values()))))
    return {key}


_KINDS: tuple[tuple[str, Callable[[Values, random.Random], set[bytes]]], ...] = (
    ("value bytes", _bytes),
    ("value bytes", _bytes),
    ("documents and headers", _json),
    ("documents and headers", _json),
    ("documents and headers", _json),
    ("payloads", _payload),
    ("values swapped", _swap),
    ("values removed", _remove),
    ("foreign keys", _foreign),
)


def damage_file(data: bytes, rng: random.Random, page_size: int = 4096) -> tuple[str, bytes]:
    """Return the kind of damage and the bytes of a file whose pages are cut, exchanged, or changed."""
    pages = len(data) // page_size
    choice = rng.randrange(6)
    page = rng.randrange(pages)
    start = page * page_size
    if choice == 0:
        return "files cut", data[: rng.randrange(len(data))]
    if choice == 1:
        other = rng.randrange(pages) * page_size
        whole = bytearray(data)
        whole[start : start + page_size] = data[other : other + page_size]
        return "pages copied", bytes(whole)
    if choice == 2:
        whole = bytearray(data)
        whole[start : start + page_size] = rng.choice((bytes(page_size), rng.randbytes(page_size), b"\xff" * page_size))
        return "pages replaced", bytes(whole)
    whole = bytearray(data)
    if choice in (3, 4):
        # Numbers of headers, of nodes and of the meta pages decide where LMDB goes.
        place = start + rng.choice((0, 8, 10, 12, 14, 16, 18, 40, 48, 52, 64, 80, 96, 112, 128, 136, 144))
        width = rng.choice((1, 2, 4, 8))
        whole[place : place + width] = rng.choice(
            (rng.randbytes(width), b"\xff" * width, bytes(width), b"\1".ljust(width, b"\0"))
        )
        return "page headers", bytes(whole[: len(data)])
    for _ in range(rng.choice((1, 2, 8, 64))):
        whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    return "file bits", bytes(whole)


# -- one case ---------------------------------------------------------------------------------------------------------


def read_parts(path: Path) -> tuple[dict[str, Any], list[mr.MolrecError]]:
    """Read all a collection holds, part by part; return what was read, exactly, and the refusals met."""
    parts: dict[str, Any] = {}
    refusals: list[mr.MolrecError] = []

    def attempt(part: str, read: Callable[[], Any]) -> Any:
        try:
            parts[part] = value = read()
        except mr.MolrecError as error:
            refusals.append(error)
            return None
        return value

    try:
        collection = mr.open_collection(path)
    except mr.MolrecError as error:
        return parts, [error]
    with collection:
        attempt("index", lambda: repr({name: collection.index[name].tolist() for name in collection.index.columns}))
        attempt("units", lambda: repr(collection.units))
        attempt(
            "forcefield", lambda: None if collection.forcefield is None else repr(collection.forcefield.to_section())
        )
        numbers = sorted({*range(len(collection))[:8], *range(len(collection))[-4:], *range(0, len(collection), 90)})
        for number in numbers:
            record = collection[number]
            attempt(f"{number} meta", lambda record=record: repr(record.meta))  # type: ignore[misc]
            attempt(f"{number} system", lambda record=record: _content(record.system))  # type: ignore[misc]
            attempt(f"{number} frames", lambda number=number: [content(f) for f in collection.frames(number)])  # type: ignore[misc]
            attempt(f"{number} run", lambda record=record: _run(record))  # type: ignore[misc]
            attempt(f"{number} batch", lambda number=number: _batch(collection.batch([number])))  # type: ignore[misc]
        try:
            _batch(collection.batch(numbers))
            for number in numbers[:2]:
                with collection.view(number) as record:
                    _run(record)
        except mr.MolrecError as error:
            refusals.append(error)
    return parts, refusals


def _content(frame: mr.Frame | None) -> Any:
    return None if frame is None else content(frame)


def _run(record: Any) -> Any:
    run = record.trajectory
    if run is None:
        return None
    times = None if run.times is None else run.times.tobytes()
    frames = [content(run[ordinal]) for ordinal in range(min(3, len(run)))]
    return len(run), run.steps.tobytes(), times, {key: repr(values) for key, values in run.meta.items()}, frames


def _batch(found: dict[str, Any]) -> dict[str, Any]:
    return {
        name: values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "T" else
        values if isinstance(values, list) else (values.dtype.str, values.shape, values.tobytes())
        for name, values in found.items()
    }  # fmt: skip


def judge(path: Path, sound: dict[str, Any], untouched: set[int]) -> Counter[str]:
    """Run one case whose file LMDB can follow; raise where it does what it must not."""
    parts, refusals = read_parts(path)
    for error in refusals:
        assert error.rule, error
        str(error).encode()
    # The declaration of all has a say in each; what is spoilt in one record is not another's affair.
    for part, value in parts.items():
        number = part.partition(" ")[0]
        if number.isdecimal() and int(number) in untouched:
            assert sound.get(part, "(nothing)") == value, f"{part} reads as something else"
    errors = [finding for finding in mr.validate(path) if finding.severity == "error"]
    assert errors or not refusals, f"not found by validate: {refusals[0].rule} {refusals[0]}"
    return Counter(["refused" if refusals else "found by validate alone" if errors else "read"])


# -- many cases -------------------------------------------------------------------------------------------------------


def run_cases(folder: str, seed: int, first: int, count: int, files: bool) -> None:
    """Run cases `first` and on; print breaches, where it is, and at last the counts.

    Args:
        folder: Holds ``bases``; everything else in it is this function's.
        seed: Chooses other cases.
        first: Number of the first case.
        count: How many.
        files: Whether files are damaged, and not values.
    """
    root = Path(folder)
    work = root / f"cases-{first}"
    work.mkdir()
    bases = {path.name: path for path in sorted((root / "bases").iterdir())}
    values = {name: read_values(path) for name, path in bases.items()}
    data = {name: path.read_bytes() for name, path in bases.items()}
    sound = {name: read_parts(path)[0] for name, path in bases.items()}
    spans = {name: _spans(path) for name, path in bases.items()}
    progress = os.open(work / "progress", os.O_WRONLY | os.O_CREAT)
    guard_process(work)
    counts: Counter[str] = Counter()
    for number in range(first, first + count):
        os.pwrite(progress, f"{number:9d}".encode(), 0)
        rng = random.Random(f"{seed} {number}")
        name = rng.choice(sorted(bases))
        path = work / f"{number}.mrec.lmdb"
        try:
            with time_limit():
                if files:
                    kind, spoilt = damage_file(data[name], rng)
                    path.write_bytes(spoilt)
                    outcome = _judge_file(path)
                else:
                    kind, changed, touched = mutate(values[name], rng)
                    write_values(path, changed)
                    outcome = judge(path, sound[name], _untouched(touched, spans[name]))
        except BaseException as error:  # noqa: BLE001 - told, and the next case comes
            calls = traceback.extract_tb(error.__traceback__)[-8:]
            way = ", ".join(f"{Path(call.filename).name}:{call.lineno}" for call in reversed(calls))
            say(breach=f"case {number} of seed {seed} ({name}): {type(error).__name__}: {str(error)[:300]!r} at {way}")
        else:
            counts.update({f"{kind}: {what}": times for what, times in outcome.items()})
            counts["cases"] += 1
        path.unlink(missing_ok=True)
    say(counts=counts)


def _judge_file(path: Path) -> Counter[str]:
    try:
        check_pages(path)
    except mr.MolrecError:
        found = [finding for finding in mr.validate(path) if finding.severity == "error"]
    else:
        return judge(path, {}, set())
    assert found, "refused when examined, and not found by validate"
    return Counter(["refused when examined"])


def _spans(path: Path) -> list[tuple[int, int]]:
    with mr.open_collection(path) as collection:
        index = collection.index
        return list(zip(index["first_frame"].tolist(), index["n_frames"].tolist(), strict=True))


def _untouched(touched: set[bytes], spans: list[tuple[int, int]]) -> set[int]:
    """Return the records whose values were left alone; none where the collection's own were not."""
    left = set(range(len(spans)))
    for key in touched:
        number = int.from_bytes(key[1:], "big")
        if len(key) != 9 or key[:1] not in b"rsf":
            return set()
        left -= (
            {r for r, (start, n) in enumerate(spans) if start <= number < start + n} if key[:1] == b"f" else {number}
        )
    return left


def read_unexamined(path: str) -> None:
    """Read a file that may be damaged without any examination: the process may end."""
    shutil.copy(path, f"{path}.copy")
    try:
        read_parts(Path(f"{path}.copy"))
    except OSError as error:
        say(error=str(error))
