"""The non-bonded forces of force-field XML: one force where it says all, else Lennard-Jones in a force of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from molrec.formats.forcefield_lammps_pairs import mixed
from molrec.formats.forcefield_openmm_names import COULOMB
from molrec.formats.forcefield_rows import number_text
from molrec.formats.forcefield_source import not_in_target
from molrec.model.forcefield import ForceField, Style
from molrec.model.forcefield_section import ANNOTATION_COLUMNS

__all__ = ["nonbonded_lines"]

_TARGET = "OpenMM"
_WELL = ("epsilon", "sigma")
#: How far another Coulomb constant may be from OpenMM's own, which cannot be chosen.
_SAME_CONSTANT = 1e-10

type Well = dict[str, float]


def nonbonded_lines(forcefield: ForceField) -> Iterator[str]:
    """Yield the lines of the non-bonded forces; none for a force field without pair styles.

    Raises:
        SchemaError: OpenMM cannot compute something (``reject-ff-target``).
    """
    styles = {
        (style.category, style.name): style for style in forcefield.styles if style.category in ("pair", "pair14")
    }
    if not styles:
        return
    known = (("pair", "lj/cut"), ("pair", "coul/cut"), ("pair14", "lj/cut"))
    for (category, name), style in styles.items():
        if (category, name) not in known or style.expression is not None or style.endpoint_key != "type":
            raise not_in_target(
                _TARGET, f"style {category} {name!r}", "its non-bonded forces are lj/cut and coul/cut, by type"
            )
    lennard_jones, coulomb, near = (styles.get(key) for key in known)
    weights = _weights(forcefield, near=near is not None)
    _check_settings(lennard_jones, coulomb, near)
    wells = {} if lennard_jones is None else _wells(lennard_jones)
    near_wells = None if near is None else _wells(near)
    selves = {first: well for (first, second), well in wells.items() if first == second}
    crosses = _crosses(lennard_jones, wells, selves)
    separate = lennard_jones is not None and (bool(crosses) or near is not None or coulomb is None)
    charges = {
        row.name: float(row["charge"]) for style in forcefield.of_category("atom") for row in style if "charge" in row
    }
    names = [row.name for style in forcefield.of_category("atom") for row in style]
    if coulomb is not None:
        scales = {"coulomb14scale": weights["coul"], "lj14scale": 1.0 if separate else weights["lj"]}
        blank = {"sigma": 1.0, "epsilon": 0.0}
        atoms = dict.fromkeys(names, blank) if separate or lennard_jones is None else selves
        yield from _atoms_force("NonbondedForce", forcefield, scales, atoms, charges)
    if separate:
        own = {name: dict(well) for name, well in selves.items()}
        if near_wells is not None:
            _add_near(own, near_wells, crosses)
        scales = {"lj14scale": weights["lj"] if near is None else 1.0}
        yield from _atoms_force("LennardJonesForce", forcefield, scales, own, None, crosses)


def _weights(forcefield: ForceField, *, near: bool) -> dict[str, float]:
    """Return the weights of 1-4 pairs."""
    stated = forcefield.special_bonds
    if stated is None:
        raise not_in_target(
            _TARGET, "a force field without special_bonds", "it scales 1-4 pairs always; state the weights"
        )
    for key, weights in stated.items():
        if weights[0] != 0.0 or weights[1] != 0.0:
            raise not_in_target(
                _TARGET, f"special_bonds {key} {list(weights)}", "pairs one and two bonds apart are excluded"
            )
    if near and stated["lj"][2] != 0.0:
        raise not_in_target(_TARGET, "1-4 pairs that have a pair14 style and a weight", "it has one or the other")
    return {key: weights[2] for key, weights in stated.items()}


def _check_settings(lennard_jones: Style | None, coulomb: Style | None, near: Style | None) -> None:
    for style in (lennard_jones, near):
        for key, value in style.params.items() if style is not None else ():
            # the cutoff is a setting of the run in OpenMM, given when a system is made
            if key in ("cutoff", "special", "mixing") or (key == "shift" and value == 0.0):
                continue
            if (key, value) not in (("n", 12.0), ("m", 6.0)):
                raise not_in_target(
                    _TARGET, f"pair style 'lj/cut' with {key} {value!r}", "its form is 12-6, not shifted"
                )
    if near is not None and (lennard_jones is None or near.params.get("mixing") != lennard_jones.params.get("mixing")):
        raise not_in_target(_TARGET, "style pair14 'lj/cut'", "it stands beside a pair style of the same mixing")
    if coulomb is None:
        return
    for key, value in coulomb.params.items():
        if key in ("cutoff", "special") or (key, value) in (("dielectric", 1.0), ("delta", 0.0)):
            continue
        if key != "coulomb" or not math.isclose(float(value), COULOMB, rel_tol=_SAME_CONSTANT):
            raise not_in_target(_TARGET, f"pair style 'coul/cut' with {key} {value!r}", f"its constant is {COULOMB}")


def _wells(style: Style) -> dict[tuple[str, str], Well]:
    found: dict[tuple[str, str], Well] = {}
    for row in style:
        what = f"row {row.name!r} of {style.category} {style.name!r}"
        if set(row) - ANNOTATION_COLUMNS != set(_WELL) or "" in row.endpoints:
            raise not_in_target(_TARGET, what, "it takes epsilon and sigma of two named types")
        found[row.endpoints[0], row.endpoints[1]] = {key: float(row[key]) for key in _WELL}
    return found


def _crosses(
    style: Style | None, wells: Mapping[tuple[str, str], Well], selves: Mapping[str, Well]
) -> dict[tuple[str, str], Well]:
    """Return the pairs OpenMM's own mixing does not give: rows, and all the others under another rule."""
    crosses = {ends: well for ends, well in wells.items() if ends[0] != ends[1]}
    rule = None if style is None else style.params.get("mixing")
    if style is None or rule == "arithmetic":
        return crosses
    named = {frozenset(ends) for ends in crosses}
    names = list(selves)
    for position, first in enumerate(names):
        for second in names[position + 1 :]:
            if frozenset((first, second)) in named:
                continue
            if rule is None:
                raise not_in_target(
                    _TARGET, f"pair style {style.name!r}", f"the pair {first} {second} has no row and no rule"
                )
            well = mixed(str(rule), selves[first], selves[second])
            if well != mixed("arithmetic", selves[first], selves[second]):
                crosses[first, second] = well
    return crosses


