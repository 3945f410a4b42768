"""The fast reader gives what ASE gives: value for value, type for type, bit for bit, errors included."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import ase.io
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mace_core.data import Configuration, DataError, KeySpecification, iter_configurations, read_configurations
from mace_core.data.ase_frames import read_with_ase
from mace_core.data.extxyz_parser import column_parser
from mace_core.data.frame_text import FrameText
from mace_core.data.frames import ParserName
from mace_core.data.raw_frame import RawFrame

pytest.importorskip("extxyz")

type Outcome = tuple[list[Any], dict[int, float], list[str]] | tuple[type[Exception], str]


# --- when two results are the same ------------------------------------------------------------------------------------


def _fingerprint(value: Any) -> Any:
    """Return something equal for values that are the same and for no others."""
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.kind == "O" else value.tobytes()
        return type(value), value.dtype.str, value.shape, value.flags.c_contiguous, content
    if isinstance(value, float | np.generic):
        return type(value), np.asarray(value).tobytes()
    if isinstance(value, dict):
        return {key: _fingerprint(part) for key, part in value.items()}
    return type(value), value


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _outcome(path: Path, key_spec: KeySpecification, parser: ParserName, **options: Any) -> Outcome:
    """Read a file and return what came of it: configurations, energies and warnings, or the error a bad file raises."""
    logger, listener = logging.getLogger("mace_core"), _Listener()
    logger.addHandler(listener)
    stream = iter_configurations(path, key_spec, parser=parser, **options)
    try:
        found = [
            {field.name: _fingerprint(getattr(configuration, field.name)) for field in fields(Configuration)}
            for configuration in stream
        ]
    except DataError as error:
        return type(error), str(error)
    finally:
        logger.removeHandler(listener)
    return found, stream.atomic_energies, listener.said


def _assert_same(path: Path, key_spec: KeySpecification, **options: Any) -> Outcome:
    expected = _outcome(path, key_spec, "ase", **options)
    assert _outcome(path, key_spec, "extxyz", **options) == expected
    return expected


@pytest.fixture
def ase_frames(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that the numbers of the frames read by ASE are added to."""
    numbers: list[int] = []

    def noted(frame: FrameText, path: str) -> RawFrame:
        numbers.append(frame.frame_number)
        return read_with_ase(frame, path)

    monkeypatch.setattr("mace_core.data.frames.read_with_ase", noted)
    return numbers


# --- files as people and programs write them, and as nobody should ----------------------------------------------------

