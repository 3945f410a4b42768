"""`write_configurations`: a collection of configurations at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.errors import SchemaError
from molrec.interop.configuration_records import differences
from molrec.interop.label_places import CONFIGURATION, LABELS, LabelTable
from molrec.interop.label_survey import LabelSurvey
from molrec.interop.labelled_records import RecordOfStructure, index_of_labels
from molrec.storage.lmdb.collection_writer import CollectionWriter

if TYPE_CHECKING:
    from mace_core.data import Configuration, KeySpecification
    from mace_core.data.raw_frame import RawFrame

__all__ = ["write_configurations"]

_DEFAULT = "Default"


def write_configurations(
    path: str | os.PathLike[str],
    configurations: Sequence[Configuration],
    units: Mapping[str, str] | None = None,
    key_spec: KeySpecification | None = None,
    *,
    index: Sequence[str] | None = None,
    meta: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    report: Callable[[int, int | None], None] | None = None,
) -> int:
    """Write configurations to a new collection, one record each.

    `molrec.interop.mace.read_configurations` reads them back as they are, bit for bit.

    Args:
        path: The collection to create.
        configurations: What to write, gone through twice and never changed; `Configurations` will do.
        units: Quantity to unit; ångström, eV, eV/ångström when None, as `mace_core` has it.
        key_spec: The key of each property, which also says whether it is one value for a structure or one for each
            atom; the default keys when None.
        index: Keys of record meta that become columns of the index; the config type when None.
        meta: Further keys of the collection's meta.
        overwrite: Take the place of a collection that is there.
        report: Called with configurations written and configurations in all.

    Returns:
        Configurations written.

    Raises:
        SchemaError: A property has a value but no key (``reject-labels``), a value has no JSON form, or the collection
            cannot be created.
    """
    from mace_core.data import KeySpecification
    from mace_core.data.configuration_builder import ConfigurationBuilder
    from mace_core.data.resolved_keys import ResolvedKeys

    spec = KeySpecification.from_defaults() if key_spec is None else key_spec
    keys = ResolvedKeys(spec)
    survey = LabelSurvey()
    for _, raw in _structures(configurations, spec):
        survey.add(raw)
    table = LabelTable.from_survey(survey, spec)
    record_of = RecordOfStructure(table)
    builders: dict[str, ConfigurationBuilder] = {}
    with CollectionWriter(
        path,
        {"length": "angstrom", "energy": "eV", "force": "eV/angstrom"} if units is None else units,
        schema=table.schema(survey.most_atoms),
        index=index_of_labels(["config_type"] if index is None else index),
        meta={LABELS: table.to_document(), **(meta or {})},
        overwrite=overwrite,
    ) as writer:
        for configuration, raw in _structures(configurations, spec):
            frame, document = record_of(raw)
            head = configuration.head if isinstance(configuration.head, str) else _DEFAULT
            if head not in builders:
                builders[head] = ConfigurationBuilder(str(path), keys, head, None)
            stated = differences(configuration, builders[head].build(raw))
            if head != _DEFAULT:
                stated["head"] = head
            if stated:
                document[CONFIGURATION] = stated
            document.setdefault("config_type", str(configuration.config_type))
            writer.append(frame, meta=document)
            if report is not None:
                report(len(writer), survey.frames)
    return survey.frames


def _structures(
    configurations: Sequence[Configuration], spec: KeySpecification
) -> Iterator[tuple[Configuration, RawFrame]]:
    for number, configuration in enumerate(configurations):
        yield configuration, _structure(configuration, spec, number)


def _structure(configuration: Configuration, spec: KeySpecification, number: int) -> RawFrame:
    """Return the structure a file would have for a configuration, as far as a file can say it."""
    from ase.io.extxyz import REV_PROPERTY_NAME_MAP, per_atom_properties

    from mace_core.data.raw_frame import GRAPH_RESULTS, RawFrame, three_bools

    graph: dict[str, Any] = {}
    graph_results: dict[str, Any] = {}
    atom: dict[str, Any] = {}
    atom_results: dict[str, Any] = {}
    for name, value in configuration.properties.items():
        if value is None or name == "head":
            continue
        if name in spec.graph_keys:
            key = spec.graph_keys[name]
            (graph_results if key in GRAPH_RESULTS else graph)[key] = value
        elif name in spec.atom_keys:
            key = REV_PROPERTY_NAME_MAP.get(spec.atom_keys[name], spec.atom_keys[name])
            array = np.asarray(value)
            if array.shape[:1] != np.shape(configuration.atomic_numbers):
                raise SchemaError(
                    f"configuration {number}: {name!r} is one value for each atom, found shape {array.shape}",
                    "reject-labels",
                )
            (atom_results if key in per_atom_properties else atom)[key] = array
        else:
            raise SchemaError(
                f"configuration {number}: the keys do not name the property {name!r}; state in key_spec whether it is "
                "one value for a structure (graph_keys) or for each atom (atom_keys)",
                "reject-labels",
            )
        weight = configuration.property_weights.get(name)
        if weight is not None and weight != 1.0:
            graph[f"config_{name}_weight"] = float(weight)
    if configuration.weight != 1.0:
        graph["config_weight"] = float(configuration.weight)
    graph["config_type"] = str(configuration.config_type)
    cell, pbc = configuration.cell, configuration.pbc
    return RawFrame(
        frame_number=number,
        comment="",
        numbers=np.asarray(configuration.atomic_numbers, dtype=np.int64),
        positions=np.array(configuration.positions, dtype=np.float64).reshape(-1, 3),
        cell=np.zeros((3, 3)) if cell is None else np.array(cell, dtype=np.float64),
        pbc=(False, False, False) if pbc is None else three_bools(pbc),
        graph=graph,
        graph_results=graph_results,
        atom=atom,
        atom_results=atom_results,
    )
