"""The ``forcefield`` section, case by case, as a folder and as an archive; and the object that is the same."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr

from .interop import tamper
from .refusals import refused
from .spoiling import array, attribute, delete, drop

Stored = Callable[[Path], Path]


def as_folder(path: Path) -> Path:
    return path


def as_archive(path: Path) -> Path:
    return mr.pack(path)


@pytest.fixture(params=[as_folder, as_archive], ids=["folder", "zip"])
def stored(request: pytest.FixtureRequest) -> Stored:
    """Turn a record folder into the form to be read."""
    form: Stored = request.param
    return form


def read(path: Path) -> mr.ForceField:
    with mr.open(path) as record:
        assert record.forcefield is not None
        return record.forcefield


def round_trip(field: mr.ForceField, tmp_path: Path, stored: Stored) -> mr.ForceField:
    """Write a force field, read it back, and see that object and section are what they were."""
    section = field.to_section()
    path = stored(mr.write(tmp_path / "a.mrec", forcefield=field))
    with mr.open(path) as record:
        assert record.forcefield_section == section
    found = read(path)
    assert found == field
    assert found.to_section() == section
    return found


def minimal() -> mr.ForceField:
    field = mr.ForceField("minimal", "real")
    field.define_style("bond", "harmonic").add("CT-CT", ("CT", "CT"), k=620.0, r0=1.526)
    return field


def complete() -> mr.ForceField:
    field = mr.ForceField(
        "alkanes",
        "real",
        special_bonds={"lj": (0.0, 0.0, 0.5), "coul": (0.0, 0.0, 0.8333)},
        source={"format": "lammps", "uri": "alkanes.in", "sha256": "0" * 64},
    )
    atoms = field.define_style("atom", "full")
    atoms.add("CT", mass=12.011, charge=-0.18, element="C", atomic_number=6, **{"class": "CT"})
    atoms.add("HC", mass=1.008, charge=0.06, element="H", atomic_number=1, **{"class": "HC"})
    bonds = field.define_style("bond", "harmonic")
    bonds.add("CT-CT", ("CT", "CT"), k=536.0, r0=1.529)
    bonds.add("CT-HC", ("CT", "HC"), k=680.0, r0=1.09)
    field.define_style("angle", "harmonic").add("HC-CT-HC", ("HC", "CT", "HC"), k=66.0, theta0=math.radians(107.8))
    dihedrals = field.define_style("dihedral", "periodic")
    dihedrals.add(
        "X", ("", "CT", "CT", ""), k1=0.2, periodicity1=3.0, phase1=0.0, k2=0.1, periodicity2=2.0, phase2=math.pi
    )
    field.define_style("improper", "harmonic").add("imp", ("CT", "HC", "HC", "HC"), k=10.0, chi0=0.0)
    pairs = field.define_style("pair", "lj/cut", {"mixing": "geometric", "cutoff": 10.0})
    pairs.add("CT", ("CT", "CT"), epsilon=0.066, sigma=3.5)
    pairs.add("HC", ("HC", "HC"), epsilon=0.03, sigma=2.5)
    pairs.add("CT-HC", ("CT", "HC"), epsilon=0.05, sigma=2.9)
    field.define_style("pair", "coul/long/pme", {"cutoff": 10.0})
    return field


# -- what must come back ----------------------------------------------------------------------------------------------


def test_ff_minimal(tmp_path: Path, stored: Stored) -> None:
    found = round_trip(minimal(), tmp_path, stored)
    assert found.units == {"preset": "real"}
    row = found.style("bond", "harmonic")["CT-CT"]
    assert (row.endpoints, dict(row)) == (("CT", "CT"), {"k": 620.0, "r0": 1.526})


def test_ff_round_trip(tmp_path: Path, stored: Stored) -> None:
    found = round_trip(complete(), tmp_path, stored)
    assert [(style.category, style.name) for style in found.styles][-2:] == [
        ("pair", "lj/cut"),
        ("pair", "coul/long/pme"),
    ]
    assert found.style("pair", "lj/cut").params == {"mixing": "geometric", "cutoff": 10.0}
    assert len(found.style("pair", "coul/long/pme")) == 0
    assert found.special_bonds == {"lj": (0.0, 0.0, 0.5), "coul": (0.0, 0.0, 0.8333)}
    assert found.style("atom", "full").table().dtype("atomic_number") == "u64"
    assert found.style("atom", "full")["CT"]["atomic_number"] == 6
    assert [row.name for row in found.style("pair", "lj/cut")] == ["CT", "HC", "CT-HC"]


def test_ff_wildcard_endpoints(tmp_path: Path, stored: Stored) -> None:
    found = round_trip(complete(), tmp_path, stored)
    assert found.style("dihedral", "periodic")["X"].endpoints == ("", "CT", "CT", "")


def test_ff_absent_params(tmp_path: Path, stored: Stored) -> None:
    field = mr.ForceField("f", "real")
    style = field.define_style("dihedral", "periodic")
    style.add("one", ("A", "B", "C", "D"), k1=1.0, periodicity1=1.0, phase1=0.0)
    style.add("two", ("A", "B", "B", "D"), k1=1.0, periodicity1=1.0, phase1=0.0, k2=0.5, periodicity2=2.0, phase2=None)
    found = round_trip(field, tmp_path, stored).style("dihedral", "periodic")
    assert "k2" not in found["one"]
    assert found["two"]["k2"] == 0.5
    assert found.parameters == ("k1", "k2", "periodicity1", "periodicity2", "phase1")
    assert found.table().validity("k2").tolist() == [False, True]  # type: ignore[union-attr]


def test_ff_string_params(tmp_path: Path, stored: Stored) -> None:
    field = mr.ForceField("f", "real")
    style = field.define_style("pair", "table", {"special": "lj", "file": "pot.table"})
    style.add("A", ("A", "A"), keyword="ENTRY1", cut=9.0, desc="as measured")
    found = round_trip(field, tmp_path, stored).style("pair", "table")
    assert found.params == {"special": "lj", "file": "pot.table"}
    assert dict(found["A"]) == {"keyword": "ENTRY1", "cut": 9.0, "desc": "as measured"}


@pytest.mark.parametrize(
    ("style", "block"),
    [
        ("harmonic", "bond.harmonic"),
        ("lj/cut", "bond.lj%2Fcut"),
        ("a.b c", "bond.a%2Eb%20c"),
        ("%2F", "bond.%252F"),
        ("Å", "bond.%C3%85"),
        ("A-Z_9", "bond.A-Z_9"),
    ],
)
def test_ff_style_name_encoding(style: str, block: str, tmp_path: Path, stored: Stored) -> None:
    assert mr.style_block_name("bond", style) == block
    assert mr.parse_style_block_name(block) == ("bond", style)
    field = mr.ForceField("f", "real")
    field.define_style("bond", style).add("A", ("A", "B"), k=1.0)
    assert list(round_trip(field, tmp_path, stored).to_section().tables) == [block]


@given(st.text(min_size=1).filter(lambda text: text.isprintable()), st.sampled_from(["bond", "virtual_site", "cmap"]))
def test_every_style_name_has_one_table_name(style: str, category: str) -> None:
    name = mr.style_block_name(category, style)
    assert name.isascii()
    assert "/" not in name
    assert mr.parse_style_block_name(name) == (category, style)


@pytest.mark.parametrize(
    "name", ["bond", "bond.", ".harmonic", "bond.lj/cut", "bond.%2f", "bond.%41", "Bond.x", "bond.%FF", ""]
)
def test_reject_ff_table_name(name: str) -> None:
    with refused("reject-ff-table-name", repr(name)):
        mr.parse_style_block_name(name)


def test_ff_hybrid_styles(tmp_path: Path, stored: Stored) -> None:
    field = mr.ForceField("f", "real")
    field.define_style("bond", "harmonic").add("CT-CT", ("CT", "CT"), k=1.0, r0=1.5)
    field.define_style("bond", "morse").add("CT-CT", ("CT", "CT"), d0=80.0, alpha=2.0, r0=1.5)
    found = round_trip(field, tmp_path, stored)
    assert [style.name for style in found.of_category("bond")] == ["harmonic", "morse"]


def test_ff_per_instance_style(tmp_path: Path, stored: Stored) -> None:
    field = mr.ForceField("f", "real")
    field.define_style("bond", "mmff")
    table = round_trip(field, tmp_path, stored).style("bond", "mmff").table()
    assert (table.rows, table.columns) == (0, ("name", "itom", "jtom"))


def test_ff_unknown_style_with_expression(tmp_path: Path, stored: Stored) -> None:
    expression = "-0.5*K*R0^2*log(1-(r/R0)^2)   + 4*eps*((sigma/r)^12-(sigma/r)^6)+eps"
    field = mr.ForceField("f", "lj")
    style = field.define_style("bond", "fene", expression=expression)
    style.add("A", ("A", "A"), K=30.0, R0=1.5, eps=1.0, sigma=1.0)
    assert round_trip(field, tmp_path, stored).style("bond", "fene").expression == expression


def test_ff_unknown_category(tmp_path: Path, stored: Stored) -> None:
    field = mr.ForceField("f", "real")
    style = field.define_style("cmap", "charmm")
    style.add("ala", ("C", "N", "CA", "C"), grid=json.dumps([0.1] * 4), size=2.0)
    assert round_trip(field, tmp_path, stored).style("cmap", "charmm")["ala"].endpoints == ("C", "N", "CA", "C")


def test_ff_units_preserved(tmp_path: Path, stored: Stored) -> None:
    units = {"length": "nm", "energy": "kJ/mol", "angle": "radian"}
    field = mr.ForceField("f", units)
    field.define_style("bond", "harmonic").add("A", ("A", "B"), r0=0.1090, k=284512.0)
    found = round_trip(field, tmp_path, stored)
    assert found.units == units
    assert dict(found.style("bond", "harmonic")["A"]) == {"r0": 0.1090, "k": 284512.0}


def test_units_beside_a_preset_may_bear_another_name(tmp_path: Path, stored: Stored) -> None:
    units = {"preset": "real", "length": "Å", "energy": "kilocalorie / mole"}
    assert round_trip(mr.ForceField("f", units), tmp_path, stored).units == units


def test_ff_lj_preset(tmp_path: Path, stored: Stored) -> None:
    found = round_trip(mr.ForceField("f", {"preset": "lj", "angle": "radian"}), tmp_path, stored)
    assert found.units == {"preset": "lj", "angle": "radian"}


def test_ff_smirks_keyed(tmp_path: Path, stored: Stored) -> None:
    field = mr.ForceField("openff", {"length": "angstrom", "energy": "kcal/mol", "angle": "radian"})
    style = field.define_style("bond", "harmonic", endpoint_key="smirks")
    style.add("b1", smirks="[#6X4:1]-[#6X4:2]", k=529.2, r0=1.526)
    found = round_trip(field, tmp_path, stored).style("bond", "harmonic")
    assert (found.endpoint_key, found["b1"].endpoints, found["b1"]["smirks"]) == ("smirks", (), "[#6X4:1]-[#6X4:2]")


def test_ff_without_special_bonds(tmp_path: Path, stored: Stored) -> None:
    assert round_trip(minimal(), tmp_path, stored).special_bonds is None


def test_ff_document_keys_preserved(tmp_path: Path, stored: Stored) -> None:
    section = minimal().to_section()
    section.document["licence"] = {"text": "free", "years": [2024, 2026]}
    section.document["styles"][0]["priority"] = 3
    section.tables["notes.by%20hand"] = mr.Block({"text": ["kept"]})
    mr.write(tmp_path / "a.mrec", forcefield=section)
    path = stored(tmp_path / "a.mrec")
    with mr.open(path) as record:
        assert record.forcefield_section == section
    found = read(path)
    assert found.extra == {"licence": {"text": "free", "years": [2024, 2026]}}
    assert found.style("bond", "harmonic").extra == {"priority": 3}
    assert found.to_section() == section


def test_record_with_forcefield(tmp_path: Path, stored: Stored) -> None:
    frame = mr.Frame({"atoms": mr.Block({"x": [0.0], "type": ["CT"]})})
    path = stored(mr.write(tmp_path / "a.mrec", frame=frame, forcefield=complete()))
    with mr.open(path) as record:
        assert record.frame == frame
        assert record.forcefield == complete()
        assert record.sections == ("forcefield", "frame", "meta")


def test_forcefield_only_record(tmp_path: Path, stored: Stored) -> None:
    with mr.open(stored(mr.write(tmp_path / "a.mrec", forcefield=minimal()))) as record:
        assert record.sections == ("forcefield", "meta")
        assert record.frame is None
        assert record.trajectory is None


# -- what is refused, written and read --------------------------------------------------------------------------------


def section_with(change: Callable[[mr.ForceFieldSection], None]) -> mr.ForceFieldSection:
    section = complete().to_section()
    change(section)
    return section


def without_units(section: mr.ForceFieldSection) -> None:
    del section.document["units"]


def conflicting_units(section: mr.ForceFieldSection) -> None:
    section.document["units"] = {"preset": "real", "energy": "kJ/mol"}


def twice(section: mr.ForceFieldSection) -> None:
    section.document["styles"].append({"category": "bond", "style": "harmonic"})


def without_table(section: mr.ForceFieldSection) -> None:
    del section.tables["bond.harmonic"]


def null_name(section: mr.ForceFieldSection) -> None:
    section.tables["bond.harmonic"].set_validity("name", [True, False])


def same_name(section: mr.ForceFieldSection) -> None:
    section.tables["bond.harmonic"]["name"] = ["CT-CT", "CT-CT"]


def fewer_endpoints(section: mr.ForceFieldSection) -> None:
    del section.tables["bond.harmonic"]["jtom"]


def more_endpoints(section: mr.ForceFieldSection) -> None:
    section.tables["bond.harmonic"]["ktom"] = ["A", "B"]


def integer_parameter(section: mr.ForceFieldSection) -> None:
    section.tables["bond.harmonic"]["k"] = np.array([1, 2])


def rounded_parameter(section: mr.ForceFieldSection) -> None:
    section.tables["bond.harmonic"].set_precision("k", 1e-3)


def vector_parameter(section: mr.ForceFieldSection) -> None:
    section.tables["bond.harmonic"]["k"] = np.zeros((2, 3))


def classes_unknown(section: mr.ForceFieldSection) -> None:
    section.document["styles"][1]["endpoint_key"] = "class"
    del section.tables["atom.full"]["class"]


BROKEN: list[tuple[str, Callable[[mr.ForceFieldSection], None], tuple[str, ...]]] = [
    ("reject-ff-no-units", without_units, ("units",)),
    ("reject-ff-units-conflict", conflicting_units, ("energy", "'kJ/mol'", "'kcal/mol'", "'real'")),
    ("reject-ff-duplicate-style", twice, ("bond", "'harmonic'")),
    ("reject-ff-missing-table", without_table, ("'bond.harmonic'",)),
    ("reject-ff-null-name", null_name, ("bond.harmonic", "name")),
    ("reject-ff-duplicate-type-name", same_name, ("bond.harmonic", "'CT-CT'")),
    ("reject-ff-wrong-arity", fewer_endpoints, ("bond.harmonic", "itom, jtom", "itom")),
    ("reject-ff-wrong-arity", more_endpoints, ("bond.harmonic", "ktom")),
    ("reject-ff-param-dtype", integer_parameter, ("bond.harmonic", "'k'", "i64")),
    ("reject-ff-param-dtype", rounded_parameter, ("bond.harmonic", "'k'", "precision")),
    ("reject-ff-param-dtype", vector_parameter, ("bond.harmonic", "'k'", "[2, 3]")),
    ("reject-ff-class-key-without-class", classes_unknown, ("atom.full", "bond.harmonic")),
]


@pytest.mark.parametrize(("rule", "change", "mentions"), BROKEN, ids=[change.__name__ for _, change, _ in BROKEN])
def test_a_broken_section_is_not_written(
    rule: str, change: Callable[[mr.ForceFieldSection], None], mentions: tuple[str, ...], tmp_path: Path
) -> None:
    with refused(rule, *mentions):
        mr.write(tmp_path / "a.mrec", forcefield=section_with(change))
    assert list(tmp_path.iterdir()) == []


_TABLE = "forcefield/bond.harmonic"
TAMPERED: list[tuple[str, list[dict[str, Any]]]] = [
    ("reject-ff-no-units", [drop("forcefield", "units")]),
    ("reject-ff-no-units", [attribute("forcefield", "units", {})]),
    ("reject-ff-units-conflict", [attribute("forcefield", "units", {"preset": "real", "length": "nm"})]),
    ("reject-ff-units-conflict", [attribute("forcefield", "units", {"preset": "real", "length": "furlongs and more"})]),
    ("reject-ff-malformed-document", [attribute("forcefield", "units", {"preset": "imperial"})]),
    ("reject-ff-malformed-document", [drop("forcefield", "name")]),
    ("reject-ff-malformed-document", [attribute("forcefield", "styles", {"bond": "harmonic"})]),
    ("reject-ff-malformed-document", [attribute("forcefield", "special_bonds", {"lj": [0, 0], "coul": [0, 0, 1]})]),
    ("reject-ff-malformed-document", [attribute("forcefield", "source", {"format": "x", "sha256": "abc"})]),
    ("reject-ff-duplicate-style", [attribute("forcefield", "styles", [{"category": "bond", "style": "harmonic"}] * 2)]),
    ("reject-ff-missing-table", [attribute("forcefield", "styles", [{"category": "bond", "style": "morse"}])]),
    ("reject-ff-null-name", [delete(f"{_TABLE}/name")]),
    ("reject-ff-null-name", [array(f"{_TABLE}/_validity/name", "bool", [True, False])]),
    ("reject-ff-duplicate-type-name", [array(f"{_TABLE}/name", "string", ["A", "A"])]),
    ("reject-ff-wrong-arity", [array(f"{_TABLE}/ktom", "string", ["A", "A"])]),
    ("reject-ff-wrong-arity", [array(f"{_TABLE}/_validity/itom", "bool", [True, False])]),
    ("reject-ff-param-dtype", [array(f"{_TABLE}/k", "int64", [1, 2])]),
    ("reject-ff-class-key-without-class", [
        attribute("forcefield", "styles", [
            {"category": "atom", "style": "full"}, {"category": "bond", "style": "harmonic", "endpoint_key": "class"},
        ]),
        delete("forcefield/atom.full/class"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "edits"), TAMPERED)
def test_a_broken_section_is_not_read(rule: str, edits: list[dict[str, Any]], tmp_path: Path, stored: Stored) -> None:
    path = mr.write(tmp_path / "a.mrec", forcefield=complete())
    (path / "forcefield/bond.harmonic/_validity").mkdir(exist_ok=True)
    group = path / "forcefield/bond.harmonic/_validity/zarr.json"
    group.write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    tamper.apply(path, edits)
    with refused(rule, "forcefield", kind=mr.FormatError), mr.open(stored(path)) as record:
        record.forcefield  # noqa: B018 - opened for its checks


# -- which meaning ----------------------------------------------------------------------------------------------------


def test_the_version_of_the_meaning_is_stated(tmp_path: Path) -> None:
    with mr.open(
        mr.write(tmp_path / "a.mrec", forcefield=complete(), meta={"modules": {"mine": {"version": [2, 0]}}})
    ) as record:
        assert record.meta["modules"] == {"mine": {"version": [2, 0]}, "forcefield": {"version": [1, 0]}}
        assert record.forcefield is not None
        record.forcefield.require_understood()


@pytest.mark.parametrize(
    ("modules", "said"), [(None, "no version"), ({"forcefield": {"version": [2, 0]}}, "version 2.0")]
)
def test_another_meaning_is_shown_and_not_priced(
    modules: dict[str, Any] | None, said: str, tmp_path: Path, stored: Stored
) -> None:
    path = mr.write(tmp_path / "a.mrec", forcefield=complete())
    tamper.apply(path, [attribute("forcefield", "units", {"preset": "real", "angle": "degree"})])
    tamper.apply(path, [drop("meta", "modules") if modules is None else attribute("meta", "modules", modules)])
    found = read(stored(path))
    assert found.units == {"preset": "real", "angle": "degree"}
    with refused("reject-ff-other-meaning", "'alkanes'", said):
        found.require_understood()
    copied = read(mr.write(tmp_path / "b.mrec", forcefield=found))
    assert copied.version == found.version


# -- the object -------------------------------------------------------------------------------------------------------


def test_a_style_is_defined_once() -> None:
    field = minimal()
    with refused("reject-ff-duplicate-style", "bond", "'harmonic'"):
        field.define_style("bond", "harmonic")
    with pytest.raises(KeyError, match="bond 'morse'"):
        field.style("bond", "morse")


@pytest.mark.parametrize(
    ("rule", "name", "endpoints", "params"),
    [
        ("reject-ff-duplicate-type-name", "CT-CT", ("CT", "CT"), {}),
        ("reject-ff-wrong-arity", "new", ("CT",), {}),
        ("reject-ff-wrong-arity", "new", ("CT", "CT", "CT"), {}),
        ("reject-ff-wrong-arity", "new", "CT-CT", {}),
        ("reject-ff-wrong-arity", "new", ("CT", None), {}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"k": "stiff"}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"k": True}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"k": [1.0]}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"itom": "CT"}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"atomic_number": 1.5}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"atomic_number": -1}),
        ("reject-ff-parameter", "new", ("CT", "HC"), {"class": 3}),
    ],
)
def test_a_row_that_cannot_be_held(rule: str, name: str, endpoints: Any, params: dict[str, Any]) -> None:
    field = minimal()
    before = field.to_section()
    with refused(rule, "bond", "'harmonic'", f"{name!r}"):
        field.style("bond", "harmonic").add(name, endpoints, **params)
    assert [row.name for row in field.style("bond", "harmonic")] == ["CT-CT"]
    assert field.to_section().tables["bond.harmonic"]["k"].tolist() == before.tables["bond.harmonic"]["k"].tolist()


def test_a_record_without_a_force_field_has_none(tmp_path: Path) -> None:
    mr.write(tmp_path / "a.mrec", frame=mr.Frame({"atoms": mr.Block({"x": [0.0]})}))
    with mr.open(tmp_path / "a.mrec") as record:
        assert record.forcefield is None
        assert record.forcefield_section is None


_WORDS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=8)
_NUMBERS = st.floats(allow_nan=False)


@st.composite
def force_fields(draw: st.DrawFn) -> mr.ForceField:
    """Any force field: known and other categories, numbers and strings, values missing, weights, sources."""
    weights = st.tuples(*[st.floats(0, 1)] * 3)
    units: list[Any] = ["real", "lj", {"length": "nm"}, {"preset": "metal", "charge": "e"}]
    field = mr.ForceField(
        draw(_WORDS),
        draw(st.sampled_from(units)),
        draw(st.none() | st.fixed_dictionaries({"lj": weights, "coul": weights})),
        draw(st.none() | st.fixed_dictionaries({"format": _WORDS})),
    )
    field.extra = draw(st.dictionaries(st.sampled_from(["note", "licence"]), _WORDS))
    categories = {"atom": 0, "bond": 2, "angle": 3, "dihedral": 4, "pair": 2, "cmap": 4}
    for category, style in draw(
        st.lists(st.tuples(st.sampled_from(sorted(categories)), _WORDS), unique=True, max_size=4)
    ):
        made = field.define_style(
            category,
            style,
            draw(st.dictionaries(st.sampled_from(["cutoff", "a"]), _NUMBERS.filter(math.isfinite) | _WORDS)),
            draw(st.none() | _WORDS),
        )
        numbers = draw(st.lists(st.sampled_from(["k", "r0", "Ω"]), unique=True))
        strings = draw(st.lists(st.sampled_from(["desc", "keyword", "é"]), unique=True))
        for name in draw(st.lists(_WORDS, unique=True, max_size=4)):
            ends = draw(st.lists(_WORDS | st.just(""), min_size=categories[category], max_size=categories[category]))
            params: dict[str, Any] = {key: draw(st.none() | _NUMBERS) for key in numbers}
            params |= {key: draw(st.none() | _WORDS) for key in strings}
            made.add(name, ends, **params)
    return field


@given(force_fields())
def test_both_compositions_are_identities(field: mr.ForceField) -> None:
    section = field.to_section()
    again = mr.ForceField.from_section(section)
    assert again == field
    assert again.to_section() == section
    assert [style.name for style in again.styles] == [style.name for style in field.styles]
    for style in field.styles:
        assert [(row.name, row.endpoints, dict(row)) for row in again.style(style.category, style.name)] == [
            (row.name, row.endpoints, dict(row)) for row in style
        ]
