"""The ellipsoid: published constants, and what is refused."""

import math

import pytest

from diorama.geo import WGS84, Ellipsoid
from diorama.schemas.errors import GeoError


def test_wgs84_has_its_published_constants() -> None:
    assert (WGS84.equatorial_radius, 1.0 / WGS84.flattening) == (6378137.0, 298.257223563)
    assert WGS84.polar_radius == pytest.approx(6356752.314245179, abs=1e-9)
    assert WGS84.e2 == pytest.approx(6.69437999014131699e-3, abs=1e-17)
    assert WGS84.second_e2 == pytest.approx(6.73949674227643495e-3, abs=1e-17)


def test_a_sphere_has_no_core() -> None:
    sphere = Ellipsoid(6371000.0, 0.0)
    assert sphere.polar_radius == 6371000.0
    assert sphere.core_radius == 0.0


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
def test_an_impossible_radius_is_refused_by_name(radius: float) -> None:
    with pytest.raises(GeoError, match="equatorial_radius: expected a length above 0 m"):
        Ellipsoid(radius, 0.0)


@pytest.mark.parametrize("flattening", [-0.1, 1.0, math.nan, 298.257])
def test_an_impossible_flattening_is_refused_by_name(flattening: float) -> None:
    with pytest.raises(GeoError, match="flattening: expected 0"):
        Ellipsoid(6378137.0, flattening)
