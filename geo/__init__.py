"""Where things are: arrays in, arrays out. Knows no entities. The only home of pyproj."""

from diorama.geo.axes import AXES, Axes
from diorama.geo.convert import (
    FRAMES,
    cartesian_from_ecef,
    cartesian_from_lla,
    cartesian_from_ned,
    convert,
    ecef_from_cartesian,
    ecef_from_lla,
    ecef_from_ned,
    lla_from_cartesian,
    lla_from_ecef,
    lla_from_ned,
    locate_block,
    ned_from_cartesian,
    ned_from_ecef,
    ned_from_lla,
)
from diorama.geo.ellipsoid import WGS84, Ellipsoid
from diorama.geo.geodesic import bearing_deg, destination, distance
from diorama.geo.origin import Origin
from diorama.geo.rotation import quaternion_from_rpy, rpy_from_quaternion

__all__ = [
    "AXES",
    "Axes",
    "Ellipsoid",
    "FRAMES",
    "Origin",
    "WGS84",
    "bearing_deg",
    "cartesian_from_ecef",
    "cartesian_from_lla",
    "cartesian_from_ned",
    "convert",
    "destination",
    "distance",
    "ecef_from_cartesian",
    "ecef_from_lla",
    "ecef_from_ned",
    "lla_from_cartesian",
    "lla_from_ecef",
    "lla_from_ned",
    "locate_block",
    "ned_from_cartesian",
    "ned_from_ecef",
    "ned_from_lla",
    "quaternion_from_rpy",
    "rpy_from_quaternion",
]
