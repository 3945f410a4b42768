"""Array metadata: the ``zarr.json`` of an array, read into the few facts a row reader or appender needs.

Knows Zarr V3 and this format's reference extents (``docs/spec/zarr.md``); knows nothing of where documents come from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from molrec.dtypes import DTYPES, numpy_dtype, zarr_data_type
from molrec.errors import FormatError
from molrec.storage.zarr.codecs import Codec, Pipeline, read_pipeline

if TYPE_CHECKING:
    import numpy as np

__all__ = ["OWN_ATTRIBUTE", "ArrayLayout", "group_document", "read_array_layout"]

#: Attribute of arrays this package writes; a chunk missing from one of them is damage, not the fill value.
OWN_ATTRIBUTE = "_molrec"
_EVERY_CHUNK = {"every_chunk_written": True}
_BINDING_ATTRIBUTES = frozenset({OWN_ATTRIBUTE, "_zarrs"})

_NAME_OF = {zarr_data_type(name): name for name in DTYPES}
_MALFORMED = "reject-malformed-metadata"
_KNOWN_KEYS = frozenset(
    (
        "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
        "attributes", "storage_transformers", "dimension_names",
    )
)  # fmt: skip
#: What numpy can address, with room to spare.
_MOST_AXES, _MOST_VALUES = 32, 2**58
#: Slots of a shard's index; a larger index would be no use to anybody.
_MOST_CHUNKS_PER_SHARD = 2**26
_INDEX_CODECS: list[dict[str, Any]] = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]


@dataclass(slots=True)
class ArrayLayout:
    """One array: dtype, shape, chunking along the first axis, pipeline.

    `chunk_rows` rows make a chunk (an inner chunk when sharded) and `chunks_per_shard` chunks a shard; 0 means not
    sharded. `simple` is False for a legal layout only the general Zarr reader understands. Where
    `every_chunk_written` holds, a chunk missing inside the shape is damage and not the fill value.
    """

    dtype: str
    shape: tuple[int, ...]
    chunk_rows: int
    chunks_per_shard: int
    pipeline: Pipeline | None
    index_at_start: bool = True
    separator: str = "/"
    attributes: dict[str, Any] = field(default_factory=dict)
    fill_value: Any = None
    every_chunk_written: bool = True
    #: Optional metadata of a producer, carried through: dimension names and fields that need not be understood.
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows the metadata states; a reader bounds this by the committed rows."""
        return self.shape[0] if self.shape else 1

    @property
    def trailing(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self.shape[1:]

    @property
    def simple(self) -> bool:
        """Whether rows can be read chunk by chunk along the first axis."""
        return self.pipeline is not None

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype in memory."""
        return numpy_dtype(self.dtype)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of one (inner) chunk as stored."""
        return (self.chunk_rows, *(max(1, extent) for extent in self.trailing)) if self.shape else ()

    @property
    def free_attributes(self) -> dict[str, Any]:
        """The producer's attributes, without those the bindings keep for themselves."""
        return {key: value for key, value in self.attributes.items() if key not in _BINDING_ATTRIBUTES}

    def chunk_path(self, number: int) -> str:
        """Return the path, relative to the array, of the stored object at a position along the first axis."""
        if not self.shape:
            return "c"
        return self.separator.join(("c", str(number), *("0" for _ in self.trailing)))

    def to_document(self) -> dict[str, Any]:
        """Return the ``zarr.json`` content of an array written here."""
        assert self.pipeline is not None
        codecs = self.pipeline.to_metadata()
        outer = self.chunk_shape
        if self.chunks_per_shard:
            outer = (self.chunk_rows * self.chunks_per_shard, *self.chunk_shape[1:])
            configuration = {
                "chunk_shape": list(self.chunk_shape),
                "codecs": codecs,
                "index_codecs": _INDEX_CODECS,
                "index_location": "start" if self.index_at_start else "end",
            }
            codecs = [{"name": "sharding_indexed", "configuration": configuration}]
        return {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": zarr_data_type(self.dtype),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(outer)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": _fill(self.dtype) if self.fill_value is None else self.fill_value,
            "codecs": codecs,
            **self.extra,
            "attributes": self.attributes | ({OWN_ATTRIBUTE: _EVERY_CHUNK} if self.every_chunk_written else {}),
        }


def _fill(dtype: str) -> Any:
    if dtype in ("c64", "c128"):
        return [0.0, 0.0]
    return {"f64": 0.0, "bool": False, "string": ""}.get(dtype, 0)


def group_document(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the ``zarr.json`` content of a group."""
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes}


def read_array_layout(document: Any, where: str) -> ArrayLayout:
    """Read the ``zarr.json`` of an array.

    Raises:
        FormatError: Not array metadata (``reject-malformed-metadata``), a dtype outside the thirteen
            (``reject-narrow-float``, ``reject-unknown-dtype``), or a codec outside the must-decode set
            (``reject-unsupported-codec``).
    """
    if not isinstance(document, dict) or document.get("node_type") != "array" or document.get("zarr_format") != 3:
        raise FormatError(f"{where} is not a Zarr V3 array", _MALFORMED)
    for key, value in document.items():
        if key not in _KNOWN_KEYS and not (isinstance(value, dict) and value.get("must_understand") is False):
            raise FormatError(f"{where}: metadata key {key!r} is not understood and not optional", _MALFORMED)
    dtype = _read_dtype(document.get("data_type"), where)
    try:
        shape = _extents(document["shape"], 0)
        grid = document["chunk_grid"]
        outer = _extents(grid["configuration"]["chunk_shape"], 1)
        attributes = dict(document.get("attributes", {}))
        encoding = document["chunk_key_encoding"]
        separator = encoding.get("configuration", {}).get("separator", "/")
        simple = grid["name"] == "regular" and encoding["name"] == "default" and separator in "/."
        codecs = document["codecs"]
        inner = _read_codecs(codecs, outer, numpy_dtype(dtype).itemsize, where)
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"{where}: malformed array metadata ({error!r})", _MALFORMED) from error
    if math.prod(big // small for big, small in zip(outer, inner[1], strict=True)) > _MOST_CHUNKS_PER_SHARD:
        raise FormatError(f"{where}: a shard of more than {_MOST_CHUNKS_PER_SHARD} chunks", _MALFORMED)
    if len(outer) != len(shape):
        raise FormatError(f"{where}: chunk shape {list(outer)} does not fit shape {list(shape)}", _MALFORMED)
    pipeline, chunk, at_start = inner
    # A grid that also splits the other axes is left to the general reader.
    whole_rows = all(have >= want for have, want in zip(outer[1:], shape[1:], strict=True)) and chunk[1:] == outer[1:]
    exact_rows = tuple(max(1, extent) for extent in shape[1:]) == chunk[1:]
    sharded = isinstance(codecs, list) and len(codecs) == 1 and codecs[0].get("name") == "sharding_indexed"
    if not (simple and whole_rows and exact_rows) or (sharded and outer[0] % chunk[0]):
        pipeline = None
    return ArrayLayout(
        dtype=dtype,
        shape=shape,
        chunk_rows=chunk[0] if shape else 1,
        chunks_per_shard=outer[0] // chunk[0] if sharded else 0,
        pipeline=pipeline,
        index_at_start=at_start,
        separator=separator,
        attributes=attributes,
        fill_value=document.get("fill_value"),
        every_chunk_written=attributes.get(OWN_ATTRIBUTE) == _EVERY_CHUNK,
        extra={key: value for key, value in document.items() if key not in _KNOWN_KEYS or key == "dimension_names"},
    )


def _read_dtype(data_type: Any, where: str) -> str:
    if data_type in ("float16", "float32"):
        raise FormatError(
            f"{where} is stored as {data_type}; the record has one float width, f64, and readers never widen",
            "reject-narrow-float",
        )
    if not isinstance(data_type, str) or data_type not in _NAME_OF:
        raise FormatError(f"{where} is stored as {data_type!r}, which is no record dtype", "reject-unknown-dtype")
    return _NAME_OF[data_type]


def _extents(values: Any, least: int) -> tuple[int, ...]:
    if not isinstance(values, list) or any(type(extent) is not int or extent < least for extent in values):
        raise ValueError(f"extents {values!r}")
    if len(values) > _MOST_AXES or math.prod(extent for extent in values if extent) > _MOST_VALUES:
        raise ValueError(f"no array has the extents {values!r}")
    return tuple(values)


def _read_codecs(
    codecs: Any, outer: tuple[int, ...], itemsize: int, where: str
) -> tuple[Pipeline | None, tuple[int, ...], bool]:
    """Return the pipeline of a chunk, the chunk's shape, and whether a shard's index comes first."""
    _check_must_decode(codecs, where)
    if len(codecs) != 1 or codecs[0].get("name") != "sharding_indexed":
        return read_pipeline(codecs, itemsize, where), outer, True
    configuration = codecs[0]["configuration"]
    chunk = _extents(configuration["chunk_shape"], 1)
    if len(chunk) != len(outer):
        raise ValueError("chunk_shape of another rank")
    location = configuration.get("index_location", "end")
    names = [codec.get("name") for codec in configuration["index_codecs"]]
    endian = configuration["index_codecs"][0].get("configuration", {}).get("endian")
    if location not in ("start", "end") or names != ["bytes", "crc32c"] or endian != "little":
        return None, chunk, True
    return read_pipeline(configuration["codecs"], itemsize, where), chunk, location == "start"


_MUST_DECODE = frozenset(
    ("bytes", "gzip", "zstd", "numcodecs.shuffle", "crc32c", "vlen-utf8", "sharding_indexed", "transpose")
)


def _check_must_decode(codecs: Any, where: str) -> None:
    """Refuse a codec outside the must-decode set, at any depth."""
    for codec in codecs:
        name, configuration = (codec, {}) if isinstance(codec, str) else (codec["name"], codec.get("configuration", {}))
        if name not in _MUST_DECODE:
            raise FormatError(
                f"{where} uses the codec {name!r}, outside the set every reader decodes "
                f"({', '.join(sorted(_MUST_DECODE))})",
                "reject-unsupported-codec",
            )
        for nested in ("codecs", "index_codecs"):
            _check_must_decode(configuration.get(nested, []), where)


def codecs_for(serializer_dtype: str, *steps: Codec | None) -> Pipeline:
    """Return a pipeline for a dtype: its serializer, the given steps (None skipped), and a closing crc32c."""
    serializer: Codec = ("vlen-utf8", {}) if serializer_dtype == "string" else ("bytes", {"endian": "little"})
    return Pipeline(serializer, (*(step for step in steps if step is not None), ("crc32c", {})))
