"""Frames from each other: AeroSim's vectors, PROJ's pipelines, round trips, hard points, refusals."""

from collections.abc import Callable

import numpy as np
import pyproj
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.geo import (
    FRAMES,
    WGS84,
    Ellipsoid,
    Origin,
    cartesian_from_ecef,
    cartesian_from_lla,
    cartesian_from_ned,
    convert,
    distance,
    ecef_from_cartesian,
    ecef_from_lla,
    ecef_from_ned,
    lla_from_cartesian,
    lla_from_ecef,
    lla_from_ned,
    ned_from_cartesian,
    ned_from_ecef,
    ned_from_lla,
)
from diorama.geo.arrays import FloatArray
from diorama.schemas.errors import GeoError

NANOMETRES_10 = 1e-8
# PROJ goes from ECEF to LLA in a single step: 1 µm off at 10 km altitude.
PROJ_BELOW_10_KM = 2e-6

AEROSIM = Origin(44.532, -72.782, 1699.0)
HOUSTON = Origin(29.594656, -95.16384722, -28.3)

places = st.tuples(st.floats(-90, 90), st.floats(-180, 180), st.floats(-1e4, 1e6))
# On another ellipsoid too: nothing may fall back to WGS84 on the way.
ellipsoids = st.sampled_from([WGS84, Ellipsoid(6377397.155, 1.0 / 299.1528128)])
origins = st.builds(Origin, st.floats(-90, 90), st.floats(-180, 180), st.floats(-1e3, 1e4), ellipsoids)
points = st.tuples(*[st.floats(-1e6, 1e6)] * 3)


def metres_apart(a: FloatArray, b: FloatArray) -> float:
    """The largest distance in metres between lla points, by way of ECEF."""
    return float(np.linalg.norm(ecef_from_lla(a) - ecef_from_lla(b), axis=-1).max(initial=0.0))


def test_the_vectors_of_aerosim_at_full_precision() -> None:
    lla = (44.532, -72.814, 1340.0)
    ecef = (1345937.2525239724, -4351784.714708165, 4451363.50308824)
    ned = (0.4982390939, -2544.0869497226, 359.5064456833)  # printed to 1e-10 m
    np.testing.assert_allclose(ecef_from_lla(lla), ecef, rtol=0.0, atol=NANOMETRES_10)
    np.testing.assert_allclose(ned_from_lla(lla, AEROSIM), ned, rtol=0.0, atol=NANOMETRES_10)
    np.testing.assert_allclose(ned_from_ecef(ecef, AEROSIM), ned, rtol=0.0, atol=NANOMETRES_10)
    assert metres_apart(lla_from_ecef(ecef), np.array(lla)) < NANOMETRES_10
    assert metres_apart(lla_from_ned(ned, AEROSIM), np.array(lla)) < NANOMETRES_10
    np.testing.assert_allclose(ecef_from_ned(ned, AEROSIM), ecef, rtol=0.0, atol=NANOMETRES_10)


def test_the_rounded_vectors_of_aerosim_go_where_they_really_are() -> None:
    found = lla_from_ned((0.4997, -2544.087, 359.5123), AEROSIM)
    # Printed to 1e-12 degrees (0.1 µm) and 1 µm.
    np.testing.assert_allclose(found[:2], (44.532000013144, -72.814000000669), rtol=0.0, atol=1e-12)
    assert found[2] == pytest.approx(1339.994146, abs=1e-6)
    ecef = ecef_from_ned((0.4997, -2544.087, 359.5123), AEROSIM)
    np.testing.assert_allclose(ecef, (1345937.25, -4351784.71, 4451363.50), rtol=0.0, atol=1e-2)


def test_the_scene_of_aerosim_stands_at_its_origin() -> None:
    expected = (-499573.586028, -5528032.628386, 3131368.369713)
    np.testing.assert_allclose(ecef_from_ned((0, 0, 0), HOUSTON), expected, rtol=0.0, atol=1e-6)
    np.testing.assert_array_equal(cartesian_from_ned((0, 0, 0), HOUSTON), (0, 0, 0))