_KINDS = {
    "R": ["0", "-0.0", "1.5", "-2.25e-3", "+.5", "5.", "007", "1E5", "0.1234567890123456789", "123456789012345678"],
    "I": ["0", "-1", "+7", "007", "2147483647", "-2147483648"],
    "L": ["T", "F", "True", "False"],
    "S": ["a", "b2", "C1'", "x:y", "12", "0x10", "1d5", "nan", "long_label_of_an_atom"],
}
_STRANGE = {
    "R": ["nan", "-inf", "1d5", "1D-3", "0x10", "1_0", "1,5", "1e400", "x", "--1", "1e", "\u0661"],
    "I": ["2147483648", "-2147483649", "99999999999999999999", "1.0", "1_0", "1e3", "0x5"],
    "L": ["true", "TRUE", "false", "t", "1"],
    "S": ["\u00e9", "a\x0bb", "a\x1cb", "T", "(", "a,b"],
}
_SYMBOLS = ["H", "C", "O", "Cl", "cl", "CL", "cD", "Xe", "X", "si", "Nd", "He"]
_STRANGE_SYMBOLS = ["Xx", "J", "H1", "Hydrogen", "\u00df", "1"]
_COLUMNS = [
    *("forces:R:3", "REF_forces:R:3", "REF_forces:I:3", "forces:R:2", "REF_charges:R:1", "charges:R:1", "charge:R:1"),
    *("charges:L:1", "magmoms:R:3", "magmom:I:1", "dipole:R:3", "energy:R:1", "free_energy:I:1", "stresses:R:6"),
    *("molID:I:1", "label:S:1", "labels:S:2", "site:I:2", "flag:L:1", "flags:L:3", "tags:I:1", "masses:R:1"),
    *("initial_charges:R:1", "initial_magmoms:R:1", "move_mask:L:1", "move_mask:L:3", "REF_magmom:R:1"),
]  # fmt: skip
_STRANGE_COLUMNS = ["forces:S:3", "Z:I:1", "numbers:I:1", "positions:R:3", "a-b:R:1", "pos:R:3", "a:R:0", "a:X:1"]
_KEYS = [
    *("energy", "REF_energy", "free_energy", "REF_stress", "REF_virials", "stress", "virial", "dipole", "magmom"),
    *("polarizability", "polarization", "charges", "forces", "head", "total_charge", "total_spin", "elec_temp"),
    *("config_type", "config_weight", "config_energy_weight", "config_forces_weight", "config_dipole_weight"),
    *("uid", "Comp", "note"),
]  # fmt: skip
_VALUES = [
    *("-1.5", "2", "0", "-0.0", "1e-5", "1e400", "12345678901234567890", "1234567890123456789", "007", "1_000", "nan"),
    *('"1 2 3"', '"0.5 -1 2e3"', '"1 2 3 4 5 6 7 8 9"', '"1.5 0 0 0 2.5 0 0 0 3.5"', '"1 2 3 4 5 6"', '"1, 2, 3"'),
    *("'1 2 3'", "{0.1 0.2 0.3}", "[1, 2, 3]", '"_JSON [[1, 2], [3, 4]]"', '"_JSON null"', '"_JSON {]"', "{a b}"),
    *("T", "F", "true", "FALSE", '"T F T"', "Default", "IsolatedAtom", "bulk-300K", "x_1", "VC(3)", "größe", "NaNo"),
    *('"two words"', '"a=b"', "a=b", 'a\\"b', "1d5", "Infinity", '""', "", "a,b", "3.50", "_JSON", '"  4  "', "0x10"),
]  # fmt: skip
_NUMBERS = ["-1.5", "2", "0", "-0.0", "1e-5", "007", "2.5", "-3.0"]
_VECTORS = ['"1 2 3"', '"0.5 -1 2e3"', "{0.1 0.2 0.3}", "[1, 2, 3]", '"_JSON [1, 2.5]"', "4", "1.5"]
_NINE = ['"1 2 3 4 5 6 7 8 9"', '"1.5 0 0 0 2.5 0 0 0 3.5"', '"-1e-3 .5 7 0 0 1 2 3 4"']
_FITTING = {
    **dict.fromkeys(("stress", "virial"), _NINE),
    **dict.fromkeys(("dipole", "polarization"), _VECTORS),
    **dict.fromkeys(
        ("config_weight", "config_energy_weight", "config_forces_weight", "config_dipole_weight"), _NUMBERS
    ),
}
"""Values that do not make the whole frame unreadable, for the keys that are particular."""

_LATTICES = [
    None,
    *('"5 0 0 0 5 0 0 0 5"', '"3.61 0.02 -0.03 1.25 3.4 0.5 -0.75 0.125 4.0"', '"0 2.8 2.8 2.8 0 2.8 2.8 2.8 0"'),
    *('"1e3,0,0,0,1e-3,0,0,0,1"', "{4 0 0 0 4 0 0 0 4}", '"4 0 0 0 4 0 0 0 9007199254740993"', '"5 5 5"', "5"),
]  # fmt: skip
_PBCS = [None, '"T T T"', '"F F F"', '"T F T"', "T", '"true False TRUE"', '"1 0 1"', '"T F"', "x", "{F T T}"]
_MOSTLY = 12


class _Case(NamedTuple):
    """A file and how to read it."""

    text: str
    key_spec: KeySpecification
    extract_isolated_atoms: bool


