"""Which pairs of a GROMACS system interact: its exclusions said by special bonds, ``exclusions`` and ``pairs``.

GROMACS excludes pairs by the bonds of each molecule type and gives 1-4 interactions to listed pairs only. Special bonds
say so for whole levels of the bond graph; what they do not say is listed, pair by pair.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from molrec.formats.forcefield_gromacs_molecules import MoleculeType
from molrec.model.forcefield import ForceField

__all__ = ["near_pairs_of"]

type Pair = tuple[int, int]

_LEVELS = (1, 2, 3)


def near_pairs_of(
    molecules: Sequence[MoleculeType],
    forcefield: ForceField,
    near_types: Collection[tuple[str, str]],
    *,
    generated: bool,
) -> None:
    """Set the special bonds and list the exclusions of molecules in their relations.

    Args:
        molecules: The molecule types in use.
        forcefield: Its 1-4 weights are set already; those of nearer pairs are set here.
        near_types: Pairs of atom types that have 1-4 parameters.
        generated: Whether other 1-4 pairs get theirs from the pairs' own.

    Raises:
        SchemaError: A listed pair has no parameters (``reject-ff-source-malformed``), or the pairs interact in a way
            that has no exact words (``reject-ff-source-unsupported``).
    """
    if forcefield.special_bonds is None:
        return
    excluded = {id(one): _excluded(one) for one in molecules}
    levels = {id(one): _graph(one) for one in molecules}
    listed = {id(one): _listed(one, excluded[id(one)], near_types, generated=generated) for one in molecules}
    free = {level for one in molecules for pair, level in levels[id(one)].items() if pair not in excluded[id(one)]}
    if 3 in free and any(listed.values()):
        one = next(one for one in molecules if listed[id(one)])
        if any(weights[2] != 1.0 for weights in forcefield.special_bonds.values()):
            raise one.place.unsupported(
                "some pairs three bonds apart interact in full and others are 1-4 pairs; special bonds have one weight"
            )
    forcefield.special_bonds = {
        key: (1.0 if 1 in free else 0.0, 1.0 if 2 in free else 0.0, 1.0 if 3 in free else weights[2])
        for key, weights in forcefield.special_bonds.items()
    }
    silent = {level for level in _LEVELS if all(w[level - 1] == 0.0 for w in forcefield.special_bonds.values())}
    for one in molecules:
        own = levels[id(one)]
        explicit = [pair for pair in sorted(excluded[id(one)] - listed[id(one)]) if own.get(pair) not in silent]
        one.relations.pop("exclusions", None)
        for pair in explicit:
            one.terms("exclusions").add(pair, "", "", {})


def _excluded(molecule: MoleculeType) -> set[Pair]:
    return set(molecule.apart(molecule.links, molecule.excluded_bonds)) | molecule.exclusions


def _graph(molecule: MoleculeType) -> dict[Pair, int]:
    """Return the distances special bonds go by: along the rows of ``bonds``."""
    bonds = molecule.relations["bonds"].ends if "bonds" in molecule.relations else []
    return molecule.apart([(first, second) for first, second in bonds], max(_LEVELS))


def _listed(
    molecule: MoleculeType, excluded: set[Pair], near_types: Collection[tuple[str, str]], *, generated: bool
) -> set[Pair]:
    if "pairs" not in molecule.relations:
        return set()
    terms = molecule.relations["pairs"]
    types = molecule.atoms["type"]
    for (first, second), own in zip(terms.ends, terms.params, strict=True):
        pair = (min(first, second), max(first, second))
        names = (str(types[first]), str(types[second]))
        if pair not in excluded:
            raise molecule.place.unsupported(
                f"[ pairs ] of {molecule.name!r} lists {first + 1} {second + 1}, which are not excluded and would "
                "interact twice"
            )
        if not own and not generated and names not in near_types and names[::-1] not in near_types:
            raise molecule.place.malformed(
                f"[ pairs ] of {molecule.name!r}: no [ pairtypes ] for {names[0]} {names[1]}, and gen-pairs is no"
            )
    return {(min(ends), max(ends)) for ends in terms.ends}
