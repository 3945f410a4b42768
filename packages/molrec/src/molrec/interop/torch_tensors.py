"""What a batch of a collection is as tensors: dtypes, row pointers, columns side by side (``docs/spec/lmdb.md``).

Knows `Collection.batch` and PyTorch's dtypes, no datasets and no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.dtypes import STRING

try:
    import torch
except ImportError as error:
    raise ImportError("this needs PyTorch, the extra molrec[torch]: pip install 'molrec[torch]'") from error

__all__ = [
    "ATOMS",
    "FRAME_POINTERS",
    "STACKED",
    "Conversion",
    "in_one_piece",
    "joined",
    "mask_key",
    "member_key",
    "pointer_key",
]

#: The columns that stand side by side unless told otherwise: name of the tensor to its columns.
STACKED: Mapping[str, tuple[str, ...]] = {
    "positions": ("atoms/x", "atoms/y", "atoms/z"),
    "forces": ("atoms/fx", "atoms/fy", "atoms/fz"),
}
#: The block whose pointers have short names.
ATOMS = "atoms"
#: Where the frames of each record begin and end.
FRAME_POINTERS = "frame_ptr"
_POINTERS, _MEMBERS = "ptr", "batch"
#: Bytes a tensor begins at a multiple of: the size of the widest number.
_ALIGNMENT = 16
#: Unsigned integers PyTorch calculates little with, and the integer that holds all of their values.
_WIDENED: dict[Any, type] = {np.dtype(np.uint16): np.int32, np.dtype(np.uint32): np.int64}


def pointer_key(block: str) -> str:
    """Return the name of the tensor that says where the rows of each frame begin and end."""
    return _POINTERS if block == ATOMS else f"{block}/{_POINTERS}"


def member_key(block: str) -> str:
    """Return the name of the tensor that says of each row which frame it is of."""
    return _MEMBERS if block == ATOMS else f"{block}/{_MEMBERS}"


def mask_key(name: str) -> str:
    """Return the name of the mask of a column, or of columns side by side: valid where all of them are."""
    return f"{name}/validity"


@dataclass(frozen=True)
class Conversion:
    """How a batch becomes tensors.

    Args:
        stack: Name of a tensor to the columns, of one block, that stand side by side in it. They are left out
            themselves.
        dtype: What floating-point numbers are cast to; None leaves them float64.
    """

    stack: Mapping[str, tuple[str, ...]]
    dtype: Any = None

    def __post_init__(self) -> None:
        """Check what can be checked without a collection.

        Raises:
            TypeError: `dtype` is no floating-point dtype of PyTorch.
            ValueError: A tensor's name has a slash, is one of the pointers', or it has no columns or those of two
                blocks.
        """
        if self.dtype is not None and not (isinstance(self.dtype, torch.dtype) and self.dtype.is_floating_point):
            raise TypeError(f"dtype is a floating-point dtype of PyTorch, such as torch.float32, found {self.dtype!r}")
        for name, columns in self.stack.items():
            if "/" in name or name in (FRAME_POINTERS, _POINTERS, _MEMBERS):
                raise ValueError(f"stack: no tensor can be called {name!r}: that is how columns and pointers are named")
            if not columns:
                raise ValueError(f"stack: {name!r} has no columns")
            if len({column.partition("/")[0] for column in columns}) > 1:
                raise ValueError(f"stack: the columns of {name!r} are not of one block: {', '.join(columns)}")

    def tensors(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return what `Collection.batch` returned as tensors, which share its memory where PyTorch can.

        Raises:
            OverflowError: A u64 value that no int64 can hold.
            KeyError: A column to be stacked is not in the batch.
            TypeError: Columns to be stacked are not all plain numbers of one dtype.
        """
        found: dict[str, Any] = {FRAME_POINTERS: torch.from_numpy(batch["/"])}
        for key, values in batch.items():
            if "/" in key:
                if key != "/":
                    found[key] = self._tensor(key, values)
                continue
            pointers = torch.from_numpy(values)
            found[pointer_key(key)] = pointers
            found[member_key(key)] = _members(pointers)
        for name, columns in self.stack.items():
            found[name] = _side_by_side(name, {column: _of(found, column, name) for column in columns})
            masks = [found[mask_key(column)] for column in columns if mask_key(column) in found]
            if masks:
                found[mask_key(name)] = torch.stack(masks).all(dim=0)
        for column in {column for columns in self.stack.values() for column in columns}:
            del found[column]
            found.pop(mask_key(column), None)
        return found

    def _tensor(self, key: str, values: Any) -> Any:
        """Return one column, mask or per-step series; strings and JSON stay lists."""
        if isinstance(values, list):
            return values
        array: npt.NDArray[Any] = values
        if array.dtype == STRING:
            return array.tolist()
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.dtype == np.uint64:
            array = array.view(np.int64)
            if array.size and array.min() < 0:
                raise OverflowError(
                    f"{key}: {array.view(np.uint64).max()} is past int64, the largest integer PyTorch calculates with; "
                    "leave the column out"
                )
        elif array.dtype in _WIDENED:
            array = array.astype(_WIDENED[array.dtype])
        tensor = torch.from_numpy(array)
        return tensor.to(self.dtype) if self.dtype is not None and tensor.is_floating_point() else tensor