def _mostly[T](usual: list[T], strange: list[T]) -> st.SearchStrategy[T]:
    """Draw what is usual, and now and then what is strange, so that whole files of the usual come about."""
    return st.integers(0, 40 * _MOSTLY).flatmap(lambda chance: st.sampled_from(strange if chance == 1 else usual))


def _values(kind: str) -> st.SearchStrategy[str]:
    listed = _mostly(_KINDS[kind], _STRANGE[kind])
    if kind == "R":
        return st.one_of(listed, st.floats(allow_nan=False, allow_infinity=False).map(repr), _decimals())
    return listed


def _decimals() -> st.SearchStrategy[str]:
    return st.floats(-100, 100).map(lambda value: f"{value:16.8f}")


@st.composite
def _comments(draw: st.DrawFn, columns: list[str]) -> str:
    entries = []
    lattice, pbc = draw(_mostly(_LATTICES[:4], _LATTICES)), draw(_mostly(_PBCS[:4], _PBCS))
    if lattice is not None:
        entries.append(f"Lattice={lattice}")
    if pbc is not None:
        entries.append(f"pbc={pbc}")
    if columns != ["species:S:1", "pos:R:3"] or draw(st.booleans()):
        entries.append(f"Properties={':'.join(columns)}")
    for key in draw(st.lists(st.sampled_from(_KEYS), max_size=6)):
        equals = draw(_mostly(["="], [" = ", "= ", " ="]))
        fitting = _FITTING.get(key)
        if fitting is None:
            value = draw(st.one_of(st.sampled_from(_VALUES), st.floats(-1e6, 1e6).map(repr)))
        else:
            value = draw(_mostly(fitting, _VALUES))
        entries.append(f"{key}{equals}{value}" if draw(st.integers(0, 20)) else key)
    entries = draw(st.permutations(entries))
    return draw(st.sampled_from([" ", "  ", "\t"])).join(entries)


@st.composite
def _frames(draw: st.DrawFn) -> str:
    columns = ["species:S:1", "pos:R:3"]
    if draw(st.booleans()):
        columns += draw(st.lists(_mostly(_COLUMNS, _STRANGE_COLUMNS), max_size=3, unique=True))
    if draw(st.integers(0, _MOSTLY)) == 1:
        columns = draw(st.permutations(columns))
    natoms = draw(st.sampled_from([1, 1, 2, 3, 5]))
    rows = []
    for _ in range(natoms):
        values = []
        for column in columns:
            _, kind, count = column.split(":")
            if column == "species:S:1":
                values.append(draw(_mostly(_SYMBOLS, _STRANGE_SYMBOLS)))
            else:
                values += [draw(_values(kind if kind in _KINDS else "R")) for _ in range(int(count))]
        if draw(st.integers(0, 20 * _MOSTLY)) == 1:
            values = draw(st.sampled_from([values[:-1], [*values, "extra"], []]))
        rows.append(draw(st.sampled_from([" ", "   ", "\t"])).join(values))
    stated = natoms if draw(st.integers(0, 10 * _MOSTLY)) != 1 else draw(st.integers(0, 6))
    vectors = ["VEC1 4 0 0"] if draw(st.integers(0, 10 * _MOSTLY)) == 1 else []
    return "\n".join([f"{stated}", draw(_comments(columns)), *rows, *vectors, ""])


@st.composite
def _specifications(draw: st.DrawFn) -> KeySpecification:
    spec = KeySpecification.from_defaults()
    spec.update(
        graph_keys={
            "energy": draw(st.sampled_from(["REF_energy", "energy", "free_energy", "stress"])),
            "stress": draw(st.sampled_from(["REF_stress", "stress", "polarization"])),
            "virials": draw(st.sampled_from(["REF_virials", "virial", "dipole"])),
            "dipole": draw(st.sampled_from(["dipole", "magmom", "forces", "note"])),
            "spin": draw(st.sampled_from(["magmom", "charges", "uid", "Comp", "head"])),
        },
        atom_keys={
            "forces": draw(st.sampled_from(["REF_forces", "forces", "magmoms"])),
            "charges": draw(st.sampled_from(["REF_charges", "charges", "charge", "initial_charges"])),
            "site": draw(st.sampled_from(["molID", "label", "labels", "site", "flag", "flags", "masses"])),
            "other": draw(st.sampled_from(["dipole", "energy", "free_energy", "magmom", "stresses", "tags"])),
        },
    )
    if draw(st.integers(0, 20)) == 1:
        spec.update(atom_keys={"where": "positions"})
    return spec


