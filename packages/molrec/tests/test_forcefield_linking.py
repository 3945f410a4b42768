"""Linking by name: which row prices which term, what overrides it, what is left over."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.forcefield import Linked, link
from molrec.forcefield.pair_tables import PairTable, mixed

from .refusals import refused

_ENDS = ("atomi", "atomj", "atomk", "atoml")


def _relation(atoms: list[list[int]], **columns: Any) -> mr.Block:
    ends = np.array(atoms, dtype=np.uint64).reshape(len(atoms), -1)
    return mr.Block({**{_ENDS[place]: ends[:, place] for place in range(ends.shape[1])}, **columns})


def _frame(types: list[str], **relations: mr.Block) -> mr.Frame:
    return mr.Frame({"atoms": mr.Block({"type": types}), **relations})


def _field() -> mr.ForceField:
    field = mr.ForceField("test", "real")
    field.define_style("atom", "full")
    return field


def _numbers(linked: Linked, category: str, style: str, name: str) -> list[float]:
    values: list[float] = linked.style(category, style).parameters[name].tolist()
    return values


# -- bonded terms -----------------------------------------------------------------------------------------------------


def test_rows_get_the_parameters_of_the_name_they_bear() -> None:
    field = _field()
    style = field.define_style("bond", "harmonic")
    style.add("b", ("B", "B"), k=2.0, r0=1.1)
    style.add("a", ("A", "B"), k=1.0)
    bonds = _relation([[0, 1], [1, 2], [2, 0]], type=["a", "b", "a"])
    linked = link(_frame(["A", "B", "B"], bonds=bonds), field)
    terms = linked.style("bond", "harmonic")
    assert terms.rows.tolist() == [0, 1, 2]
    assert terms.rows.dtype == terms.atoms.dtype == np.int64
    assert terms.atoms.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert terms.parameters["k"].tolist() == [1.0, 2.0, 1.0]
    assert np.isnan(terms.parameters["r0"]).tolist() == [True, False, True]
    assert linked.unresolved == ()


def test_styles_that_hold_one_name_add_up_without_a_style_column() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "harmonic").add("b", ("A", "A"), k=1.0, r0=1.0)
    field.define_style("bond", "morse").add("b", ("A", "A"), D=1.0, alpha=1.0, r0=1.0)
    linked = link(_frame(["A", "A"], bonds=_relation([[0, 1]], type=["b"])), field)
    assert [one.label for one in linked.styles] == ["bond.harmonic", "bond.morse"]


def test_the_style_column_picks_one_and_a_null_picks_none() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "harmonic").add("b", ("A", "A"), k=1.0, r0=1.0)
    field.define_style("bond", "morse").add("b", ("A", "A"), D=1.0, alpha=1.0, r0=1.0)
    bonds = _relation([[0, 1]] * 3, type=["b", "b", "b"], style=["morse", "harmonic", "?"])
    bonds.set_validity("style", np.array([True, True, False]))
    linked = link(_frame(["A", "A"], bonds=bonds), field)
    assert linked.style("bond", "morse").rows.tolist() == [0, 2]
    assert linked.style("bond", "harmonic").rows.tolist() == [1, 2]


def test_columns_of_the_relation_override_the_table_where_they_say_something() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("angle", "harmonic").add("a", ("A", "A", "A"), k=1.0, theta0=2.0)
    angles = _relation([[0, 1, 2]] * 2, type=["a", "a"], k=[7.0, 9.0], remark=[5.0, 5.0])
    angles.set_validity("k", np.array([False, True]))
    linked = link(_frame(["A"] * 3, angles=angles), field)
    assert _numbers(linked, "angle", "harmonic", "k") == [1.0, 9.0]
    assert _numbers(linked, "angle", "harmonic", "theta0") == [2.0, 2.0]
    assert "remark" not in linked.style("angle", "harmonic").parameters


def test_a_style_without_rows_takes_everything_from_the_relation() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("dihedral", "periodic")
    columns = {"k1": [1.0, 2.0], "periodicity1": [3.0, 2.0], "phase1": [0.0, 0.0]}
    dihedrals = _relation([[0, 1, 2, 3]] * 2, **columns)
    dihedrals.set_validity("phase1", np.array([True, False]))
    linked = link(_frame(["A"] * 4, dihedrals=dihedrals), field)
    assert linked.style("dihedral", "periodic").rows.tolist() == [0]
    assert [(one.block, one.name, one.count, one.first) for one in linked.unresolved] == [("dihedrals", "", 1, 1)]


def test_a_row_that_names_a_style_and_brings_all_of_its_parameters_needs_no_type() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "harmonic").add("b", ("A", "A"), k=1.0, r0=1.0)
    bonds = _relation([[0, 1]], style=["harmonic"], k=[5.0], r0=[1.5])
    assert _numbers(link(_frame(["A", "A"], bonds=bonds), field), "bond", "harmonic", "k") == [5.0]


def test_an_unregistered_style_takes_the_names_of_its_expression() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "fene", {"scale": 2.0}, "scale*k*r^2-rmax")
    bonds = _relation([[0, 1]], k=[5.0], rmax=[1.5], scale=[3.0], other=[4.0])
    linked = link(_frame(["A", "A"], bonds=bonds), field)
    assert sorted(linked.style("bond", "fene").parameters) == ["k", "rmax"]


def test_tables_of_smirks_are_linked_by_name() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("bond", "harmonic", endpoint_key="smirks").add("b1", smirks="[#6:1]-[#6:2]", k=3.0, r0=1.5)
    pairs = field.define_style("pair", "lj/cut", {"mixing": "arithmetic"}, endpoint_key="smirks")
    pairs.add("n1", smirks="[#6:1]", epsilon=0.1, sigma=3.0)
    linked = link(_frame(["n1", "n2"], bonds=_relation([[0, 1]], type=["b1"])), field)
    assert _numbers(linked, "bond", "harmonic", "k") == [3.0]
    assert [str(one) for one in linked.unresolved] == ["atoms: type 'n2' in 1 rows from row 1"]


def test_what_resolves_to_nothing_is_reported_not_refused() -> None:
    field = _field()
    field.style("atom", "full").add("A")
    field.define_style("bond", "harmonic").add("b", ("A", "A"), k=1.0, r0=1.0)
    bonds = _relation([[0, 1]] * 5, type=["b", "x", "x", "b", ""], style=["", "harmonic", "harmonic", "morse", ""])
    linked = link(_frame(["A", "?"], bonds=bonds, angles=_relation([[0, 1, 0]])), field)
    found = [(one.block, one.name, one.style, one.count, one.first) for one in linked.unresolved]
    assert found == [
        ("atoms", "?", "", 1, 1),
        ("bonds", "", "", 1, 4),
        ("bonds", "b", "morse", 1, 3),
        ("bonds", "x", "harmonic", 2, 1),
    ]


def test_a_relation_without_types_and_without_styles_is_only_topology() -> None:
    assert link(_frame(["A", "A"], bonds=_relation([[0, 1]])), _field()).unresolved == ()


def test_a_category_of_its_own_is_linked_through_its_plural() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("cmap", "charmm").add("m", ("A", "A", "A", "A"), grid="0 0 0 0", scale=2.0)
    linked = link(_frame(["A"] * 4, cmaps=_relation([[0, 1, 2, 3]], type=["m"])), field)
    assert linked.style("cmap", "charmm").parameters["scale"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("spoil", "mentions"),
    [
        (lambda block: block.__delitem__("atomj"), ("atomj", "missing")),
        (lambda block: block.__setitem__("atomj", np.array([9], dtype=np.uint64)), ("atomj", "9", "2 atoms")),
        (lambda block: block.set_validity("atomi", np.array([False])), ("atomi", "null", "row 0")),
        (lambda block: block.set_target("atomi", "beads"), ("atomi", "'beads'")),
    ],
)
def test_endpoints_that_are_no_atoms_are_refused(spoil: Any, mentions: tuple[str, ...]) -> None:
    bonds = _relation([[0, 1]], type=["b"])
    spoil(bonds)
    with refused("reject-ff-endpoints", "'bonds'", *mentions):
        link(_frame(["A", "A"], bonds=bonds), _field())


# -- charges ----------------------------------------------------------------------------------------------------------


def test_charges_of_the_atoms_come_before_those_of_their_types() -> None:
    field = _field()
    field.style("atom", "full").add("A", charge=0.5, mass=12.0)
    field.style("atom", "full").add("B", mass=1.0)
    frame = _frame(["A", "B", "A"])
    frame["atoms"]["charge"] = [-1.0, 0.25, 0.0]
    frame["atoms"].set_validity("charge", np.array([True, True, False]))
    atoms = link(frame, field).atoms
    assert atoms.parameter("charge").tolist() == [-1.0, 0.25, 0.5]
    assert atoms.parameter("mass").tolist() == [12.0, 1.0, 12.0]


def test_two_atom_tables_that_disagree_are_refused() -> None:
    field = _field()
    field.style("atom", "full").add("A", charge=0.5)
    field.define_style("atom", "other").add("A", charge=0.6)
    with refused("reject-ff-atom-conflict", "'A'", "0.5", "0.6"):
        link(_frame(["A"]), field).atoms.parameter("charge")


# -- typing by endpoints ----------------------------------------------------------------------------------------------


def _typed(field: mr.ForceField, types: list[str], **relations: mr.Block) -> Linked:
    return link(_frame(types, **relations), field, by_endpoints=True)


def test_endpoints_fit_forward_and_backward_and_the_fewest_wildcards_win() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("dihedral", "rb")
    style.add("any", ("", "B", "C", ""), c0=1.0)
    style.add("half", ("A", "B", "C", ""), c0=2.0)
    style.add("later", ("", "B", "C", "D"), c0=3.0)
    style.add("exact", ("D", "C", "B", "A"), c0=4.0)
    atoms = [[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 0], [3, 1, 2, 3], [3, 1, 2, 0]]
    linked = _typed(field, ["A", "B", "C", "D"], dihedrals=_relation(atoms))
    assert _numbers(linked, "dihedral", "rb", "c0") == [4.0, 4.0, 2.0, 3.0, 1.0]


def test_impropers_fit_forward_only() -> None:
    field = mr.ForceField("test", "real")
    field.define_style("improper", "harmonic").add("i", ("A", "B", "B", "C"), k=1.0, chi0=0.0)
    linked = _typed(field, ["A", "B", "C"], impropers=_relation([[0, 1, 1, 2], [2, 1, 1, 0]]))
    assert linked.style("improper", "harmonic").rows.tolist() == [0]
    assert [(one.block, one.count) for one in linked.unresolved] == [("impropers", 1)]


def test_endpoints_may_name_classes() -> None:
    field = _field()
    for name, group in (("opls_135", "CT"), ("opls_140", "HC")):
        field.style("atom", "full").add(name, **{"class": group})
    field.define_style("bond", "harmonic", endpoint_key="class").add("CT-HC", ("HC", "CT"), k=1.0, r0=1.0)
    linked = _typed(field, ["opls_135", "opls_140"], bonds=_relation([[0, 1], [1, 1]]))
    assert linked.style("bond", "harmonic").rows.tolist() == [0]


def test_a_name_that_resolves_is_not_typed_anew() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("bond", "harmonic")
    style.add("fits", ("A", "A"), k=1.0, r0=1.0)
    style.add("named", ("B", "B"), k=2.0, r0=1.0)
    linked = _typed(field, ["A", "A"], bonds=_relation([[0, 1], [0, 1]], type=["named", "unknown"]))
    assert _numbers(linked, "bond", "harmonic", "k") == [2.0, 1.0]


@given(data=st.data())
def test_typing_finds_what_a_plain_search_finds(data: st.DataObject) -> None:
    category = data.draw(st.sampled_from(["angle", "improper"]))
    arity = {"angle": 3, "improper": 4}[category]
    name = st.sampled_from(["", "A", "B", "C"])
    rows = data.draw(st.lists(st.lists(name, min_size=arity, max_size=arity), min_size=1, max_size=12))
    field = mr.ForceField("test", "real")
    style = field.define_style(category, "own", expression="0")
    for number, ends in enumerate(rows):
        style.add(str(number), ends, place=float(number))
    types = ["A", "B", "C", "Z"]
    one = st.lists(st.integers(0, 3), min_size=arity, max_size=arity)
    atoms = data.draw(st.lists(one, min_size=1, max_size=8))
    wanted = []
    for term in atoms:
        names = [types[atom] for atom in term]
        ways = [names] if category == "improper" else [names, names[::-1]]
        fitting = [
            (ends.count(""), number)
            for number, ends in enumerate(rows)
            if any(all(end in ("", own) for end, own in zip(ends, way, strict=True)) for way in ways)
        ]
        if fitting:
            wanted.append(min(fitting)[1])
    linked = _typed(field, types, **{f"{category}s": _relation(atoms)})
    found = [] if not linked.styles else linked.styles[0].parameters["place"].tolist()
    assert found == wanted


# -- pairs ------------------------------------------------------------------------------------------------------------


def _pair_table(field: mr.ForceField, types: list[str]) -> PairTable:
    (table,) = link(_frame(types), field).pairs
    return table


def _codes(table: PairTable, *names: str) -> Any:
    return np.array([table.labels.index(name) for name in names])


def test_a_cross_row_comes_before_mixing_in_either_order() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("pair", "lj/cut", {"mixing": "arithmetic"})
    style.add("A", ("A", "A"), epsilon=0.1, sigma=3.0)
    style.add("B", ("B", "B"), epsilon=0.4, sigma=2.0)
    style.add("C", ("C", "C"), epsilon=0.9, sigma=1.0)
    style.add("any name", ("B", "A"), epsilon=5.0, sigma=6.0)
    table = _pair_table(field, ["A", "B", "C"])
    parameters, priced = table.parameters(_codes(table, "A", "B", "A", "B"), _codes(table, "B", "A", "C", "C"))
    assert priced.all()
    assert parameters["epsilon"] == pytest.approx([5.0, 5.0, 0.3, 0.6])
    assert parameters["sigma"] == pytest.approx([6.0, 6.0, 2.0, 1.5])


def test_wildcards_of_pairs_are_tried_before_mixing() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("pair", "lj/cut", {"mixing": "geometric"})
    style.add("all", ("", ""), epsilon=1.0, sigma=1.0)
    style.add("A", ("A", "A"), epsilon=2.0, sigma=1.0)
    style.add("B any", ("", "B"), epsilon=3.0, sigma=1.0)
    style.add("A any", ("A", ""), epsilon=4.0, sigma=1.0)
    table = _pair_table(field, ["A", "B", "C"])
    parameters, _ = table.parameters(_codes(table, "A", "A", "C", "C"), _codes(table, "A", "B", "A", "C"))
    assert parameters["epsilon"].tolist() == [2.0, 3.0, 4.0, 1.0]


def test_without_mixing_a_pair_no_row_names_has_nothing() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("pair", "buck")
    style.add("A", ("A", "A"), a=1.0, rho=1.0, c=1.0)
    style.add("B", ("B", "B"), a=1.0, rho=1.0, c=1.0)
    table = _pair_table(field, ["A", "B"])
    parameters, priced = table.parameters(_codes(table, "A", "A"), _codes(table, "A", "B"))
    assert priced.tolist() == [True, False]
    assert np.isnan(parameters["a"]).tolist() == [False, True]


@given(st.lists(st.one_of(st.just(0.0), st.floats(0.01, 10.0)), min_size=4, max_size=4))
def test_mixing_alike_changes_nothing(numbers: list[float]) -> None:
    epsilon, sigma = np.array(numbers[:2]), np.array(numbers[2:])
    for rule in ("arithmetic", "geometric", "sixthpower"):
        depth, size = mixed(rule, epsilon, epsilon, sigma, sigma)
        assert depth == pytest.approx(
            np.where((sigma == 0.0) & (rule == "sixthpower"), 0.0, epsilon), rel=1e-9, abs=1e-9
        )
        assert size == pytest.approx(sigma, rel=1e-9, abs=1e-9)


def test_a_mixing_rule_that_is_none_is_refused() -> None:
    one = np.ones(1)
    with refused("reject-ff-malformed-document", "'waldman'"):
        mixed("waldman", one, one, one, one)


def test_rows_that_price_one_pair_differently_are_refused() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("pair", "lj/cut")
    style.add("A-B", ("A", "B"), epsilon=0.1, sigma=3.0)
    style.add("B-A", ("B", "A"), epsilon=0.2, sigma=3.0)
    with refused("reject-ff-pair-conflict", "'A-B'", "'B-A'", "'epsilon'", "pair.lj/cut"):
        link(_frame(["A"]), field)


def test_a_row_that_lacks_what_another_states_is_a_conflict_too() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("pair", "lj/cut")
    style.add("A-B", ("A", "B"), epsilon=0.1, sigma=3.0)
    style.add("B-A", ("B", "A"), epsilon=0.1)
    with refused("reject-ff-pair-conflict", "'sigma'"):
        link(_frame(["A"]), field)


def test_rows_that_restate_a_pair_are_one() -> None:
    field = mr.ForceField("test", "real")
    style = field.define_style("pair", "lj/cut")
    style.add("A-B", ("A", "B"), epsilon=0.1, sigma=3.0, desc="one")
    style.add("B-A", ("B", "A"), epsilon=0.1, sigma=3.0, desc="other")
    table = _pair_table(field, ["A", "B"])
    assert table.parameters(_codes(table, "B"), _codes(table, "A"))[0]["epsilon"].tolist() == [0.1]


# -- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_million_bonded_terms_are_linked_in_about_a_second() -> None:
    count = 333_334
    random = np.random.default_rng(1)
    field = mr.ForceField("large", "real")
    relations: dict[str, mr.Block] = {}
    for category, style, arity in (("bond", "harmonic", 2), ("angle", "harmonic", 3), ("dihedral", "opls", 4)):
        table = field.define_style(category, style)
        names = np.array([f"{category}-{number}" for number in range(300)], dtype=np.dtypes.StringDType())
        for name in names.tolist():
            table.add(name, ["A"] * arity, k=1.0, k1=1.0)
        block = mr.Block({_ENDS[place]: random.integers(0, count, count).astype(np.uint64) for place in range(arity)})
        block["type"] = names[random.integers(0, 300, count)]
        relations[f"{category}s"] = block
    frame = mr.Frame({"atoms": mr.Block({"type": np.full(count, "A", dtype=np.dtypes.StringDType())}), **relations})
    began = time.perf_counter()
    linked = link(frame, field)
    took = time.perf_counter() - began
    assert sum(len(one.rows) for one in linked.styles) == 3 * count
    assert took < 5.0, "a quiet machine takes about 0.7 s"
