"""Chunk pipelines from the must-decode set, and nothing else (``docs/spec/zarr.md``, codecs).

A `Pipeline` is what stands in an array's ``codecs`` for one (inner) chunk: ``bytes`` or ``vlen-utf8``, then any of
``numcodecs.shuffle``, ``gzip``, ``zstd``, closed by ``crc32c``. Encoding and decoding are exact; every checksum is
verified. Many chunks of one shape can be handled in one call, which is where the time goes.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import google_crc32c
import numpy as np

from molrec.dtypes import STRING, Array
from molrec.errors import FormatError, SchemaError
from molrec.storage.zarr import planes
from molrec.storage.zarr.memory import new_array, require_memory

__all__ = ["CHECKSUM_BYTES", "Buffer", "Codec", "Pipeline", "checksum", "compressor_codec", "read_pipeline"]

type Buffer = bytes | memoryview
type Codec = tuple[str, dict[str, Any]]

CHECKSUM_BYTES = 4
_crc32c = google_crc32c.value
_GZIP_CONTAINER = 31
#: Element size the compiled path of `planes` decodes.
_FUSED_ITEM = 8
#: Bounds on decoded text: in all, by its stored size, and for each string; and what a step may add to its input.
_LARGEST_TEXT, _MOST_SHRINKING, _BYTES_OF_A_STRING, _SLACK = 2**24, 2048, 68, 4096
_UNREADABLE = "reject-unsupported-codec"
_DAMAGED = "reject-corrupt-chunk"


def checksum(data: Buffer) -> int:
    """Return the CRC-32C of a buffer."""
    return int(_crc32c(data if isinstance(data, bytes) else bytes(data)))


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The codecs of one chunk: the array-to-bytes step and the bytes-to-bytes steps after it, in encoding order."""

    serializer: Codec
    compressors: tuple[Codec, ...]

    def to_metadata(self) -> list[dict[str, Any]]:
        """Return the ``codecs`` list as it stands in ``zarr.json``."""
        return [
            {"name": name, "configuration": configuration} if configuration else {"name": name}
            for name, configuration in (self.serializer, *self.compressors)
        ]

    def encode(self, chunk: Array) -> bytes:
        """Return the stored bytes of one full chunk."""
        return self.encode_many(chunk[np.newaxis])[0]

    def encode_many(self, chunks: Array) -> list[bytes]:
        """Return the stored bytes of full chunks stacked along a first axis, in order."""
        pair = self._shuffle_and_zstd()
        if pair is not None and chunks.itemsize == pair[0] and chunks.size:
            return [_close(frame) for frame in planes.shuffle_and_compress(chunks, *pair)]
        return [self._encode_steps(chunk) for chunk in chunks]

    def _encode_steps(self, chunk: Array) -> bytes:
        data: Any = _serialize(self.serializer, chunk)
        for name, configuration in self.compressors:
            data = _STEPS[name].encode(data, configuration)
        return bytes(data)

    def _shuffle_and_zstd(self) -> tuple[int, int] | None:
        """Return element size and level when the steps are shuffle, zstd, crc32c on little-endian bytes."""
        if len(self.compressors) != 3 or self.serializer != ("bytes", {"endian": "little"}):
            return None
        (shuffle, shuffle_options), (zstd, zstd_options), (closing, _) = self.compressors
        if (shuffle, zstd, closing) != ("numcodecs.shuffle", "zstd", "crc32c") or zstd_options.get("checksum"):
            return None
        return int(shuffle_options["elementsize"]), int(zstd_options["level"])

    @property
    def is_checksummed(self) -> bool:
        """Whether a stored chunk ends with its checksum."""
        return bool(self.compressors) and self.compressors[-1][0] == "crc32c"

    def verify(self, stored: Buffer, where: str) -> None:
        """Check the checksum a stored chunk ends with, without decoding it.

        Raises:
            FormatError: It does not match (``reject-corrupt-chunk``).
        """
        _open(stored, where)

    def decodes_together(self, dtype: np.dtype[Any]) -> bool:
        """Whether `decode_into` handles many chunks of a dtype in one compiled call."""
        pair = self._shuffle_and_zstd()
        return dtype.itemsize == _FUSED_ITEM and pair is not None and pair[0] == _FUSED_ITEM

    def decode(self, stored: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> Array:
        """Return the array of one stored chunk, read-only.

        Raises:
            FormatError: Checksum mismatch or undecodable bytes (``reject-corrupt-chunk``).
        """
        if self.decodes_together(dtype):
            out: Array = new_array((1, *shape), dtype, where)
            self.decode_into([stored], out, lambda _: where)
            out.flags.writeable = False
            only: Array = out[0]
            return only
        data: Any = stored
        most = _most_bytes(stored, shape, dtype)
        require_memory(most, where)
        try:
            for name, configuration in reversed(self.compressors):
                data = _STEPS[name].decode(data, configuration, most)
            return _deserialize(self.serializer, data, shape, dtype)
        except Exception as error:
            raise FormatError(f"{where} is corrupt: {error}", _DAMAGED) from error

    def decode_into(self, stored: Sequence[Buffer], out: Array, where: Callable[[int], str]) -> None:
        """Decode stored chunks of one shape into ``out[0]``, ``out[1]``, ...

        Args:
            stored: Chunks as stored.
            out: C-order array ``(chunks, *chunk_shape)``.
            where: Names the chunk at a position, for messages.

        Raises:
            FormatError: A chunk is damaged (``reject-corrupt-chunk``).
        """
        if not self.decodes_together(out.dtype):
            for place, one in enumerate(stored):
                out[place] = self.decode(one, out.shape[1:], out.dtype, where(place))
            return
        bodies = []
        for place, one in enumerate(stored):
            body = bytes(one[:-CHECKSUM_BYTES])
            if _crc32c(body) != int.from_bytes(one[-CHECKSUM_BYTES:], "little") or len(one) < CHECKSUM_BYTES:
                raise FormatError(f"{where(place)} is corrupt: its crc32c does not match", _DAMAGED)
            bodies.append(body)
        try:
            planes.decompress_and_unshuffle(bodies, out)
        except Exception as error:
            raise FormatError(f"{where(0)} (or one of {len(stored)} with it) is corrupt: {error}", _DAMAGED) from error


def _most_bytes(stored: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return a bound on what a chunk decodes to at any step: what is compressed twice may grow a little in between."""
    count = math.prod(shape)
    if dtype.kind == "T":
        # The length of a string is not known beforehand; texts that are much alike become very small.
        return max(_LARGEST_TEXT, _MOST_SHRINKING * len(stored)) + _BYTES_OF_A_STRING * count
    size = count * dtype.itemsize
    return size + size // 64 + _SLACK


def _close(body: bytes) -> bytes:
    return body + checksum(body).to_bytes(CHECKSUM_BYTES, "little")


def _open(stored: Buffer, where: str) -> bytes:
    """Return the bytes under a trailing checksum."""
    body = bytes(stored[:-CHECKSUM_BYTES])
    if len(stored) < CHECKSUM_BYTES or checksum(body) != int.from_bytes(stored[-CHECKSUM_BYTES:], "little"):
        raise FormatError(f"{where} is corrupt: its crc32c does not match", _DAMAGED)
    return body


# -- array to bytes -------------------------------------------------------------------------------------------------


def _serialize(serializer: Codec, chunk: Array) -> Buffer:
    if serializer[0] == "vlen-utf8":
        return _pack_strings(chunk)
    return np.ascontiguousarray(chunk, dtype=_stored_dtype(serializer, chunk.dtype)).tobytes()


def _stored_dtype(serializer: Codec, dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder(">") if serializer[1].get("endian") == "big" else dtype.newbyteorder("<")


def _deserialize(serializer: Codec, data: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if serializer[0] == "vlen-utf8":
        return _unpack_strings(data, shape)
    stored = _stored_dtype(serializer, dtype)
    if len(data) != stored.itemsize * math.prod(shape):
        raise ValueError(f"{len(data)} bytes decoded for a chunk of shape {shape} of {dtype}")
    array = np.frombuffer(data, dtype=stored).reshape(shape)
    return array if stored == dtype else array.astype(dtype)


def _pack_strings(chunk: Array) -> bytes:
    """Lay strings down as the vlen-utf8 codec does: a count, then each length and its UTF-8 bytes."""
    encoded = [text.encode("utf-8") for text in chunk.ravel().tolist()]
    parts = [len(encoded).to_bytes(4, "little")]
    for text in encoded:
        parts += (len(text).to_bytes(4, "little"), text)
    return b"".join(parts)


def _unpack_strings(data: Buffer, shape: tuple[int, ...]) -> Array:
    raw = bytes(data)
    count = int.from_bytes(raw[:4], "little")
    if len(raw) < 4 or count != math.prod(shape):
        raise ValueError(f"{count} strings decoded for a chunk of shape {shape}")
    texts, place = [], 4
    for _ in range(count):
        stop = place + 4 + int.from_bytes(raw[place : place + 4], "little")
        if place + 4 > len(raw) or stop > len(raw):
            raise ValueError("a string runs past the end of the chunk")
        texts.append(raw[place + 4 : stop].decode("utf-8"))
        place = stop
    return np.array(texts, dtype=STRING).reshape(shape)


# -- bytes to bytes -------------------------------------------------------------------------------------------------


class _Shuffle:
    @staticmethod
    def encode(data: Buffer, configuration: dict[str, Any]) -> bytes:
        size = configuration["elementsize"]
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, size).T.tobytes()

    @staticmethod
    def decode(data: Buffer, configuration: dict[str, Any], _: int) -> bytes:
        size = configuration["elementsize"]
        return np.frombuffer(data, dtype=np.uint8).reshape(size, -1).T.tobytes()


class _Gzip:
    @staticmethod
    def encode(data: Buffer, configuration: dict[str, Any]) -> bytes:
        packer = zlib.compressobj(configuration["level"], zlib.DEFLATED, _GZIP_CONTAINER)
        return packer.compress(data) + packer.flush()

    @staticmethod
    def decode(data: Buffer, _: dict[str, Any], most: int) -> bytes:
        unpacker = zlib.decompressobj(_GZIP_CONTAINER)
        unpacked = unpacker.decompress(data, most)
        if not unpacker.eof:
            raise ValueError("the gzip stream is cut short, or holds more than the chunk")
        return unpacked


class _Zstd:
    @staticmethod
    def encode(data: Buffer, configuration: dict[str, Any]) -> bytes:
        from numcodecs import zstd

        return bytes(zstd.compress(data, configuration["level"], bool(configuration.get("checksum", False))))

    @staticmethod
    def decode(data: Buffer, _: dict[str, Any], most: int) -> bytes:
        return planes.decompress(bytes(data), most)


class _Crc32c:
    @staticmethod
    def encode(data: Buffer, _: dict[str, Any]) -> bytes:
        return _close(bytes(data))

    @staticmethod
    def decode(data: Buffer, _: dict[str, Any], __: int) -> bytes:
        return _open(data, "its content")


_STEPS: dict[str, Any] = {"numcodecs.shuffle": _Shuffle, "gzip": _Gzip, "zstd": _Zstd, "crc32c": _Crc32c}


def compressor_codec(compression: str | None) -> Codec | None:
    """Return the codec of a ``compression`` knob: None or ``none``, ``gzip[:level]``, ``zstd[:level]``.

    Raises:
        SchemaError: Anything else (``reject-unknown-compression``).
    """
    if compression in (None, "none"):
        return None
    name, _, level = str(compression).partition(":")
    lowest, highest, usual = {"gzip": (0, 9, 1), "zstd": (-7, 22, 3)}.get(name, (1, 0, 0))
    try:
        chosen = int(level) if level else usual
    except ValueError:
        chosen = highest + 1
    if not lowest <= chosen <= highest:
        raise SchemaError(
            f"compression {compression!r} is not one of None, 'gzip[:0-9]', 'zstd[:level up to 22]'",
            "reject-unknown-compression",
        )
    return (name, {"level": chosen} if name == "gzip" else {"level": chosen, "checksum": False})


def read_pipeline(codecs: Any, itemsize: int, where: str) -> Pipeline | None:
    """Read the codec list of a chunk; None when it has a legal shape that needs the general reader.

    Raises:
        FormatError: A codec outside the must-decode set, or malformed (``reject-unsupported-codec``).
    """
    steps: list[Codec] = []
    for stated in codecs if isinstance(codecs, list) else [codecs]:
        codec = {"name": stated} if isinstance(stated, str) else stated
        if not isinstance(codec, dict) or not isinstance(codec.get("configuration", {}), dict):
            raise FormatError(f"{where}: malformed codec {codec!r}", _UNREADABLE)
        steps.append((str(codec.get("name")), codec.get("configuration", {})))
    if not steps:
        raise FormatError(f"{where}: no codecs", _UNREADABLE)
    if steps[0][0] not in ("bytes", "vlen-utf8"):
        return None
    for name, configuration in steps[1:]:
        if name not in _STEPS:
            return None
        if name in ("gzip", "zstd") and type(configuration.get("level")) is not int:
            raise FormatError(f"{where}: the codec {name} states a level, found {configuration!r}", _UNREADABLE)
        if name == "numcodecs.shuffle" and configuration.get("elementsize") != itemsize:
            return None
    return Pipeline(steps[0], tuple(steps[1:]))
