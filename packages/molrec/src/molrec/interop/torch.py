"""A collection as a PyTorch dataset: any structure by its number, batches read in one go, by several workers.

```python
from torch.utils.data import DataLoader
from molrec.interop.torch import CollectionDataset, collate

dataset = CollectionDataset("train.mrec.lmdb", dtype=torch.float32)
for batch in DataLoader(dataset, batch_size=64, shuffle=True, num_workers=2, collate_fn=collate):
    batch["positions"], batch["forces"], batch["meta/pe"], batch["ptr"], batch["batch"]
```

A batch is a dict. Rows of all frames stand end to end:

| name | what |
|---|---|
| ``"block/column"`` | ``(rows, *trailing)``; strings as a list |
| ``"positions"``, ``"forces"`` | ``(atoms, 3)``, in place of their columns (`STACKED`) |
| ``"block/column/validity"`` | bool ``(rows,)``, for a nullable column |
| ``"forces/validity"`` | the same of columns side by side: true where all of them have a value |
| ``"meta/key"`` | ``(frames,)`` or ``(frames, width)``; strings and JSON as a list |
| ``"ptr"`` | int64 ``(frames + 1,)``: where each frame's atoms begin and end |
| ``"batch"`` | int64 ``(atoms,)``: the frame of each atom |
| ``"block/ptr"``, ``"block/batch"`` | the same of any other block |
| ``"frame_ptr"`` | int64 ``(records + 1,)``: where the frames of each record begin and end |

Integers PyTorch calculates little with become wider ones: u16 int32, u32 int64, and u64 int64, where no value may be
past it. Row references count from the first row of their own frame, as they are stored:
``batch["bonds/atomi"] + batch["ptr"][batch["bonds/batch"]]`` are rows of the batch.

Needs the extra ``molrec[torch]``. Nothing is moved to a device here and no neighbours are looked for.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

import molrec
from molrec.interop.torch_tensors import (
    FRAME_POINTERS,
    STACKED,
    Conversion,
    in_one_piece,
    joined,
    member_key,
    pointer_key,
)
from molrec.model.schema import SequenceSchema

from torch.utils.data import Dataset, get_worker_info  # isort: skip - after the module that says what to install

__all__ = ["STACKED", "CollectionDataset", "Selection", "collate"]


class BatchSource(Protocol):
    """What a dataset needs of an open collection."""

    @property
    def schema(self) -> SequenceSchema:
        """The declaration of its records."""

    def __len__(self) -> int: ...

    def batch(
        self, indices: Iterable[int], columns: Sequence[str] | None = None, meta: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Return columns of many records end to end."""


