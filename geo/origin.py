"""The place on Earth where a world's north-east-down axes stand."""

from dataclasses import dataclass, field
from math import cos, isfinite, radians, sin

import numpy as np

from diorama.geo.arrays import FloatArray
from diorama.geo.ellipsoid import WGS84, Ellipsoid
from diorama.schemas.errors import GeoError


@dataclass(frozen=True, slots=True)
class Origin:
    """Latitude and longitude in degrees, altitude in metres above the ellipsoid (not above the sea).

    `ecef` (3,) and `ned_from_ecef_rotation` (3, 3) are computed once and are read-only.
    """

    latitude_deg: float
    longitude_deg: float
    altitude: float
    ellipsoid: Ellipsoid = WGS84
    ecef: FloatArray = field(init=False, repr=False, compare=False)
    ned_from_ecef_rotation: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, limit in (("latitude_deg", 90.0), ("longitude_deg", 360.0)):
            if not abs(getattr(self, name)) <= limit:
                raise GeoError(
                    f"origin: {name}: expected {-limit:g} to {limit:g} degrees, got {getattr(self, name)!r}"
                )
        if (
            not isfinite(self.altitude)
            or self.altitude <= self.ellipsoid.core_radius - self.ellipsoid.polar_radius
        ):
            raise GeoError(
                f"origin: altitude: expected finite metres, outside the Earth's core, got {self.altitude!r}"
            )
        latitude, longitude = radians(self.latitude_deg), radians(self.longitude_deg)
        sin_lat, cos_lat, sin_lon, cos_lon = sin(latitude), cos(latitude), sin(longitude), cos(longitude)
        normal_radius = self.ellipsoid.equatorial_radius / (1.0 - self.ellipsoid.e2 * sin_lat**2) ** 0.5
        across = (normal_radius + self.altitude) * cos_lat
        along = (normal_radius * (1.0 - self.ellipsoid.e2) + self.altitude) * sin_lat
        ecef = np.array([across * cos_lon, across * sin_lon, along])
        rotation = np.array(
            [
                [-sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat],
                [-sin_lon, cos_lon, 0.0],
                [-cos_lat * cos_lon, -cos_lat * sin_lon, -sin_lat],
            ]
        )
        ecef.flags.writeable = rotation.flags.writeable = False
        object.__setattr__(self, "ecef", ecef)
        object.__setattr__(self, "ned_from_ecef_rotation", rotation)

    @property
    def lla(self) -> tuple[float, float, float]:
        """Latitude and longitude in degrees, altitude in metres."""
        return (self.latitude_deg, self.longitude_deg, self.altitude)
