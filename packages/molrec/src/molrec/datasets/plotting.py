"""Histograms of a collection as a picture. Draws with matplotlib, the extra ``plot``, loaded when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from molrec.datasets.running_statistics import Histogram
from molrec.datasets.statistics import Statistics
from molrec.errors import SchemaError
from molrec.plotting import new_figure, save_figure
from molrec.storage.zarr.root import refuse_existing

__all__ = ["plot_histograms"]

_PANEL_INCHES = (8.0, 2.4)
#: Histogram to its axis, the quantity its unit is of, and what is counted; counts of forces span powers of ten.
_PANELS: dict[str, tuple[str, str | None, str, bool]] = {
    "energy_per_atom": ("energy per atom", "energy", "structures", False),
    "force_norm": ("norm of the force", "force", "atoms", True),
    "atoms_per_structure": ("atoms per structure", None, "structures", False),
}


def plot_histograms(statistics: Statistics, output: Path, title: str, *, overwrite: bool = False) -> list[str]:
    """Draw the histograms of a collection below one another.

    Args:
        statistics: What `collect_statistics` returned.
        output: PNG to write.
        title: Stands above.
        overwrite: Whether a file that is there is replaced.

    Returns:
        The histograms drawn.

    Raises:
        SchemaError: The output exists (``reject-existing-path``), or there is nothing to draw
            (``reject-nothing-to-draw``).
        ImportError: matplotlib is not installed; the message names the extra.
    """
    if not overwrite:
        refuse_existing(output)
    drawn = [name for name in _PANELS if name in statistics.histograms]
    if not drawn:
        raise SchemaError(f"{title}: there are no structures to draw histograms of", "reject-nothing-to-draw")
    figure = new_figure(len(drawn), _PANEL_INCHES)
    panels = np.atleast_1d(figure.subplots(len(drawn), 1))
    for position, (panel, name) in enumerate(zip(panels, drawn, strict=True)):
        _draw(panel, statistics.histograms[name], _PANELS[name], statistics.units, f"C{position}")
    figure.suptitle(title)
    save_figure(figure, output)
    return drawn


def _draw(
    panel: Any,
    found: Histogram,
    words: tuple[str, str | None, str, bool],
    units: Mapping[str, str],
    color: str,
) -> None:
    axis, quantity, counted, logarithmic = words
    unit = None if quantity is None else units.get(quantity)
    panel.stairs(found.counts, found.edges, fill=True, color=color)
    panel.set_xlabel(axis if unit is None else f"{axis} ({unit})")
    panel.set_ylabel(counted)
    panel.ticklabel_format(axis="x", useOffset=False)
    panel.grid(visible=True, alpha=0.3)
    if logarithmic:
        panel.set_yscale("log")
