"""Rotations as arrays of unit quaternions (..., 4), ordered x, y, z, w; angles in radians.

A quaternion turns vectors of the body into vectors of its parent. Roll, pitch and yaw are the aerospace ones:
yaw about down (z), then pitch about the new right (y), then roll about the new forward (x). All broadcasts.
"""

import numpy as np
from numpy.typing import ArrayLike

from diorama.geo.arrays import FloatArray, as_floats, as_rows, refuse_where

# Nearer to straight up or down than about this (radians), roll and yaw share one axis: it is all called yaw.
GIMBAL_LOCK = 1e-12
_CONJUGATE = np.array([-1.0, -1.0, -1.0, 1.0])


def multiply(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """The rotation `first` after `second`: rotate(multiply(p, q), v) is rotate(p, rotate(q, v))."""
    p, q = as_floats(first), as_floats(second)
    px, py, pz, pw = (p[..., i] for i in range(4))
    qx, qy, qz, qw = (q[..., i] for i in range(4))
    product = np.empty(np.broadcast_shapes(p.shape, q.shape))
    product[..., 0] = pw * qx + px * qw + py * qz - pz * qy
    product[..., 1] = pw * qy - px * qz + py * qw + pz * qx
    product[..., 2] = pw * qz + px * qy - py * qx + pz * qw
    product[..., 3] = pw * qw - px * qx - py * qy - pz * qz
    return product


def conjugate(quaternion: ArrayLike) -> FloatArray:
    """The opposite rotation (..., 4)."""
    opposite: FloatArray = as_floats(quaternion) * _CONJUGATE
    return opposite


def normalize(quaternion: ArrayLike) -> FloatArray:
    """Quaternions (..., 4) of length one; refuses the zero quaternion."""
    rows = as_rows(quaternion, 4, "quaternion")
    # Scaled by the largest component first, so that very small and very large ones keep their direction.
    largest = np.abs(rows).max(axis=-1, keepdims=True, initial=0.0)
    refuse_where(largest[..., 0] == 0.0, rows, "quaternion", "expected a rotation")
    unit: FloatArray = rows / largest
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    return unit


def rotate(quaternion: ArrayLike, vector: ArrayLike) -> FloatArray:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    q, v = as_floats(quaternion), as_floats(vector)
    x, y, z, w = (q[..., i] for i in range(4))
    vx, vy, vz = (v[..., i] for i in range(3))
    # v + 2 w (u × v) + 2 u × (u × v), with t = 2 (u × v)
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    turned = np.empty((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), 3))
    turned[..., 0] = vx + w * tx + y * tz - z * ty
    turned[..., 1] = vy + w * ty + z * tx - x * tz
    turned[..., 2] = vz + w * tz + x * ty - y * tx
    return turned


def quaternion_from_rpy(rpy: ArrayLike) -> FloatArray:
    """Quaternions (..., 4) of roll, pitch, yaw (..., 3) in radians."""
    half = 0.5 * as_rows(rpy, 3, "roll, pitch, yaw")
    (sr, sp, sy), (cr, cp, cy) = (np.moveaxis(f(half), -1, 0) for f in (np.sin, np.cos))
    quaternion = np.empty((*half.shape[:-1], 4))
    quaternion[..., 0] = sr * cp * cy - cr * sp * sy
    quaternion[..., 1] = cr * sp * cy + sr * cp * sy
    quaternion[..., 2] = cr * cp * sy - sr * sp * cy
    quaternion[..., 3] = cr * cp * cy + sr * sp * sy
    return quaternion


