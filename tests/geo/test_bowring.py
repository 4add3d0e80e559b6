"""Accuracy of both paths, judged by 50-digit arithmetic: the way back to ECEF is a closed formula."""

from collections.abc import Sequence

import mpmath
import numpy as np
import pytest

from diorama.geo import WGS84, Origin, locate_block
from diorama.geo.arrays import FloatArray

# The promise is 1 µm within 1000 km and up to 1000 km of altitude, 1 mm at geostationary height. Rounding of
# the numbers themselves is 1 nm and 10 nm there; what is reached is held.
NEAR_M = 1e-8
GEOSTATIONARY_M = 1e-7
PATHS = pytest.mark.parametrize("fast", [False, True], ids=["numpy", "numba"])

ORIGINS = [
    Origin(29.594656, -95.16384722, -28.3),
    Origin(0.0, 180.0, 0.0),
    Origin(90.0, 0.0, 0.0),
    Origin(-90.0, 45.0, 2800.0),
    Origin(-54.8, -68.3, 9000.0),
    Origin(64.13, -21.9, 50.0),
]

Vector = Sequence[mpmath.mpf]


def true_ecef_of_lla(lla: Sequence[float]) -> Vector:
    latitude, longitude = (mpmath.mpf(float(angle)) * mpmath.pi / 180 for angle in lla[:2])
    altitude = mpmath.mpf(float(lla[2]))
    a, f = mpmath.mpf(WGS84.equatorial_radius), mpmath.mpf(WGS84.flattening)
    e2 = f * (2 - f)
    sine, cosine = mpmath.sin(latitude), mpmath.cos(latitude)
    normal = a / mpmath.sqrt(1 - e2 * sine**2)
    across = (normal + altitude) * cosine
    return [
        across * mpmath.cos(longitude),
        across * mpmath.sin(longitude),
        (normal * (1 - e2) + altitude) * sine,
    ]


def true_axes(origin: Origin) -> list[Vector]:
    """North, east and down at the origin, in ECEF."""
    latitude, longitude = (mpmath.mpf(angle) * mpmath.pi / 180 for angle in origin.lla[:2])
    sine, cosine = mpmath.sin(latitude), mpmath.cos(latitude)
    x, y = mpmath.cos(longitude), mpmath.sin(longitude)
    return [[-sine * x, -sine * y, cosine], [-y, x, mpmath.mpf(0)], [-cosine * x, -cosine * y, -sine]]


def length(vector: Vector) -> float:
    return float(mpmath.sqrt(sum(component**2 for component in vector)))


def nearby(origin: Origin, radius: float, altitudes: tuple[float, float], count: int) -> FloatArray:
    """NED points within `radius` of the origin whose altitudes spread over the range, roughly."""
    rng = np.random.default_rng(20)
    horizontal = rng.uniform(-radius, radius, (count, 2)) * 0.7
    curvature = (horizontal**2).sum(axis=1) / (2 * 6.37e6)
    altitude = rng.uniform(*altitudes, count)
    return np.column_stack((horizontal, origin.altitude + curvature - altitude))


def worst_errors(ned: FloatArray, origin: Origin, fast: bool) -> tuple[float, float]:
    """The largest distances in metres of the ECEF and of the LLA from the truth."""
    ecef, lla = np.empty_like(ned), np.empty_like(ned)
    locate_block(ned, origin, ecef, lla, fast=fast)
    ecef_worst = lla_worst = 0.0
    with mpmath.workdps(50):
        centre, axes = true_ecef_of_lla(origin.lla), true_axes(origin)
        for given, found_ecef, found_lla in zip(ned, ecef, lla, strict=True):
            truth = [
                centre[i] + sum(mpmath.mpf(float(given[axis])) * axes[axis][i] for axis in range(3))
                for i in range(3)
            ]
            ecef_worst = max(ecef_worst, length([truth[i] - float(found_ecef[i]) for i in range(3)]))
            there = true_ecef_of_lla(found_lla)
            lla_worst = max(lla_worst, length([truth[i] - there[i] for i in range(3)]))
    return ecef_worst, lla_worst


@PATHS
@pytest.mark.parametrize("origin", ORIGINS, ids=str)
def test_nanometres_within_1000_km_and_up_to_1000_km_of_altitude(origin: Origin, fast: bool) -> None:
    ned = np.concatenate(
        [nearby(origin, radius, (-1e4, top), 40) for radius in (1e3, 1e5, 1e6) for top in (1e4, 1e6)]
    )
    assert max(worst_errors(ned, origin, fast)) < NEAR_M


@PATHS
@pytest.mark.parametrize("origin", ORIGINS[:3], ids=str)
def test_a_millimetre_and_better_at_geostationary_height(origin: Origin, fast: bool) -> None:
    ned = nearby(origin, 2e7, (2e7, 3.6e7), 100)
    assert max(worst_errors(ned, origin, fast)) < GEOSTATIONARY_M


