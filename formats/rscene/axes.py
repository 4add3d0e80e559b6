"""Axes of the format and ours: north-west-up and forward-left-up against north-east-down and forward-right-down.

Going from one to the other turns half a circle about the first axis: two signs flip and nothing is rounded, so
every conversion here is exact and its own inverse, but for the place of w in quaternions. Zeros keep the sign they
have: it means nothing to a pose, and files are spared their `-0`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HALF_TURN = np.array([1.0, -1.0, -1.0])


def ned_from_nwu(vectors: Floats) -> Floats:
    """Vectors (..., 3) from north-west-up to north-east-down, or back."""
    return np.where(vectors == 0, vectors, vectors * HALF_TURN)


def xyzw_from_file(quaternion: Sequence[float]) -> list[float]:
    """A rotation wxyz between the format's axes as xyzw between ours."""
    w, x, y, z = quaternion
    return [x, -y or y, -z or z, w]


def file_from_xyzw(quaternion: Sequence[float]) -> list[float]:
    """A rotation xyzw between our axes as wxyz between the format's."""
    x, y, z, w = quaternion
    return [w, x, -y or y, -z or z]


def xyzw_from_direction(direction: Sequence[float]) -> list[float]:
    """The smallest rotation that turns the forward axis towards a direction (3,); both in the same axes."""
    length = float(np.linalg.norm(direction))
    if not 0 < length < np.inf:
        return [0.0, 0.0, 0.0, 1.0]
    x, y, z = (float(part) / length for part in direction)
    if x < -1 + 1e-12:
        return [0.0, 0.0, 1.0, 0.0]
    turn = np.array([0.0, -z, y, 1.0 + x])
    result: list[float] = (turn / np.linalg.norm(turn)).tolist()
    return result


def direction_from_xyzw(quaternion: Sequence[float]) -> Floats:
    """Where a rotation turns the forward axis, (3,)."""
    x, y, z, w = np.asarray(quaternion, dtype=np.float64) / np.linalg.norm(quaternion)
    return np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