def _of(found: Mapping[str, Any], column: str, name: str) -> Any:
    if column not in found:
        raise KeyError(f"stack: {name!r} is to have the column {column!r}, which is not read")
    return found[column]


def _side_by_side(name: str, columns: Mapping[str, Any]) -> Any:
    kinds = {column: "strings" if isinstance(found, list) else found.dtype for column, found in columns.items()}
    if len(set(kinds.values())) > 1 or any(isinstance(found, list) or found.ndim > 1 for found in columns.values()):
        raise TypeError(
            f"stack: the columns of {name!r} are not all plain numbers of one dtype: "
            + ", ".join(f"{column} {kind}" for column, kind in kinds.items())
        )
    first = next(iter(columns.values()))
    stacked = torch.empty((len(first), len(columns)), dtype=first.dtype)
    for place, found in enumerate(columns.values()):
        stacked[:, place] = found
    return stacked


def _members(pointers: Any) -> Any:
    return torch.repeat_interleave(torch.diff(pointers))


def in_one_piece(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Return a batch whose tensors lie in one storage.

    A worker hands over storages, each with a descriptor of its own, which takes longer than to read a small tensor.
    """
    tensors = {key: value for key, value in batch.items() if torch.is_tensor(value)}
    sizes = [-(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT for tensor in tensors.values()]
    storage = torch.empty(sum(sizes), dtype=torch.uint8)
    packed = dict(batch)
    for (key, tensor), room in zip(tensors.items(), storage.split(sizes), strict=True):
        packed[key] = room[: tensor.nbytes].view(tensor.dtype).view(tensor.shape).copy_(tensor)
    return packed


def joined(samples: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return samples, each of which `Conversion.tensors` made, as one batch.

    Raises:
        ValueError: No samples, or samples of different names.
    """
    found = list(samples)
    if not found:
        raise ValueError("no samples to join")
    keys = found[0].keys()
    for sample in found:
        if sample.keys() != keys:
            raise ValueError(f"samples have different names: {', '.join(sorted(keys ^ sample.keys()))}")
    return {key: _joined(key, [sample[key] for sample in found], found) for key in keys}


def _joined(key: str, values: list[Any], samples: list[Mapping[str, Any]]) -> Any:
    if isinstance(values[0], list):
        return [item for value in values for item in value]
    last = key.rpartition("/")[2]
    if last in (_POINTERS, FRAME_POINTERS):
        return _end_to_end(values)
    if last == _MEMBERS:
        frames = _end_to_end([sample[key.removesuffix(_MEMBERS) + _POINTERS] for sample in samples])
        return _members(frames)
    return torch.cat(values)


def _end_to_end(pointers: list[Any]) -> Any:
    counts = torch.cat([torch.diff(each) for each in pointers])
    return torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(counts, 0)])
