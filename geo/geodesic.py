"""Distance and bearing along the ellipsoid, by PROJ's geodesic routines (Karney), good to nanometres.

Points are lla rows (..., 3); altitudes play no part. All functions broadcast.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from diorama.geo.arrays import FloatArray, as_rows
from diorama.geo.convert import as_lla
from diorama.geo.ellipsoid import WGS84, Ellipsoid

if TYPE_CHECKING:
    from pyproj import Geod


def distance(start: ArrayLike, end: ArrayLike, ellipsoid: Ellipsoid = WGS84) -> FloatArray:
    """Metres (...) along the shortest way on the ellipsoid between lla points (..., 3)."""
    return _inverse(start, end, ellipsoid)[0]


def bearing_deg(start: ArrayLike, end: ArrayLike, ellipsoid: Ellipsoid = WGS84) -> FloatArray:
    """Degrees (...) clockwise from north, 0 to 360, in which the shortest way to `end` leaves `start`."""
    return _inverse(start, end, ellipsoid)[1]


def destination(
    start: ArrayLike, bearing_deg: ArrayLike, distance: ArrayLike, ellipsoid: Ellipsoid = WGS84
) -> FloatArray:
    """The lla points (..., 3) so many metres from `start` along that bearing, at its altitude."""
    rows = as_lla(start)
    bearings = as_rows(np.asarray(bearing_deg)[..., None], 1, "bearing")[..., 0]
    distances = as_rows(np.asarray(distance)[..., None], 1, "distance")[..., 0]
    latitude, longitude, altitude, bearings, distances = (
        np.array(column) for column in np.broadcast_arrays(*np.moveaxis(rows, -1, 0), bearings, distances)
    )
    longitude, latitude, _ = _geod(ellipsoid).fwd(longitude, latitude, bearings, distances)
    return np.stack((latitude, longitude, altitude), axis=-1)


def _inverse(start: ArrayLike, end: ArrayLike, ellipsoid: Ellipsoid) -> tuple[FloatArray, FloatArray]:
    a, b = np.broadcast_arrays(as_lla(start), as_lla(end))
    latitudes, longitudes = ([np.array(points[..., i]) for points in (a, b)] for i in (0, 1))
    azimuth, _, length = _geod(ellipsoid).inv(longitudes[0], latitudes[0], longitudes[1], latitudes[1])
    return np.asarray(length), np.asarray(azimuth) % 360.0


@lru_cache(maxsize=16)
def _geod(ellipsoid: Ellipsoid) -> "Geod":
    from pyproj import Geod  # 90 ms, and only geodesics need it

    return Geod(a=ellipsoid.equatorial_radius, f=ellipsoid.flattening)
