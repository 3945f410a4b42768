"""The order in which a flush puts documents in place (spec: commit, a flush; trajectory, from regular to ragged)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import molrec as mr

from .robustness.syscalls import FaultInjector

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the calls recorded are those of POSIX")


def frame(rows: int, edge: float) -> mr.Frame:
    atoms = mr.Block({"x": np.arange(rows) + edge})
    atoms.set_validity("x", np.arange(rows) != 1)
    return mr.Frame({"atoms": atoms}, box=mr.Box(np.eye(3) * edge))


def documents_replaced(folder: Path, *, durable: bool) -> list[str]:
    """Return whose ``zarr.json`` is put in place by the flush in which a block and the cell lose their elided form."""
    schema = mr.SequenceSchema().declare_column("atoms", "x", "f64", nullable=True)
    writer = mr.TrajectoryWriter(folder / "a.mrec", schema, flush_every=3)
    for step, edge in enumerate((1.0, 1.0, 2.0)):
        writer.append(frame(3, 1.0) if edge == 1.0 else frame(4, edge), step=step)
        if step == 0:
            writer.flush()
    # The first is committed; the second, equal to it, and the third, of other rows and another cell, are waiting.
    with FaultInjector(folder) as calls:
        if durable:
            writer.flush()
        else:
            writer.append(frame(5, 3.0), step=3)
    writer.close()
    prefix, suffix = "a.mrec/trajectory/", "/zarr.json"
    made = [path for name, path in calls.made if name == "replace" and path.endswith("zarr.json")]
    return [path.removeprefix(prefix).removesuffix(suffix).removesuffix("zarr.json") for path in made]


@pytest.mark.parametrize("durable", [True, False])
def test_a_block_and_the_cell_give_up_their_elided_forms_in_the_order_readers_rely_on(
    tmp_path: Path, durable: bool
) -> None:
    order = documents_replaced(tmp_path, durable=durable)
    place = {path: order.index(path) for path in order}
    steps = ("atoms/step_index", "atoms/offset", "atoms", "atoms/x", "")
    assert [place[path] for path in steps] == sorted(place[path] for path in steps)
    assert place["atoms"] < place["atoms/_validity/x"] < place[""]
    assert place["box/step_index"] < place["box/vectors"] < place["box"] < place[""]
    assert order[-1] == ""
