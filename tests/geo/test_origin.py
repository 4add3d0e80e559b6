"""The origin: where it stands, and what is refused."""

import math

import numpy as np
import pytest

from diorama.geo import Ellipsoid, Origin
from diorama.schemas.errors import GeoError

MICROMETRE = 1e-6


def test_the_origin_of_the_aerosim_example_stands_where_it_should() -> None:
    origin = Origin(29.594656, -95.16384722, -28.3)
    expected = (-499573.586028, -5528032.628386, 3131368.369713)
    np.testing.assert_allclose(origin.ecef, expected, rtol=0.0, atol=MICROMETRE)
    assert origin.lla == (29.594656, -95.16384722, -28.3)


@pytest.mark.parametrize("latitude_deg", [-90.0, -33.0, 0.0, 45.0, 90.0])
def test_down_points_into_the_ellipsoid_and_north_to_the_pole(latitude_deg: float) -> None:
    origin = Origin(latitude_deg, 120.0, 0.0)
    north, east, down = origin.ned_from_ecef_rotation
    np.testing.assert_allclose(
        origin.ned_from_ecef_rotation @ origin.ned_from_ecef_rotation.T, np.eye(3), atol=1e-15
    )
    np.testing.assert_allclose(np.cross(north, east), down, atol=1e-15)
    # The normal of x²/a² + y²/a² + z²/b² = 1 is its gradient.
    a, b = origin.ellipsoid.equatorial_radius, origin.ellipsoid.polar_radius
    gradient = origin.ecef / np.array([a * a, a * a, b * b])
    np.testing.assert_allclose(down, -gradient / np.linalg.norm(gradient), atol=1e-15)
    assert north[2] >= 0.0
    assert east[2] == 0.0


def test_equal_places_are_equal_origins_and_hash_alike() -> None:
    assert Origin(1.0, 2.0, 3.0) == Origin(1.0, 2.0, 3.0)
    assert hash(Origin(1.0, 2.0, 3.0)) == hash(Origin(1.0, 2.0, 3.0))
    assert Origin(1.0, 2.0, 3.0) != Origin(1.0, 2.0, 3.0, Ellipsoid(6371000.0, 0.0))


def test_derived_arrays_are_read_only() -> None:
    origin = Origin(1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match="read-only"):
        origin.ecef[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        origin.ned_from_ecef_rotation[0, 0] = 0.0


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((90.001, 0.0, 0.0), "latitude_deg: expected -90 to 90 degrees, got 90.001"),
        ((math.nan, 0.0, 0.0), "latitude_deg: expected -90 to 90 degrees, got nan"),
        ((0.0, 361.0, 0.0), "longitude_deg: expected -360 to 360 degrees, got 361.0"),
        ((0.0, math.inf, 0.0), "longitude_deg: expected"),
        ((0.0, 0.0, math.nan), "altitude: expected finite metres"),
        ((0.0, 0.0, -6.32e6), "altitude: expected finite metres, outside the Earth's core"),
        ((0.0, 0.0, -6356752.4), "altitude: expected finite metres, outside the Earth's core"),
    ],
)
def test_an_impossible_place_is_refused_by_the_name_of_its_field(
    place: tuple[float, float, float], message: str
) -> None:
    with pytest.raises(GeoError, match=f"origin: {message}"):
        Origin(*place)