def rpy_from_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Roll, pitch, yaw (..., 3) in radians: pitch within ±π/2, the others within ±π; roll 0 at gimbal lock.

    Works on half the sum and half the difference of yaw and roll, each of which stays well defined at one of
    the two gimbal locks; without an arc sine, angles near ±90° of pitch are as good as others.
    """
    q = as_rows(quaternion, 4, "quaternion")
    x, y, z, w = (q[..., i] for i in range(4))
    half_sum, up = np.arctan2(z + x, w - y), np.hypot(w - y, z + x)
    half_difference, down = np.arctan2(z - x, w + y), np.hypot(w + y, z - x)
    # `up` vanishes with the nose straight up, `down` with the nose straight down.
    half_sum = np.where(up <= GIMBAL_LOCK * down, half_difference, half_sum)
    half_difference = np.where(down <= GIMBAL_LOCK * up, half_sum, half_difference)
    rpy = np.empty((*q.shape[:-1], 3))
    rpy[..., 0] = _wrap(half_sum - half_difference)
    rpy[..., 1] = 2.0 * np.arctan2(down, up) - 0.5 * np.pi
    rpy[..., 2] = _wrap(half_sum + half_difference)
    return rpy


def matrix_from_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Rotation matrices (..., 3, 3), parent from body, of unit quaternions (..., 4)."""
    q = as_floats(quaternion)
    x, y, z, w = (q[..., i] for i in range(4))
    matrix = np.empty((*q.shape[:-1], 3, 3))
    matrix[..., 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    matrix[..., 0, 1] = 2.0 * (x * y - z * w)
    matrix[..., 0, 2] = 2.0 * (x * z + y * w)
    matrix[..., 1, 0] = 2.0 * (x * y + z * w)
    matrix[..., 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    matrix[..., 1, 2] = 2.0 * (y * z - x * w)
    matrix[..., 2, 0] = 2.0 * (x * z - y * w)
    matrix[..., 2, 1] = 2.0 * (y * z + x * w)
    matrix[..., 2, 2] = 1.0 - 2.0 * (x * x + y * y)
    return matrix


def quaternion_from_matrix(matrix: ArrayLike) -> FloatArray:
    """Unit quaternions (..., 4) with w >= 0 of rotation matrices (..., 3, 3)."""
    m = as_floats(matrix)
    trace = np.trace(m, axis1=-2, axis2=-1)
    # 4 q qᵀ, read off the matrix: each row is the quaternion times one component; the largest loses least.
    outer = np.empty((*m.shape[:-2], 4, 4))
    for i in range(3):
        outer[..., i, i] = 1.0 - trace + 2.0 * m[..., i, i]
        j, k = (i + 1) % 3, (i + 2) % 3
        outer[..., i, j] = outer[..., j, i] = m[..., i, j] + m[..., j, i]
        outer[..., i, 3] = outer[..., 3, i] = m[..., k, j] - m[..., j, k]
    outer[..., 3, 3] = 1.0 + trace
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    quaternion /= np.sqrt(np.einsum("...i,...i->...", quaternion, quaternion))[..., None]
    return np.where(quaternion[..., 3:] < 0.0, -quaternion, quaternion)


def slerp(first: ArrayLike, second: ArrayLike, fraction: ArrayLike) -> FloatArray:
    """Unit quaternions (..., 4) a fraction of the way along the shorter arc, at constant angular speed."""
    p, q = np.broadcast_arrays(as_floats(first), as_floats(second))
    t = as_floats(fraction)[..., None]
    q = np.where(np.einsum("...i,...i->...", p, q)[..., None] < 0.0, -q, q)
    angle = 2.0 * np.arctan2(
        np.linalg.norm(q - p, axis=-1, keepdims=True), np.linalg.norm(q + p, axis=-1, keepdims=True)
    )
    # sin(t angle) / sin(angle) by sinc, which is right at angle zero too
    whole = np.sinc(angle / np.pi)
    blend: FloatArray = p * ((1.0 - t) * np.sinc((1.0 - t) * angle / np.pi) / whole)
    blend = blend + q * (t * np.sinc(t * angle / np.pi) / whole)
    blend /= np.linalg.norm(blend, axis=-1, keepdims=True)
    return blend


def _wrap(angle: FloatArray) -> FloatArray:
    """Angles within ±2π brought to -π to π."""
    angle = np.where(angle > np.pi, angle - 2.0 * np.pi, angle)
    return np.where(angle < -np.pi, angle + 2.0 * np.pi, angle)
