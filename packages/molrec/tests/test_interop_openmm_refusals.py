"""Systems OpenMM cannot compute as they are stated, refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.forcefield import link

from .openmm_engine import SKEWED, check, cluster, frame_of, relation
from .refusals import refused

pytestmark = pytest.mark.engines

openmm = pytest.importorskip("openmm")

from molrec.interop.openmm import to_openmm  # noqa: E402
from molrec.interop.openmm_system import box_vectors  # noqa: E402


def simple(**params: Any) -> tuple[mr.Frame, mr.ForceField]:
    frame = frame_of(cluster(np.random.default_rng(1)))
    frame["atoms"]["mass"] = np.full(8, 12.0)
    field = mr.ForceField("test", "real")
    pairs = field.define_style("pair", "lj/cut", {"mixing": "arithmetic", **params})
    pairs.add("A", ("A", "A"), epsilon=0.2, sigma=0.9)
    pairs.add("B", ("B", "B"), epsilon=0.1, sigma=1.2)
    return frame, field


def test_a_force_field_of_another_meaning_is_refused() -> None:
    frame, field = simple()
    field.version = None
    with refused("reject-ff-other-meaning", "no version"):
        to_openmm(frame, field)


def test_units_that_openmm_cannot_count_in_are_refused() -> None:
    for units, mention in (
        ("lj", "no length"),
        ("cgs", "statcoulomb"),
        ({"length": "nm", "energy": "kJ/mol", "angle": "degree"}, "degree"),
    ):
        frame, field = simple()
        field.units = {"preset": units} if isinstance(units, str) else units
        field.define_style("pair", "coul/cut", {"coulomb": 1.0})
        with refused("reject-ff-openmm-units", mention):
            to_openmm(frame, field)


def test_positions_in_other_units_are_refused() -> None:
    frame, field = simple()
    frame.meta["units"] = {"length": "nm"}
    with refused("reject-ff-units-differ", "nm", "angstrom"):
        to_openmm(frame, field)


def test_boxes_openmm_does_not_know_are_refused() -> None:
    frame, field = simple(cutoff=2.0)
    frame.box = mr.Box(np.eye(3) * 9.0, boundary=[True, True, False])
    with refused("reject-ff-openmm-box", "[True, True, False]"):
        to_openmm(frame, field)
    frame.box = mr.Box(SKEWED.T)
    with refused("reject-ff-openmm-box", "turn box and positions"):
        to_openmm(frame, field)
    frame.box = None
    field.define_style("pair", "coul/long/pme", {"cutoff": 2.0})
    with refused("reject-ff-openmm-box", "PME", "no periodic box"):
        to_openmm(frame, field)


@given(
    st.tuples(*[st.floats(0.5, 5.0)] * 3, *[st.floats(-9.0, 9.0)] * 3),
)
def test_a_reduced_box_is_the_same_lattice(parts: tuple[float, ...]) -> None:
    vectors = np.diag(parts[:3])
    vectors[0, 1], vectors[0, 2], vectors[1, 2] = parts[3:]
    reduced = box_vectors(mr.Frame(box=mr.Box(vectors)), 1.0)
    assert reduced is not None
    steps = reduced @ np.linalg.inv(vectors.T)
    assert np.abs(steps - np.rint(steps)).max() < 1e-9
    assert abs(np.linalg.det(steps)) == pytest.approx(1.0)
    openmm.System().setDefaultPeriodicBoxVectors(*reduced.tolist())  # it refuses what is not reduced


def test_skewed_boxes_are_reduced() -> None:
    frame, field = simple(cutoff=2.0)
    frame.box = mr.Box(np.array([[6.5, 6.0, 9.0], [0.0, 6.5, -5.0], [0.0, 0.0, 6.5]]))
    check(frame, field)


def test_cutoffs_openmm_does_not_know_are_refused() -> None:
    frame, field = simple(cutoff=3.5)
    frame.box = mr.Box(SKEWED)
    with refused("reject-ff-openmm-cutoff", "pair.lj/cut", "0.35", "0.65"):
        to_openmm(frame, field)
    field.style("pair", "lj/cut").params.pop("cutoff")
    with refused("reject-ff-no-cutoff", "pair.lj/cut"):
        to_openmm(frame, field)


def test_pme_of_what_is_no_coulomb_sum_is_refused() -> None:
    frame, field = simple(cutoff=2.0)
    frame.box = mr.Box(SKEWED)
    coulomb = field.define_style("pair", "coul/cut")
    with refused("reject-ff-no-cutoff", "pair.coul/cut", "PME"):
        to_openmm(frame, field, nonbonded="pme")
    coulomb.params |= {"cutoff": 2.0, "delta": 0.1}
    with refused("reject-ff-no-cutoff", "no delta"):
        to_openmm(frame, field, nonbonded="pme")


def test_missing_masses_and_charges_are_refused() -> None:
    frame, field = simple()
    frame["atoms"].set_validity("mass", [True] * 3 + [False] * 5)
    with refused("reject-ff-missing-parameter", "atom 3", "no mass"):
        to_openmm(frame, field)
    frame["atoms"].set_validity("mass", None)
    frame["atoms"].set_validity("charge", [True] * 7 + [False])
    field.define_style("pair", "coul/cut")
    with refused("reject-ff-missing-parameter", "1 atoms have no charge", "atom 7"):
        to_openmm(frame, field)


def test_styles_nobody_can_express_are_refused_by_name() -> None:
    for category, style in (("bond", "fene"), ("cmap", "grid"), ("constraint", "soft")):
        frame, field = simple()
        frame[f"{category}s"] = relation((0, 1), type=["one"])
        field.define_style(category, style).add("one", ("", ""), k=1.0)
        with refused("reject-ff-unpriced", f"{category}.{style}"):
            to_openmm(frame, field)


def test_other_atoms_than_were_linked_are_refused() -> None:
    frame, field = simple()
    with refused("reject-ff-endpoints", "3 atoms", "had 8"):
        to_openmm(frame_of(np.eye(3)), field, linked=link(frame, field))
    with refused("reject-ff-endpoints", "0 atoms"):
        to_openmm(mr.Frame(), field)


def test_names_no_table_holds_are_refused() -> None:
    frame, field = simple()
    frame["bonds"] = relation((0, 1), type=["lost"])
    field.define_style("bond", "harmonic").add("one", ("", ""), k=1.0, r0=1.0)
    with refused("reject-ff-unresolved", "bonds", "'lost'"):
        to_openmm(frame, field)


def test_pairs_of_types_nothing_prices_are_refused_where_they_may_meet() -> None:
    frame, field = simple()
    del field.style("pair", "lj/cut").params["mixing"]
    with refused("reject-ff-unresolved", "'A'", "'B'", "16 pairs"):
        to_openmm(frame, field)
    frame["atoms"]["type"] = ["A"] * 7 + ["B"]
    # the only B meets nobody
    frame["exclusions"] = relation(*((atom, 7) for atom in range(7)))
    check(frame, field)


def test_a_near_pair_nothing_prices_is_refused() -> None:
    frame, field = simple()
    del field.style("pair", "lj/cut").params["mixing"]
    frame["atoms"]["type"] = ["A"] * 7 + ["B"]
    frame["pairs"] = relation(*((atom, 7) for atom in range(7)))
    with refused("reject-ff-unresolved", "atoms 0 and 7"):
        to_openmm(frame, field)


def test_a_drude_particle_without_charge_is_refused() -> None:
    frame, field = simple()
    frame["drudes"] = relation((0, 1), k=[5.0])
    frame["atoms"]["charge"] = np.zeros(8)
    field.define_style("drude", "harmonic")
    with refused("reject-ff-missing-parameter", "drudes", "charge 0.0"):
        to_openmm(frame, field)


def test_another_method_is_refused() -> None:
    with refused("reject-ff-openmm-method", "'reaction-field'"):
        to_openmm(*simple(), nonbonded="reaction-field")  # type: ignore[arg-type]
