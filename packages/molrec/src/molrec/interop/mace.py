"""Collections and the configurations of `mace_core`: each made from the other, without loss.

A configuration of a collection is what `mace_core.data.read_configurations` would make of the file the collection came
from, with the keys it was converted with or any other: `Configurations` makes one when it is asked for,
`read_configurations` all of them, `write_configurations` a collection of those at hand.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from molrec.errors import FormatError

try:
    from mace_core.data import Configuration, ConfigurationList, KeySpecification
    from mace_core.data.configuration_builder import ConfigurationBuilder
    from mace_core.data.errors import DataError
    from mace_core.data.reading import stream_configurations
    from mace_core.data.resolved_keys import ResolvedKeys
except ImportError as error:
    raise ImportError("configurations are those of mace-core: pip install 'molrec[mace]'") from error

from molrec.interop.configuration_records import apply_stated, stated_head
from molrec.interop.configuration_writer import write_configurations
from molrec.interop.structures import Structures, require_units
from molrec.storage.lmdb.opening import open_collection

if TYPE_CHECKING:
    from mace_core.data.raw_frame import RawFrame

__all__ = ["Configurations", "read_configurations", "write_configurations"]

_DEFAULT_HEAD = "Default"


class Configurations(Sequence[Configuration]):
    """The configurations of a collection, each made when it is asked for. Nothing is kept.

    It can be pickled and used in other processes as far as the collection can.

    Args:
        collection: An open collection, or where it is (a file, a folder or glob of shards).
        key_spec: Which key is which property; the keys the collection was converted with when None.
        head_name: Head of every configuration; when None, the one stored with the record, else ``Default``.
        config_type_weights: Weight by config type, multiplied with the weight of a structure.

    Raises:
        FormatError: The collection is in other units (``reject-units``), or damaged.
        SchemaError: It has no atoms (``reject-not-atoms``).
        ValueError: The keys or weights are none.
    """

    def __init__(
        self,
        collection: Any,
        key_spec: KeySpecification | None = None,
        *,
        head_name: str | None = None,
        config_type_weights: Mapping[str, float] | None = None,
    ) -> None:
        opened = open_collection(collection) if isinstance(collection, (str, os.PathLike)) else collection
        self._structures = Structures(opened)
        require_units(opened.units, self._structures.where)
        self.key_spec = self._structures.key_spec if key_spec is None else key_spec
        self.keys = ResolvedKeys(self.key_spec)
        self._head_name = head_name
        self._weights = dict(config_type_weights or {})
        #: By head; there are few.
        self._builders: dict[str, ConfigurationBuilder] = {}
        self._builder(_DEFAULT_HEAD if head_name is None else head_name)

    @property
    def where(self) -> str:
        """What to call the collection in messages."""
        return self._structures.where

    def __len__(self) -> int:
        return len(self._structures)

    @overload
    def __getitem__(self, index: int) -> Configuration: ...
    @overload
    def __getitem__(self, index: slice) -> list[Configuration]: ...
    def __getitem__(self, index: int | slice) -> Configuration | list[Configuration]:
        """Return one configuration, or a list of some.

        Raises:
            IndexError: No such structure.
            FormatError: A record is damaged, or its labels make no configuration (``reject-malformed-source``).
        """
        numbers = range(len(self))[index]
        return self._built(numbers)[1] if isinstance(numbers, int) else [self._built(number)[1] for number in numbers]

    def __iter__(self) -> Iterator[Configuration]:
        return (self._built(number)[1] for number in range(len(self)))

    def built(self, numbers: Iterable[int]) -> Iterator[tuple[RawFrame, Configuration]]:
        """Yield structures with the configurations made of them."""
        return (self._built(number) for number in numbers)

    def _built(self, number: int) -> tuple[RawFrame, Configuration]:
        record, ordinal = self._structures.record(number)
        raw = self._structures.of(record, ordinal, number)
        head = stated_head(record.meta) if self._head_name is None else self._head_name
        try:
            configuration = self._builder(_DEFAULT_HEAD if head is None else head).build(raw)
        except DataError as error:
            raise FormatError(str(error), "reject-malformed-source") from error
        return raw, apply_stated(configuration, record.meta)

    def _builder(self, head: str) -> ConfigurationBuilder:
        builder = self._builders.get(head)
        if builder is None:
            builder = self._builders[head] = ConfigurationBuilder(self.where, self.keys, head, self._weights)
        return builder


def read_configurations(
    collection: Any,
    key_spec: KeySpecification | None = None,
    *,
    indices: Iterable[int] | None = None,
    head_name: str | None = None,
    config_type_weights: Mapping[str, float] | None = None,
    extract_isolated_atoms: bool = False,
    keep_isolated_atoms: bool = False,
    no_data_ok: bool = False,
) -> ConfigurationList:
    """Read configurations from a collection: those `mace_core.data.read_configurations` makes of the file it came from.

    Args:
        collection: An open collection, or where it is.
        key_spec: Which key is which property; the keys the collection was converted with when None.
        indices: Structures, in this order; all of them when None.
        head_name: Head of every configuration; when None, the one stored with the record, else ``Default``.
        config_type_weights: Weight by config type, multiplied with the ``config_weight`` of a structure.
        extract_isolated_atoms: Whether the energies of isolated atoms are collected and the atoms left out.
        keep_isolated_atoms: Whether isolated atoms that are collected stay among the configurations too.
        no_data_ok: Whether structures without any energy, forces and dipole are accepted, with a warning.

    Returns:
        A list whose ``atomic_energies`` are those of the isolated atoms, in eV by atomic number.

    Raises:
        FormatError: The collection is damaged or in other units.
        SchemaError: It has no atoms.
        mace_core.data.DataError: Two isolated atoms of an element disagree, or there are no labels.
    """
    lazy = Configurations(collection, key_spec, head_name=head_name, config_type_weights=config_type_weights)
    stream = stream_configurations(
        lazy.built(range(len(lazy)) if indices is None else indices),
        lazy.keys,
        name=lazy.where,
        extract_isolated_atoms=extract_isolated_atoms,
        keep_isolated_atoms=keep_isolated_atoms,
        no_data_ok=no_data_ok,
    )
    configurations = list(stream)
    return ConfigurationList(configurations, stream.atomic_energies)