@st.composite
def _cases(draw: st.DrawFn) -> _Case:
    """Return a file of a few frames, most of them well-formed, and a key specification that has much to find in it."""
    frames = draw(st.lists(_frames(), min_size=1, max_size=4))
    if draw(st.booleans()):
        frames *= 2
    text = "".join(frames)
    text = draw(st.sampled_from([text, text, text, text.rstrip("\n"), text + "\n\n", text.replace("\n", "\r\n")]))
    return _Case(text, draw(_specifications()), draw(st.booleans()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("generated")


@given(_cases())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_generated_files_are_read_alike(folder: Path, case: _Case) -> None:
    path = folder / "generated.xyz"
    path.write_bytes(case.text.encode())
    _assert_same(path, case.key_spec, extract_isolated_atoms=case.extract_isolated_atoms, no_data_ok=True)


# --- real and listed files --------------------------------------------------------------------------------------------


def test_golden_cases_are_read_alike(golden_folder: Path) -> None:
    given_settings = json.loads((golden_folder / "settings.json").read_text(encoding="utf-8"))
    keys = given_settings["key_spec"]
    spec = KeySpecification.from_defaults().update(graph_keys=keys["graph_keys"], atom_keys=keys["atom_keys"])
    _assert_same(golden_folder / "input.xyz", spec, extract_isolated_atoms=True, no_data_ok=True)


def test_real_files_are_read_alike_and_without_ase(solvents: list[Path], ase_frames: list[int]) -> None:
    spec = KeySpecification.from_defaults().update(graph_keys={"energy": "energy"}, atom_keys={"forces": "forces"})
    for path in solvents:
        fast = _outcome(path, spec, "extxyz", extract_isolated_atoms=True)
        assert ase_frames == []
        assert fast == _outcome(path, spec, "ase", extract_isolated_atoms=True)
        ase_frames.clear()


def test_the_reference_reader_is_plain_ase(solvents: list[Path]) -> None:
    spec = KeySpecification.from_defaults().update(graph_keys={"energy": "energy"}, atom_keys={"forces": "forces"})
    for path in solvents:
        structures = ase.io.read(path, ":")
        configurations = list(iter_configurations(path, spec, parser="ase"))
        for atoms, configuration in zip(structures, configurations, strict=True):
            assert np.array_equal(configuration.atomic_numbers, atoms.numbers)
            assert np.array_equal(configuration.positions, atoms.positions)
            assert configuration.cell is not None
            assert np.array_equal(configuration.cell, atoms.cell.array)
            assert configuration.pbc == tuple(atoms.pbc)
            assert configuration.properties["energy"] == atoms.get_potential_energy()
            assert np.array_equal(configuration.properties["forces"], atoms.get_forces(apply_constraint=False))


_PLAIN = "1\nProperties=species:S:1:pos:R:3:REF_forces:R:3 REF_energy={}\nH 0 0 0 1 2 3\n"
_TYPED = "1\nProperties=species:S:1:pos:R:3:REF_charges:{}:1 REF_energy=-1.5\nH 0 0 0 {}\n"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(("R", value) for value in ("1d5", "1D-5", "0x10", "1e400", "nan", "inf", "1_0", "1,5", "1e22", "-0", "5 6")),
        *(("I", value) for value in ("2147483647", "2147483648", "-2147483649", "99999999999999999999")),
        *(("I", value) for value in ("12345678", "123456789", "-0", "+7", "1_0", "1.", "1e3")),
        *(("L", value) for value in ("T", "True", "true", "TRUE", "false", "FALSE", "t", "1", "F")),
        *(("S", value) for value in ("0x10", "é", "a\x0bb", "a\x1cb", "a\0b", "x" * 5000)),
    ],
)  # fmt: skip
def test_what_the_c_parser_reads_differently_is_left_to_ase(tmp_path: Path, kind: str, value: str) -> None:
    path = tmp_path / "train.xyz"
    path.write_text(_TYPED.format(kind, value), encoding="utf-8")
    _assert_same(path, KeySpecification.from_defaults())


