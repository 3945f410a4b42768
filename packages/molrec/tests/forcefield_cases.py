"""Real engines' energies and forces, ``$MOLREC_SHARED/golden/forcefield``, as frames and force fields of ours.

Force fields are built from the parameters each ``expected.json`` lists, frames from the case's coordinate file by a
parser small enough to be read here. Tests that need the folder skip where it is absent.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

import molrec as mr

_REPOSITORY = Path(__file__).resolve().parents[3]
_OPENMM_UNITS = {"length": "nm", "energy": "kJ/mol", "charge": "e", "mass": "dalton", "angle": "radian"}
_ARITY = {"bond": 2, "angle": 3, "dihedral": 4, "improper": 4}
_ENDPOINTS = ("atomi", "atomj", "atomk", "atoml")
#: Names the cases use for parameters -> ours.
_RENAMED = {"n": "periodicity", "weight": "w", "d": "D"}
#: Relations of a system in `assigned` -> category, style.
_ASSIGNED = {
    "bonds": ("bond", "harmonic"),
    "angles": ("angle", "harmonic"),
    "dihedrals": ("dihedral", "periodic"),
    "dihedrals_rb": ("dihedral", "rb"),
    "rb": ("dihedral", "rb"),
    "impropers": ("improper", "periodic"),
    "impropers_periodic": ("improper", "periodic"),
    "impropers_harmonic": ("improper", "harmonic"),
    "urey_bradley": ("urey_bradley", "harmonic"),
}


def folder() -> Path | None:
    """Return the folder of cases, or None where there is none."""
    shared = Path(os.environ.get("MOLREC_SHARED") or _REPOSITORY.parent / "shared")
    candidate = shared / "golden" / "forcefield"
    return candidate if candidate.is_dir() else None


def names(engine: str) -> list[str]:
    """Return the names of an engine's cases, sorted; empty without the folder."""
    root = folder()
    found = [] if root is None else sorted(path.parent.name for path in root.glob("*/expected.json"))
    return [name for name in found if expected(name)["engine"] == engine]


def expected(name: str) -> dict[str, Any]:
    """Return a case's ``expected.json``."""
    root = folder()
    assert root is not None
    document: dict[str, Any] = json.loads((root / name / "expected.json").read_text(encoding="utf-8"))
    return document


def file(name: str, kind: str) -> list[str]:
    """Return the lines of one of a case's files, by its key in ``files``."""
    root = folder()
    assert root is not None
    path = root / name / str(expected(name)["files"][kind])
    return path.read_text(encoding="utf-8").splitlines()


# -- LAMMPS -----------------------------------------------------------------------------------------------------------


def lammps(name: str) -> tuple[mr.Frame, mr.ForceField]:
    """Return system and force field of a LAMMPS case."""
    case = expected(name)
    sections = _sections(file(name, "data"))
    labels = _labels(case, sections)
    field = mr.ForceField(name, case["units"]["style"], case["special"])
    for stored in case["stored"]:
        category, style = stored["style"].split(".", 1)
        made = field.define_style(category, style, _style_params(stored))
        for term in stored.get("terms", ()):
            made.add(_type_name(term), [""] * _ARITY[category], **_flat(term["params"]))
        for one in stored.get("types", ()):
            own = labels["atom"][one["type"]]
            made.add(own, (own, own), **one["params"])
        for one in stored.get("pairs", ()):
            ends = [labels["atom"][kind] for kind in one["types"]]
            made.add("-".join(ends), ends, **one["params"])
    return _lammps_frame(case, sections, labels), field


def _style_params(stored: dict[str, Any]) -> dict[str, float | str]:
    return {key: stored[key] for key in ("cutoff", "mixing", "coulomb", "dielectric") if stored.get(key) is not None}


def _type_name(term: dict[str, Any]) -> str:
    return str(term.get("label", term["type"]))


def _flat(params: dict[str, Any]) -> dict[str, float]:
    """Return the parameters of one row under our names."""
    flat: dict[str, float] = {}
    for key, value in params.items():
        match key:
            case "terms":
                for number, term in enumerate(value, start=1):
                    flat |= {f"{_RENAMED.get(name, name)}{number}": each for name, each in term.items()}
            case "bond_bond":
                flat |= {f"bb_{name}": each for name, each in value.items()}
            case "bond_angle":
                flat |= {f"ba_{name}": each for name, each in value.items()}
            case _:
                flat[_RENAMED.get(key, key)] = float(value)
    return flat


def _sections(lines: list[str]) -> dict[str, list[list[str]]]:
    """Return the sections of a data file as words; what stands before the first is ``header``."""
    sections: dict[str, list[list[str]]] = {"header": []}
    current = "header"
    for line in lines[1:]:
        words = line.split("#")[0].split()
        if words and words[0][0].isalpha():
            current = line.strip()
            sections[current] = []
        elif words:
            sections[current].append(words)
    return sections


