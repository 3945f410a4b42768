"""Real files, of the package MDAnalysisTests, that the formats are tested with; run as a script, a table of them.

    python packages/molrec/tests/real_files.py

prints Markdown: file, format, atoms, frames, bonds, as the record has them.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import molrec as mr
from molrec.conversion import convert
from molrec.formats.registry import Format, formats

__all__ = ["CASES", "Case", "atom_columns", "bond_count", "paths", "readable"]


class Case(NamedTuple):
    """One conversion: names of `MDAnalysisTests.datafiles`, the topology first, and the formats expected of them."""

    files: tuple[str, ...]
    formats: tuple[str, ...]


CASES: tuple[Case, ...] = (
    Case(("GRO",), ("gro",)),
    Case(("GRO_velocity",), ("gro",)),
    Case(("COORDINATES_GRO",), ("gro",)),
    Case(("GRO_huge_box",), ("gro",)),
    Case(("Martini_membrane_gro",), ("gro",)),
    Case(("Plength",), ("gro",)),
    Case(("TRIC",), ("gro",)),
    Case(("XTC",), ("xtc",)),
    Case(("XTC_multi_frame",), ("xtc",)),
    Case(("TPR", "XTC"), ("tpr", "xtc")),
    Case(("GRO", "XTC"), ("gro", "xtc")),
    Case(("GRO_MEMPROT", "XTC_MEMPROT"), ("gro", "xtc")),
    Case(("TRR_multi_frame",), ("trr",)),
    Case(("GRO", "TRR"), ("gro", "trr")),
    Case(("TPR_xvf", "TRR_xvf"), ("tpr", "trr")),
    Case(("LAMMPSdcd2",), ("dcd",)),
    Case(("PSF", "DCD"), ("psf", "dcd")),
    Case(("PSF_TRICLINIC", "DCD_TRICLINIC"), ("psf", "dcd")),
    Case(("PSF_NAMD_TRICLINIC", "DCD_NAMD_TRICLINIC"), ("psf", "dcd")),
    Case(("PSF_NAMD_GBIS", "DCD_NAMD_GBIS"), ("psf", "dcd")),
    Case(("PRMncdf", "NCDF"), ("prmtop", "amber-netcdf")),
    Case(("PRM_NCBOX", "TRJ_NCBOX"), ("prmtop", "amber-netcdf")),
    Case(("PFncdf_Top", "PFncdf_Trj"), ("prmtop", "amber-netcdf")),
    Case(("PRM", "TRJ"), ("prmtop", "mdcrd")),
    Case(("PRMncdf", "TRJncdf"), ("prmtop", "mdcrd")),
    Case(("TPR2024",), ("tpr",)),
    Case(("TPR455",), ("tpr",)),
    Case(("PSF_NAMD",), ("psf",)),
    Case(("PSF_nosegid",), ("psf",)),
    Case(("PSF_inscode",), ("psf",)),
    Case(("PRM12",), ("prmtop",)),
    Case(("PRM7_ala2",), ("prmtop",)),
    Case(("PRMcs",), ("prmtop",)),
    Case(("ITP",), ("itp",)),
    Case(("mol2_molecule",), ("mol2",)),
    Case(("mol2_ligand",), ("mol2",)),
    Case(("PQR",), ("pqr",)),
    Case(("PQR_icodes",), ("pqr",)),
    Case(("CRD",), ("charmm-crd",)),
    Case(("PDB_small",), ("pdb",)),
    Case(("PDB_full",), ("pdb",)),
    Case(("PDB_multiframe",), ("pdb",)),
    Case(("PDB_helix",), ("pdb",)),
    Case(("PDB_small", "DCD"), ("pdb", "dcd")),
    Case(("LAMMPSdata_mini",), ("lammps-data",)),
    Case(("LAMMPShyd",), ("lammps-data",)),
    Case(("LAMMPSdata_triclinic",), ("lammps-data",)),
    Case(("LAMMPSdata",), ("lammps-data",)),
    Case(("LAMMPSDUMP",), ("lammps-dump",)),
    Case(("LAMMPSDUMP_allinfo",), ("lammps-dump",)),
)


def paths(case: Case) -> list[Path]:
    """Return the files of a case."""
    from MDAnalysisTests import datafiles

    return [Path(str(getattr(datafiles, name))) for name in case.files]


def readable(case: Case) -> bool:
    """Tell whether every format of a case has a module of this library, and not only ASE's reader."""
    return all(_is_own(name) for name in case.formats)


def _is_own(name: str) -> bool:
    if name not in formats().names():
        return False
    found: Format = formats().get(name)
    opener = found.open_source.func if isinstance(found.open_source, partial) else found.open_source
    return opener is not None and not opener.__module__.startswith("molrec.formats.ase")


def atom_columns(record: mr.Record) -> dict[str, mr.Block]:
    """Return the columns of a record's atoms by name, each with the block that has it; of the run's first frame."""
    assert record.trajectory is not None
    blocks = [part["atoms"] for part in (record.system, record.trajectory[0]) if part is not None and "atoms" in part]
    return {name: block for block in blocks for name in block.columns}


def bond_count(record: mr.Record) -> int:
    """Return how many bonds the first frame of a record has."""
    assert record.trajectory is not None
    parts = [part for part in (record.system, record.trajectory[0]) if part is not None and "bonds" in part]
    return parts[0]["bonds"].rows if parts else 0


def _main() -> None:
    print("| File | Format | Atoms | Frames | Bonds |\n|---|---|---:|---:|---:|")
    for case in filter(readable, CASES):
        with tempfile.TemporaryDirectory() as folder:
            convert(paths(case), Path(folder) / "run.mrec")
            record = mr.open(Path(folder) / "run.mrec")
            assert record.trajectory is not None
            atoms = next(iter(atom_columns(record).values())).rows
            names = " + ".join(path.name for path in paths(case))
            print(
                f"| `{names}` | {' + '.join(case.formats)} | {atoms:,} | {len(record.trajectory)} | "
                f"{bond_count(record):,} |"
            )


if __name__ == "__main__":
    _main()
