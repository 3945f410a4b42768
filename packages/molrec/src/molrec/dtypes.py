"""The closed set of column dtypes, and the one way an array is admitted to it (``docs/spec/frame.md``, columns)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from molrec.errors import SchemaError

__all__ = [
    "DTYPES",
    "FLOAT_DTYPES",
    "STRING",
    "Array",
    "admit_array",
    "dtype_name",
    "identical",
    "numpy_dtype",
    "row_bytes",
    "zarr_data_type",
]

Array = npt.NDArray[Any]

#: In memory, strings of any length live in numpy's variable-width dtype: it keeps trailing NULs, `<U` does not.
STRING = np.dtypes.StringDType()

#: dtype name -> (numpy dtype, Zarr V3 data type name).
_TABLE: dict[str, tuple[np.dtype[Any], str]] = {
    "f64": (np.dtype(np.float64), "float64"),
    "i8": (np.dtype(np.int8), "int8"),
    "i16": (np.dtype(np.int16), "int16"),
    "i32": (np.dtype(np.int32), "int32"),
    "i64": (np.dtype(np.int64), "int64"),
    "u8": (np.dtype(np.uint8), "uint8"),
    "u16": (np.dtype(np.uint16), "uint16"),
    "u32": (np.dtype(np.uint32), "uint32"),
    "u64": (np.dtype(np.uint64), "uint64"),
    "bool": (np.dtype(np.bool_), "bool"),
    "string": (STRING, "string"),
    "c64": (np.dtype(np.complex64), "complex64"),
    "c128": (np.dtype(np.complex128), "complex128"),
}

DTYPES: tuple[str, ...] = tuple(_TABLE)
FLOAT_DTYPES: frozenset[str] = frozenset({"f64", "c64", "c128"})
#: A string has no fixed width; extents and flush thresholds count it as this many bytes.
_STRING_ROW_BYTES = 16
#: Rows compared before a whole comparison: moving atoms differ at once.
_GLANCE = 4

_NAME_OF = {dtype: name for name, (dtype, _) in _TABLE.items() if name != "string"}


def numpy_dtype(name: str, where: str = "column") -> np.dtype[Any]:
    """Return the numpy dtype of a dtype name.

    Raises:
        SchemaError: The name is not one of the thirteen (``reject-unknown-dtype``).
    """
    try:
        return _TABLE[name][0]
    except (KeyError, TypeError):
        raise SchemaError(
            f"{where}: unknown dtype {name!r}; the dtypes are {', '.join(DTYPES)}", "reject-unknown-dtype"
        ) from None


def zarr_data_type(name: str) -> str:
    """Return the Zarr V3 ``data_type`` a dtype name is stored as."""
    return _TABLE[name][1]


def dtype_name(dtype: np.dtype[Any], where: str = "column") -> str:
    """Return the dtype name of an admitted numpy dtype.

    Raises:
        SchemaError: The dtype is outside the set (``reject-narrow-float`` for f16/f32, else ``reject-unknown-dtype``).
    """
    if dtype.kind in "TU":
        return "string"
    name = _NAME_OF.get(dtype.newbyteorder("="))
    if name is not None:
        return name
    if dtype.newbyteorder("=") in (np.float16, np.float32):
        raise SchemaError(
            f"{where}: {dtype.name} is never stored and never widened silently; "
            "convert it yourself with .astype(numpy.float64)",
            "reject-narrow-float",
        )
    raise SchemaError(
        f"{where}: dtype {dtype} cannot be stored; the dtypes are {', '.join(DTYPES)}", "reject-unknown-dtype"
    )


def _string_array(given: Array, where: str) -> Array:
    """Convert a `<U`, object or string array to the variable-width string dtype without missing values."""
    if given.dtype.kind != "U":
        for position, item in enumerate(given.flat):
            if not isinstance(item, str):
                raise SchemaError(
                    f"{where}: element {position} is {item!r}, not a string; mask missing values with a validity "
                    "mask and give every element of a string column as str",
                    "reject-unknown-dtype",
                )
    try:
        return np.asarray(given, dtype=STRING, order="C")
    except (UnicodeEncodeError, TypeError) as error:
        raise SchemaError(f"{where}: a string is not valid Unicode ({error})", "reject-invalid-string") from error


def admit_array(values: npt.ArrayLike, where: str = "column") -> Array:
    """Return `values` as a C-order, native-endian array of one of the thirteen dtypes, exactly.

    The input is never modified; it is returned itself (not a copy) when it already is such an array.

    Raises:
        SchemaError: The dtype cannot be stored (``reject-narrow-float``, ``reject-unknown-dtype``) or a string is not
            Unicode (``reject-invalid-string``).
    """
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise SchemaError(f"{where}: not a rectangular array ({error})", "reject-unknown-dtype") from error
    if given.dtype.kind in "UOT":
        if given.dtype == STRING and given.flags.c_contiguous:
            return given
        if given.dtype.kind == "U" and not isinstance(values, (np.ndarray, np.generic)):
            # numpy made fixed-width text of it, which drops trailing NULs and turns numbers into digits.
            given = np.asarray(values, dtype=object)
        return _string_array(given, where)
    name = dtype_name(given.dtype, where)
    return np.asarray(given, dtype=_TABLE[name][0], order="C")


def row_bytes(name: str, trailing: tuple[int, ...]) -> int:
    """Return the bytes one row of a column takes decoded, a string counting as 16 (``docs/spec/zarr.md``, extents)."""
    width = _STRING_ROW_BYTES if name == "string" else _TABLE[name][0].itemsize
    for extent in trailing:
        width *= extent
    return width


def identical(first: Array, second: Array) -> bool:
    """Tell whether two arrays agree in dtype, shape and every bit (NaN equals the same NaN, 0.0 differs from -0.0)."""
    if first is second:
        return True
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    if first.dtype.kind == "T":
        return bool((first == second).all())
    if not first.ndim:
        return first.tobytes() == second.tobytes()
    if first.shape[0] > _GLANCE and first[:_GLANCE].tobytes() != second[:_GLANCE].tobytes():
        return False
    raw = np.uint64 if first.itemsize % 8 == 0 else np.uint8
    return bool((_bits(first, raw) == _bits(second, raw)).all())


def _bits(values: Array, raw: type[np.unsignedinteger[Any]]) -> Array:
    return np.ascontiguousarray(values).reshape(-1).view(raw)
