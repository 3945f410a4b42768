"""What ``molrec info`` says about observables and metrics; `molrec.inspection` asks here."""

from __future__ import annotations

from typing import Any

import numpy as np

from molrec import typedjson
from molrec.model.metrics import MetricSeries
from molrec.storage.zarr.metrics_group import MetricsReader
from molrec.storage.zarr.observables_group import ObservablesReader

__all__ = ["metrics_facts", "observables_facts"]


def observables_facts(observables: ObservablesReader) -> dict[str, Any]:
    """Return, for each observable, its description with dtype and shape, both None for a frame-shaped one."""
    facts: dict[str, Any] = {}
    for name in observables:
        array = observables.array(name)
        layout = None if array is None else array.layout
        facts[name] = {
            **observables.describe(name),
            "dtype": None if layout is None else layout.dtype,
            "shape": None if layout is None else list(layout.shape),
        }
    return facts


def metrics_facts(metrics: MetricsReader) -> dict[str, Any]:
    """Return whether the section was closed and, for each series, type, entries, steps and bounds."""
    return {"closed": metrics.is_dense, "series": {key: _series_facts(series) for key, series in metrics.items()}}


def _series_facts(series: MetricSeries) -> dict[str, Any]:
    facts: dict[str, Any] = {"type": series.type, "count": len(series)}
    if series.steps is not None and len(series):
        facts["steps"] = {"least": int(series.steps.min()), "most": int(series.steps.max())}
    given = series.values[~np.isnan(series.values)]
    if len(given):
        facts["least"] = typedjson.encode("f64", given.min().item())
        facts["most"] = typedjson.encode("f64", given.max().item())
    if len(series):
        facts["latest"] = typedjson.encode("f64", series.values[series.latest].item())
        facts["latest_timestamp"] = str(series.wall_time[series.latest]) or None
    return facts
