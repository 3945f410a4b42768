"""Reading configurations from extended XYZ: whole, or one by one.

What a file means is what ASE's reader makes of it; the C parser only does the same faster. The legacy behaviour and
the places where this differs from it, each with its reason, are listed in the guide "From file to Configuration".
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Self

from mace_core.data.configuration import Configuration, ConfigurationList
from mace_core.data.configuration_builder import ConfigurationBuilder
from mace_core.data.frames import ParserName, chosen_parser, iter_raw_frames
from mace_core.data.isolated_atoms import IsolatedAtoms, is_isolated_atom
from mace_core.data.keys import KeySpecification
from mace_core.data.raw_frame import RawFrame
from mace_core.data.reading_report import ReadingReport
from mace_core.data.resolved_keys import ResolvedKeys

__all__ = ["ConfigurationStream", "iter_configurations", "read_configurations", "stream_configurations"]


class ConfigurationStream(Iterator[Configuration]):
    """The configurations of a file, one by one, in constant memory.

    Made by `iter_configurations`. What needs the whole file comes at its end: the check that it has labels at all, the
    warnings about what is missing, and the energies of isolated atoms.

    Attributes:
        atomic_energies: Energy of the isolated atoms in eV by atomic number; empty until the last configuration.
    """

    def __init__(self, configurations: Generator[Configuration, None, dict[int, float]]) -> None:
        self.atomic_energies: dict[int, float] = {}
        self._configurations = configurations

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Configuration:
        try:
            return next(self._configurations)
        except StopIteration as end:
            if end.value is not None:
                self.atomic_energies = end.value
            raise

    def close(self) -> None:
        """Stop reading and close the file."""
        self._configurations.close()


def iter_configurations(
    path: str | os.PathLike[str],
    key_spec: KeySpecification,
    *,
    head_name: str = "Default",
    config_type_weights: Mapping[str, float] | None = None,
    extract_isolated_atoms: bool = False,
    keep_isolated_atoms: bool = False,
    no_data_ok: bool = False,
    parser: ParserName = "auto",
) -> ConfigurationStream:
    """Read the configurations of an extended-XYZ file one by one, in constant memory.

    Args:
        path: The file, UTF-8 text, perhaps compressed (``.gz``, ``.bz2``, ``.xz``).
        key_spec: Which key holds which property; read at once, never changed.
        head_name: Head of every configuration, written over what the file has under the head key.
        config_type_weights: Weight by config type, multiplied with the ``config_weight`` of a structure.
        extract_isolated_atoms: Whether the energies of isolated atoms are collected and the atoms left out.
        keep_isolated_atoms: Whether isolated atoms that are collected stay among the configurations too.
        no_data_ok: Whether a file without any energy, forces and dipole is accepted, with a warning.
        parser: ``auto``: the C parser where it is installed and reads a frame as ASE does, else ASE; ``ase``: ASE
            alone; ``extxyz``: as ``auto``, but the C parser has to be there. The result is the same.

    Returns:
        An iterator with the attribute ``atomic_energies``, which is complete when the iterator has ended.

    Raises:
        ValueError: A name stands in both halves of the specification, a weight in ``config_type_weights`` is no number,
            or there is no parser of that name.
        ImportError: The C parser was insisted on and is not there.
        OSError: While iterating: the file cannot be opened.
        DataError: While iterating: the file or a frame of it cannot be read, or two isolated atoms of an element
            disagree; at the end: there is no energy, forces or dipole in the file.
    """
    name = os.fspath(path)
    keys = ResolvedKeys(key_spec)
    builder = ConfigurationBuilder(name, keys, head_name, config_type_weights)
    column_parser = chosen_parser(parser)
    built = ((raw, builder.build(raw)) for raw in iter_raw_frames(name, keys, column_parser))
    return stream_configurations(
        built,
        keys,
        name=name,
        extract_isolated_atoms=extract_isolated_atoms,
        keep_isolated_atoms=keep_isolated_atoms,
        no_data_ok=no_data_ok,
    )


def stream_configurations(
    built: Iterable[tuple[RawFrame, Configuration]],
    keys: ResolvedKeys,
    *,
    name: str,
    extract_isolated_atoms: bool = False,
    keep_isolated_atoms: bool = False,
    no_data_ok: bool = False,
) -> ConfigurationStream:
    """Make a stream of configurations built elsewhere; what is said of files as a whole is said of it.

    Args:
        built: Frames, each with the configuration made of it.
        keys: The keys they were made with.
        name: What to call the source in messages.
        extract_isolated_atoms: As for `iter_configurations`.
        keep_isolated_atoms: As for `iter_configurations`.
        no_data_ok: As for `iter_configurations`.

    Raises:
        DataError: While iterating, as `iter_configurations`.
    """

    def configurations() -> Generator[Configuration, None, dict[int, float]]:
        report = ReadingReport(name, keys, no_data_ok=no_data_ok)
        isolated_atoms = IsolatedAtoms(name, keys.key("energy"))
        for raw, configuration in built:
            report.add(raw, configuration)
            if extract_isolated_atoms and is_isolated_atom(configuration):
                isolated_atoms.add(configuration, raw.frame_number)
                if not keep_isolated_atoms:
                    continue
            yield configuration
        report.finish()
        return isolated_atoms.energies()

    return ConfigurationStream(configurations())


def read_configurations(
    path: str | os.PathLike[str],
    key_spec: KeySpecification,
    *,
    head_name: str = "Default",
    config_type_weights: Mapping[str, float] | None = None,
    extract_isolated_atoms: bool = False,
    keep_isolated_atoms: bool = False,
    no_data_ok: bool = False,
) -> ConfigurationList:
    """Read the configurations of an extended-XYZ file.

    Args:
        path: The file, UTF-8 text, perhaps compressed (``.gz``, ``.bz2``, ``.xz``).
        key_spec: Which key holds which property; never changed.
        head_name: Head of every configuration, written over what the file has under the head key.
        config_type_weights: Weight by config type, multiplied with the ``config_weight`` of a structure.
        extract_isolated_atoms: Whether the energies of isolated atoms are collected and the atoms left out.
        keep_isolated_atoms: Whether isolated atoms that are collected stay among the configurations too.
        no_data_ok: Whether a file without any energy, forces and dipole is accepted, with a warning.

    Returns:
        A list in file order whose ``atomic_energies`` are those of the isolated atoms, in eV by atomic number.

    Raises:
        ValueError: A name stands in both halves of the specification, or a weight in ``config_type_weights`` is no
            number.
        OSError: The file cannot be opened.
        DataError: The file or a frame of it cannot be read, two isolated atoms of an element disagree, or the file has
            no energy, forces or dipole.
    """
    stream = iter_configurations(
        path,
        key_spec,
        head_name=head_name,
        config_type_weights=config_type_weights,
        extract_isolated_atoms=extract_isolated_atoms,
        keep_isolated_atoms=keep_isolated_atoms,
        no_data_ok=no_data_ok,
    )
    configurations = list(stream)
    return ConfigurationList(configurations, stream.atomic_energies)
