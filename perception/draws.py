"""Random numbers that depend on who they are for and when, never on who was asked before.

A draw is a hash of (seed, sensor, object, time, channel): adding, hiding or reordering other objects changes
nothing, and a run can be repeated from any moment. The hash is the finaliser of SplitMix64; normals come in
pairs by the Box-Muller transform.
"""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from diorama.geo.arrays import FloatArray

Keys = NDArray[np.uint64]
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = (np.uint64(bits) for bits in (30, 27, 31, 11))


def key_from_name(name: str) -> int:
    """64 bits that stand for a name, the same in every process."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")


def _mix(x: Keys) -> Keys:
    """Scramble 64-bit numbers in place."""
    x ^= x >> _30
    x *= _FIRST
    x ^= x >> _27
    x *= _SECOND
    x ^= x >> _31
    return x


def stream(seed: int, sensor: str) -> int:
    """The 64 bits that make the draws of one sensor under one seed its own."""
    return int(_mix(np.array([(seed * _GOLDEN + key_from_name(sensor)) & _MASK], np.uint64))[0])


def uniforms(source: int, keys: Keys, time_ns: int, channels: int) -> FloatArray:
    """Numbers in (0, 1], one row per channel: (channels, n) for the keys (n,) of the objects."""
    # Each ingredient is mixed in by itself: sums of several would let one cancel another.
    words = _mix(keys ^ np.uint64(source))
    words = _mix(words + np.uint64(time_ns * _GOLDEN & _MASK))
    offsets = np.array([(channel + 1) * _GOLDEN & _MASK for channel in range(channels)], np.uint64)
    words = _mix(words + offsets[:, None])
    numbers: FloatArray = (words >> _11).astype(np.float64)
    numbers += 1.0
    numbers *= 2.0**-53
    return numbers


def normals(radius: FloatArray, angle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two independent standard normals (n,) of two uniform numbers (n,) in (0, 1]."""
    length = np.sqrt(-2.0 * np.log(radius))
    turn = (2.0 * np.pi) * angle
    return length * np.cos(turn), length * np.sin(turn)
