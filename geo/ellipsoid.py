"""The shape of the Earth: an ellipsoid of revolution, WGS84 unless said otherwise."""

from dataclasses import dataclass
from math import isfinite

from diorama.schemas.errors import GeoError


@dataclass(frozen=True, slots=True)
class Ellipsoid:
    """An oblate ellipsoid of revolution: equatorial radius in metres, and flattening (a - b) / a."""

    equatorial_radius: float = 6378137.0
    flattening: float = 1.0 / 298.257223563

    def __post_init__(self) -> None:
        if not (isfinite(self.equatorial_radius) and self.equatorial_radius > 0.0):
            raise GeoError(f"equatorial_radius: expected a length above 0 m, got {self.equatorial_radius!r}")
        if not 0.0 <= self.flattening < 1.0:
            raise GeoError(f"flattening: expected 0 (a sphere) up to 1, got {self.flattening!r}")

    @property
    def polar_radius(self) -> float:
        """Semi-minor axis b in metres."""
        return self.equatorial_radius * (1.0 - self.flattening)

    @property
    def e2(self) -> float:
        """First eccentricity squared, (a² - b²) / a²."""
        return self.flattening * (2.0 - self.flattening)

    @property
    def second_e2(self) -> float:
        """Second eccentricity squared, (a² - b²) / b²."""
        return self.e2 / (1.0 - self.e2)

    @property
    def core_radius(self) -> float:
        """Around the centre, metres: nearer than this a point lies below several places at once."""
        return self.second_e2 * self.polar_radius


WGS84 = Ellipsoid()
