"""Places from one frame to another: ned, lla, ecef, cartesian, and the axes of renderers.

Every function takes and returns float64 arrays of shape (..., 3), any number of points including none:

    ned         metres north, east, down of an Origin, on its tangent plane (not curved)
    lla         latitude and longitude in degrees, altitude in metres above the ellipsoid
    ecef        Earth-centred, Earth-fixed metres
    cartesian   ECEF minus the origin's ECEF, as AeroSim defines it

All roads lead through ECEF. `convert` goes by the names of frames; `locate_block` is the hot path of a world.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from diorama.geo.arrays import FloatArray, as_rows, refuse_where
from diorama.geo.axes import AXES
from diorama.geo.bowring import ecef_of_lla, lla_of_ecef, locate_numpy
from diorama.geo.ellipsoid import WGS84, Ellipsoid
from diorama.geo.origin import Origin
from diorama.schemas.errors import GeoError, did_you_mean, missing_extra

# Below this many points the numpy path takes some 30 µs, which does not pay for loading numba (about 0.4 s).
WORTH_COMPILING = 256
# Metres from the Earth's centre (some light years) beyond which squares begin to lose their meaning.
FARTHEST = 1e18


def ecef_from_lla(lla: ArrayLike, ellipsoid: Ellipsoid = WGS84) -> FloatArray:
    """ECEF metres (..., 3) of latitude and longitude in degrees and altitude above the ellipsoid."""
    rows = as_lla(lla)
    return ecef_of_lla(rows, ellipsoid)


def lla_from_ecef(ecef: ArrayLike, ellipsoid: Ellipsoid = WGS84) -> FloatArray:
    """Latitude, longitude (-180 to 180 degrees), altitude above the ellipsoid, of ECEF metres (..., 3)."""
    rows = as_rows(ecef, 3, "ecef point")
    refuse_where(
        np.asarray((np.abs(rows) > FARTHEST).any(axis=-1)),
        rows,
        "ecef point",
        f"expected less than {FARTHEST:g} m",
    )
    squared = np.einsum("...i,...i->...", rows, rows)
    far_enough = (
        f"expected more than {ellipsoid.core_radius:.0f} m from the Earth's centre, where no way is up"
    )
    refuse_where(squared <= ellipsoid.core_radius**2, rows, "ecef point", far_enough)
    lla = np.empty(rows.shape)
    lla_of_ecef(rows.reshape(-1, 3), ellipsoid, lla.reshape(-1, 3))
    return lla


def ecef_from_ned(ned: ArrayLike, origin: Origin) -> FloatArray:
    """ECEF metres (..., 3) of metres north, east, down of the origin."""
    return _ecef_of_ned(as_rows(ned, 3, "ned point"), origin)


def ned_from_ecef(ecef: ArrayLike, origin: Origin) -> FloatArray:
    """Metres north, east, down of the origin, of ECEF metres (..., 3)."""
    return _ned_of_ecef(as_rows(ecef, 3, "ecef point"), origin)


def lla_from_ned(ned: ArrayLike, origin: Origin) -> FloatArray:
    """Latitude, longitude, altitude (..., 3) of metres north, east, down of the origin."""
    return lla_from_ecef(ecef_from_ned(ned, origin), origin.ellipsoid)


def ned_from_lla(lla: ArrayLike, origin: Origin) -> FloatArray:
    """Metres north, east, down of the origin, of latitude, longitude, altitude (..., 3)."""
    return _ned_of_ecef(ecef_from_lla(lla, origin.ellipsoid), origin)


def cartesian_from_ecef(ecef: ArrayLike, origin: Origin) -> FloatArray:
    """Metres along the ECEF axes from the origin, of ECEF metres (..., 3)."""
    return as_rows(ecef, 3, "ecef point") - origin.ecef


def ecef_from_cartesian(cartesian: ArrayLike, origin: Origin) -> FloatArray:
    """ECEF metres (..., 3) of metres along the ECEF axes from the origin."""
    return as_rows(cartesian, 3, "cartesian point") + origin.ecef


def cartesian_from_ned(ned: ArrayLike, origin: Origin) -> FloatArray:
    """Metres along the ECEF axes from the origin, of metres north, east, down of it."""
    return as_rows(ned, 3, "ned point") @ origin.ned_from_ecef_rotation


def ned_from_cartesian(cartesian: ArrayLike, origin: Origin) -> FloatArray:
    """Metres north, east, down of the origin, of metres along the ECEF axes from it."""
    return as_rows(cartesian, 3, "cartesian point") @ origin.ned_from_ecef_rotation.T


def cartesian_from_lla(lla: ArrayLike, origin: Origin) -> FloatArray:
    """Metres along the ECEF axes from the origin, of latitude, longitude, altitude (..., 3)."""
    return ecef_from_lla(lla, origin.ellipsoid) - origin.ecef


def lla_from_cartesian(cartesian: ArrayLike, origin: Origin) -> FloatArray:
    """Latitude, longitude, altitude (..., 3) of metres along the ECEF axes from the origin."""
    return lla_from_ecef(ecef_from_cartesian(cartesian, origin), origin.ellipsoid)


FRAMES = ("lla", "ecef", "cartesian", *AXES)


def convert(points: ArrayLike, source: str, target: str, origin: Origin | None = None) -> FloatArray:
    """Points (..., 3) from one of FRAMES to another, by name; only lla and ecef do without an origin."""
    for name in (source, target):
        if name not in FRAMES:
            raise GeoError(
                f"frame: expected one of {', '.join(FRAMES)}, got {name!r}{did_you_mean(name, FRAMES)}"
            )
    if source == target:
        return (as_lla(points) if source == "lla" else as_rows(points, 3, f"{source} point")).copy()
    if source in AXES and target in AXES:
        return AXES[target].points(AXES[source].ned_points(as_rows(points, 3, f"{source} point")))
    if source in ("lla", "ecef") and target in ("lla", "ecef"):
        ellipsoid = origin.ellipsoid if origin else WGS84
        return ecef_from_lla(points, ellipsoid) if target == "ecef" else lla_from_ecef(points, ellipsoid)
    if origin is None:
        raise GeoError(
            f"{target} from {source}: expected an origin (latitude, longitude, altitude), got none"
        )
    ecef = _ecef_from(points, source, origin)
    if target == "ecef":
        return ecef
    if target == "lla":
        return lla_from_ecef(ecef, origin.ellipsoid)
    if target == "cartesian":
        return ecef - origin.ecef
    return AXES[target].points(_ned_of_ecef(ecef, origin))


def _ecef_from(points: ArrayLike, source: str, origin: Origin) -> FloatArray:
    if source == "lla":
        return ecef_from_lla(points, origin.ellipsoid)
    rows = as_rows(points, 3, f"{source} point")
    if source == "ecef":
        return rows
    if source == "cartesian":
        return rows + origin.ecef
    return _ecef_of_ned(AXES[source].ned_points(rows), origin)


def as_lla(values: ArrayLike) -> FloatArray:
    """`values` as lla rows (..., 3), latitudes and longitudes within their range."""
    lla = as_rows(values, 3, "lla point")
    refuse_where(np.abs(lla[..., 0]) > 90.0, lla, "lla point", "expected a latitude of -90 to 90 degrees")
    refuse_where(np.abs(lla[..., 1]) > 360.0, lla, "lla point", "expected a longitude of -360 to 360 degrees")
    return lla


def locate_block(
    ned: FloatArray, origin: Origin, ecef_out: FloatArray, lla_out: FloatArray, *, fast: bool | None = None
) -> None:
    """Write ECEF and LLA (n, 3) of a block of NED (n, 3): the hot path, which checks nothing.

    A non-finite row comes out with non-finite ECEF and altitude. `fast` says that the compiled kernel must
    (True) or must not (False) do it; left alone, it does when numba is installed and the block is worth it.
    """
    wanted = len(ned) >= WORTH_COMPILING if fast is None else fast
    kernel = _compiled_kernel() if wanted else None
    if fast and kernel is None:
        missing_extra("fast", "the compiled geo kernel")
    if kernel is None or not (ecef_out.flags.c_contiguous and lla_out.flags.c_contiguous):
        locate_numpy(ned, origin, ecef_out, lla_out)
        return
    ellipsoid = origin.ellipsoid
    rotation, centre = origin.ned_from_ecef_rotation, origin.ecef
    kernel(ned, rotation, centre, ellipsoid.equatorial_radius, ellipsoid.e2, ecef_out, lla_out)


@cache
def _compiled_kernel() -> Callable[..., None] | None:
    try:
        from diorama.geo.kernels import locate_points
    except ImportError:
        return None
    kernel: Callable[..., None] = locate_points
    return kernel


def _ecef_of_ned(ned: FloatArray, origin: Origin) -> FloatArray:
    ecef: FloatArray = ned @ origin.ned_from_ecef_rotation
    ecef += origin.ecef
    return ecef


def _ned_of_ecef(ecef: FloatArray, origin: Origin) -> FloatArray:
    return (ecef - origin.ecef) @ origin.ned_from_ecef_rotation.T