@pytest.mark.parametrize("value", ["1,5", "1.5"])
def test_a_comma_is_no_decimal_point_whatever_the_locale(value: str) -> None:
    parser = column_parser()
    assert parser is not None
    columns = parser(f"H 0 0 0 {value}\n", 1, (("species", "S", 1), ("pos", "R", 3), ("q", "R", 1)))
    assert (columns is None) == ("," in value)


def test_frames_come_in_order_whoever_reads_them(tmp_path: Path, ase_frames: list[int]) -> None:
    kinds = [
        _PLAIN.format("{}"),
        _TYPED.format("R", "0.5").replace("-1.5", "{}"),
        _TYPED.format("R", "nan").replace("-1.5", "{}"),
    ]
    path = tmp_path / "train.xyz"
    path.write_text("".join(kinds[number % 3].format(number) for number in range(500)), encoding="utf-8")
    configurations = read_configurations(path, KeySpecification.from_defaults())
    assert [configuration.properties["energy"] for configuration in configurations] == list(range(500))
    assert ase_frames == sorted(ase_frames)
    assert all(number % 3 != 0 for number in ase_frames)
    _assert_same(path, KeySpecification.from_defaults())


def test_arrays_are_the_configurations_own(tmp_path: Path) -> None:
    path = tmp_path / "train.xyz"
    path.write_text(_PLAIN.format(1) * 3, encoding="utf-8")
    configurations = read_configurations(path, KeySpecification.from_defaults())
    for configuration in configurations:
        for array in (configuration.positions, configuration.cell, configuration.properties["forces"]):
            assert array is not None
            np.add(array, 1.0, out=array)
    assert all(configuration.positions.tolist() == [[1, 1, 1]] for configuration in configurations)
    assert all(configuration.properties["forces"].tolist() == [[2, 3, 4]] for configuration in configurations)
    assert read_configurations(path, KeySpecification.from_defaults())[0].positions.tolist() == [[0, 0, 0]]


# --- where the C parser is not there ----------------------------------------------------------------------------------


@pytest.fixture
def without_extxyz(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "extxyz", None)
    column_parser.cache_clear()
    yield
    column_parser.cache_clear()


@pytest.mark.usefixtures("without_extxyz")
def test_without_the_extra_ase_reads(tmp_path: Path, ase_frames: list[int]) -> None:
    path = tmp_path / "train.xyz"
    path.write_text(_PLAIN.format(-1.5), encoding="utf-8")
    assert len(read_configurations(path, KeySpecification.from_defaults())) == 1
    assert ase_frames == [0]
    with pytest.raises(ImportError, match=r"mace-core\[fast\]"):
        list(iter_configurations(path, KeySpecification.from_defaults(), parser="extxyz"))


def test_a_version_that_cannot_do_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from extxyz import cextxyz

    column_parser.cache_clear()
    monkeypatch.setattr(cextxyz, "read_frame_dicts", lambda file, comment: (1, {}, {}))
    assert column_parser() is None
    column_parser.cache_clear()


def test_an_unknown_parser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="parser is 'auto', 'ase' or 'extxyz', not 'fast'"):
        iter_configurations(tmp_path / "x.xyz", KeySpecification(), parser="fast")  # type: ignore[arg-type]