@pytest.mark.parametrize("distance", [1e3, 5e3, 1e4, 5e4, 1e5, 2e5])
def test_the_tangent_plane_is_not_curved(distance: float) -> None:
    altitude = lla_from_ned((0.0, distance, 0.0), Origin(34.0, 0.0, 0.0))[2]
    radius = WGS84.equatorial_radius / np.sqrt(1 - WGS84.e2 * np.sin(np.radians(34)) ** 2)
    assert altitude == pytest.approx(np.hypot(radius, distance) - radius, rel=3e-3)


@pytest.mark.parametrize(
    "origin", [HOUSTON, AEROSIM, Origin(-45.0, 179.9, 10.0), Origin(89.9, 10.0, 0.0)], ids=str
)
def test_agreement_with_the_pipelines_of_proj_below_10_km(origin: Origin) -> None:
    rng = np.random.default_rng(6)
    horizontal = rng.uniform(-1.5e5, 1.5e5, (500, 2))
    ned = np.column_stack((horizontal, (horizontal**2).sum(axis=1) / 12.8e6 - rng.uniform(0, 7e3, 500)))
    enu = np.column_stack((ned[:, 1], ned[:, 0], -ned[:, 2]))
    latitude, longitude, altitude = origin.lla
    topocentric = f"+proj=topocentric +lat_0={latitude!r} +lon_0={longitude!r} +h_0={altitude!r}"
    local = pyproj.Transformer.from_pipeline(f"+proj=pipeline +step +inv {topocentric} +ellps=WGS84")
    ecef = np.column_stack(local.transform(*enu.T))
    np.testing.assert_allclose(ecef_from_ned(ned, origin), ecef, rtol=0.0, atol=NANOMETRES_10)
    np.testing.assert_allclose(ned_from_ecef(ecef, origin), ned, rtol=0.0, atol=NANOMETRES_10)

    geodetic = pyproj.Transformer.from_crs("EPSG:4978", "EPSG:4979")
    lla = np.column_stack(geodetic.transform(*ecef.T))
    assert lla[:, 2].max() < 1e4
    assert metres_apart(lla_from_ned(ned, origin), lla) < PROJ_BELOW_10_KM
    back = np.column_stack(geodetic.transform(lla[:, 0], lla[:, 1], lla[:, 2], direction="INVERSE"))
    np.testing.assert_allclose(ecef_from_lla(lla), back, rtol=0.0, atol=NANOMETRES_10)


def test_agreement_with_proj_on_another_ellipsoid() -> None:
    bessel = Ellipsoid(6377397.155, 1.0 / 299.1528128)
    cart = pyproj.Transformer.from_pipeline("+proj=cart +ellps=bessel")
    lla = np.random.default_rng(7).uniform((-80.0, -180.0, 0.0), (80.0, 180.0, 9e3), (100, 3))
    expected = np.column_stack(cart.transform(lla[:, 1], lla[:, 0], lla[:, 2]))
    np.testing.assert_allclose(ecef_from_lla(lla, bessel), expected, rtol=0.0, atol=NANOMETRES_10)
    back = ecef_from_lla(lla_from_ecef(expected, bessel), bessel)
    np.testing.assert_allclose(back, expected, rtol=0.0, atol=NANOMETRES_10)
    origin = Origin(52.0, 13.0, 40.0, bessel)
    np.testing.assert_allclose(lla_from_ned((0, 0, 0), origin), origin.lla, rtol=1e-15, atol=2e-9)


@given(st.lists(places, max_size=4))
def test_lla_to_ecef_and_back(rows: list[tuple[float, float, float]]) -> None:
    ecef = ecef_from_lla(rows)
    assert ecef.shape == (len(rows), 3)
    lla = lla_from_ecef(ecef)
    np.testing.assert_allclose(ecef_from_lla(lla), ecef, rtol=0.0, atol=NANOMETRES_10)
    np.testing.assert_allclose(lla[:, 0], [row[0] for row in rows], rtol=0.0, atol=1e-13)
    assert (np.abs(lla[:, 1]) <= 180.0).all()


