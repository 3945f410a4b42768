"""A record read with zarr-python and ``docs/spec`` alone: nothing of this library takes part."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import zarr
from zarr.storage import ZipStore

from .fixture_documents import Array, Core, Parts, Series
from .interop import neutral


def read_record(path: Path) -> Parts:
    """Return the content of a packed record."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr-python's, about codecs, strings and files that are no nodes
        store = ZipStore(path, mode="r")
        try:
            return _Reader(zarr.open_group(store, mode="r", zarr_format=3)).parts()
        finally:
            store.close()


class _Reader:
    def __init__(self, root: zarr.Group) -> None:
        self.root = root
        self.groups = dict(root.groups())

    def parts(self) -> Parts:
        groups = self.groups
        core = Core(
            sections=sorted([*groups, *self.root.array_keys()]),
            meta=_attributes(groups["meta"]) if "meta" in groups else {},
            frame=_frame(groups["frame"]) if "frame" in groups else None,
            system=_frame(groups["system"]) if "system" in groups else None,
            trajectory=_Run(groups["trajectory"]).read() if "trajectory" in groups else None,
        )
        forcefield = groups.get("forcefield")
        return Parts(
            core,
            None if forcefield is None else (_attributes(forcefield), _blocks(forcefield)),
            _observables(groups["observables"]) if "observables" in groups else None,
            _attributes(groups["status"]) if "status" in groups else None,
            _attributes(groups["method"]) if "method" in groups else None,
            _metrics(groups["metrics"]) if "metrics" in groups else None,
        )


def _attributes(node: Any) -> dict[str, Any]:
    return dict(node.attrs)


def _array(node: Any) -> neutral.AnyArray:
    values = np.asarray(node[...])
    return np.array(values.tolist(), neutral.STRING).reshape(values.shape) if values.dtype.kind in "OUT" else values


# -- frame-shaped sections --------------------------------------------------------------------------------------------


def _frame(group: Any) -> neutral.Frame:
    attributes = _attributes(group)
    tags = attributes.pop("_meta_types", {})
    meta = {key: _meta_value(tags.get(key), form) for key, form in attributes.items()}
    box = dict(group.groups()).get("box")
    return neutral.Frame(_blocks(group), None if box is None else _box(_arrays(box), _attributes(box)), meta)


def _blocks(group: Any) -> dict[str, neutral.Block]:
    return {name: _block(child) for name, child in group.groups() if name != "box"}


def _block(group: Any) -> neutral.Block:
    attributes = _attributes(group)
    masks = _arrays(dict(group.groups())["_validity"]) if "_validity" in group else {}
    columns = {}
    for name, array in group.arrays():
        values = _array(array)
        mask = neutral.mask_or_none(masks.get(name))
        columns[name] = neutral.Column(neutral.dtype_name(values), values, mask, array.attrs.get("precision"))
    shape = attributes.get("structural_shape")
    return neutral.Block(
        attributes["count"], None if shape is None else tuple(shape), columns, attributes.get("targets", {})
    )


def _arrays(group: Any) -> dict[str, neutral.AnyArray]:
    return {name: _array(array) for name, array in group.arrays()}


def _box(parts: dict[str, neutral.AnyArray], attributes: dict[str, Any]) -> neutral.Box:
    defined = attributes.get("cell_defined", True)
    vectors = parts["vectors"] if defined else np.eye(3)
    a, b, c = parts.get("boundary", np.full(3, defined)).tolist()
    return neutral.Box(vectors, parts.get("origin", np.zeros(3)), (a, b, c), defined)


def _meta_value(tag: str | None, form: Any) -> neutral.MetaValue:
    if tag is not None:
        return neutral.MetaValue(tag, neutral.decode_meta(tag, form))
    if isinstance(form, bool):
        return neutral.MetaValue("bool", form)
    if isinstance(form, int):
        found = "i64" if -(2**63) <= form < 2**63 else "u64" if 0 <= form < 2**64 else "f64"
        return neutral.MetaValue(found, float(form) if found == "f64" else form)
    if isinstance(form, float):
        return neutral.MetaValue("f64", form)
    return neutral.MetaValue("string" if isinstance(form, str) else "json", form)


# -- runs -------------------------------------------------------------------------------------------------------------


