"""LAMMPS force fields: coefficients of input scripts, include files and data files, with the system where one is read.

A script is read for its force field, not run: commands that carry no parameters are skipped, variables and flow control
in the way are refused with their line. ``read_data`` and ``include`` are followed; a data file may also be read alone.
Type names are the labels where there are some, else the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from molrec.dtypes import STRING
from molrec.errors import SchemaError
from molrec.formats.forcefield_lammps_bonded import BondedStyles
from molrec.formats.forcefield_lammps_pairs import PairStyles
from molrec.formats.forcefield_lammps_script import Command, commands_of, stated_units
from molrec.formats.forcefield_lammps_styles import COULOMB_CONSTANTS, CROSS_TERMS
from molrec.formats.forcefield_lammps_types import TypeNumbers
from molrec.formats.forcefield_lammps_writer import write_lammps
from molrec.formats.forcefield_rows import define
from molrec.formats.forcefield_source import ForceFieldContent, ForceFieldFormat, SourceLine
from molrec.formats.lammps_data import DataSource
from molrec.formats.lammps_names import COEFFICIENTS, KINDS, RELATION_SECTIONS, TYPES
from molrec.formats.notes import Notes
from molrec.model.block import Block
from molrec.model.box import Box
from molrec.model.forcefield import ForceField
from molrec.model.frame import Frame

__all__ = ["FORMAT", "read_lammps"]

_BONDED = tuple(kind for kind in KINDS if kind != "atom")
#: Commands that change the system or the flow of the script, so that what is read would not be what is run.
_CHANGES_SYSTEM = frozenset(
    ("set", "replicate", "create_bonds", "delete_bonds", "delete_atoms", "change_box", "displace_atoms", "read_restart",
     "clear", "molecule")
)  # fmt: skip
_FLOW = frozenset(("if", "jump", "next"))
_CONSTRAINTS = frozenset(("shake", "rattle", "rigid", "rigid/small"))
#: Fixes that add a potential.
_POTENTIALS = frozenset(("cmap", "restrain", "efield", "spring", "spring/self", "addforce", "bond/react"))
_SPECIAL_WORDS = {
    "amber": ((0.0, 0.0, 0.5), (0.0, 0.0, 5.0 / 6.0)),
    "charmm": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "dreiding": ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
}
_SCRIPT_COMMAND = re.compile(
    rb"^\s*(?:(?:pair|bond|angle|dihedral|improper)_(?:style|coeff)|read_data|special_bonds|pair_modify)\s",
    re.MULTILINE,
)
_DATA_FILE = re.compile(rb"^\s*\d+\s+(?:atoms|atom types)\s*(?:#.*)?$", re.MULTILINE)


def read_lammps(path: Path, notes: Notes, units: str | None = None) -> ForceFieldContent:
    """Read a script or a data file.

    Args:
        path: An input script, an include file, or a data file with coefficients.
        notes: Told what has no place in a force field.
        units: The unit style, for a file that does not state one.

    Returns:
        The force field; the system where a data file was read, its types by name in ``type``.

    Raises:
        SchemaError: See `molrec.formats.forcefield_source.read_forcefield`.
        FormatError: A data file is damaged (``reject-malformed-source``).
    """
    script = _Script(path, notes, units)
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if _DATA_FILE.search(head) and not _SCRIPT_COMMAND.search(head):
        script.read_data_alone(path)
    else:
        script.run(path)
    return script.content()


class _Script:
    """Reads commands one after the other and keeps what they say of the force field."""

    def __init__(self, path: Path, notes: Notes, units: str | None) -> None:
        self._path = path
        self._notes = notes
        self._units: str | None = units
        self._types = {kind: TypeNumbers(kind) for kind in KINDS}
        self._masses: dict[str, float] = {}
        self._bonded = {kind: BondedStyles(kind, self._types[kind]) for kind in _BONDED}
        self._pairs = PairStyles(self._types["atom"])
        self._special: dict[str, tuple[float, ...]] | None = None
        self._boundary: tuple[bool, ...] | None = None
        self._system: Frame | None = None
        self._open: list[Path] = []
        self._commands: dict[str, Callable[[Command], None]] = {
            "units": self._set_units,
            "boundary": self._set_boundary,
            "include": self._include,
            "read_data": self._read_data,
            "create_box": self._create_box,
            "mass": self._mass,
            "labelmap": self._labelmap,
            "special_bonds": self._special_bonds,
            "dielectric": self._dielectric,
            "pair_style": self._pairs.declare,
            "pair_coeff": self._pair_coeff,
            "pair_modify": self._pair_modify,
            "fix": self._fix,
        }
        for kind, styles in self._bonded.items():
            self._commands[f"{kind}_style"] = styles.declare
            self._commands[f"{kind}_coeff"] = (
                lambda command, styles=styles: styles.coefficients(  # type: ignore[misc]
                    command.arguments(1)[0], command.arguments(1)[1:], command.place
                )
            )

    # -- running ----------------------------------------------------------------------------------------------------

    def run(self, path: Path) -> None:
        """Read a script, and the defaults LAMMPS starts it with."""
        if self._units is None:
            self._units = stated_units(path)
        self._pairs.mixing = "geometric"
        self._pairs.dielectric = 1.0
        self._special = {"lj": (0.0, 0.0, 0.0), "coul": (0.0, 0.0, 0.0)}
        self._run(path)

    def _run(self, path: Path) -> None:
        self._open.append(path.resolve())
        for command in commands_of(path):
            if command.name in self._commands:
                self._commands[command.name](command)
            elif command.name in _FLOW:
                raise command.place.unsupported(
                    f"{command.name!r} steers the script; scripts are read, not run: write down what it does"
                )
            elif command.name in _CHANGES_SYSTEM and self._system is not None:
                raise command.place.unsupported(
                    f"{command.name!r} changes the system that was read; write the changed system to a data file"
                )
        self._open.pop()

    def _include(self, command: Command) -> None:
        name = command.arguments(1)[0]
        # LAMMPS looks in the folder it was started in, as a rule that of the first script
        path = self._path.parent / name
        if not path.is_file():
            raise command.place.malformed(f"the included file {path} is not there")
        if path.resolve() in self._open:
            raise command.place.malformed(f"{name!r} includes itself")
        self._run(path)

    def content(self) -> ForceFieldContent:
        """Return what was read."""
        if self._units is None:
            raise SchemaError(
                f"{self._path} states no units; LAMMPS has them in the script that includes it: read that script, or "
                "give the unit style as an argument, such as 'real'",
                "reject-ff-no-units",
            )
        if self._units not in COULOMB_CONSTANTS:
            raise SchemaError(f"{self._path}: {self._units!r} is no unit style of LAMMPS", "reject-ff-no-units")
        source = {"format": "lammps", "uri": self._path.name}
        forcefield = ForceField(self._path.stem, self._units, self._special, source)
        self._add_atoms(forcefield)
        for styles in self._bonded.values():
            styles.add_to(forcefield)
        self._pairs.add_to(forcefield, self._units)
        return ForceFieldContent(forcefield, self._finished_system())

    def _add_atoms(self, forcefield: ForceField) -> None:
        names = self._types["atom"].names or list(self._masses)
        if not names:
            return
        style = define(forcefield, "atom", "full")
        for name in names:
            style.add(name, mass=self._masses.get(name))

    # -- single commands --------------------------------------------------------------------------------------------

    def _set_units(self, command: Command) -> None:
        stated = command.arguments(1)[0]
        if self._units not in (None, stated):
            raise command.place.malformed(f"units {stated!r}, but {self._units!r} was stated before")
        self._units = stated

    def _set_boundary(self, command: Command) -> None:
        flags = command.arguments(3)
        self._boundary = tuple(flag[0] == "p" for flag in flags[:3])

    def _create_box(self, command: Command) -> None:
        words = command.arguments(2)
        if not words[0].isdecimal():
            raise command.place.malformed(f"create_box takes a number of atom types, found {words[0]!r}")
        self._types["atom"].count = int(words[0])

    def _mass(self, command: Command) -> None:
        token, mass = command.arguments(2)[:2]
        names = self._types["atom"].resolve(token, command.place)
        if names is None:
            raise command.place.malformed("'mass *' before the number of atom types is known")
        self._masses |= dict.fromkeys(names, command.place.numbers([mass], "mass")[0])

    def _labelmap(self, command: Command) -> None:
        kind, *pairs = command.arguments(1)
        if kind not in self._types:
            raise command.place.unsupported(f"labelmap {kind!r} is not read; known are {', '.join(KINDS)}")
        for number, label in zip(pairs[::2], pairs[1::2], strict=False):
            if not number.isdecimal():
                raise command.place.malformed(f"labelmap takes type numbers and labels, found {number!r}")
            self._types[kind].set_label(int(number), label, command.place)

    def _special_bonds(self, command: Command) -> None:
        words = list(command.arguments(1))
        assert self._special is not None
        while words:
            word = words.pop(0)
            if word in _SPECIAL_WORDS:
                self._special = dict(zip(("lj", "coul"), _SPECIAL_WORDS[word], strict=True))
            elif word in ("lj", "coul", "lj/coul") and len(words) >= 3:
                weights = tuple(command.place.numbers(words[:3], f"special_bonds {word}"))
                self._special |= dict.fromkeys(word.split("/"), weights)
                del words[:3]
            elif word in ("angle", "dihedral", "one/five") and words:
                if words.pop(0) != "no":
                    raise command.place.unsupported(f"special_bonds {word!r} chooses pairs in a way that is not stored")
            else:
                raise command.place.malformed(f"special_bonds {word!r} is not known, or lacks its values")

    def _dielectric(self, command: Command) -> None:
        self._pairs.dielectric = command.place.numbers([command.arguments(1)[0]], "dielectric")[0]

    def _pair_coeff(self, command: Command) -> None:
        first, second, *words = command.arguments(2)
        self._pairs.coefficients(first, second, words, command.place)

    def _pair_modify(self, command: Command) -> None:
        words = list(command.arguments(1))
        if words[0] in ("pair", "special"):
            raise command.place.unsupported("settings of single sub-styles are not stored")
        for key, value in zip(words[::2], words[1::2], strict=False):
            if key == "mix":
                if value not in ("geometric", "arithmetic", "sixthpower"):
                    raise command.place.malformed(f"pair_modify mix {value!r} is no mixing rule")
                self._pairs.mixing = value
            elif key == "shift":
                self._pairs.shifted = value == "yes"
            elif key == "tail" and value != "no":
                raise command.place.unsupported(
                    f"'pair_modify {key} {value}' changes energies in a way that is not stored"
                )

    def _fix(self, command: Command) -> None:
        style = command.words[3] if len(command.words) > 3 else ""
        if style in _POTENTIALS:
            raise command.place.unsupported(f"fix {style!r} adds an energy that is not stored")
        if style in _CONSTRAINTS:
            self._notes.lost(f"fix {style}", "holds atoms in place; the constraints are left out")

    # -- data files -------------------------------------------------------------------------------------------------

    def read_data_alone(self, path: Path) -> None:
        """Read a data file by itself: coefficients, but none of what only a script says."""
        source = DataSource(path)
        stated = source.units
        if self._units is None and stated is not None:
            self._units = stated["preset"]
        self._take_system(source, SourceLine(str(path), 1), coefficients=True)

    def _read_data(self, command: Command) -> None:
        name, *options = command.arguments(1)
        path = self._path.parent / name
        refused = [option for option in options if option in ("add", "offset", "shift", "fix", "extra/atom/types")]
        if refused or self._system is not None:
            raise command.place.unsupported(
                f"read_data {' '.join(refused) or 'a second time'} puts a system together; write it to one data file"
            )
        if not path.is_file():
            raise command.place.malformed(f"the data file {path} is not there")
        self._take_system(DataSource(path), command.place, coefficients="nocoeff" not in options)

    def _take_system(self, source: DataSource, place: SourceLine, *, coefficients: bool) -> None:
        (frame,) = source.frames(self._notes)
        self._system = frame
        types: dict[str, Any] = frame.meta.get(TYPES, {})
        for kind, numbers in self._types.items():
            stated = types.get(kind, {})
            numbers.count = stated.get("count", 0)
            for number, label in enumerate(stated.get("labels", ()), 1):
                if label:
                    numbers.set_label(number, label, place)
        masses = types.get("atom", {}).get("masses", ())
        if len(masses) == self._types["atom"].count:
            self._masses = dict(zip(self._types["atom"].names, masses, strict=True))
        elif masses:
            raise place.malformed("the section Masses of the data file does not have all atom types")
        sections: dict[str, Any] = frame.meta.get(COEFFICIENTS, {})
        where = SourceLine(source.name, 1)
        for name, section in sections.items() if coefficients else ():
            self._take_section(name, section, where)

    def _take_section(self, name: str, section: dict[str, Any], place: SourceLine) -> None:
        """Take one section of coefficients; it acts like commands of the same words."""
        rows = [[word for word in row if not word.startswith("#")] for row in section["rows"]]
        cross = {title: key for key, (title, _) in CROSS_TERMS.items()}
        if name in cross:
            kind, keyword = cross[name]
            for token, *words in rows:
                self._bonded[kind].cross_terms(keyword, token, words, place)
        elif name in ("Pair Coeffs", "PairIJ Coeffs"):
            self._pairs.declare_hint(section["style"], place)
            ends = 2 if name == "PairIJ Coeffs" else 1
            for row in rows:
                self._pairs.coefficients(row[0], row[ends - 1], row[ends:], place)
        elif (kind := name.removesuffix(" Coeffs").lower()) in self._bonded:
            self._bonded[kind].declare_hint(section["style"], place)
            for token, *words in rows:
                self._bonded[kind].coefficients(token, words, place)
        else:
            raise place.unsupported(f"the section {name!r} has coefficients that are not stored")

    def _finished_system(self) -> Frame | None:
        """Return the system with the names of types in every block, its units and its periodicity."""
        system = self._system
        if system is None:
            return None
        blocks = {"atoms": "atom"} | dict(RELATION_SECTIONS.values())
        for block, kind in blocks.items():
            if block in system and "type_id" in system[block]:
                numbers, inverse = np.unique(system[block]["type_id"], return_inverse=True)
                names = [self._types[kind].name(int(number)) for number in numbers]
                system[block]["type"] = np.array(names, dtype=STRING)[inverse]
        if springs := self._bonded["angle"].springs:
            self._add_springs(system, springs)
        if COEFFICIENTS in system.meta:
            del system.meta[COEFFICIENTS]  # the force field has them now, or the script did not want them
        system.meta.set("units", {"preset": self._units}, tag="json")
        if self._boundary is not None and system.box is not None:
            box = system.box
            system.box = Box(box.vectors, box.origin, self._boundary, box.cell_defined)
        return system

    @staticmethod
    def _add_springs(system: Frame, springs: set[str]) -> None:
        """Add the Urey-Bradley terms of angles whose type has a spring."""
        if "angles" not in system:
            return
        angles = system["angles"]
        rows = np.isin(angles["type"].astype(object), sorted(springs))
        if rows.any():
            terms = {end: angles[end][rows] for end in ("atomi", "atomj", "atomk", "type")}
            terms["style"] = np.full(int(rows.sum()), "harmonic", dtype=STRING)
            system["urey_bradleys"] = Block(terms)


def _recognizes(head: bytes) -> bool:
    return bool(_SCRIPT_COMMAND.search(head) or _DATA_FILE.search(head))


FORMAT = ForceFieldFormat("lammps", (".in", ".lmp", ".lammps", ".data", ".ff"), _recognizes, read_lammps, write_lammps)
