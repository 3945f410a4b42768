"""Symbols of the elements by atomic number, for files that have numbers only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING, Array

__all__ = ["SYMBOLS", "symbols_of"]

#: Symbol of each atomic number; of 0, which is no element, the empty string.
SYMBOLS = (
    "", "H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar", "K", "Ca",
    "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",
    "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce",
    "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir",
    "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm",
    "Bk", "Cf", "Es", "Fm", "Md", "No", "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc",
    "Lv", "Ts", "Og",
)  # fmt: skip


def symbols_of(numbers: npt.NDArray[np.int64]) -> Array:
    """Return the symbols of atomic numbers; the empty string for a number that is of no element."""
    known = (numbers > 0) & (numbers < len(SYMBOLS))
    symbols: Array = np.array(SYMBOLS, dtype=STRING)[np.where(known, numbers, 0)]
    return symbols