def _labels(case: dict[str, Any], sections: dict[str, list[list[str]]]) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    counts = {words[1]: int(words[0]) for words in sections["header"] if words[-1] == "types"}
    for kind in ("atom", *_ARITY):
        own = {number: str(number) for number in range(1, counts.get(kind, 0) + 1)}
        own |= {int(words[0]): words[1] for words in sections.get(f"{kind.title()} Type Labels", ())}
        found[kind] = own
    for stored in case["stored"]:
        kind = stored["style"].split(".")[0]
        for key in ("terms", "types"):
            found.setdefault("atom" if key == "types" else kind, {}).update(
                {one["type"]: _type_name(one) for one in stored.get(key, ())}
            )
    return found


def _lammps_frame(
    case: dict[str, Any], sections: dict[str, list[list[str]]], labels: dict[str, dict[int, str]]
) -> mr.Frame:
    title = next(key for key in sections if key.startswith("Atoms"))
    columns = {
        "atomic": "id type x y z",
        "charge": "id type charge x y z",
        "molecular": "id mol_id type x y z",
        "full": "id mol_id type charge x y z",
    }[title.split("#")[1].strip()].split()
    rows = sorted(sections[title], key=lambda words: int(words[0]))
    table = dict(zip(columns, zip(*rows, strict=True), strict=False))
    by_number: dict[Any, str] = {**labels["atom"], **{label: label for label in labels["atom"].values()}}
    atoms = mr.Block({axis: np.array(table[axis], dtype=float) for axis in "xyz"})
    atoms["type"] = [by_number.get(int(word) if word.isdecimal() else word, word) for word in table["type"]]
    if "charge" in table:
        atoms["charge"] = np.array(table["charge"], dtype=float)
    blocks = {"atoms": atoms}
    row_of = {int(words[0]): row for row, words in enumerate(rows)}
    for kind, arity in _ARITY.items():
        relation = sections.get(f"{kind.title()}s")
        if relation:
            ends = np.array([[row_of[int(word)] for word in words[2 : 2 + arity]] for words in relation], np.uint64)
            blocks[f"{kind}s"] = mr.Block(
                {
                    **{_ENDPOINTS[place]: ends[:, place] for place in range(arity)},
                    "type": [labels[kind].get(int(w[1]), w[1]) if w[1].isdecimal() else w[1] for w in relation],
                }
            )
    edges = {words[-2]: (float(words[0]), float(words[1])) for words in sections["header"] if words[-1].endswith("hi")}
    lengths = [edges[f"{axis}lo"][1] - edges[f"{axis}lo"][0] for axis in "xyz"]
    periodic = np.full(3, case.get("periodic", True))
    box = mr.Box(np.diag(lengths), [edges[f"{axis}lo"][0] for axis in "xyz"], periodic)
    return mr.Frame(blocks, {"units": {"preset": case["units"]["style"]}}, box)


# -- OpenMM and GROMACS -----------------------------------------------------------------------------------------------


def assigned(name: str, *, listed: bool = False) -> tuple[mr.Frame, mr.ForceField]:
    """Return system and force field of a case that lists what every term was assigned.

    Every parameter stands with its term; the tables have no rows, but for pairs of atom types.

    Args:
        name: The case.
        listed: Whether 1-4 pairs stand in ``pairs`` with their parameters, rather than to follow from the bonds.
    """
    case = expected(name)
    gromacs = case["engine"] == "gromacs"
    frame = mr.Frame(
        {"atoms": _atoms(name, case)}, {"units": {"length": "nm"}}, _gromacs_box(name) if gromacs else None
    )
    field = mr.ForceField(name, _OPENMM_UNITS, _special(name))
    _add_relations(frame, field, case["assigned"])
    field.define_style("atom", "full")
    _add_pairs(field, name, case)
    terms: Any = case["assigned"].get("pairs14") or case["assigned"].get("lj14") or []
    if gromacs:
        ends = np.array(case["assigned"]["excluded"], dtype=np.uint64)
        frame["exclusions"] = mr.Block({"atomi": ends[:, 0], "atomj": ends[:, 1]})
        _list_pairs(frame, field, [[*one["atoms"], *_sigma_epsilon(one["c6"], one["c12"])] for one in terms])
    elif listed or "lj14" in case["assigned"]:
        _list_pairs(frame, field, [[row[0], row[1], row[-2], row[-1]] for row in terms["rows"]])
    return frame, field


def _special(name: str) -> dict[str, list[float]]:
    coul = {
        "gromacs_nma_mixed": 0.8333,
        "gromacs_butane_opls": 0.5,
        "openmm_charmm36_gly_ser_ala": 1.0,
        "openmm_xml_nma": 0.833333,
    }
    lj = {"openmm_charmm36_gly_ser_ala": 0.0}
    return {
        "lj": [0.0, 0.0, lj.get(name, 0.5)],
        "coul": [0.0, 0.0, coul.get(name, 0.8333333333333334 if "amber" in name else 0.83333)],
    }


