"""Not written yet."""

from molrec.formats.forcefield_lammps import FORMAT

__all__ = ["FORMAT"]
