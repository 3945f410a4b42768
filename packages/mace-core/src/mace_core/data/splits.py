"""Dividing a data set: at random into training and validation, and by kind of structure.

Both work on whatever is given and change none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from logging import getLogger
from os import PathLike
from pathlib import Path

import numpy as np

from mace_core.data.configuration import Configuration

__all__ = ["random_train_valid_split", "test_config_types"]

_LOG = getLogger(__name__)
_FEWEST_WRITTEN = 10


def random_train_valid_split[T](
    items: Sequence[T], valid_fraction: float, seed: int, work_dir: str | PathLike[str], prefix: str | None = None
) -> tuple[list[T], list[T]]:
    """Split items at random, the same way for the same seed, and record which ones were held out.

    ``range(n)`` is shuffled by ``numpy.random.default_rng(seed)``; the last ``max(int(valid_fraction * n), 1)`` of it
    are held out. From ten of them on their indices are written, one to a line, to ``<prefix>_valid_indices_<seed>.txt``
    (``valid_indices_<seed>.txt`` without prefix); fewer are logged.

    Args:
        items: What to split; read, never changed.
        valid_fraction: Part to hold out, greater than 0 and less than 1.
        seed: Seed of the random numbers.
        work_dir: Folder for the index file.
        prefix: Beginning of the name of the index file; none if absent or empty.

    Returns:
        The items for training and those for validation, each in the order of the shuffle, at least one of either.

    Raises:
        ValueError: The fraction lies outside, or there are fewer than two items.
        OSError: The index file cannot be written.
    """
    if not 0.0 < valid_fraction < 1.0:
        raise ValueError(f"valid_fraction is greater than 0 and less than 1, not {valid_fraction!r}")
    size = len(items)
    if size < 2:
        raise ValueError(f"a split needs at least two items, one for training and one for validation, not {size}")
    indices = np.arange(size)
    np.random.default_rng(seed).shuffle(indices)
    held_out = max(int(valid_fraction * size), 1)
    train, valid = indices[:-held_out].tolist(), indices[-held_out:].tolist()
    if held_out < _FEWEST_WRITTEN:
        _LOG.info("validation set: the items %s of %d (seed %s)", valid, size, seed)
    else:
        path = Path(work_dir) / f"{prefix + '_' if prefix else ''}valid_indices_{seed}.txt"
        path.write_text("".join(f"{index}\n" for index in valid), encoding="utf-8", newline="\n")
        _LOG.info("validation set: %d of %d items (seed %s), listed in %s", held_out, size, seed, path)
    return [items[index] for index in train], [items[index] for index in valid]


def test_config_types(test_configs: Iterable[Configuration]) -> list[tuple[str, list[Configuration]]]:
    """Group configurations by config type and head; no test in spite of its name, which its users know.

    Args:
        test_configs: The configurations; read, never changed.

    Returns:
        ``<config_type>_<head>`` and the configurations of that name, in order of first appearance. A head that is None
        counts as empty. Different pairs that make the same name are one group.
    """
    groups: dict[str, list[Configuration]] = {}
    for configuration in test_configs:
        groups.setdefault(f"{configuration.config_type}_{configuration.head or ''}", []).append(configuration)
    return list(groups.items())


# pytest takes a name like this for a test wherever it is imported
vars(test_config_types)["__test__"] = False
