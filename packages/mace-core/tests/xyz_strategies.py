"""Hypothesis strategies: extended XYZ as people and programs write it, and as nobody should."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from mace_core.data import KeySpecification

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
    *("energy", "REF_energy", "free_energy", "REF_stress", "REF_virials", "stress", "virial", "dipole"),
    *("polarizability", "magmom", "polarization", "charges", "forces", "head", "total_charge", "total_spin", "elec_temp"),
    *("config_type", "config_weight", "config_energy_weight", "config_forces_weight", "config_dipole_weight", "uid", "Comp", "note"),
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


class Case(NamedTuple):
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
def cases(draw: st.DrawFn) -> Case:
    """Return a file of a few frames, most of them well-formed, and a key specification that has much to find in it."""
    frames = draw(st.lists(_frames(), min_size=1, max_size=4))
    if draw(st.booleans()):
        frames *= 2
    text = "".join(frames)
    text = draw(st.sampled_from([text, text, text, text.rstrip("\n"), text + "\n\n", text.replace("\n", "\r\n")]))
    return Case(text, draw(_specifications()), draw(st.booleans()))
