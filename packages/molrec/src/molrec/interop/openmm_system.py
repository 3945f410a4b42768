"""A frame and its force field as an `openmm.System`.

Not expressed: the screened dipole pairs of Drude force fields (``thole`` is no part of ``drude.harmonic``), maps such
as ``cmap``, and boxes that are periodic in some directions only.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from molrec.errors import SchemaError
from molrec.forcefield.forms import Floats
from molrec.forcefield.linking import Linked, LinkedStyle, link
from molrec.forcefield.periodic import Periodicity
from molrec.forcefield.registry import VARIABLES
from molrec.forcefield.tables import numbers
from molrec.forcefield.units import check_same_length
from molrec.forcefield.virtual_sites import VirtualSites
from molrec.formats.forcefield_openmm_names import COULOMB
from molrec.interop.openmm_bonded import BondedForces
from molrec.interop.openmm_import import require_openmm
from molrec.interop.openmm_pair_styles import charges_of
from molrec.interop.openmm_pairs import add_pairs
from molrec.interop.openmm_units import OpenMMUnits
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["box_vectors", "to_openmm"]

#: Off-diagonal part of a box vector, against its length, that is rounding.
_ROUNDING = 1e-12


def to_openmm(
    frame: Frame,
    forcefield: ForceField,
    nonbonded: Literal["stated", "pme"] = "stated",
    linked: Linked | None = None,
) -> Any:
    """Return the `openmm.System` of a system and its force field, in nm, kJ/mol, elementary charges and dalton.

    Its energy is that of `molrec.forcefield.energy`, times the unit of energy. Particles are the rows of ``atoms``, in
    order; every style becomes forces that bear its name. Cutoffs are plain: nothing is shifted, switched, corrected or
    made a reaction field. The Coulomb constant is the force field's, by scaled charges where the force is OpenMM's own
    (`molrec.interop.openmm_pairs`).

    Args:
        frame: ``atoms`` with masses, by a column ``mass`` in dalton or by type, and all that `link` reads; its box.
            Positions are not read.
        forcefield: Read, never changed.
        nonbonded: ``stated``, cutoffs as they are, or ``pme``: ``pair.coul/cut`` is summed over all images, its cutoff
            being where the sum in space ends. ``pair.coul/long/pme`` is so anyway; OpenMM's default tolerance decides
            about grid and splitting unless the style states both.
        linked: What `molrec.forcefield.link` gave for the frame; linked anew when None.

    Raises:
        SchemaError: A force field of another meaning (``reject-ff-other-meaning``), names no table holds
            (``reject-ff-unresolved``), a style nothing prices or OpenMM has no force for (``reject-ff-unpriced``), no
            atoms or others than were linked (``reject-ff-endpoints``), parameters, charges or masses that are missing
            (``reject-ff-missing-parameter``), units that do not convert (``reject-ff-openmm-units``), a box OpenMM does
            not know (``reject-ff-openmm-box``), a cutoff beyond half of it (``reject-ff-openmm-cutoff``), none in a
            periodic one (``reject-ff-no-cutoff``), a word that is no method (``reject-ff-openmm-method``), or the
            refusals of `link`.
        ImportError: OpenMM is not installed.
    """
    openmm = require_openmm()
    if nonbonded not in ("stated", "pme"):
        raise SchemaError(f"nonbonded is 'stated' or 'pme', found {nonbonded!r}", "reject-ff-openmm-method")
    forcefield.require_understood()
    check_same_length(frame.units, forcefield.units)
    linked = link(frame, forcefield) if linked is None else linked
    _refuse_other_atoms(frame, linked)
    _refuse_unresolved(linked)
    units = OpenMMUnits(forcefield.units)
    system = openmm.System()
    vectors = box_vectors(frame, units.factor("length"))
    if vectors is not None:
        system.setDefaultPeriodicBoxVectors(*(openmm.Vec3(*row) for row in vectors.tolist()))
    for mass in _masses(frame, linked, units).tolist():
        system.addParticle(mass)
    bonded = BondedForces(system, forcefield.units, units, periodic=vectors is not None)
    # refuses sites that are built twice, from sites, or from atoms they do not name
    VirtualSites([one for one in linked.styles if one.category == "virtual_site"], Periodicity(None))
    for one in linked.styles:
        match one.label:
            case "constraint.fixed":
                _add_constraints(system, one, units)
            case "drude.harmonic":
                _add_drudes(system, one, linked, units)
            case _ if one.category == "virtual_site":
                _add_sites(system, one, units)
            case _:
                _check_priced(one, linked)
                bonded.add(one)
    add_pairs(system, frame, forcefield, linked, units, nonbonded, periodic=vectors is not None)
    return system


def _refuse_other_atoms(frame: Frame, linked: Linked) -> None:
    count = frame["atoms"].rows if "atoms" in frame else 0
    if not count or count != linked.atoms.count:
        raise SchemaError(
            f"the frame has {count} atoms, and what was linked had {linked.atoms.count}; give a frame with a block "
            "'atoms', and link it",
            "reject-ff-endpoints",
        )


def _refuse_unresolved(linked: Linked) -> None:
    if linked.unresolved:
        shown = "; ".join(str(one) for one in linked.unresolved[:8])
        raise SchemaError(
            f"no table holds what these rows name: {shown}{'; and more' if len(linked.unresolved) > 8 else ''}; add "
            "rows to the force field, or link(..., by_endpoints=True) and pass the result",
            "reject-ff-unresolved",
        )


def _check_priced(one: LinkedStyle, linked: Linked) -> None:
    if one.category not in VARIABLES or one.category in ("pair", "pair14", "constraint"):
        raise SchemaError(
            f"block {one.block!r} has {len(one.rows)} terms of {one.label}, which no force of OpenMM stands for here; "
            "take the block out to build the rest",
            "reject-ff-unpriced",
        )
    weights = one.parameters.get("w") if one.label == "dihedral.charmm" else None
    fourteen = any(table.table.style.category == "pair14" for table in linked.pairs)
    if weights is not None and np.nan_to_num(weights).any() and not fourteen:
        raise SchemaError(
            "terms of dihedral.charmm weigh their 1-4 pair (w is not 0), which is no part of the term; state those "
            "pairs in `pairs` with `is_14` and a pair14 style, or set w to 0",
            "reject-ff-unpriced",
        )


# -- box and particles ------------------------------------------------------------------------------------------------


def box_vectors(frame: Frame, nanometres: float) -> Floats | None:
    """Return the box of a frame as OpenMM wants it: lattice vectors in nm, one a row, reduced.

    Args:
        frame: The frame.
        nanometres: Nanometres in its unit of length.

    Returns:
        Float64 ``(3, 3)``, or None for a frame that is not periodic.

    Raises:
        SchemaError: A box that is periodic in some directions only, or turned so that the first vector is not along x
            or the second not in the plane of x and y (``reject-ff-openmm-box``).
    """
    box = frame.box
    if box is None or not box.boundary.any():
        return None
    rows: Floats = box.vectors.T * nanometres
    turned = np.abs(np.triu(rows, 1)).max() > _ROUNDING * np.abs(rows).max() or (rows.diagonal() <= 0.0).any()
    if turned or not box.boundary.all():
        raise SchemaError(
            f"the box has the vectors {box.vectors.T.tolist()} and the boundary {box.boundary.tolist()}; OpenMM takes "
            "boxes that are periodic in all directions, with a along +x, b in the plane of x and +y, and c towards +z; "
            "turn box and positions",
            "reject-ff-openmm-box",
        )
    reduced: Floats = np.tril(rows)
    # the same lattice with the shortest skews, as OpenMM requires
    for place, shorter in ((2, 1), (2, 0), (1, 0)):
        reduced[place] -= reduced[shorter] * np.rint(reduced[place, shorter] / reduced[shorter, shorter])
    return reduced


def _masses(frame: Frame, linked: Linked, units: OpenMMUnits) -> Floats:
    """Return masses in dalton: those of ``atoms`` are, those of atom types are in the force field's unit."""
    masses = linked.atoms.parameter("mass") * units.factor("mass")
    own = numbers(frame["atoms"], "mass") if "atoms" in frame and "mass" in frame["atoms"] else None
    if own is not None:
        masses = np.where(np.isnan(own), masses, own)
    sites = np.zeros(len(masses), dtype=np.bool_)
    for one in linked.styles:
        if one.category == "virtual_site":
            sites[one.atoms[:, 0]] = True
    masses[sites & np.isnan(masses)] = 0.0
    wrong = np.isnan(masses) | (masses < 0.0) | (sites & (masses != 0.0))
    if wrong.any():
        atom = int(np.argmax(wrong))
        raise SchemaError(
            f"atom {atom} has {'no mass' if np.isnan(masses[atom]) else f'the mass {masses[atom]}'}"
            f"{' and is a virtual site, which has none' if sites[atom] else ''}; give atoms a column `mass` in dalton, "
            "or their types a mass in an atom table",
            "reject-ff-missing-parameter",
        )
    return masses


