"""Which points lie inside a polygon of latitudes and longitudes."""

import numpy as np
from numpy.typing import NDArray

from diorama.schemas.errors import GeoError

Floats = NDArray[np.float64]


def inside(points: Floats, corners: Floats) -> NDArray[np.bool_]:
    """Which of (n, 2) latitudes and longitudes lie inside the polygon of (m, 2) corners, degrees; even-odd rule.

    Edges are straight in latitude and longitude and take the shorter way around the Earth, so a polygon may cross the
    antimeridian. One that goes around a pole has no inside in these terms and is refused.
    """
    if len(corners) < 3:
        raise GeoError(f"polygon: expected three corners or more, got {len(corners)}")
    if (
        not np.isfinite(corners).all()
        or (np.abs(corners[:, 0]) > 90.0).any()
        or (np.abs(corners[:, 1]) > 360.0).any()
    ):
        raise GeoError(
            "polygon: expected corners as latitude (-90 to 90) and longitude (-360 to 360) degrees"
        )
    steps = _shorter(np.diff(corners[:, 1], append=corners[0, 1]))
    if abs(steps.sum()) > 180.0:
        raise GeoError("polygon: it goes around a pole; cut it in two")
    # Longitudes unrolled from the first corner, so that no edge jumps by 360 degrees.
    longitudes = corners[0, 1] + np.concatenate(([0.0], np.cumsum(steps)[:-1]))
    latitudes = corners[:, 0]
    west, east = longitudes.min(), longitudes.max()
    x = west + (points[:, 1] - west) % 360.0
    y = points[:, 0]
    crossings = np.zeros(len(points), np.bool_)
    chosen = np.nonzero((x <= east) & (y >= latitudes.min()) & (y <= latitudes.max()))[0]
    if len(chosen) == 0:
        return crossings
    x, y = x[chosen], y[chosen]
    odd = np.zeros(len(chosen), np.bool_)
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        x_i, y_i, x_j, y_j = longitudes[i], latitudes[i], longitudes[j], latitudes[j]
        if y_i == y_j:
            continue
        spans = (y_i > y) != (y_j > y)
        odd ^= spans & (x < (x_j - x_i) * ((y - y_i) / (y_j - y_i)) + x_i)
    crossings[chosen] = odd
    return crossings


def _shorter(degrees: Floats) -> Floats:
    """Differences of longitude brought to -180 to 180."""
    return (degrees + 180.0) % 360.0 - 180.0
