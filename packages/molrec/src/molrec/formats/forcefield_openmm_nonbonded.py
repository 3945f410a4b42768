"""Non-bonded parameters of force-field XML: Lennard-Jones and Coulomb pairs, 1-4 pairs, NBFIX.

``NonbondedForce`` alone scales 1-4 pairs, which special bonds say. ``LennardJonesForce`` has parameters of its own for
1-4 pairs; then those stand in a ``pair14`` table, and the special-bond weight of Lennard-Jones 1-4 pairs is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from molrec.formats.forcefield_openmm_atoms import AtomClasses
from molrec.formats.forcefield_openmm_names import COULOMB
from molrec.formats.forcefield_openmm_xml import Element
from molrec.formats.forcefield_rows import free_name
from molrec.model.forcefield import ForceField, Style

__all__ = ["Nonbonded"]

#: How far the scales of several files may be apart; OpenMM allows as much.
_SAME_SCALE = 1e-5
_MIXING = {None: "arithmetic", "lorentz": "arithmetic", "geometric": "geometric"}


@dataclass(frozen=True, slots=True)
class _Atom:
    """Parameters of one atom type; those of 1-4 pairs are None where they are the same."""

    place: Element
    sigma: float
    epsilon: float
    sigma14: float | None = None
    epsilon14: float | None = None


class Nonbonded:
    """Collects the non-bonded forces of one or several files.

    Args:
        classes: The atom types.
    """

    def __init__(self, classes: AtomClasses) -> None:
        self._classes = classes
        self._scales: dict[str, float] = {}
        self._nonbonded: dict[str, _Atom] = {}
        self._lennard_jones: dict[str, _Atom] = {}
        self._nbfix: list[tuple[tuple[str, str], float, float]] = []
        self._seen = False

    def charges(self, roots: Sequence[Element]) -> dict[str, float]:
        """Return the charges that files state by atom type rather than in residues."""
        return {
            element.attributes["type"]: element.number("charge")
            for root in roots
            for force in root.all("NonbondedForce")
            for element in force.all("Atom")
            if "charge" in element.attributes and "type" in element.attributes
        }

    def take_nonbonded(self, forces: Sequence[Element]) -> None:
        """Take the ``NonbondedForce`` elements.

        Raises:
            SchemaError: Scales that differ, or types with two entries (``reject-ff-source-malformed``).
        """
        self._seen = True
        for force in forces:
            for key in ("coulomb14scale", "lj14scale"):
                self._scale(force, key, key)
            self._take_atoms(force, self._nonbonded)

    def take_lennard_jones(self, forces: Sequence[Element]) -> None:
        """Take the ``LennardJonesForce`` elements with their NBFIX pairs.

        Raises:
            SchemaError: As `take_nonbonded`.
        """
        for force in forces:
            self._scale(force, "lj14scale", "lennard-jones 1-4")
            self._take_atoms(force, self._lennard_jones)
            for element in force.all("NBFixPair"):
                endpoints = self._classes.endpoints(element, 2)
                pairs = self._classes.spelled_out(endpoints)
                if any(first == second for first, second in pairs):
                    raise element.place.unsupported("<NBFixPair> of a type with itself, which still mixes as before")
                self._nbfix += [
                    ((ends[0], ends[1]), element.number("sigma"), element.number("epsilon")) for ends in pairs
                ]

    def _scale(self, force: Element, key: str, name: str) -> None:
        stated = force.number(key)
        if abs(self._scales.setdefault(name, stated) - stated) > _SAME_SCALE:
            raise force.place.malformed(f"<{force.tag}> states {key} {stated}, another one {self._scales[name]}")

    def _take_atoms(self, force: Element, found: dict[str, _Atom]) -> None:
        for element in force.all("Atom"):
            endpoints = self._classes.endpoints(element, 1)
            atom = _Atom(
                element,
                element.number("sigma"),
                element.number("epsilon"),
                element.number("sigma14") if "sigma14" in element.attributes else None,
                element.number("epsilon14") if "epsilon14" in element.attributes else None,
            )
            for (name,) in self._classes.spelled_out(endpoints):
                if name in found:
                    raise element.place.malformed(f"<{force.tag}> has the atom type {name!r} twice")
                found[name] = atom

    def add_to(self, forcefield: ForceField, root: Element) -> None:
        """Define the pair styles and the special bonds.

        Args:
            forcefield: Gets them.
            root: The outermost element, for foyer's ``combining_rule``.

        Raises:
            SchemaError: Both forces give Lennard-Jones energies (``reject-ff-source-unsupported``), or the combining
                rule is unknown.
        """
        if not self._seen and not self._lennard_jones:
            return
        rule = root.attributes.get("combining_rule")
        if rule not in _MIXING:
            raise root.place.unsupported(f"combining_rule {rule!r} is neither 'geometric' nor 'lorentz'")
        own = self._lennard_jones or self._nonbonded
        if self._lennard_jones:
            twice = next((atom.place for atom in self._nonbonded.values() if atom.epsilon != 0.0), None)
            if twice is not None:
                raise twice.place.unsupported("<NonbondedForce> and <LennardJonesForce> both give energies to pairs")
        scale = self._scales.get("lennard-jones 1-4", self._scales.get("lj14scale", 0.0))
        separate = any(atom.sigma14 is not None or atom.epsilon14 is not None for atom in self._lennard_jones.values())
        forcefield.special_bonds = {
            "lj": (0.0, 0.0, 0.0 if separate else scale),
            "coul": (0.0, 0.0, self._scales.get("coulomb14scale", 0.0)),
        }
        settings: dict[str, float | str] = {"mixing": str(_MIXING[rule])}
        self._add_table(forcefield.define_style("pair", "lj/cut", settings), own, near=False, scale=1.0)
        if separate:
            self._add_table(forcefield.define_style("pair14", "lj/cut", settings), own, near=True, scale=scale)
        if self._seen:
            forcefield.define_style("pair", "coul/cut", {"coulomb": COULOMB, "dielectric": 1.0})

    def _add_table(self, style: Style, own: dict[str, _Atom], *, near: bool, scale: float) -> None:
        for name, atom in own.items():
            sigma = atom.sigma14 if near and atom.sigma14 is not None else atom.sigma
            epsilon = atom.epsilon14 if near and atom.epsilon14 is not None else atom.epsilon
            style.add(name, (name, name), sigma=sigma, epsilon=scale * epsilon)
        for ends, sigma, epsilon in self._nbfix:
            style.add(free_name(style, "-".join(ends)), ends, sigma=sigma, epsilon=scale * epsilon)
