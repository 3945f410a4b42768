"""Series of a record that a picture can show: per-step scalars, metrics, time-dependent scalar observables.

`molrec.plotting` draws what is chosen here. A key names a per-step scalar first, then a metric, then an observable;
``metrics/<key>`` and ``observables/<name>`` name one of those whatever else there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.dtypes import Array
from molrec.errors import FormatError, SchemaError
from molrec.storage.zarr.metrics_log import METRICS
from molrec.storage.zarr.observables_group import OBSERVABLES
from molrec.storage.zarr.record import Record

if TYPE_CHECKING:
    from molrec.storage.zarr.observables_group import ObservablesReader

__all__ = ["Drawable", "choose"]

_SCALARS = ("f64", "i64", "u64", "i32", "u32")
_NUMBERS = frozenset({*_SCALARS, "i8", "i16", "u8", "u16", "bool"})
#: What the unit of a well-known key is called in the ``units`` object.
_QUANTITY = {"pe": "energy", "ke": "energy", "etotal": "energy", "temp": "temperature"}


@dataclass(frozen=True, slots=True)
class Drawable:
    """One series: its name, what it is drawn over and with which words.

    Attributes:
        key: What the user calls it.
        across: Horizontal positions, ``(n,)``.
        values: Numbers, ``(n,)``.
        across_label: What the positions are.
        unit: Unit of the values, or None.
    """

    key: str
    across: Array
    values: Array
    across_label: str
    unit: Any = None


def choose(record: Record, keys: Sequence[str] | None) -> list[Drawable]:
    """Return the series to draw; every per-step scalar when no keys are given, and everything where there is none.

    Raises:
        FormatError: The record has nothing that could be drawn (``reject-no-trajectory``).
        SchemaError: A key is no series of the record, or it has none (``reject-undeclared``).
    """
    name = record.source.name
    empty = record.trajectory is None or not len(record.trajectory)
    if empty and record.metrics is None and record.observables is None:
        raise FormatError(f"{name} has no frames, metrics or observables to draw", "reject-no-trajectory")
    steps, metrics, observables = _per_step_keys(record), list(record.metrics or ()), _observable_names(record)
    offered = [*steps, *(f"{METRICS}/{key}" for key in metrics), *(f"{OBSERVABLES}/{name}" for name in observables)]
    chosen = (steps or offered) if keys is None else list(keys)
    other = [key for key in chosen if key not in (*offered, *metrics, *observables)]
    if other or not chosen:
        what = f"{', '.join(other)} is no per-step scalar" if other else "there is nothing to draw"
        more = f", and it has {', '.join(offered[len(steps) :])}" if len(offered) > len(steps) else ""
        raise SchemaError(
            f"{name}: {what}; its numeric per-step keys are {', '.join(steps) or '(none)'}{more}", "reject-undeclared"
        )
    return [drawable for key in chosen for drawable in _find(record, key, steps, metrics)]


def _per_step_keys(record: Record) -> list[str]:
    trajectory = record.trajectory
    if trajectory is None or not len(trajectory):
        return []
    return [key for key, declared in trajectory.schema.meta.items() if declared.tag in _SCALARS]


def _observable_names(record: Record) -> list[str]:
    observables = record.observables
    return [] if observables is None else [name for name in observables if _is_scalar_series(observables, name)]


def _is_scalar_series(observables: ObservablesReader, name: str) -> bool:
    array = observables.array(name)
    if array is None or not observables.describe(name)["time_dependent"]:
        return False
    return len(array.layout.shape) == 1 and array.layout.dtype in _NUMBERS


def _find(record: Record, key: str, steps: Sequence[str], metrics: Sequence[str]) -> Iterator[Drawable]:
    bare = key.removeprefix(f"{METRICS}/")
    if key in steps:
        yield _per_step(record, key)
    elif key in metrics:
        yield _metric(record, key, key)
    elif bare != key and bare in metrics:
        yield _metric(record, key, bare)
    else:
        yield _observable(record, key, key.removeprefix(f"{OBSERVABLES}/"))


def _per_step(record: Record, key: str) -> Drawable:
    assert record.trajectory is not None
    across, label = _frames(record)
    return Drawable(key, across, record.trajectory.meta[key], label, _units(record).get(_QUANTITY.get(key, "")))


def _metric(record: Record, key: str, name: str) -> Drawable:
    assert record.metrics is not None
    series = record.metrics[name]
    if series.steps is None:
        return Drawable(key, np.arange(len(series)), series.values, "event")
    order = np.argsort(series.steps, kind="stable")
    return Drawable(key, series.steps[order], series.values[order], "step")


def _observable(record: Record, key: str, name: str) -> Drawable:
    assert record.observables is not None
    observable = record.observables[name]
    values = np.asarray(observable.values)
    across, label = np.arange(len(values)), "entry"
    if record.trajectory is not None and len(record.trajectory) == len(values) and observable.sampling is None:
        across, label = _frames(record)
    return Drawable(key, across, values, label, observable.unit)


def _frames(record: Record) -> tuple[Array, str]:
    """Return the times of the frames, or their steps where the run has no times."""
    assert record.trajectory is not None
    times = record.trajectory.times
    if times is None:
        return record.trajectory.steps, "step"
    unit = _units(record).get("time")
    return times, f"time ({unit})" if isinstance(unit, str) else "time"


def _units(record: Record) -> dict[str, Any]:
    stated = None if record.system is None else record.system.meta.get("units")
    return stated if isinstance(stated, dict) else {}
