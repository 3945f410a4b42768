"""Observables (spec: observables): every dtype and shape comes back to the bit, values and descriptions are paired."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

import molrec as mr
from molrec.storage.zarr.record import open_source
from molrec.storage.zarr.repack import repack

from .refusals import refused, untouched
from .strategies import DTYPES, content, exact, files, frames, json_documents, memory_store, names, scratch, texts

STATUS = {"state": "succeeded"}
KEYWORDS = frozenset(
    ("self", "values", "kind", "description", "time_dependent", "unit", "axes", "sampling", "domain", "target")
)
SHAPES = ((), (0,), (1,), (5,), (3, 2), (2, 0), (0, 3), (2, 3, 4))


def scalar(values: Any, **more: Any) -> mr.Observable:
    return mr.Observable(values, "scalar", "what it is", time_dependent=False, **more)


def write(path: Path, **observables: mr.Observable) -> Path:
    return mr.write(path, status=STATUS, observables=observables)


def written(path: Path) -> dict[str, Any]:
    """Return the attributes of every node below the section."""
    return {
        node.parent.relative_to(path).as_posix(): json.loads(node.read_bytes())["attributes"]
        for node in sorted((path / "observables").rglob("zarr.json"))
    }


# -- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape_comes_back(dtype: str, packed: bool, record: Path) -> None:
    given_values = {f"v{len(shape)}-{position}": content(dtype, shape, 3) for position, shape in enumerate(SHAPES)}
    target = write(record, **{name: scalar(values) for name, values in given_values.items()})
    found = mr.open(mr.pack(target) if packed else target).observables
    assert found is not None
    assert sorted(found) == sorted(given_values)
    for name, values in given_values.items():
        assert exact(np.asarray(found[name].values)) == exact(values)
        witness = zarr.open_array(record, path=f"observables/{name}", mode="r")
        assert exact(np.asarray(witness[...], dtype=values.dtype)) == exact(values)
    assert mr.validate(target) == []


def test_the_layout_is_an_array_and_a_described_group(record: Path) -> None:
    observable = mr.Observable(
        np.arange(6.0).reshape(3, 2), "vector", "dipole", True, unit="e*A", axes=["frame", "xy"],
        sampling={"every": 10}, domain="box", target="system/atoms", window=None, weight=np.float64(0.5),
    )  # fmt: skip
    write(record, dipole=observable)
    stated = {
        "kind": "vector", "description": "dipole", "time_dependent": True, "unit": "e*A", "axes": ["frame", "xy"],
        "sampling": {"every": 10}, "domain": "box", "target": "system/atoms", "window": None, "weight": 0.5,
    }  # fmt: skip
    assert dict(zarr.open_group(record, path="observables/meta/dipole", mode="r").attrs) == stated
    assert set(written(record)) == {
        "observables", "observables/meta", "observables/dipole", "observables/meta/dipole",
    }  # fmt: skip
    found = mr.open(record).observables
    assert found is not None
    again = found["dipole"]
    assert again == observable
    assert (again.kind, again.description, again.time_dependent, again.unit) == ("vector", "dipole", True, "e*A")
    assert (again.axes, again.sampling, again.domain) == (["frame", "xy"], {"every": 10}, "box")
    assert (again.target, again.extra) == ("system/atoms", {"window": None, "weight": 0.5})
    assert again.to_document() == stated


def test_large_values_are_cut_into_chunks(record: Path) -> None:
    values = np.arange(400_000, dtype=np.float64)
    write(record, large=scalar(values))
    document = json.loads((record / "observables" / "large" / "zarr.json").read_bytes())
    assert document["codecs"][0]["name"] == "sharding_indexed"
    assert document["codecs"][0]["configuration"]["chunk_shape"] == [65536]
    assert document["codecs"][0]["configuration"]["index_location"] == "end"
    found = mr.open(record).observables
    assert found is not None
    assert exact(found["large"].values) == exact(values)


def test_an_observable_can_be_a_frame(record: Path) -> None:
    frame = mr.Frame({"bins": mr.Block({"r": [0.5, 1.5], "n": [3, 4]})}, meta={"cutoff": np.int32(3)})
    frame["bins"].set_precision("r", 1e-3)
    observable = mr.Observable(frame, "histogram", "a table", time_dependent=False)
    frame["bins"]["n"][0] = 7  # what was given is the caller's
    write(record, histogram=observable)
    for target in (record, mr.pack(record)):
        found = mr.open(target).observables
        assert found is not None
        again = found["histogram"].values
        assert isinstance(again, mr.Frame)
        assert again["bins"]["n"].tolist() == [3, 4]
        assert (again.meta.tag("cutoff"), again["bins"].precision("r")) == ("i32", 1e-3)
    assert mr.validate(record) == []


@given(
    st.dictionaries(
        names(reserved=frozenset({"meta"})),
        st.tuples(
            st.one_of(
                st.builds(content, st.sampled_from(DTYPES), st.sampled_from(SHAPES[1:]), st.integers(0, 9)), frames()
            ),
            st.sampled_from(["scalar", "vector", "of my own"]),
            texts(),
            st.booleans(),
            st.dictionaries(texts(4).filter(lambda key: key not in KEYWORDS), json_documents(), max_size=2),
        ),
        max_size=3,
    )
)
def test_whatever_is_written_comes_back(given_observables: dict[str, Any]) -> None:
    observables = {
        name: mr.Observable(values, kind, description, over_time, **extra)
        for name, (values, kind, description, over_time, extra) in given_observables.items()
    }
    with scratch() as folder:
        mr.write(folder / "a.mrec", status=STATUS, observables=observables)
        for location in (folder / "a.mrec", mr.pack(folder / "a.mrec"), memory_store(folder / "a.mrec")):
            found = mr.open(location).observables
            assert found is not None
            assert found.keys() == observables.keys()
            assert all(found[name] == observable for name, observable in observables.items())
        again = mr.write(folder / "b.mrec", status=STATUS, observables=mr.open(folder / "a.mrec").observables)
        assert files(again) == files(folder / "a.mrec")


def test_equality_is_of_bits_and_descriptions() -> None:
    assert scalar([0.0]) == scalar([0.0])
    assert scalar([0.0]) != scalar([-0.0])
    assert scalar([np.nan]) == scalar([np.nan])
    assert scalar([1]) != scalar([1.0])
    assert scalar([1], unit="K") != scalar([1])
    assert scalar([1], note=None) != scalar([1])
    assert scalar([1]) != scalar(mr.Frame())
    assert scalar([1]) != [1]
    assert "scalar" in repr(scalar([1]))


def test_the_values_given_stay_the_callers(record: Path) -> None:
    values = np.arange(3.0)
    observable = scalar(values)
    values[0] = 9.0
    assert observable.values.tolist() == [0.0, 1.0, 2.0]  # type: ignore[union-attr]
    assert values.flags.writeable
    write(record, x=observable)


def test_descriptions_are_read_without_the_values(record: Path) -> None:
    write(record, x=scalar(np.arange(3.0)), y=scalar([1]))
    shutil.rmtree(record / "observables" / "x" / "c")
    found = mr.open(record).observables
    assert found is not None
    assert found.describe("x")["kind"] == "scalar"
    assert found["y"].values.tolist() == [1]  # type: ignore[union-attr]
    with refused("reject-corrupt-chunk", "observables/x", kind=mr.FormatError):
        found["x"]
    assert [(f.rule, f.where) for f in mr.validate(record)] == [("reject-corrupt-chunk", "observables/x")]


def test_a_record_without_observables_has_none(record: Path) -> None:
    mr.write(record, status=STATUS)
    assert mr.open(record).observables is None
    mr.write(record, status=STATUS, observables={}, overwrite=True)
    found = mr.open(record).observables
    assert found is not None
    assert not found
    with refused("reject-empty-record"):
        mr.write(record.with_name("b.mrec"), observables={"x": scalar([1.0])})


# -- unknown content --------------------------------------------------------------------------------------------------


def test_unknown_content_is_carried_through(record: Path) -> None:
    write(record, x=scalar([1.0], later={"deep": [None, -0.0]}))
    for node, more in (("observables", {"a": None}), ("observables/x", {"unit": "nm"})):
        group = json.loads((record / node / "zarr.json").read_bytes())
        group["attributes"] |= more
        (record / node / "zarr.json").write_text(json.dumps(group))
    zarr.create_group(record, path="observables/later").attrs["x"] = 1
    (record / "observables" / "notes.txt").write_text("mine")
    before = files(record)
    assert files(mr.unpack(mr.pack(record), record.with_name("again.mrec"))) == before
    assert files(repack(open_source(record), record.with_name("repacked.mrec"))) == before
    found = mr.open(record).observables
    assert found is not None
    assert list(found) == ["x"]
    assert found["x"].attributes == {"unit": "nm"}
    again = mr.write(record.with_name("copy.mrec"), status=STATUS, observables=found)
    for node in ("observables", "observables/x", "observables/meta/x"):
        first, second = (json.loads((root / node / "zarr.json").read_bytes()) for root in (record, again))
        assert first["attributes"] == second["attributes"]
    assert [(f.rule, f.where, f.severity) for f in mr.validate(record)] == [
        ("unknown-node", "observables/later", "info")
    ]


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a/b", ".", "..", "__x", "zarr.json", "a\0", "x" * 256])
def test_a_name_that_is_no_node_is_refused(name: str, record: Path) -> None:
    with refused("reject-bad-name", "observables"):
        write(record, **{name: scalar([1.0])})
    assert not record.exists()


def test_the_name_meta_is_refused(record: Path) -> None:
    with refused("reject-reserved-name", "'meta'"):
        write(record, meta=scalar([1.0]))
    assert not record.exists()


def test_something_else_than_an_observable_is_refused(record: Path) -> None:
    mr.write(record, status=STATUS)
    with untouched(record), refused("reject-not-an-observable", "observables/x", "ndarray"):
        mr.write(record, status=STATUS, observables={"x": np.arange(3.0)}, overwrite=True)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("reject-narrow-float", np.zeros(2, np.float32)),
        ("reject-unknown-dtype", np.zeros(2, "datetime64[s]")),
        ("reject-unknown-dtype", [[1], [1, 2]]),
        ("reject-invalid-string", ["\ud800"]),
    ],
)
def test_values_no_array_holds_are_refused(rule: str, values: Any) -> None:
    with refused(rule, "observable"):
        scalar(values)


BAD_DOCUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("kind", {"kind": ""}),
    ("kind", {"kind": 3}),
    ("description", {"description": None}),
    ("time_dependent", {"time_dependent": 1}),
    ("unit", {"unit": 3}),
    ("axes", {"axes": "x"}),
    ("axes", {"axes": [1]}),
]


@pytest.mark.parametrize(("key", "edits"), BAD_DOCUMENTS)
def test_a_description_out_of_form_is_refused(key: str, edits: dict[str, Any], record: Path) -> None:
    good: dict[str, Any] = {"kind": "scalar", "description": "d", "time_dependent": False}
    with refused("reject-observable-document", key):
        mr.Observable([1.0], **(good | edits))
    write(record, x=scalar([1.0]))
    put(record / "observables" / "meta" / "x", good | edits)
    for target in (record, mr.pack(record)):
        with refused("reject-observable-document", "observables/meta/x", key, kind=mr.FormatError):
            repr(mr.open(target).observables)
        assert [finding.rule for finding in mr.validate(target)] == ["reject-observable-document"]


@pytest.mark.parametrize("key", ["kind", "description", "time_dependent"])
def test_a_description_without_a_required_key_is_refused(key: str, record: Path) -> None:
    write(record, x=scalar([1.0]))
    document = {"kind": "scalar", "description": "d", "time_dependent": False}
    del document[key]
    put(record / "observables" / "meta" / "x", document)
    with refused("reject-observable-document", key, "missing", kind=mr.FormatError):
        repr(mr.open(record).observables)


def put(node: Path, attributes: dict[str, Any]) -> None:
    document = json.loads((node / "zarr.json").read_bytes())
    document["attributes"] = attributes
    (node / "zarr.json").write_text(json.dumps(document))


def test_optional_keys_may_be_null_on_disk(record: Path) -> None:
    write(record, x=scalar([1.0]))
    stated = {"kind": "scalar", "description": "", "time_dependent": False, "unit": None, "axes": None, "domain": None}
    put(record / "observables" / "meta" / "x", stated)
    found = mr.open(record).observables
    assert found is not None
    assert (found["x"].unit, found["x"].axes, found["x"].extra) == (None, None, {})
    assert found["x"].to_document() == stated


@pytest.mark.parametrize("lost", ["observables/meta/x", "observables/x"])
def test_values_and_description_stand_together_or_are_refused(lost: str, record: Path) -> None:
    write(record, x=scalar([1.0]), y=scalar([2.0]))
    shutil.rmtree(record / lost)
    for target in (record, mr.pack(record)):
        with refused("reject-observable-unpaired", "observables/x", kind=mr.FormatError):
            repr(mr.open(target).observables)
        assert [finding.rule for finding in mr.validate(target)] == ["reject-observable-unpaired"]
        assert mr.open(target).status == STATUS


def test_a_time_dependent_single_value_is_refused(record: Path) -> None:
    with refused("reject-observable-shape", "time_dependent"):
        mr.Observable(1.0, "scalar", "d", time_dependent=True)
    write(record, x=scalar(1.0))
    put(record / "observables" / "meta" / "x", {"kind": "scalar", "description": "d", "time_dependent": True})
    found = mr.open(record).observables
    assert found is not None
    with refused("reject-observable-shape", "observables/x", kind=mr.FormatError):
        found["x"]


def test_stored_floats_of_half_width_are_refused(record: Path) -> None:
    write(record, x=scalar([1.0]))
    shutil.rmtree(record / "observables" / "x")
    zarr.create_array(record, name="observables/x", shape=(2,), dtype="float32")[...] = 1.5
    with refused("reject-narrow-float", "observables/x", kind=mr.FormatError):
        repr(mr.open(record).observables)


# -- validator, info, plot --------------------------------------------------------------------------------------------


def run_with(path: Path, **observables: mr.Observable) -> Path:
    frames = [mr.Frame({"a": mr.Block({"value": [float(i)]})}) for i in range(4)]
    return mr.write(path, trajectory=frames, observables=observables)


def test_the_validator_advises_on_axes_and_lengths(record: Path) -> None:
    run_with(
        record,
        fine=mr.Observable(np.zeros((4, 3)), "vector", "d", True, axes=["frame", "xyz"]),
        axes=mr.Observable(np.zeros((4, 3)), "vector", "d", True, axes=["frame"]),
        short=mr.Observable(np.zeros(3), "scalar", "d", True),
        sampled=mr.Observable(np.zeros(2), "scalar", "d", True, sampling={"every": 2}),
        still=mr.Observable(np.zeros(9), "scalar", "d", False),
    )
    assert [(f.rule, f.where, f.severity) for f in mr.validate(record)] == [
        ("observable-axes", "observables/axes", "warning"),
        ("observable-length", "observables/short", "warning"),
    ]


def test_info_lists_observables(record: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from molrec.cli.info import info
    from molrec.inspection import inspect_record

    write(record, rdf=scalar(np.zeros((5, 2)), unit="1", axes=["r", "g"]), one=scalar(mr.Frame()))
    facts = inspect_record(record)["observables"]
    assert facts["rdf"] == {
        "kind": "scalar", "description": "what it is", "time_dependent": False, "unit": "1", "axes": ["r", "g"],
        "dtype": "f64", "shape": [5, 2],
    }  # fmt: skip
    assert facts["one"]["shape"] is None
    info(str(record))
    assert "scalar, f64 [5, 2] (1)" in capsys.readouterr().out


def test_plot_draws_a_time_dependent_scalar(record: Path) -> None:
    pytest.importorskip("matplotlib")
    from molrec.plotting import plot_series

    run_with(
        record,
        msd=mr.Observable(np.arange(4.0), "scalar", "d", True, unit="A^2"),
        still=mr.Observable(np.arange(4.0), "scalar", "d", False),
    )
    png = record.with_suffix(".png")
    assert plot_series(record, png) == ["observables/msd"]
    assert plot_series(record, png, ["msd"], overwrite=True) == ["msd"]
    assert png.read_bytes().startswith(b"\x89PNG")
    with refused("reject-undeclared", "still", "observables/msd"):
        plot_series(record, png, ["still"], overwrite=True)