def _add_near(
    own: dict[str, Well], near: Mapping[tuple[str, str], Well], crosses: Mapping[tuple[str, str], Well]
) -> None:
    """Add the 1-4 parameters of each type; those of single pairs cannot differ from the pairs' own."""
    for (first, second), well in near.items():
        if first == second and first in own:
            own[first] |= {f"{key}14": well[key] for key in _WELL}
        elif crosses.get((first, second)) != well:
            raise not_in_target(
                _TARGET, f"pair14 {first} {second}", "a pair's own parameters hold for 1-4 pairs as well"
            )
    missing = [name for name, well in own.items() if "sigma14" not in well]
    if missing or any(ends not in near for ends in crosses):
        raise not_in_target(
            _TARGET, "style pair14 'lj/cut'", f"it must have the pair style's rows; {missing} have none"
        )


def _atoms_force(
    tag: str,
    forcefield: ForceField,
    scales: Mapping[str, float],
    atoms: Mapping[str, Well],
    charges: Mapping[str, float] | None,
    crosses: Mapping[tuple[str, str], Well] | None = None,
) -> Iterator[str]:
    stated = forcefield.extra.get("openmm", {}).get(tag, {})
    words = [f"{key}={quoteattr(value)}" for key, value in stated.items()]
    yield f" <{tag} {' '.join([f'{key}="{number_text(value)}"' for key, value in scales.items()] + words)}>"
    by_type = charges is not None and all(name in charges for name in atoms)
    if charges is not None and not by_type:
        yield '  <UseAttributeFromResidue name="charge"/>'
    for name, well in atoms.items():
        own = {"charge": charges[name], **well} if charges is not None and by_type else well
        numbers = " ".join(f'{key}="{number_text(value)}"' for key, value in own.items())
        yield f"  <Atom type={quoteattr(name)} {numbers}/>"
    for (first, second), well in (crosses or {}).items():
        numbers = " ".join(f'{key}="{number_text(value)}"' for key, value in well.items())
        yield f"  <NBFixPair type1={quoteattr(first)} type2={quoteattr(second)} {numbers}/>"
    yield f" </{tag}>"
