"""Origins to poses: in double precision and on the ellipsoid, or exactly as Project AirSim computes them.

`exact` reproduces three things of Project AirSim for those who compare runs: numbers read as float32, a pitch
within 0.1° of straight up or down moved away from it, and geo-points turned into NED about the *geocentric*
latitude, which tilts "down" (about 3.3 m of height for each km north or south).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import atan2, cos, hypot, pi, radians, sin
from typing import Any

import numpy as np

from diorama.formats.airsim.fields import Source
from diorama.formats.jsonc import Path
from diorama.geo import Origin, ecef_from_lla, ned_from_lla, quaternion_from_rpy

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
SNAP = radians(0.1)  # how far from straight up or down Project AirSim keeps a pitch


@dataclass(frozen=True, slots=True)
class Pose:
    """A position (m) and an orientation (xyzw) relative to the parent."""

    position: Vector = (0.0, 0.0, 0.0)
    orientation: Quaternion = (0.0, 0.0, 0.0, 1.0)


IDENTITY = Pose()


def read_pose(
    source: Source, path: Path, origin: Mapping[str, Any] | None, home: Origin | None = None
) -> Pose:
    """The pose of a checked `origin`; a `geo-point` needs the scene's home. Where both forms are given, the
    field's rule decides: geo-point before xyz, rpy before rpy-deg.
    """
    if not origin:
        return IDENTITY
    for winner, loser in (("geo-point", "xyz"), ("rpy", "rpy-deg")):
        if winner in origin and loser in origin:
            source.warn((*path, loser), f"{winner!r} is given as well and counts; this is ignored", key=True)
    position: Vector = origin.get("xyz", (0.0, 0.0, 0.0))
    if source.exact:
        position = _single(position)
    if home is not None and "geo-point" in origin:
        position = _ned(source, (*path, "geo-point"), origin["geo-point"], home)
    if "rpy" in origin:
        rpy: Vector = origin["rpy"]
        if max(map(abs, rpy)) > 2 * pi:
            source.warn((*path, "rpy"), "more than a full turn in radians; were degrees meant ('rpy-deg')?")
    else:
        rpy = _radians(origin.get("rpy-deg", (0.0, 0.0, 0.0)), source.exact)
    if not any(rpy):
        return Pose(position)
    if source.exact:
        rpy = _snapped(_single(rpy))
    return Pose(position, _quaternion(rpy))


def ned_by_geocentric_latitude(lla: Vector, home: Origin) -> Vector:
    """NED metres as Project AirSim computes them: about the home's geocentric latitude."""
    dx, dy, dz = (ecef_from_lla(lla) - home.ecef).tolist()
    latitude = atan2(home.ecef[2], hypot(home.ecef[0], home.ecef[1]))
    longitude = radians(home.longitude_deg)
    across = cos(longitude) * dx + sin(longitude) * dy
    return (
        cos(latitude) * dz - sin(latitude) * across,
        cos(longitude) * dy - sin(longitude) * dx,
        -(cos(latitude) * across + sin(latitude) * dz),
    )


def _ned(source: Source, path: Path, lla: Vector, home: Origin) -> Vector:
    if abs(lla[0]) > 90 or abs(lla[1]) > 180:
        source.error(
            path,
            f'expected "latitude longitude altitude" within ±90 and ±180 degrees, got {lla[0]:g} {lla[1]:g}',
        )
        return (0.0, 0.0, 0.0)
    if source.exact:
        return ned_by_geocentric_latitude(_single(lla), home)
    north, east, down = ned_from_lla(lla, home).tolist()
    return (north, east, down)


@lru_cache(maxsize=4096)  # the same few angles stand in every robot
def _quaternion(rpy: Vector) -> Quaternion:
    x, y, z, w = quaternion_from_rpy(rpy).tolist()
    return (x, y, z, w)


def _single(values: Vector) -> Vector:
    x, y, z = np.asarray(values, np.float32).astype(np.float64).tolist()
    return (x, y, z)


def _radians(degrees: Vector, exact: bool) -> Vector:
    if exact:
        degrees = _single(degrees)
    return (radians(degrees[0]), radians(degrees[1]), radians(degrees[2]))


def _snapped(rpy: Vector) -> Vector:
    """A pitch within 0.1° of ±90° moved to the nearer end of that gap; exactly 90° is beyond, in float32."""
    roll, pitch, yaw = rpy
    size = abs(pitch)
    if abs(size - pi / 2) < SNAP:
        size = pi / 2 - SNAP if size < pi / 2 else pi / 2 + SNAP
    return (roll, size if pitch > 0 else -size, yaw)
