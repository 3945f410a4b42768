"""What is checked of text files before MDAnalysis reads them, whose errors name no line and which trusts counts."""

from __future__ import annotations

from pathlib import Path

from molrec.errors import FormatError

__all__ = ["check_ascii", "check_card", "check_mol2"]

_MALFORMED = "reject-malformed-source"
_RECORD = b"@<TRIPOS>"


def check_ascii(path: Path) -> None:
    """Refuse a file with other characters.

    Raises:
        FormatError: A line is not ASCII (``reject-malformed-source``).
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.isascii():
                raise FormatError(f"{path}:{number}: the file is ASCII; replace other characters", _MALFORMED)


def check_card(path: Path) -> None:
    """Refuse a CHARMM coordinate card that does not have the atoms it says.

    Raises:
        FormatError: The count is wrong or not there (``reject-malformed-source``).
    """
    said: int | None = None
    found = number = counted = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if said is None and words and not words[0].startswith(b"*"):
                if not words[0].isdigit():
                    raise FormatError(f"{path}:{number}: after the title the count of atoms is expected", _MALFORMED)
                said, counted = int(words[0]), number
            elif said is not None and words:
                found += 1
    if said != found:
        raise FormatError(
            f"{path}:{number}: the file ends with {found} of {said} atoms, counted on line {counted}; it is cut short, "
            "or the count is wrong",
            _MALFORMED,
        )


def check_mol2(path: Path) -> None:
    """Refuse a MOL2 file whose molecules do not have the atoms and bonds they say, or are not all the same.

    Raises:
        FormatError: A count is wrong, an atom number repeats, a bond joins an atom that is not there, or a molecule has
            other atoms than the first (``reject-malformed-source``).
    """
    section = b""
    start = number = 0
    first: list[tuple[bytes, bytes]] | None = None
    molecule = _Molecule(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if text.startswith(_RECORD):
                section, start = text.removeprefix(_RECORD).upper(), number
                if section == b"MOLECULE":
                    first = molecule.close(number, first)
                    molecule = _Molecule(path)
            elif text and not text.startswith(b"#"):
                molecule.add(section, number - start, number, text.split())
    molecule.close(max(number, 1), first)


class _Molecule:
    """The counts of one molecule, and what was found of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = 0
        self._said = {b"ATOM": 0, b"BOND": 0}
        self._found = {b"ATOM": 0, b"BOND": 0}
        self._atoms: set[bytes] = set()
        self._labels: list[tuple[bytes, bytes]] = []

    def _malformed(self, line: int, what: str) -> FormatError:
        return FormatError(f"{self._path}:{line}: {what}", _MALFORMED)

    def add(self, section: bytes, place: int, number: int, words: list[bytes]) -> None:
        """Take one line of a section, the `place`-th after its header."""
        if section == b"MOLECULE" and place == 2:
            self._line = number
            try:
                counts = [int(word) for word in words[:2]]
            except ValueError:
                raise self._malformed(number, "the counts of atoms and bonds are expected") from None
            self._said = dict(zip((b"ATOM", b"BOND"), [*counts, 0], strict=False))
        elif section in self._found:
            self._found[section] += 1
            if section == b"ATOM":
                if len(words) < 6:
                    raise self._malformed(number, "number, name, position and type of an atom are expected")
                self._labels.append((words[1], words[5]))
                if words[0] in self._atoms:
                    raise self._malformed(number, f"the atom number {words[0].decode()} is there before")
                self._atoms.add(words[0])
            elif len(words) < 4 or not {words[1], words[2]} <= self._atoms:
                raise self._malformed(number, "a bond joins two atoms by their numbers, and one of these is not there")

    def close(self, number: int, first: list[tuple[bytes, bytes]] | None) -> list[tuple[bytes, bytes]] | None:
        """Compare the counts at the end of the molecule, and its atoms with the first's, which are returned."""
        for section, said in self._said.items():
            if self._found[section] != said:
                raise self._malformed(
                    number,
                    f"the molecule ends with {self._found[section]} of {said} {section.decode().lower()}s, counted on "
                    f"line {self._line}; the file is cut short, or the count is wrong",
                )
        if first is not None and self._labels != first:
            raise self._malformed(
                self._line, "the molecule has other atoms than the first; a run has one composition, split the file"
            )
        return self._labels or None