class _Run:
    def __init__(self, group: Any) -> None:
        self.group = group
        self.attributes = _attributes(group)
        self.schema = self.attributes["sequence_schema"]
        self.groups = dict(group.groups())
        steps = dict(group.arrays()).get("step")
        self.nstep: int = self.attributes.get("nstep", 0 if steps is None else steps.shape[0])

    def read(self) -> neutral.Trajectory:
        blocks = {name: self.updates(name) for name in self.schema["blocks"]} if self.nstep else {}
        boxes = self.boxes()
        series = {key: self.meta(key, entry["dtype"]) for key, entry in self.schema["meta"].items()}
        steps, times = self.progression("step"), self.progression("time")
        frames = []
        for ordinal in range(self.nstep):
            found: dict[str, neutral.Block] = {}
            updates: dict[str, int] = {}
            for name, stored in blocks.items():
                earlier = [update for update in stored if update[0] <= ordinal]
                if earlier:
                    updates[name], start, end = earlier[-1]
                    found[name] = self.block(name, start, end)
            cell = [box for first, box in boxes if first <= ordinal]
            meta = {key: values[ordinal] for key, values in series.items()}
            frame = neutral.Frame(found, cell[-1] if cell else None, meta)
            frames.append(neutral.Step(steps[ordinal], times[ordinal] if times else None, frame, updates))
        return neutral.Trajectory(steps, times or None, neutral.schema_from_document(self.schema), frames)

    def progression(self, what: str) -> list[Any]:
        stated = self.attributes.get(f"{what}_progression")
        if stated is not None:
            stride = stated.get("stride", 0)
            return [stated["start"] + (float(n) if what == "time" else n) * stride for n in range(self.nstep)]
        arrays = dict(self.group.arrays())
        values: list[Any] = _array(arrays[what])[: self.nstep].tolist() if what in arrays else []
        return values

    def updates(self, name: str) -> list[tuple[int, int, int]]:
        """Return ordinal, first and end row of every committed update."""
        group = self.groups[name]
        arrays = dict(group.arrays())
        if "step_index" in arrays and "offset" in arrays:
            ordinals = [one for one in _array(arrays["step_index"]).tolist() if one < self.nstep]
            offsets = _array(arrays["offset"]).tolist()
            return [(one, offsets[place], offsets[place + 1]) for place, one in enumerate(ordinals)]
        if "uniform_rows" not in group.attrs:
            return []
        rows = group.attrs["uniform_rows"]
        assert group.attrs["dense_updates"] is True
        shortest = min(array.shape[0] for array in arrays.values())
        return [(one, one * rows, (one + 1) * rows) for one in range(min(shortest // rows, self.nstep))]

    def block(self, name: str, start: int, end: int) -> neutral.Block:
        group, declared = self.groups[name], self.schema["blocks"][name]
        arrays, masks = dict(group.arrays()), dict(group.groups()).get("_validity", {})
        columns = {}
        for column, entry in declared["columns"].items():
            mask = _array(masks[column])[start:end] if entry.get("nullable", False) else None
            values = _array(arrays[column])[start:end]
            columns[column] = neutral.Column(entry["dtype"], values, neutral.mask_or_none(mask), entry.get("precision"))
        shape = declared.get("structural_shape")
        return neutral.Block(
            end - start, None if shape is None else tuple(shape), columns, dict(declared.get("targets", {}))
        )

    def meta(self, key: str, tag: str) -> list[neutral.MetaValue]:
        if not self.nstep:
            return []
        array = dict(self.groups["meta"].arrays())[key]
        assert array.attrs["meta_dtype"] == tag
        values = _array(array)[: self.nstep].tolist()
        if tag == "json":
            return [neutral.MetaValue(tag, json.loads(text)) for text in values]
        return [neutral.MetaValue(tag, tuple(one) if isinstance(one, list) else one) for one in values]

    def boxes(self) -> list[tuple[int, neutral.Box]]:
        """Return every cell with the ordinal it comes at."""
        group = self.groups.get("box")
        if group is None:
            return []
        attributes, parts = _attributes(group), _arrays(group)
        if "step_index" in parts and "vectors" in parts:
            ordinals = [one for one in parts.pop("step_index").tolist() if one < self.nstep]
            return [
                (one, _box({name: part[place] for name, part in parts.items()}, attributes))
                for place, one in enumerate(ordinals)
            ]
        parts = {name: np.array(attributes[name]) for name in ("vectors", "origin", "boundary") if name in attributes}
        return [(0, _box(parts, attributes))]


# -- observables and metrics ------------------------------------------------------------------------------------------


def _observables(group: Any) -> dict[str, tuple[dict[str, Any], Array | neutral.Frame]]:
    described = {name: _attributes(child) for name, child in dict(group.groups())["meta"].groups()}
    found: dict[str, tuple[dict[str, Any], Array | neutral.Frame]] = {}
    for name, document in described.items():
        node = group[name]
        if isinstance(node, zarr.Array):
            values = _array(node)
            found[name] = (document, Array(neutral.dtype_name(values), values))
        else:
            found[name] = (document, _frame(node))
    return found


def _metrics(group: Any) -> dict[str, Series]:
    """Return the series of a section that was closed: the arrays the catalog puts in force."""
    found = {}
    parts = {name: dict(child.arrays()) for name, child in group.groups()}
    for key, entry in group.attrs["series"].items():
        safe = quote(key, safe="")
        steps = parts["steps"].get(safe)
        found[key] = Series(
            entry["type"],
            _array(parts["series"][safe]).tolist(),
            None if steps is None else _array(steps).tolist(),
            _array(parts["wall_time"][safe]).tolist(),
        )
    return found