# -- what is no force -------------------------------------------------------------------------------------------------


def _needed(one: LinkedStyle, name: str) -> Floats:
    values = one.parameters.get(name, np.full(len(one.rows), np.nan))
    if np.isnan(values).any():
        raise SchemaError(
            f"block {one.block!r}, row {int(one.rows[np.argmax(np.isnan(values))])}: a term of {one.label} has no "
            f"{name!r}; give it in the style's table or with the terms",
            "reject-ff-missing-parameter",
        )
    return values


def _add_constraints(system: Any, one: LinkedStyle, units: OpenMMUnits) -> None:
    lengths = _needed(one, "r0") * units.factor("length")
    for (first, second), length in zip(one.atoms.tolist(), lengths.tolist(), strict=True):
        system.addConstraint(first, second, length)


def _add_sites(system: Any, one: LinkedStyle, units: OpenMMUnits) -> None:
    """Add virtual sites; OpenMM places them by the positions as they are, so molecules have to be whole."""
    openmm = require_openmm()
    kinds = {
        "average2": (openmm.TwoParticleAverageSite, 2, ("w1", "w2")),
        "average3": (openmm.ThreeParticleAverageSite, 3, ("w1", "w2", "w3")),
        "outofplane3": (openmm.OutOfPlaneSite, 3, ("w12", "w13", "wcross")),
    }
    kind, count, names = kinds[one.style]
    columns = [one.parameters[name] * (units.factor("1/length") if name == "wcross" else 1.0) for name in names]
    for row, values in zip(one.atoms.tolist(), np.stack(columns, axis=1).tolist(), strict=True):
        system.setVirtualSite(row[0], kind(*row[1 : count + 1], *values))


def _add_drudes(system: Any, one: LinkedStyle, linked: Linked, units: OpenMMUnits) -> None:
    """Add Drude particles with the polarizability that gives their springs, so that OpenMM's integrators know them."""
    charges = charges_of(linked)[one.atoms[:, 1]] * units.factor("charge")
    stiffness = _needed(one, "k") * units.factor("energy/length^2")
    wrong = (charges == 0.0) | (stiffness <= 0.0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SchemaError(
            f"block {one.block!r}, row {int(one.rows[row])}: a Drude particle of charge {charges[row]} on a spring of "
            f"{stiffness[row]} kJ/(mol nm^2); OpenMM knows the spring by charge and polarizability, and neither is 0",
            "reject-ff-missing-parameter",
        )
    force = require_openmm().DrudeForce()
    force.setName(one.label)
    polarizability = COULOMB * charges**2 / stiffness
    for (core, particle), charge, alpha in zip(
        one.atoms.tolist(), charges.tolist(), polarizability.tolist(), strict=True
    ):
        force.addParticle(particle, core, -1, -1, -1, charge, alpha, 1.0, 1.0)
    system.addForce(force)
