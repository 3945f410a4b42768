"""Per-step scalars, metrics and observables of a record as a picture.

Draws with matplotlib, the extra ``plot``, loaded when it is used.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from molrec.drawable import Drawable, choose
from molrec.storage.zarr.record import open_record
from molrec.storage.zarr.root import refuse_existing

__all__ = ["new_figure", "plot_series", "save_figure"]

_PANEL_INCHES = (8.0, 1.9)
_DOTS_PER_INCH = 120


def plot_series(
    location: Any, output: Path, keys: Sequence[str] | None = None, *, overwrite: bool = False
) -> list[str]:
    """Draw series of a record, one panel each.

    Per-step scalars are drawn over time, or over steps where the run has no times; metrics over their steps;
    time-dependent scalar observables over the frames.

    Args:
        location: A record.
        output: PNG to write.
        keys: Per-step keys, ``metrics/<key>`` or ``observables/<name>`` (the bare name where it is the only one); when
            None every numeric per-step scalar, and everything else in a record without any.
        overwrite: Whether a file that is there is replaced.

    Returns:
        The keys drawn.

    Raises:
        FormatError: No frames, metrics or observables (``reject-no-trajectory``).
        SchemaError: The output exists (``reject-existing-path``), or a key is no series of the record
            (``reject-undeclared``).
        ImportError: matplotlib is not installed; the message names the extra.
    """
    if not overwrite:
        refuse_existing(output)
    with open_record(location) as record:
        chosen = choose(record, keys)
        _draw(Path(record.source.name).name, chosen, output)
    return [one.key for one in chosen]


def new_figure(panels: int, panel_inches: tuple[float, float] = _PANEL_INCHES) -> Any:
    """Return an empty matplotlib figure for some panels below one another.

    Raises:
        ImportError: matplotlib is not installed; the message names the extra.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("this needs matplotlib, the extra molrec[plot]: pip install 'molrec[plot]'") from error
    width, height = panel_inches
    return Figure(figsize=(width, height * panels + 0.5), dpi=_DOTS_PER_INCH, layout="constrained")


def save_figure(figure: Any, output: Path) -> None:
    """Write a figure as PNG, whole or not at all; its folder is made where it is not there."""
    output.parent.mkdir(parents=True, exist_ok=True)
    temporary = output.with_name(f".{output.name}.{uuid.uuid4().hex}.tmp")
    try:
        figure.savefig(temporary, format="png")
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)


def _draw(title: str, series: Sequence[Drawable], output: Path) -> None:
    figure = new_figure(len(series))
    together = len({one.across_label for one in series}) == 1
    panels = np.atleast_1d(figure.subplots(len(series), 1, sharex=together))
    for position, (panel, one) in enumerate(zip(panels, series, strict=True)):
        panel.plot(one.across, one.values, color=f"C{position}", linewidth=1.0)
        panel.set_ylabel(f"{one.key} ({one.unit})" if isinstance(one.unit, str) else one.key)
        panel.grid(visible=True, alpha=0.3)
        panel.ticklabel_format(axis="y", useOffset=False)
        if position == len(series) - 1 or not together:
            panel.set_xlabel(one.across_label)
    figure.suptitle(title)
    save_figure(figure, output)
