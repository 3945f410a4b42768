"""Per-step scalars of a record as a picture. Draws with matplotlib, the extra ``plot``, loaded when it is used."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from molrec.errors import FormatError, SchemaError
from molrec.storage.zarr.record import Record, open_record
from molrec.storage.zarr.root import refuse_existing

if TYPE_CHECKING:
    from molrec.storage.zarr.trajectory_reader import TrajectoryReader

__all__ = ["plot_series"]

_SCALARS = ("f64", "i64", "u64", "i32", "u32")
_PANEL_INCHES = (8.0, 1.9)
_DOTS_PER_INCH = 120
#: What the unit of a well-known key is called in the ``units`` object.
_QUANTITY = {"pe": "energy", "ke": "energy", "etotal": "energy", "temp": "temperature"}


def plot_series(
    location: Any, output: Path, keys: Sequence[str] | None = None, *, overwrite: bool = False
) -> list[str]:
    """Draw per-step scalars over time, or over steps where the run has no times, one panel each.

    Args:
        location: A record.
        output: PNG to write.
        keys: Per-step keys; every numeric scalar of the run when None.
        overwrite: Whether a file that is there is replaced.

    Returns:
        The keys drawn.

    Raises:
        FormatError: No trajectory (``reject-no-trajectory``).
        SchemaError: The output exists (``reject-existing-path``), or a key is no numeric scalar of the run
            (``reject-undeclared``).
        ImportError: matplotlib is not installed; the message names the extra.
    """
    if not overwrite:
        refuse_existing(output)
    with open_record(location) as record:
        trajectory = record.trajectory
        if trajectory is None or not len(trajectory):
            raise FormatError(f"{record.source.name} has no frames to draw", "reject-no-trajectory")
        chosen = _choose(trajectory, keys, record.source.name)
        _draw(record, trajectory, chosen, output)
    return chosen


def _choose(trajectory: TrajectoryReader, keys: Sequence[str] | None, name: str) -> list[str]:
    numeric = [key for key, declared in trajectory.schema.meta.items() if declared.tag in _SCALARS]
    chosen = numeric if keys is None else list(keys)
    other = [key for key in chosen if key not in numeric]
    if other or not chosen:
        what = f"{', '.join(other)} is no per-step scalar" if other else "there is nothing to draw"
        raise SchemaError(
            f"{name}: {what}; its numeric per-step keys are {', '.join(numeric) or '(none)'}", "reject-undeclared"
        )
    return chosen


def _draw(record: Record, trajectory: TrajectoryReader, keys: Sequence[str], output: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("this needs matplotlib, the extra molrec[plot]: pip install 'molrec[plot]'") from error
    units = _units(record)
    times = trajectory.times
    across = trajectory.steps if times is None else times
    label = "step" if times is None else f"time{_in(units.get('time'))}"
    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width, height * len(keys) + 0.5), dpi=_DOTS_PER_INCH, layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(keys), 1, sharex=True))
    for position, (panel, key) in enumerate(zip(panels, keys, strict=True)):
        panel.plot(across, trajectory.meta[key], color=f"C{position}", linewidth=1.0)
        panel.set_ylabel(f"{key}{_in(units.get(_QUANTITY.get(key, '')))}")
        panel.grid(visible=True, alpha=0.3)
        panel.ticklabel_format(axis="y", useOffset=False)
    panels[-1].set_xlabel(label)
    figure.suptitle(Path(record.source.name).name)
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.{uuid.uuid4().hex}.tmp")
    try:
        figure.savefig(temporary, format="png")
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def _units(record: Record) -> dict[str, Any]:
    stated = None if record.system is None else record.system.meta.get("units")
    return stated if isinstance(stated, dict) else {}


def _in(unit: Any) -> str:
    return f" ({unit})" if isinstance(unit, str) else ""
