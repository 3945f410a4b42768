"""When two results of reading are the same: every field, value for value, type for type, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from mace_core.data import Configuration, DataError, KeySpecification, iter_configurations
from mace_core.data.frames import ParserName

type Outcome = tuple[list[Any], dict[int, float]] | tuple[type[Exception], str]


def fingerprint(value: Any) -> Any:
    """Return something equal for values that are the same and for no others."""
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.kind == "O" else value.tobytes()
        return type(value), value.dtype.str, value.shape, value.flags.c_contiguous, content
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, float):
        return type(value), np.float64(value).tobytes()
    if isinstance(value, dict):
        return {key: fingerprint(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [fingerprint(part) for part in value]
    return type(value), value


def fingerprints(configurations: Iterable[Configuration]) -> list[Any]:
    """Return the fingerprints of all fields of configurations."""
    names = [field.name for field in fields(Configuration)]
    return [{name: fingerprint(getattr(configuration, name)) for name in names} for configuration in configurations]


def outcome(path: Path, key_spec: KeySpecification, parser: ParserName, **options: Any) -> Outcome:
    """Read a file and return what came of it, be it the error that bad files may raise."""
    stream = iter_configurations(path, key_spec, parser=parser, **options)
    try:
        found = fingerprints(stream)
    except DataError as error:
        return type(error), str(error)
    return found, stream.atomic_energies