@given(origins, points)
def test_ned_through_every_frame_and_back(origin: Origin, ned: tuple[float, float, float]) -> None:
    for frame in FRAMES:
        there = convert(ned, "ned", frame, origin)
        np.testing.assert_allclose(
            convert(there, frame, "ned", origin), ned, rtol=0.0, atol=2 * NANOMETRES_10
        )


@given(origins, points)
def test_every_way_round_gives_the_same_place(origin: Origin, ned: tuple[float, float, float]) -> None:
    ecef, lla, cartesian = (
        ecef_from_ned(ned, origin),
        lla_from_ned(ned, origin),
        cartesian_from_ned(ned, origin),
    )
    for found, expected in (
        (ecef_from_cartesian(cartesian, origin), ecef),
        (cartesian_from_ecef(ecef, origin), cartesian),
        (cartesian_from_lla(lla, origin), cartesian),
        (ned_from_cartesian(cartesian, origin), np.array(ned)),
        (ecef_from_lla(lla_from_cartesian(cartesian, origin), origin.ellipsoid), ecef),
        (convert(lla, "lla", "ecef", origin), ecef),
        (ned_from_lla(convert(ecef, "ecef", "lla", origin), origin), np.array(ned)),
    ):
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=2 * NANOMETRES_10)


B = WGS84.polar_radius
HARD_POINTS = [
    ("north pole", (0.0, 0.0, B), (90.0, 0.0, 0.0)),
    ("south pole", (0.0, 0.0, -B), (-90.0, 0.0, 0.0)),
    ("above the north pole", (0.0, 0.0, B + 1e6), (90.0, 0.0, 1e6)),
    ("below the south pole", (0.0, 0.0, 1e4 - B), (-90.0, 0.0, -1e4)),
    ("equator and Greenwich", (6378137.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ("equator and antimeridian", (-6378137.0, 0.0, 0.0), (0.0, 180.0, 0.0)),
    ("equator, 90 west", (0.0, -6378137.0, 0.0), (0.0, -90.0, 0.0)),
]


@pytest.mark.parametrize(
    ("ecef", "lla"), [row[1:] for row in HARD_POINTS], ids=[row[0] for row in HARD_POINTS]
)
def test_hard_points(ecef: tuple[float, ...], lla: tuple[float, ...]) -> None:
    found = lla_from_ecef(ecef)
    np.testing.assert_array_equal(found[:2], lla[:2])
    assert found[2] == pytest.approx(lla[2], abs=2e-9)
    np.testing.assert_allclose(ecef_from_lla(lla), ecef, rtol=0.0, atol=2e-9)


def test_both_sides_of_the_antimeridian_are_neighbours() -> None:
    origin = Origin(-17.0, 180.0, 0.0)
    east_of_it = ned_from_lla([[-17.0, -179.999, 0.0], [-17.0, 180.001, 0.0]], origin)
    np.testing.assert_allclose(east_of_it[0], east_of_it[1], rtol=0.0, atol=NANOMETRES_10)
    assert east_of_it[0, 1] == pytest.approx(distance(origin.lla, (-17.0, -179.999, 0.0)), abs=1e-6)
    longitudes = lla_from_ned([[0.0, -100.0, 0.0], [0.0, 100.0, 0.0]], origin)[:, 1]
    assert longitudes[0] > 179.99
    assert longitudes[1] < -179.99


def test_the_ends_of_every_range_are_within_it() -> None:
    for longitude in (-360.0, 360.0):
        np.testing.assert_allclose(
            ecef_from_lla((90.0, longitude, 0.0)), ecef_from_lla((90.0, 0.0, 0.0)), atol=2e-9
        )
        np.testing.assert_allclose(
            ecef_from_lla((0.0, longitude, 0.0)), (6378137.0, 0.0, 0.0), rtol=0.0, atol=2e-9
        )
    with pytest.raises(GeoError, match="longitude"):
        ecef_from_lla((0.0, np.nextafter(360.0, 361.0), 0.0))


def test_a_longitude_survives_the_pole() -> None:
    np.testing.assert_allclose(lla_from_ecef(ecef_from_lla((90.0, 77.0, 5.0))), (90.0, 77.0, 5.0), rtol=1e-15)


def test_a_sphere_is_an_ellipsoid_too() -> None:
    sphere = Ellipsoid(6371000.0, 0.0)
    np.testing.assert_allclose(
        lla_from_ecef((0.0, 3.0, 4.0), sphere), (np.degrees(np.arctan2(4, 3)), 90.0, 5 - 6371000.0)
    )


@pytest.mark.parametrize("shape", [(3,), (1, 3), (0, 3), (4, 0, 3), (2, 5, 3)])
def test_every_shape_goes_through(shape: tuple[int, ...]) -> None:
    values = np.full(shape, 10.0)
    for source in FRAMES:
        for target in FRAMES:
            if (source, target) != ("ecef", "lla"):
                given_ecef = ecef_from_lla(values) if source == "ecef" else values
                assert convert(given_ecef, source, target, HOUSTON).shape == shape


def test_no_points_at_all() -> None:
    assert lla_from_ned([], HOUSTON).shape == (0, 3)


def test_the_answer_never_shares_memory_with_the_question() -> None:
    given_points = np.ones((2, 3))
    for frame in ("ned", "lla", "cartesian", "unreal"):
        assert not np.shares_memory(convert(given_points, frame, frame), given_points)
    ecef = ecef_from_lla(given_points)
    assert not np.shares_memory(convert(ecef, "ecef", "ecef"), ecef)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: lla_from_ecef((0, 0, 0)), "ecef point: expected more than 42841 m from the Earth's centre"),
        (
            lambda: lla_from_ecef(np.array([[7e6, 0, 0], [1, 2, 3]])),
            r"ecef point 1: expected more than .*got \(1, 2, 3\)",
        ),
        (lambda: lla_from_ecef([[7e6, 0, 0], [1e200, 0, 0]]), "ecef point 1: expected less than 1e"),
        (
            lambda: ecef_from_lla(np.array([[0, 0, 0], [90.5, 0, 0]])),
            r"lla point 1: expected a latitude of -90 to 90 degrees",
        ),
        (lambda: ecef_from_lla((0, 500.0, 0)), "lla point: expected a longitude of -360 to 360 degrees"),
        (
            lambda: ned_from_lla((0, np.nan, 0), HOUSTON),
            r"lla point: expected finite numbers, got \(0, nan, 0\)",
        ),
        (
            lambda: ecef_from_ned(np.full((2, 2, 3), np.inf), HOUSTON),
            "ned point 0,0: expected finite numbers",
        ),
        (
            lambda: ecef_from_ned(np.array([[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [np.nan, 0, 1]]]), HOUSTON),
            r"ned point 1,1: expected finite numbers, got \(nan, 0, 1\)",
        ),
        (
            lambda: ecef_from_ned([1, 2], HOUSTON),
            r"ned point: expected an array of shape \(..., 3\), got shape \(2,\)",
        ),
        (
            lambda: ecef_from_ned(5.0, HOUSTON),
            r"ned point: expected an array of shape \(..., 3\), got shape \(\)",
        ),
        (lambda: ecef_from_lla("north"), r"lla point: expected numbers of shape \(..., 3\)"),
        (lambda: ecef_from_lla((0, 0, 10**400)), r"lla point: expected numbers of shape \(..., 3\)"),
        (lambda: ecef_from_lla([[1, 2, 3], [4, 5]]), r"lla point: expected numbers of shape \(..., 3\)"),
        (
            lambda: convert((0, 0, 0), "nedd", "lla", HOUSTON),
            "frame: expected one of lla, ecef.*did you mean 'ned'",
        ),
        (lambda: convert((0, 0, 0), "ned", "lla"), "lla from ned: expected an origin"),
    ],
)
def test_what_cannot_be_is_refused_and_named(attempt: Callable[[], object], message: str) -> None:
    with pytest.raises(GeoError, match=message):
        attempt()


def test_axes_need_no_earth() -> None:
    np.testing.assert_array_equal(convert((1.0, 2.0, 3.0), "enu", "unreal"), (100.0, -200.0, 300.0))
