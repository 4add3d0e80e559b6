"""What the world refuses: poses that are not finite, zero quaternions, wrong shapes, parents that make a cycle.

Every check happens before anything changes, and names the entity.
"""

from collections.abc import Sequence, Sized
from math import inf, isfinite
from struct import Struct, error
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs.components import GROUP_OF, Transform, Velocity, group_of
from diorama.schemas.errors import StateError

_PARTS = (("position", 0, 3), ("orientation", 3, 7), ("scale", 7, 10))
# Compiled into ecs/kernels.py, whose cache numba renews only when that file changes: touch it with these two.
# A quaternion whose squared norm is this close to one is taken as it is; any other is normalised first.
UNIT_TOLERANCE = 1e-14
# Below this squared norm a quaternion has lost too many bits to say which way it turns.
SMALLEST_NORM2 = 1e-290
_pack = Struct("=10d").pack
_IDENTITY = _pack(0, 0, 0, 0, 0, 0, 1, 1, 1, 1)
_WORDS = {3: "three", 4: "four"}


def finite(name: str, what: str, values: Any, count: int) -> list[float]:
    """`count` finite numbers as a list."""
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if len(numbers) != count or not all(map(isfinite, numbers)):
        raise StateError(f"entity {name!r}: {what}: expected {_WORDS[count]} finite numbers, got {values}")
    return numbers


def length(what: str, values: Sized, count: int) -> None:
    """As many values as there are entities."""
    if len(values) != count:
        raise StateError(f"{what}: expected one for each of {count} entities, got {len(values)}")


def batch_names(names: Sequence[str] | int) -> Sequence[str]:
    """A name for each of a batch, none for those of a mere count."""
    if isinstance(names, str):
        raise StateError(
            f"names: expected a list of names or a count, got {names!r}; spawn makes a single entity"
        )
    if not isinstance(names, int | np.integer):
        return names
    if names < 0:
        raise StateError(f"names: expected a list of names or a count, got {names}")
    return [""] * int(names)


def whole(what: str, values: ArrayLike) -> NDArray[np.int64]:
    """Whole numbers as an array; others are refused, and masks, which would pass for the numbers 0 and 1."""
    given = np.asarray(values)
    if given.size and given.dtype.kind not in "iu":
        hint = "; np.flatnonzero gives those of a mask" if given.dtype.kind == "b" else ""
        raise StateError(f"{what}: expected whole numbers, got {given.dtype}{hint}")
    return given.astype(np.int64, copy=False)


def storable(
    name: str, values: Sequence[object]
) -> tuple[Sequence[Transform | Velocity], dict[type, object]]:
    """Components that go into columns, with finite numbers, and all the others by type."""
    hot: tuple[Transform | Velocity, ...] = ()
    cold: dict[type, object] = {}
    for value in values:
        cls = value.__class__
        if cls in GROUP_OF:
            cold[cls] = value
        elif isinstance(value, Transform):
            packed_pose(name, value.position, value.orientation, value.scale)
            hot += (value,)
        elif isinstance(value, Velocity):
            finite(name, "linear velocity", value.linear, 3)
            finite(name, "angular velocity", value.angular, 3)
            hot += (value,)
        else:
            group_of(cls)  # which says what is wrong
    return hot, cold


def packed_pose(
    name: str, position: ArrayLike | None, orientation: ArrayLike | None, scale: ArrayLike | None
) -> bytes:
    """Position, orientation and scale as the 80 bytes of a row."""
    if position is None and orientation is None and scale is None:
        return _IDENTITY
    place: Any = (0.0, 0.0, 0.0) if position is None else _plain(position)
    turn: Any = (0.0, 0.0, 0.0, 1.0) if orientation is None else _plain(orientation)
    size: Any = (1.0, 1.0, 1.0) if scale is None else _plain(scale)
    try:
        px, py, pz = place
        x, y, z, w = turn
        sx, sy, sz = size
        norm2 = (x * x + y * y) + (z * z + w * w)
        if isfinite(px + py + pz + sx + sy + sz) and SMALLEST_NORM2 <= norm2 < inf:
            return _pack(px, py, pz, x, y, z, w, sx, sy, sz)
    except (TypeError, ValueError, OverflowError, error):
        pass  # said in detail below
    place, turn, size = (
        finite(name, what, values, stop - start)
        for (what, start, stop), values in zip(_PARTS, (place, turn, size), strict=True)
    )
    if not SMALLEST_NORM2 <= sum(value * value for value in turn) < inf:
        raise StateError(_bad_quaternion(name, turn))
    return _pack(*place, *turn, *size)