@PATHS
def test_the_whole_range_of_latitudes_is_nanometres_off(fast: bool) -> None:
    origin = Origin(0.0, 0.0, 0.0)
    latitudes = np.concatenate((np.linspace(-90, 90, 121), [-89.9999999, -1e-9, 1e-9, 89.9999999]))
    directions = np.radians(latitudes)
    for altitude in (-1e4, 0.0, 1e4, 1e6):
        ecef = np.column_stack(
            (
                (6378137.0 + altitude) * np.cos(directions),
                0.0 * directions,
                (6356752.3 + altitude) * np.sin(directions),
            )
        )
        ned = (ecef - origin.ecef) @ origin.ned_from_ecef_rotation.T
        assert worst_errors(ned, origin, fast)[1] < NEAR_M


@PATHS
@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 4095, 4096, 4097, 9000])
def test_every_length_of_block_gives_what_single_points_give(count: int, fast: bool) -> None:
    origin = ORIGINS[0]
    ned = np.random.default_rng(count).uniform(-1e4, 1e4, (count, 3))
    ecef, lla = np.empty_like(ned), np.empty_like(ned)
    locate_block(ned, origin, ecef, lla, fast=fast)
    for row in {0, count // 2, count - 1} if count else ():
        one_ecef, one_lla = np.empty((1, 3)), np.empty((1, 3))
        locate_block(ned[row : row + 1], origin, one_ecef, one_lla, fast=fast)
        np.testing.assert_allclose(ecef[row], one_ecef[0], rtol=0.0, atol=2e-9)
        np.testing.assert_allclose(lla[row, :2], one_lla[0, :2], rtol=0.0, atol=3e-14)
        np.testing.assert_allclose(lla[row, 2], one_lla[0, 2], rtol=0.0, atol=4e-9)


@PATHS
def test_what_is_not_finite_goes_through_and_leaves_its_neighbours_alone(fast: bool) -> None:
    origin = ORIGINS[0]
    ned = np.zeros((300, 3))
    ned[7, 1], ned[8, 2], ned[299, 0] = np.nan, np.inf, 1e300
    ecef, lla = np.empty_like(ned), np.empty_like(ned)
    locate_block(ned, origin, ecef, lla, fast=fast)
    bad = [7, 8, 299]
    assert not np.isfinite(lla[bad, 2]).any()
    assert np.isfinite(np.delete(lla, bad, axis=0)).all()


@PATHS
def test_columns_of_a_larger_table_and_read_only_views_are_good_inputs(fast: bool) -> None:
    origin = ORIGINS[0]
    table = np.random.default_rng(3).uniform(-1e4, 1e4, (500, 10))
    view = table[::2, 2:5]
    view.flags.writeable = False
    outcomes = []
    for ned in (view, view.copy()):
        ecef, lla = np.empty(ned.shape), np.empty(ned.shape)
        locate_block(ned, origin, ecef, lla, fast=fast)
        outcomes.append((ecef, lla))
    np.testing.assert_allclose(outcomes[0][0], outcomes[1][0], rtol=0.0, atol=2e-9)
    np.testing.assert_allclose(outcomes[0][1], outcomes[1][1], rtol=0.0, atol=4e-9)
    wide = np.empty((250, 8))
    locate_block(view, origin, wide[:, :3], wide[:, 4:7])
    np.testing.assert_allclose(wide[:, 4:7], outcomes[0][1], rtol=0.0, atol=4e-9)
    for some, others in ((wide[:, :3], np.empty((250, 3))), (np.empty((250, 3)), wide[:, :3])):
        locate_block(view, origin, some, others, fast=fast)
        np.testing.assert_allclose(some, outcomes[0][0], rtol=0.0, atol=4e-9)
        np.testing.assert_allclose(others, outcomes[0][1], rtol=0.0, atol=4e-9)


@PATHS
def test_poles_equator_and_antimeridian_come_out_exact(fast: bool) -> None:
    b = WGS84.polar_radius
    ecef = np.array(
        [[0, 0, b + 7], [0, 0, -b - 7], [6378137, 0, 0], [0, 6378137, 0], [0, -6378137, 0], [-6378137, 0, 0]],
        dtype=float,
    )
    expected = np.array(
        [[90, 0, 7], [-90, 0, 7], [0, 0, 0], [0, 90, 0], [0, -90, 0], [0, 180, 0]], dtype=float
    )
    origin = Origin(0.0, 0.0, 0.0)
    # About this origin NED is a permutation of ECEF, so the points arrive unrounded.
    ned = (ecef - origin.ecef)[:, [2, 1, 0]] * [1.0, 1.0, -1.0]
    found, lla = np.empty_like(ned), np.empty_like(ned)
    locate_block(ned, origin, found, lla, fast=fast)
    np.testing.assert_array_equal(found, ecef)
    np.testing.assert_array_equal(lla[:, :2], expected[:, :2])
    np.testing.assert_allclose(lla[:, 2], expected[:, 2], rtol=0.0, atol=2e-9)
