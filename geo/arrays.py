"""Arrays at the border: array-likes become float64 of the right width, or a GeoError names the bad point."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.schemas.errors import GeoError

FloatArray = NDArray[np.float64]


def as_rows(values: ArrayLike, width: int, what: str) -> FloatArray:
    """`values` as float64 of shape (..., width), every number finite; an empty list is no rows at all."""
    try:
        rows: FloatArray = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GeoError(
            f"{what}: expected numbers of shape (..., {width}), got something else: {error}"
        ) from None
    if rows.ndim == 1 and rows.size == 0:
        rows = rows.reshape(0, width)
    if rows.ndim == 0 or rows.shape[-1] != width:
        raise GeoError(f"{what}: expected an array of shape (..., {width}), got shape {rows.shape}")
    if not np.isfinite(rows).all():
        refuse_where(np.asarray(~np.isfinite(rows).all(axis=-1)), rows, what, "expected finite numbers")
    return rows


def as_floats(values: ArrayLike) -> FloatArray:
    """`values` as a float64 array of whatever shape, unchecked."""
    return np.asarray(values, dtype=np.float64)


def refuse_where(bad: NDArray[np.bool_], rows: FloatArray, what: str, expected: str) -> None:
    """Raise a GeoError for the first row marked bad, naming its index and its values."""
    if not bad.any():
        return
    index = np.unravel_index(int(np.argmax(bad)), bad.shape)
    numbers = ", ".join(f"{value:.9g}" for value in np.atleast_1d(rows[index]))
    raise GeoError(f"{what}{place(index)}: {expected}, got ({numbers})")


def place(index: Sequence[np.intp | int]) -> str:
    """` 3` or ` 3,4` for a point in an array; nothing for a single point."""
    return f" {','.join(str(int(i)) for i in index)}" if len(index) else ""
