"""The formats that stand side by side, one module each. A module whose library is missing is reported, not run."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from peers.base import Peer, Positions, Reader

__all__ = ["Missing", "Peer", "Positions", "Reader", "load"]

#: Module below this package and what it stands for, in table order. Each module offers ``PEERS``.
_MODULES = {
    "molrec_store": "molrec",
    "molrs_store": "molcrafts-molrs",
    "xtc": "XTC (mdtraj)",
    "gsd_hoomd": "GSD (gsd)",
    "hdf5": "HDF5 (h5py)",
    "ase_traj": "ASE .traj (ase)",
    "zarr_array": "zarr-python (zarr)",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A format that could not be run, and why."""

    label: str
    reason: str


def load() -> tuple[list[Peer], list[Missing]]:
    """Import every peer that is installed."""
    peers: list[Peer] = []
    missing: list[Missing] = []
    for name, label in _MODULES.items():
        try:
            module = importlib.import_module(f"peers.{name}")
        except ImportError as error:
            missing.append(Missing(label, str(error)))
            continue
        found: Sequence[Peer] = module.PEERS
        peers += found
    return peers, missing
