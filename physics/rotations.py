"""Rotations in MuJoCo's convention, quaternions with w first, for whole arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rotation_matrix(quat: Floats) -> Floats:
    """3x3 matrices (…, 3, 3) of unit quaternions (…, 4): body axes to world axes."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def rotate(quat: Floats, vectors: Floats) -> Floats:
    """Vectors (…, 3) from body axes into world axes."""
    rotated: Floats = np.einsum("...ij,...j->...i", rotation_matrix(quat), vectors)
    return rotated


def rotate_inverse(quat: Floats, vectors: Floats) -> Floats:
    """Vectors (…, 3) from world axes into body axes."""
    rotated: Floats = np.einsum("...ji,...j->...i", rotation_matrix(quat), vectors)
    return rotated


def yaw(quat: Floats) -> Floats:
    """Heading about z (rad, counter-clockwise from x) of the body's x axis."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    heading: Floats = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return heading


def yaw_only(quat: Floats) -> Floats:
    """The rotation about z alone, quaternions (…, 4)."""
    half = yaw(quat) / 2
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1)


def normalized(quat: Floats) -> Floats:
    """Quaternions (…, 4) of length one; zero and non-finite ones are refused."""
    length = np.linalg.norm(quat, axis=-1, keepdims=True)
    if not np.all(np.isfinite(length) & (length > 0)):
        raise ValueError("expected quaternions that are finite and not zero")
    unit: Floats = quat / length
    return unit


def xyzw_from_wxyz(quat: Floats) -> Floats:
    """Quaternions (…, 4) from MuJoCo's order into diorama's."""
    return quat[..., [1, 2, 3, 0]]