def _plain(values: Any) -> Any:
    """An array as Python's numbers: numpy's overflow at the size of their type, and warn."""
    return values.tolist() if values.__class__ is np.ndarray else values


def pose_rows(
    names: Sequence[str], position: ArrayLike | None, orientation: ArrayLike | None, scale: ArrayLike | None
) -> NDArray[np.float64] | None:
    """(n, 10) rows of checked poses, or None when all are left out."""
    if position is None and orientation is None and scale is None:
        return None
    rows = np.empty((len(names), 10))
    for (what, start, stop), given, default in zip(
        _PARTS, (position, orientation, scale), ((0, 0, 0), (0, 0, 0, 1), (1, 1, 1)), strict=True
    ):
        try:
            values = np.asarray(default if given is None else given, np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            raise StateError(f"{what}: expected numbers: {problem}") from None
        if values.shape not in {(stop - start,), (len(names), stop - start)}:
            raise StateError(
                f"{what}: expected an array of shape ({len(names)}, {stop - start}), got {values.shape}"
            )
        rows[:, start:stop] = values
    bad_row(names, rows)
    return rows


def sound(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of (n, 10) poses can be resolved: finite, and a quaternion that can be normalised."""
    x, y, z, w = rows[:, 3:7].T
    with np.errstate(over="ignore", invalid="ignore"):
        norm2 = (x * x + y * y) + (z * z + w * w)
    good: NDArray[np.bool_] = np.isfinite(rows).all(axis=1) & (norm2 >= SMALLEST_NORM2) & (norm2 < inf)
    return good


def bad_row(names: Sequence[str], rows: NDArray[np.float64]) -> None:
    """Raise for the first of many (n, 10) poses that is not finite or has a zero quaternion."""
    good = sound(rows)
    if not good.all():
        index = int(np.argmin(good))
        raise StateError(complaint(names[index], rows[index]))


def complaint(name: str, row: NDArray[np.float64]) -> str:
    """What is wrong with one pose of ten numbers."""
    for what, start, stop in _PARTS:
        values = row[start:stop]
        if not np.isfinite(values).all():
            return f"entity {name!r}: {what}: expected finite numbers, got {values.tolist()}"
    if not sound(row[None])[0]:
        return _bad_quaternion(name, row[3:7].tolist())
    return f"entity {name!r}: its world pose is too large for a number; look at its scale and those above it"


def _bad_quaternion(name: str, values: list[float]) -> str:
    return (
        f"entity {name!r}: orientation: expected a quaternion that can be normalised (not zero), got {values}"
    )


def batch_parents(names: Sequence[str], parents: ArrayLike | None) -> NDArray[np.int64]:
    """Indices into the batch, -1 for none; refuses what is out of range or goes in a circle."""
    count = len(names)
    if parents is None:
        return np.full(count, -1, np.int64)
    index = whole("parents", parents)
    if index.shape != (count,):
        raise StateError(f"parents: expected {count} indices, got an array of shape {index.shape}")
    if count and (index.max() >= count or index.min() < -1):
        wrong = int(np.argmax((index >= count) | (index < -1)))
        raise StateError(
            f"entity {names[wrong]!r}: parent: expected an index below {count} or -1, got {index[wrong]}"
        )
    if (index < np.arange(count)).all():  # parents first
        return index
    # Pointer doubling: after log2(n) rounds every chain has ended, unless it is a circle.
    above = np.append(index, -1)
    for _ in range(max(count, 1).bit_length()):
        above = above[above]
    stuck = above[:count] >= 0
    if stuck.any():
        raise StateError(f"entity {names[int(np.argmax(stuck))]!r}: its parents go in a circle")
    return index
