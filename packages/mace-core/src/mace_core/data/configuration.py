"""One structure with its labels: the object that stands between files and graphs.

It knows arrays and names, not files, keys, neighbour lists or tensors. What reads files yields it, what builds graphs
consumes it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Configuration", "ConfigurationList"]


@dataclass(eq=False)
class Configuration:
    """One structure with its labels and their weights. Compared by identity, as its arrays have no single truth.

    Attributes:
        atomic_numbers: ``(n_atoms,)`` of ``int64``.
        positions: ``(n_atoms, 3)`` of ``float64``, in Ang.
        properties: Value by property name (``energy``, ``forces``, ``pbe_energy``), never by file key; None where the
            file has no value. Values keep the type and shape the file gives them.
        property_weights: Weight in the loss by property name; 0.0 where the value is None.
        cell: ``(3, 3)`` of ``float64``, in Ang, rows are vectors: the physical cell of the file, zeros where it has
            none; never a box made up for a neighbour search.
        pbc: Whether each cell vector repeats.
        weight: Weight of the whole structure in the loss.
        config_type: What kind of structure this is; always text.
        head: Name of the model head the labels are for.
    """

    atomic_numbers: NDArray[np.integer[Any]]
    positions: NDArray[np.floating[Any]]
    properties: dict[str, Any]
    property_weights: dict[str, float]
    cell: NDArray[np.floating[Any]] | None = None
    pbc: tuple[bool, bool, bool] | None = None
    weight: float = 1.0
    config_type: str = "Default"
    head: str = "Default"


class ConfigurationList(list[Configuration]):
    """Configurations in file order, with the energies of the isolated atoms found among them.

    Attributes:
        atomic_energies: Energy in eV by atomic number; empty unless isolated atoms were asked for.
    """

    def __init__(
        self, configurations: Iterable[Configuration] = (), atomic_energies: dict[int, float] | None = None
    ) -> None:
        super().__init__(configurations)
        self.atomic_energies: dict[int, float] = {} if atomic_energies is None else dict(atomic_energies)
