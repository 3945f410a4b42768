"""What is said of a file as a whole once all of it was read.

Single frames may lack a label; whether that deserves a word depends on all of them. It collects while the frames pass
by, and speaks once, at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from logging import getLogger
from typing import Any

import numpy as np

from mace_core.data.configuration import Configuration
from mace_core.data.errors import DataError
from mace_core.data.raw_frame import RawFrame
from mace_core.data.resolved_keys import ResolvedKeys

__all__ = ["ReadingReport"]

_LOG = getLogger(__name__)
_LABELS = {"energy": "energies", "forces": "forces", "dipole": "dipoles"}
"""What the presence check looks for, with the plural for messages."""


class ReadingReport:
    """Collects what the frames have and lack.

    Args:
        path: The file, for messages.
        keys: Where each property is found.
        no_data_ok: Whether a file without energies, forces and dipoles is accepted.
    """

    def __init__(self, path: str, keys: ResolvedKeys, *, no_data_ok: bool) -> None:
        self._path = path
        self._keys = keys
        self._no_data_ok = no_data_ok
        self._count = 0
        self._seen: set[str] = set()
        self._failed = {name: _Frames() for name in keys.literals if name != "stress"}
        self._not_finite: dict[str, _Frames] = {}
        for name, literal in keys.literals.items():
            _LOG.warning(
                "%s: ASE keeps what a file has under %r in its calculator; the key stands for %r during this call, and "
                "the values are taken from there",
                path,
                name,
                literal,
            )

    def add(self, raw: RawFrame, configuration: Configuration) -> None:
        """Note what a frame has."""
        self._count += 1
        properties = configuration.properties
        if len(self._seen) < len(_LABELS):
            self._seen.update(name for name in _LABELS if properties.get(name) is not None)
            for name, key in self._keys.fallbacks.items():
                if raw.graph.get(key) is not None or raw.atom.get(key) is not None:
                    self._seen.add(name)
        for name, frames in self._failed.items():
            if properties[name] is None:
                frames.add(raw.frame_number)
        for name, value in properties.items():
            if value is None or (raw.columns_finite and name in self._keys.per_atom) or _is_finite(value):
                continue
            self._not_finite.setdefault(name, _Frames()).add(raw.frame_number)

    def finish(self) -> None:
        """Say what there is to say.

        Raises:
            DataError: No frame has an energy, forces or a dipole, and that was not allowed.
        """
        described = {name: self._keys.described(name) for name in _LABELS}
        if not self._seen:
            problem = (
                f"no frame has a value under {described['energy']}, {described['forces']} or {described['dipole']}"
            )
            if not self._no_data_ok:
                raise DataError(
                    f"{problem}, the keys of energy, forces and dipole; name the keys the file has in the key "
                    "specification, or allow a file without labels by no_data_ok=True",
                    self._path,
                )
            _LOG.warning("%s: %s; accepted because of no_data_ok", self._path, problem)
        for name in ("energy", "forces"):
            if name not in self._seen:
                _LOG.warning(
                    "%s: no %s found, no frame has a value under %s", self._path, _LABELS[name], described[name]
                )
        for name, frames in self._failed.items():
            if frames.count:
                _LOG.warning(
                    "%s: taking %s from the calculator failed in %d of %d frames, first in frame %d; the value is None "
                    "there and weighs 0.0",
                    self._path,
                    name,
                    frames.count,
                    self._count,
                    frames.first,
                )
        for name, frames in self._not_finite.items():
            _LOG.warning(
                "%s: %s under %s is not finite in %d of %d frames, first in frame %d; it was kept",
                self._path,
                name,
                self._keys.described(name),
                frames.count,
                self._count,
                frames.first,
            )


@dataclass(slots=True)
class _Frames:
    count: int = 0
    first: int = -1

    def add(self, frame: int) -> None:
        if not self.count:
            self.first = frame
        self.count += 1


def _is_finite(value: Any) -> bool:
    """Whether a value has neither not-a-number nor infinity; what is no float counts as finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return True
