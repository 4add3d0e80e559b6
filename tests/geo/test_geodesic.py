"""Distances and bearings: known lines, and the way there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.geo import Ellipsoid, bearing_deg, destination, distance
from diorama.schemas.errors import GeoError

places = st.tuples(st.floats(-89, 89), st.floats(-180, 180), st.just(120.0))


def test_known_distances() -> None:
    # Vincenty's example on the Bessel ellipsoid (1975, line a), and the meridian quadrant of WGS84.
    bessel = Ellipsoid(6377397.155, 1.0 / 299.1528128)
    start, end = (55.75, 0.0, 0.0), (-(33 + 26 / 60), 108 + 13 / 60, 0.0)
    assert distance(start, end, bessel) == pytest.approx(14110526.170, abs=1e-3)
    assert bearing_deg(start, end, bessel) == pytest.approx(96 + 36 / 60 + 8.79960 / 3600, abs=1e-8)
    assert distance((0, 0, 0), (90, 0, 0)) == pytest.approx(10001965.729, abs=1e-3)


def test_on_a_sphere_it_is_the_great_circle() -> None:
    sphere = Ellipsoid(6371000.0, 0.0)
    assert distance((0, 0, 0), (0, 90, 0), sphere) == pytest.approx(6371000.0 * np.pi / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("end", "expected"), [((1, 0, 0), 0.0), ((0, 1, 0), 90.0), ((-1, 0, 0), 180.0), ((0, -1, 0), 270.0)]
)
def test_bearings_count_clockwise_from_north(end: tuple[float, ...], expected: float) -> None:
    assert bearing_deg((0, 0, 0), end) == pytest.approx(expected, abs=1e-12)


def test_altitude_plays_no_part_and_the_antimeridian_is_no_wall() -> None:
    assert distance((10, 179.9, 0), (10, -179.9, 5000)) == pytest.approx(
        distance((10, 0, 0), (10, 0.2, 0)), abs=1e-8
    )


@given(places, st.floats(0, 359.999), st.floats(1.0, 1e7))
def test_there_is_as_far_as_said_in_the_direction_said(
    start: tuple[float, float, float], bearing: float, length: float
) -> None:
    end = destination(start, bearing, length)
    assert end[2] == 120.0
    assert distance(start, end) == pytest.approx(length, abs=1e-7)
    turn = float(bearing_deg(start, end)) - bearing
    # A direction seen over a short line is only as sharp as the coordinates: a nanometre across.
    assert np.sin(np.radians(turn)) * length == pytest.approx(0.0, abs=1e-7 + 1e-13 * length)


def test_many_points_and_none() -> None:
    start = np.zeros((4, 3))
    assert distance(start, (1, 1, 0)).shape == (4,)
    assert destination(start, np.arange(4.0), 1000.0).shape == (4, 3)
    assert destination((0, 0, 0), np.zeros((2, 5)), 1.0).shape == (2, 5, 3)
    assert distance([], []).shape == (0,)
    assert isinstance(float(distance((0, 0, 0), (1, 1, 1))), float)


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(GeoError, match="lla point 1: expected a latitude"):
        distance([(0, 0, 0), (91, 0, 0)], (0, 0, 0))
    with pytest.raises(GeoError, match="bearing: expected finite numbers"):
        destination((0, 0, 0), np.nan, 1.0)
    with pytest.raises(GeoError, match="distance: expected finite numbers"):
        destination((0, 0, 0), 1.0, np.inf)
    with pytest.raises(GeoError, match="bearing: expected numbers"):
        destination((0, 0, 0), "north", 1.0)
