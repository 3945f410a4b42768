"""A shuffled epoch through PyTorch's DataLoader with two workers, in a process of its own.

``python benchmarks/collection_epoch.py FILE REPETITIONS`` prints seconds per structure as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from collection_workload import BATCH

__all__ = ["measure"]

_WORKERS = 2
#: A database read one `Atoms` at a time shows its speed on fewer structures.
_MOST_ATOMS_OBJECTS = 5000


def measure(path: Path, repetitions: int) -> list[float]:
    """Return seconds per structure of some epochs, each with the start of its workers."""
    command = [sys.executable, "-W", "ignore", __file__, str(path), str(repetitions)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: list[float] = json.loads(found.stdout)
    return seconds


class _AtomsDataset:
    """A database as it is commonly put before a DataLoader: one `Atoms` after the other, opened by each worker."""

    def __init__(self, path: Path) -> None:
        import collection_ase

        self._path = path
        self._database: Any = None
        database = collection_ase.connect(path)
        self._count = min(len(database), _MOST_ATOMS_OBJECTS)
        database.close()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> dict[str, Any]:
        import torch

        import collection_ase

        if self._database is None:
            self._database = collection_ase.connect(self._path)
        numbers, positions, forces, energy = collection_ase.atoms_arrays(self._database.get_atoms(index + 1))
        return {
            "numbers": torch.from_numpy(numbers),
            "positions": torch.from_numpy(positions),
            "forces": torch.from_numpy(forces),
            "energy": torch.tensor([energy], dtype=torch.float64),
        }


def _joined(samples: list[dict[str, Any]]) -> dict[str, Any]:
    import torch

    return {key: torch.cat([sample[key] for sample in samples]) for key in samples[0]}


def _dataset(path: Path) -> tuple[Any, Any, str]:
    """Return the dataset of a file, how its items become a batch, and what the energies are called there."""
    if path.suffix == ".aselmdb":
        return _AtomsDataset(path), _joined, "energy"
    from molrec.interop.torch import CollectionDataset, collate

    return CollectionDataset(path), collate, "meta/pe"


def main() -> None:
    from torch.utils.data import DataLoader

    path, repetitions = Path(sys.argv[1]), int(sys.argv[2])
    dataset, collate, energies = _dataset(path)
    taken = []
    for _ in range(repetitions):
        begun = time.perf_counter()
        loader = DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=_WORKERS, collate_fn=collate)
        seen = sum(len(batch[energies]) for batch in loader)
        taken.append((time.perf_counter() - begun) / len(dataset))
        assert seen == len(dataset)
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
