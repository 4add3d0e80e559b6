"""The hot path compiled by numba (extra `fast`): NED to ECEF and LLA, one thread, cached on disk.

The same two steps of Bowring's iteration as in `diorama.geo.bowring`, the same numbers to nanometres. The arc
tangent is written out without branches, so that the whole loop becomes vector instructions; a call into the
C library for each point costs three times as much.
"""

from typing import Any

import numpy as np
from numba import float64, types

from diorama.geo.arrays import FloatArray
from diorama.geo.compiled import compiled

# atan(t) / t as a polynomial in t², highest power first: a Chebyshev fit on |t| <= tan(π/8), good to 2e-17.
ATAN = (
    -0.017805397205419446,
    0.03796525745386593,
    -0.05035102456601552,
    0.05846878297330872,
    -0.06662951813629191,
    0.07692045330902225,
    -0.09090896809064027,
    0.11111110744919658,
    -0.14285714279250245,
    0.19999999999940893,
    -0.3333333333333312,
    1.0,
)
TAN_PI_8 = 0.41421356237309503
DEGREES = 180.0 / np.pi

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
}


@compiled(inline="always", **_OPTIONS)
def _arctan2_deg(y: float, x: float) -> float:
    across, along = abs(x), abs(y)
    small, large = min(across, along), max(max(across, along), 1e-300)
    # Half an octant is left for the polynomial: above tan(π/8), atan(t) = π/4 + atan((t - 1) / (t + 1)).
    upper = small > TAN_PI_8 * large
    t = (small - large if upper else small) / (small + large if upper else large)
    square = t * t
    fit = ATAN[0]
    for coefficient in ATAN[1:]:
        fit = fit * square + coefficient
    angle = t * fit + (0.25 * np.pi if upper else 0.0)
    angle = 0.5 * np.pi - angle if along > across else angle
    angle = np.pi - angle if x < 0.0 else angle
    return DEGREES * (-angle if y < 0.0 else angle)


BLOCK = 256  # points at a time: what one pass leaves is in the first-level cache for the next
# Points may be columns of a wider table, and read-only: named here, it is compiled once and not for each kind.
_IN, _POINT, _OUT = (
    types.Array(float64, 2, "A", readonly=True),
    types.Array(float64, 1, "C", readonly=True),
    types.Array(float64, 2, "C"),
)


@compiled(types.void(_IN, _IN, _POINT, float64, float64, _OUT, _OUT), **_OPTIONS)
def locate_points(
    ned: FloatArray,
    rotation: FloatArray,
    centre: FloatArray,
    equatorial_radius: float,
    e2: float,
    ecef: FloatArray,
    lla: FloatArray,
) -> None:
    """Write ECEF and LLA (n, 3) of NED (n, 3) about an origin's ECEF and NED-from-ECEF rotation."""
    flat = np.sqrt(1.0 - e2)  # b / a
    inward, outward = e2 * equatorial_radius, e2 / flat * equatorial_radius  # e² a and e'² b
    cx, cy, cz = centre[0], centre[1], centre[2]
    nx, ny, nz = rotation[0, 0], rotation[0, 1], rotation[0, 2]
    ex, ey, ez = rotation[1, 0], rotation[1, 1], rotation[1, 2]
    dx, dy, dz = rotation[2, 0], rotation[2, 1], rotation[2, 2]
    x, y, z = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    latitude, longitude, altitude = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    # The middle loop touches nothing but contiguous columns, which lets the compiler make it vector code.
    for start in range(0, len(ned), BLOCK):
        count = min(BLOCK, len(ned) - start)
        for i in range(count):
            north, east, down = ned[start + i, 0], ned[start + i, 1], ned[start + i, 2]
            x[i] = cx + (north * nx + east * ex + down * dx)
            y[i] = cy + (north * ny + east * ey + down * dy)
            z[i] = cz + (north * nz + east * ez + down * dz)
        for i in range(count):
            p = np.sqrt(x[i] * x[i] + y[i] * y[i])
            sine, cosine = z[i], flat * p
            for step in range(2):
                if step == 1:
                    sine *= flat
                scale = 1.0 / np.sqrt(sine * sine + cosine * cosine)
                sine, cosine = sine * scale, cosine * scale
                sine, cosine = z[i] + outward * sine**3, p - inward * cosine**3
            latitude[i] = _arctan2_deg(sine, cosine)
            longitude[i] = _arctan2_deg(y[i], x[i])
            scale = 1.0 / np.sqrt(sine * sine + cosine * cosine)
            sine, cosine = sine * scale, cosine * scale
            altitude[i] = p * cosine + z[i] * sine - equatorial_radius * np.sqrt(1.0 - e2 * sine * sine)
        for i in range(count):
            ecef[start + i, 0], ecef[start + i, 1], ecef[start + i, 2] = x[i], y[i], z[i]
            lla[start + i, 0], lla[start + i, 1], lla[start + i, 2] = latitude[i], longitude[i], altitude[i]
