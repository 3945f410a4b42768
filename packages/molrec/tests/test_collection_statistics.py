"""Statistics of a collection against the same numbers computed from its structures one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import molrec as mr
from molrec.datasets import chunks
from molrec.datasets.plotting import plot_histograms
from molrec.datasets.reference_energies import ReferenceEnergyFit
from molrec.datasets.running_statistics import RunningHistogram, histogram, spread
from molrec.datasets.split import isolated_atoms
from molrec.datasets.statistics import ElementCount, Labelled, collect_statistics

from .collections_made import UNITS
from .labelled_structures import NUMBERS, collection, isolated, structure
from .refusals import refused

type Made = tuple[mr.Frame, dict[str, Any]]

CELLS = [None, mr.Box(np.eye(3) * 9), mr.Box(np.eye(3) * 9, boundary=[True, True, False]), mr.Box(cell_defined=False)]
E0 = {"H": -13.5, "C": -1030.25, "O": -2042.0}


def made(count: int = 60, species: str = "atomic_number") -> list[Made]:
    """Return random molecules, with isolated atoms at 10 and 20 and labels left out here and there."""
    rng = np.random.default_rng(1)
    records: list[Made] = []
    for number in range(count):
        symbols = rng.choice(list(E0), rng.integers(2, 9)).tolist()
        energy = sum(E0[symbol] for symbol in symbols) + rng.normal()
        forces = rng.normal(size=(len(symbols), 3)) if number % 5 else None
        labelled = structure(symbols, energy if number % 7 else np.nan, forces, species=species, box=CELLS[number % 4])
        records.append((labelled, {"config_type": f"type {number % 3}"} | ({"head": "a"} if number % 2 else {})))
    for place, symbol in ((10, "H"), (20, "O")):
        records[place] = isolated(symbol, E0[symbol])
        if species == "element":
            records[place] = (structure([symbol], E0[symbol], np.zeros((1, 3)), species=species), records[place][1])
    return records


def ordinary(records: list[Made]) -> list[mr.Frame]:
    return [frame for frame, meta in records if meta["config_type"] != "IsolatedAtom"]


def symbols_of(frame: mr.Frame) -> list[str]:
    atoms = frame["atoms"]
    if "element" in atoms:
        return list(atoms["element"].tolist())
    return [name for number in atoms["atomic_number"].tolist() for name, z in NUMBERS.items() if z == number]


def has_forces(frame: mr.Frame) -> bool:
    return frame["atoms"].validity("fx") is None


@pytest.mark.parametrize("species", ["atomic_number", "element"])
@pytest.mark.parametrize("at_once", [7, 2048])
def test_statistics_are_those_of_the_structures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, species: str, at_once: int
) -> None:
    monkeypatch.setattr(chunks, "_AT_ONCE", at_once)
    records = made(species=species)
    read: list[tuple[int, int]] = []
    found = collect_statistics(collection(tmp_path / "a.mrec.lmdb", records), progress=lambda *now: read.append(now))
    frames = [frame for frame, _ in records]
    sizes = np.array([frame["atoms"].rows for frame in frames])
    assert (found.records, found.structures, found.atoms) == (60, 60, sizes.sum())
    assert found.units == {"mass": "amu", "charge": "e", **UNITS}
    assert found.atoms_per_structure == spread(sizes.astype(float))
    counts = Counter(symbol for frame in frames for symbol in symbols_of(frame))
    having = Counter(symbol for frame in frames for symbol in set(symbols_of(frame)))
    assert found.elements == {symbol: ElementCount(counts[symbol], having[symbol]) for symbol in ("H", "C", "O")}
    assert found.config_types == Counter(meta["config_type"] for _, meta in records)
    assert found.heads == Counter(meta.get("head", "(none)") for _, meta in records)
    cells = Counter({None: "no cell", 3: "abc", 2: "ab"}[_periodic(frame.box)] for frame in frames)
    assert found.cells == cells
    energies = np.array([frame.meta["pe"] for frame in frames])
    with_forces = sum(map(has_forces, frames))
    assert found.labels == {
        "pe": Labelled(int((~np.isnan(energies)).sum()), int(np.isnan(energies).sum())),
        "fx fy fz": Labelled(with_forces, 60 - with_forces),
        "stress": Labelled(0, 60),
    }
    per_atom = [f.meta["pe"] / f["atoms"].rows for f in ordinary(records) if not np.isnan(f.meta["pe"])]
    assert found.energy_per_atom == spread(np.array(per_atom))
    assert found.isolated_atoms == {"H": [E0["H"]], "O": [E0["O"]]}
    assert read[-1] == (60, 60)
    assert len(read) == -(-60 // at_once)
    _check_forces(found, records)
    _check_energies(found, records)


def _periodic(box: mr.Box | None) -> int | None:
    return None if box is None or not box.cell_defined else int(box.boundary.sum())


def _check_forces(found: Any, records: list[Made]) -> None:
    forces: dict[str, list[Any]] = {}
    for frame in filter(has_forces, ordinary(records)):
        rows = np.stack([frame["atoms"][name] for name in ("fx", "fy", "fz")], axis=1)
        for symbol, force in zip(symbols_of(frame), rows, strict=True):
            forces.setdefault(symbol, []).append(force)
    together = np.concatenate(list(forces.values()))
    assert found.forces.atoms == len(together)
    assert found.forces.rms == pytest.approx(np.sqrt(np.mean(together**2)), rel=1e-14)
    assert found.forces.largest == pytest.approx(np.linalg.norm(together, axis=1).max(), rel=1e-14)
    assert found.forces.rms_by_element == pytest.approx(
        {symbol: np.sqrt(np.mean(np.square(rows))) for symbol, rows in forces.items()}, rel=1e-14
    )
    norms = found.histograms["force_norm"]
    assert norms.counts.sum() == len(together)
    assert norms.edges[0] == 0.0
    assert norms.edges[-2] <= found.forces.largest <= norms.edges[-1]


def _check_energies(found: Any, records: list[Made]) -> None:
    labelled = [frame for frame in ordinary(records) if not np.isnan(frame.meta["pe"])]
    composition = np.array([[symbols_of(frame).count(symbol) for symbol in E0] for frame in labelled], dtype=float)
    energies = np.array([frame.meta["pe"] for frame in labelled])
    solution, _, rank, _ = np.linalg.lstsq(composition, energies, rcond=None)
    fit = found.reference_energies
    assert fit.rank == rank == 3
    assert fit.is_unique
    assert fit.structures == len(labelled)
    assert fit.undetermined == []
    assert fit.energies == pytest.approx(dict(zip(E0, solution, strict=True)), rel=1e-10)
    assert fit.rms_error == pytest.approx(np.sqrt(np.mean((composition @ solution - energies) ** 2)), rel=1e-8)
    assert fit.energies == pytest.approx(E0, abs=1.0)


def test_only_the_records_of_an_index_file(tmp_path: Path) -> None:
    records = made()
    opened = collection(tmp_path / "a.mrec.lmdb", records)
    chosen = [59, 3, 20, 31]
    part = collection(tmp_path / "b.mrec.lmdb", [records[number] for number in chosen])
    assert _plain(collect_statistics(opened, chosen)) == _plain(collect_statistics(part))
    with pytest.raises(IndexError):
        collect_statistics(opened, [60])


def test_shards_have_the_statistics_of_the_whole(tmp_path: Path) -> None:
    records = made()
    (tmp_path / "shards").mkdir()
    for number in range(3):
        collection(tmp_path / "shards" / f"{number}.mrec.lmdb", records[20 * number : 20 * number + 20])
    whole = collect_statistics(collection(tmp_path / "a.mrec.lmdb", records))
    assert _plain(collect_statistics(mr.open_collection(tmp_path / "shards"))) == _plain(whole)


def _plain(found: Any) -> str:
    return repr(found)


# -- what records may look like ---------------------------------------------------------------------------------------


def test_elements_of_systems_and_runs_of_several_frames(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec.lmdb"
    atoms = [mr.Block({name: np.full(2, 1.0 + shift) for name in ("fx", "fy", "fz")}) for shift in range(3)]
    run = [mr.Frame({"atoms": block}, meta={"pe": -3.0 - n}) for n, block in enumerate(atoms)]
    run[0].box = mr.Box(np.eye(3))  # carries forward
    with mr.CollectionWriter(path, units=UNITS) as writer:
        writer.append(run, system=mr.Frame({"atoms": mr.Block({"element": ["O", "H"]})}), meta={"head": "b"})
        writer.append(run[1], system=mr.Frame({"atoms": mr.Block({"atomic_number": np.array([6, 6], np.uint64)})}))
        writer.append(run[2])
        writer.append(None, system=mr.Frame({"atoms": mr.Block({"element": ["N"]})}))
    found = collect_statistics(mr.open_collection(path))
    assert (found.records, found.structures, found.atoms) == (4, 5, 10)
    assert found.elements == {
        "H": ElementCount(3, 3), "C": ElementCount(2, 1), "O": ElementCount(3, 3), "(none)": ElementCount(2, 1),
    }  # fmt: skip
    assert found.heads == {"b": 3, "(none)": 2}
    assert found.cells == {"abc": 3, "no cell": 2}
    assert found.energy_per_atom == spread(np.array([-1.5, -2.0, -2.5, -2.0, -2.5]))


def test_structures_without_elements_energies_or_atoms(tmp_path: Path) -> None:
    bare = collection(tmp_path / "a.mrec.lmdb", [(mr.Frame({"atoms": mr.Block({"x": np.arange(3.0)})}), {})])
    found = collect_statistics(bare)
    assert (found.elements, found.forces, found.energy_per_atom, found.reference_energies) == (None,) * 4
    assert found.labels["pe"] == Labelled(0, 1)
    assert found.atoms == 3
    empty = collect_statistics(collection(tmp_path / "b.mrec.lmdb", []))
    assert (empty.structures, empty.atoms_per_structure, empty.cells, empty.histograms) == (0, None, {}, {})
    other = mr.Frame({"beads": mr.Block({"x": np.arange(3.0)})}, meta={"pe": 1.0})
    elsewhere = collect_statistics(collection(tmp_path / "c.mrec.lmdb", [(other, {})]))
    assert (elsewhere.atoms, elsewhere.energy_per_atom) == (0, None)


def test_a_label_is_absent_where_it_is_nan_or_null(tmp_path: Path) -> None:
    stress, nowhere = np.arange(6.0), np.full(6, np.nan)
    part = np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 2.0]])
    frames = [
        structure(["H", "H"], 1.0, part, stress=stress, note="a", extra={"a": 1}, dipole=1.0),
        structure(["H", "H"], 1.0, np.full((2, 3), np.nan), stress=nowhere, note="", extra=None, dipole=np.inf),
        structure(["H", "H"], np.nan, part[1:].repeat(2, axis=0), stress=stress, note="", extra=None, dipole=np.nan),
    ]
    for frame in frames:
        frame.meta.set("extra", frame.meta["extra"], tag="json")
    found = collect_statistics(collection(tmp_path / "a.mrec.lmdb", [(frame, {}) for frame in frames]))
    assert found.labels == {
        "pe": Labelled(2, 1),
        "fx fy fz": Labelled(2, 1),
        "stress": Labelled(2, 1),
        "note": Labelled(3, 0),
        "extra": Labelled(1, 2),
        "dipole": Labelled(2, 1),
    }
    assert found.forces is not None
    assert (found.forces.atoms, found.forces.largest) == (3, 3.0)


def test_isolated_atoms_of_different_or_no_energy(tmp_path: Path) -> None:
    records = [isolated("H", -1.0), isolated("H", -1.0), isolated("H", -2.0), isolated("O", np.nan)]
    found = collect_statistics(collection(tmp_path / "a.mrec.lmdb", records))
    assert found.isolated_atoms == {"H": [-1.0, -2.0], "O": []}
    assert found.reference_energies is None
    assert found.forces is None


# -- reference energies -----------------------------------------------------------------------------------------------


def test_compositions_that_leave_energies_open(tmp_path: Path) -> None:
    waters: list[Made] = [(structure([*"HHO"] * count, -10.0 * count), {}) for count in (1, 2, 3)]
    found = collect_statistics(collection(tmp_path / "a.mrec.lmdb", [*waters, (structure("CC", -8.0), {})]))
    fit = found.reference_energies
    assert fit is not None
    assert (fit.rank, fit.is_unique, fit.undetermined) == (2, False, ["H", "O"])
    # of all that make water -10, those of least norm
    assert fit.energies == pytest.approx({"H": -4.0, "O": -2.0, "C": -4.0})
    assert fit.rms_error == pytest.approx(0.0, abs=1e-12)


@given(data=st.data())
def test_the_fit_piece_by_piece_is_that_of_all(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 5))
    composition = data.draw(arrays(np.float64, (rows, columns), elements=st.integers(0, 9).map(float)))
    energies = data.draw(arrays(np.float64, rows, elements=st.integers(-1000, 1000).map(float)))
    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=3)))
    fit = ReferenceEnergyFit()
    for piece in np.split(np.arange(rows), cuts):
        # later pieces may bring elements the earlier ones did not know
        known = columns if not piece.size or composition[piece[0] :, -1].any() else max(1, columns - 1)
        fit.add(composition[piece][:, :known], energies[piece])
    names = [f"e{column}" for column in range(columns)]
    found = fit.result(names)
    there = np.flatnonzero(composition.any(axis=0))
    if not there.size:
        assert found is None
        return
    assert found is not None
    solution, _, rank, _ = np.linalg.lstsq(composition[:, there], energies, rcond=None)
    assert found.rank == rank
    assert found.structures == rows
    assert list(found.energies) == [names[column] for column in there]
    np.testing.assert_allclose(list(found.energies.values()), solution, rtol=1e-7, atol=1e-7)


def test_rounding_does_not_make_compositions_differ() -> None:
    fit = ReferenceEnergyFit()
    generator = np.random.default_rng(2)
    for _ in range(40):
        carbons = generator.integers(1, 20, 50).astype(np.float64)
        fit.add(np.stack([carbons, 2 * carbons, 3 * carbons], axis=1), -40.0 * carbons + generator.normal(size=50))
    found = fit.result(["C", "H", "O"])
    assert found is not None
    assert (found.rank, found.undetermined) == (1, ["C", "H", "O"])
    assert found.energies == pytest.approx({"C": -40 / 14, "H": -80 / 14, "O": -120 / 14}, rel=1e-2)


# -- histograms -------------------------------------------------------------------------------------------------------


@given(
    pieces=st.lists(
        arrays(np.float64, st.integers(0, 20), elements=st.floats(0, 1e6, width=32)), min_size=1, max_size=5
    )
)
def test_a_running_histogram_counts_every_number_where_it_belongs(pieces: list[Any]) -> None:
    running = RunningHistogram()
    for piece in pieces:
        running.add(piece)
    values = np.concatenate(pieces)
    found = running.result()
    if not values.size:
        assert found is None
        return
    assert found is not None
    assert found.counts.size <= 64
    assert found.counts.sum() == values.size
    ordered, below = np.sort(values), np.cumsum(found.counts)[:-1]
    # a number on an edge may fall to either side, for the rounding of a quotient
    assert (below >= np.searchsorted(ordered, found.edges[1:-1] * (1 - 1e-12), side="left")).all()
    assert (below <= np.searchsorted(ordered, found.edges[1:-1] * (1 + 1e-12), side="right")).all()


def test_histograms_of_integers_and_of_one_number() -> None:
    found = histogram(np.array([3.0, 3.0, 5.0, np.nan]), whole=True)
    assert found is not None
    assert found.edges.tolist() == [2.5, 3.5, 4.5, 5.5]
    assert found.counts.tolist() == [2, 0, 1]
    wide = histogram(np.arange(1000.0), whole=True)
    assert wide is not None
    assert wide.counts[:-1].tolist() == [16] * 62
    assert histogram(np.array([np.inf])) is None
    one = histogram(np.array([2.0]))
    assert one is not None
    assert one.counts.sum() == 1


def test_histograms_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    found = collect_statistics(collection(tmp_path / "a.mrec.lmdb", made()))
    target = tmp_path / "new" / "a.png"
    assert plot_histograms(found, target, "a") == ["energy_per_atom", "force_norm", "atoms_per_structure"]
    assert target.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in target.parent.iterdir()] == ["a.png"]
    with refused("reject-existing-path", "a.png"):
        plot_histograms(found, target, "a")
    plot_histograms(found, target, "a", overwrite=True)
    nothing = collect_statistics(collection(tmp_path / "b.mrec.lmdb", []))
    with refused("reject-nothing-to-draw"):
        plot_histograms(nothing, tmp_path / "b.png", "b")


def test_config_types_and_heads_are_stated_in_three_places(tmp_path: Path) -> None:
    records: list[tuple[mr.Frame, dict[str, Any], dict[str, Any]]] = [
        (structure("HH", -1.0), {"config_type": "a", "head": "b"}, {"config_type": "c", "head": "d"}),
        (structure("HH", -1.0), {"configuration": {"head": "e"}, "head": "b"}, {"config_type": "c", "head": None}),
        (structure("H", -1.0), {}, {"config_type": "IsolatedAtom", "head": "d"}),
        (structure("H", -1.0), {"config_type": "a"}, {"config_type": "IsolatedAtom", "head": None}),
    ]
    path = tmp_path / "a.mrec.lmdb"
    with mr.CollectionWriter(path, units=UNITS, index=["config_type", "head"]) as writer:
        for frame, meta, row in records:
            writer.append(frame, meta=meta, index=row)
    opened = mr.open_collection(path)
    found = collect_statistics(opened)
    assert found.config_types == {"a": 2, "IsolatedAtom": 1, "c": 1}
    assert found.heads == {"(none)": 1, "b": 1, "d": 1, "e": 1}
    assert found.isolated_atoms == {"H": [-1.0]}
    assert isolated_atoms(opened).tolist() == [2]