class CollectionDataset(Dataset):  # type: ignore[misc] # PyTorch is not type-checked, it may not be there
    """Records of a collection, map-style: ``len(dataset)``, ``dataset[i]``, and whole batches for a `DataLoader`.

    An item is a record, with all of its frames. A dataset can be pickled, and forked at any time: each process opens
    the file for itself, so that it serves a `DataLoader` with workers of any start method.

    Args:
        collection: An open collection, or the path of one.
        indices: Which records the items are, in this order; every one when None. Negative ones count from the end.
        columns: Names ``"block/column"`` of trajectory or system; every declared trajectory column when None.
        meta: Per-step keys; every declared one when None.
        dtype: What float64 columns and per-step values are cast to, such as ``torch.float32``; None leaves them.
        stack: Name of a tensor to the columns that stand side by side in it, which are then left out themselves. When
            None, `STACKED`: positions and forces, where all three columns are read.

    Raises:
        FormatError: Not a collection.
        KeyError: A column or key that is not there.
        IndexError: No such record.
        TypeError: `indices` are no integers, `dtype` is no floating-point dtype, or columns to be stacked are not all
            plain numbers of one dtype.
        ValueError: A name in `stack` is taken, or its columns are not of one block.
    """

    def __init__(
        self,
        collection: str | os.PathLike[str] | BatchSource,
        indices: Iterable[int] | None = None,
        columns: Sequence[str] | None = None,
        meta: Sequence[str] | None = None,
        dtype: Any = None,
        *,
        stack: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.collection: BatchSource = (
            molrec.open_collection(collection) if isinstance(collection, (str, os.PathLike)) else collection
        )
        self._records = len(self.collection)
        self._indices = None if indices is None else _record_numbers(indices, self._records)
        schema = self.collection.schema
        self._columns = _column_names(schema) if columns is None else _names(columns)
        self._meta = None if meta is None else _names(meta)
        self._conversion = Conversion(_stacked(self._columns, stack), dtype)
        _check_names(self._columns, self._conversion.stack)
        # What is wrong with the names shows here and not in a worker.
        self.read(range(min(1, len(self))))

    def __len__(self) -> int:
        return self._records if self._indices is None else len(self._indices)

    def _numbers(self, places: Iterable[int]) -> list[int]:
        if self._indices is None:
            return list(places)
        return [self._indices.item(place) for place in places]

    def __getitem__(self, index: int | Sequence[int]) -> dict[str, Any]:
        """Return one record, a batch of one; or, for several numbers, what `read` returns.

        Raises:
            IndexError: No such item.
        """
        return self.read(index if isinstance(index, Sequence) else [index])

    def __getitems__(self, indices: Sequence[int]) -> Selection:
        """Return several records that `collate` reads in one go; a `DataLoader` asks for them so."""
        return Selection(self, indices)

    def read(self, indices: Iterable[int]) -> dict[str, Any]:
        """Return the batch of some items, in any order, read in one go.

        Raises:
            IndexError: No such item.
            OverflowError: A u64 value that no int64 can hold.
            FormatError: A value is refused.
        """
        places = [_place(index, len(self)) for index in indices]
        return self._conversion.tensors(self.collection.batch(self._numbers(places), self._columns, self._meta))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if len(self.collection) != self._records:
            raise RuntimeError(
                f"{self.collection!r} is not the collection this dataset was made of, which has {self._records} "
                "records: another has taken its place; make the dataset anew"
            )

    def __repr__(self) -> str:
        return f"<CollectionDataset: {len(self)} of {self.collection!r}>"


class Selection(Sequence[dict[str, Any]]):
    """Items of a dataset, by their numbers; each is read when it is asked for, all in one go by `read`."""

    def __init__(self, dataset: CollectionDataset, indices: Sequence[int]) -> None:
        self._dataset = dataset
        self._places = list(indices)

    def read(self) -> dict[str, Any]:
        """Return all of them as one batch."""
        return self._dataset.read(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Selection: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Selection:
        """Return one item, or the selection of a slice."""
        if isinstance(index, slice):
            return Selection(self._dataset, self._places[index])
        return self._dataset[self._places[index]]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._dataset[place] for place in self._places)


def collate(batch: Selection | Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one batch of tensors: the `collate_fn` of a `DataLoader` over a `CollectionDataset`.

    In a worker the tensors of a batch lie in one storage, so that they are handed over together.

    Args:
        batch: What a dataset hands over; or single items, as a `ConcatDataset` collects them; or what
            `Collection.batch` returns, whose memory the tensors then share where PyTorch can. What is a batch of
            tensors already stays as it is.

    Raises:
        ValueError: No items, or items of different names.
        OverflowError: A u64 value that no int64 can hold.
        FormatError: A value is refused.
    """
    if isinstance(batch, Selection):
        found = batch.read()
    elif not isinstance(batch, Mapping):
        found = joined(batch)
    elif FRAME_POINTERS in batch:
        found = dict(batch)
    else:
        columns = [key for key in batch if key.count("/") == 1 and not key.startswith(("meta/", "/"))]
        found = Conversion(_stacked(columns, None)).tensors(batch)
    return found if get_worker_info() is None else in_one_piece(found)


def _record_numbers(indices: Iterable[int], records: int) -> npt.NDArray[np.int64]:
    """Return record numbers, counted from the beginning."""
    given = np.asarray(indices if isinstance(indices, np.ndarray) else list(indices))
    if not given.size:
        return np.zeros(0, np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(f"indices are integers in one row, found {given.dtype} of shape {given.shape}")
    wrong = (given < -records) | (given >= records)
    if wrong.any():
        raise IndexError(f"record {given[wrong][0]} of a collection of {records}, at {int(wrong.argmax())} of indices")
    numbers = given.astype(np.int64)
    return np.where(numbers < 0, numbers + records, numbers)


def _place(index: int, count: int) -> int:
    position = operator.index(index)
    place = position + count if position < 0 else position
    if not 0 <= place < count:
        raise IndexError(f"item {position} of a dataset of {count}")
    return place


def _column_names(schema: SequenceSchema) -> list[str]:
    return [f"{name}/{column}" for name, block in schema.blocks.items() for column in block.columns]


def _names(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def _stacked(columns: Sequence[str], stack: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    """Return what is to be stacked, the usual where nothing is said and the columns are there."""
    if stack is None:
        return {name: found for name, found in STACKED.items() if set(found) <= set(columns)}
    return {name: (found,) if isinstance(found, str) else tuple(found) for name, found in stack.items()}


def _check_names(columns: Sequence[str], stack: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse columns that are called as the pointers of their block are, and stacks that are called as blocks are."""
    left = set(columns) - {column for found in stack.values() for column in found}
    blocks = {column.partition("/")[0] for column in columns}
    if blocks & stack.keys():
        raise ValueError(f"stack: {min(blocks & stack.keys())!r} is a block; call the tensor otherwise")
    for block in blocks:
        taken = left & {pointer_key(block), member_key(block)}
        if taken:
            raise ValueError(f"column {min(taken)!r} is called as the row pointers of its block are; leave it out")