def _atoms(name: str, case: dict[str, Any]) -> mr.Block:
    if case["engine"] == "gromacs":
        lines = file(name, "gro")
        positions = np.array([re.findall(r"-?\d+\.\d+", line[20:])[:3] for line in lines[2:-1]], dtype=float)
    else:
        lines = [line for line in file(name, "pdb") if line.startswith(("ATOM", "HETATM"))]
        positions = np.array([[line[30:38], line[38:46], line[46:54]] for line in lines], dtype=float) / 10.0
    column = {key: place for place, key in enumerate(case["atoms"]["columns"])}
    rows = case["atoms"]["rows"]
    return mr.Block(
        {
            **{axis: positions[:, place].copy() for place, axis in enumerate("xyz")},
            "type": [row[column["type"]] for row in rows],
            "charge": [float(row[column["charge"]]) for row in rows],
        }
    )


def _gromacs_box(name: str) -> mr.Box:
    return mr.Box(np.diag(np.array(file(name, "gro")[-1].split(), dtype=float)))


def _add_relations(frame: mr.Frame, field: mr.ForceField, terms: dict[str, Any]) -> None:
    rows: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for key, (category, style) in _ASSIGNED.items():
        for term in terms.get(key, ()):
            rows.setdefault(category, []).append((style, term))
    for category, found in rows.items():
        ends = np.array([term["atoms"] for _, term in found], dtype=np.uint64)
        block = mr.Block({_ENDPOINTS[place]: ends[:, place] for place in range(ends.shape[1])})
        params = [_assigned_params(style, term) for style, term in found]
        block["style"] = [own.pop("style", style) for (style, _), own in zip(found, params, strict=True)]
        for name in dict.fromkeys(name for own in params for name in own):
            block[name] = np.array([own.get(name, 0.0) for own in params])
            block.set_validity(name, np.array([name in own for own in params]))
        frame[f"{category}s"] = block
        for style in dict.fromkeys(block["style"].tolist()):
            field.define_style(category, style, expression=_EXPRESSIONS.get(f"{category}.{style}"))


_EXPRESSIONS = {
    "urey_bradley.harmonic": "0.5*k*(r-r0)^2",
    # the signed difference, on the nearest turn
    "improper.signed": "k*(2*atan(tan(0.5*(phi-phi0))))^2",
}


def _assigned_params(style: str, term: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = {_RENAMED.get(key, key): value for key, value in term.items() if key != "atoms"}
    params.pop("stored", None)
    if "c" in params:
        params = {f"c{power}": value for power, value in enumerate(params["c"])}
    if "k_gromacs" in params:
        half = params["k_gromacs"] / 2.0
        if term["xi0"] in (0.0, np.pi):
            return {"k": half, "chi0": term["xi0"]}
        return {"style": "signed", "k": half, "phi0": term["xi0"]}
    return params


def _add_pairs(field: mr.ForceField, name: str, case: dict[str, Any]) -> None:
    shared: dict[str, float | str] = {"cutoff": 2.4} if case["engine"] == "gromacs" else {}
    mixing = case.get("mixing", "arithmetic")
    pairs = field.define_style("pair", "lj/cut", {"mixing": mixing, **shared})
    known = (case.get("stored") or [{}])[0]
    types: dict[str, tuple[float, float]] = {
        one["type"]: (one["params"]["sigma"], one["params"]["epsilon"]) for one in known.get("types", ())
    }
    if case["engine"] == "openmm":
        types = {row[4]: (row[-2], row[-1]) for row in case["atoms"]["rows"]}
    elif not types:
        lines = file(name, "top")
        start = lines.index("[ atomtypes ]")
        words = [line.split() for line in lines[start + 2 : start + 7]]
        types = {row[0]: (float(row[5]), float(row[6])) for row in words}
    replaced = {tuple(sorted(one["types"])): one["params"] for one in known.get("pairs", ())}
    for own, (sigma, epsilon) in types.items():
        field.style("atom", "full").add(own)
        pairs.add(own, (own, own), **replaced.pop((own, own), {"sigma": sigma, "epsilon": epsilon}))
        if (pairs[own]["sigma"], pairs[own]["epsilon"]) != (sigma, epsilon):
            # what replaces a self pair is not what unlike pairs are mixed from
            for other in set(types) - {own}:
                mixed = {"sigma": (sigma + types[other][0]) / 2, "epsilon": (epsilon * types[other][1]) ** 0.5}
                replaced.setdefault(tuple(sorted((own, other))), mixed)
    for ends, params in replaced.items():
        pairs.add("-".join(ends), ends, **params)
    field.define_style("pair", "coul/cut", {"coulomb": case["constants"]["coulomb"], **shared})


def _sigma_epsilon(c6: float, c12: float) -> tuple[float, float]:
    return ((c12 / c6) ** (1.0 / 6.0), c6 * c6 / (4.0 * c12)) if c6 else (0.0, 0.0)


def _list_pairs(frame: mr.Frame, field: mr.ForceField, rows: list[list[float]]) -> None:
    table = np.array(rows, dtype=float).reshape(-1, 4)
    frame["pairs"] = mr.Block(
        {
            "atomi": table[:, 0].astype(np.uint64),
            "atomj": table[:, 1].astype(np.uint64),
            "is_14": np.ones(len(table), dtype=bool),
            "sigma": table[:, 2].copy(),
            "epsilon": table[:, 3].copy(),
        }
    )
    field.define_style("pair14", "lj/cut")
