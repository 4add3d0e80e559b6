"""Trajectories against scipy's interpolators, and against the shape of the Earth."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

from diorama.ecs.motion import Trajectory
from diorama.formats.trajectory import read_trajectory
from diorama.geo import Origin, lla_from_ned, ned_from_lla
from diorama.runtime.trajectory import paths_of, sample
from diorama.schemas.errors import SceneError, StateError

METRE = 1e-9
HOUSTON = Origin(29.5937, -95.1631, 10.0)
SQUARE = ((0.0, 0.0, 0.0), (10.0, 0.0, 0.0), (10.0, 20.0, -5.0), (0.0, 0.0, 0.0))
NS = 1_000_000_000


def walks(count: int) -> st.SearchStrategy[list[tuple[list[float], list[tuple[float, float, float]]]]]:
    number = st.floats(-1e3, 1e3)
    steps = st.lists(
        st.tuples(st.floats(0.01, 100), st.tuples(number, number, number)), min_size=2, max_size=6
    )
    return st.lists(
        steps.map(lambda s: (np.cumsum([step for step, _ in s]).tolist(), [point for _, point in s])),
        min_size=count,
        max_size=count,
    )


@settings(deadline=None)
@given(walks(3), st.floats(0, 1))
def test_straight_paths_of_many_at_once_are_numpys_interp(
    found: list[tuple[list[float], list[tuple[float, float, float]]]], share: float
) -> None:
    paths = paths_of([Trajectory(tuple(times), tuple(points)) for times, points in found])
    time_ns = int(share * max(times[-1] for times, _ in found) * 1.2e9)
    now = sample(paths, time_ns)
    for index, (times, points) in enumerate(found):
        knots = np.rint(np.array(times) * 1e9)
        expected = [np.interp(time_ns, knots, axis) for axis in np.array(points).T]
        np.testing.assert_allclose(now.position[index], expected, rtol=1e-9, atol=METRE)


@settings(deadline=None)
@given(walks(1), st.floats(0, 1))
def test_smooth_paths_are_hermite_cubics_through_every_waypoint(
    found: list[tuple[list[float], list[tuple[float, float, float]]]], share: float
) -> None:
    times, points = found[0]
    paths = paths_of([Trajectory(tuple(times), tuple(points), smooth=True)])
    knots = np.rint(np.array(times) * 1e9) * 1e-9
    curve = CubicHermiteSpline(knots, np.array(points), paths.slope)
    time_ns = int(1e9 * (knots[0] + share * (knots[-1] - knots[0])))
    now = sample(paths, time_ns)
    size = 1 + np.abs(points).max()
    np.testing.assert_allclose(now.position[0], curve(time_ns * 1e-9), rtol=1e-7, atol=1e-9 * size)
    for time, point in zip(knots, points, strict=True):
        np.testing.assert_allclose(
            sample(paths, round(time * 1e9)).position[0], point, rtol=1e-9, atol=1e-9 * size
        )


def test_a_smooth_path_has_no_kink_and_a_closed_one_none_where_it_closes() -> None:
    paths = paths_of([Trajectory((0, 1, 3, 4), SQUARE, smooth=True, loop=True)])
    for knot_ns in (NS, 3 * NS, 4 * NS):
        before, after = sample(paths, knot_ns - 1), sample(paths, knot_ns + 1)
        np.testing.assert_allclose(before.velocity, after.velocity, atol=1e-6)


def test_orientations_turn_along_the_shortest_arc() -> None:
    turns = Rotation.from_euler("ZYX", [[0, 0, 0], [170, 10, 0], [-170, 0, 20]], degrees=True)
    path = Trajectory((0, 1, 3), SQUARE[:3], tuple(map(tuple, turns.as_quat().tolist())))
    truth = Slerp([0, 1, 3], turns)
    for time in np.linspace(0, 3, 31):
        now = sample(paths_of([path]), round(time * 1e9))
        assert (Rotation.from_quat(now.orientation[0]).inv() * truth(time)).magnitude() < 1e-7  # rad
        assert now.known.all()


def test_without_orientations_the_nose_points_along_the_path() -> None:
    paths = paths_of([Trajectory((0, 1, 2), ((0, 0, 0), (0, 10, 0), (0, 10, -10)))])
    east, up = sample(paths, NS // 2), sample(paths, 3 * NS // 2)
    np.testing.assert_allclose(
        Rotation.from_quat(east.orientation[0]).apply([1, 0, 0]), [0, 1, 0], atol=1e-12
    )
    np.testing.assert_allclose(Rotation.from_quat(up.orientation[0]).apply([1, 0, 0]), [0, 0, -1], atol=1e-12)
    np.testing.assert_allclose(east.velocity[0], [0, 10, 0], atol=1e-12)
    assert not sample(paths, 5 * NS).known.any()  # arrived: it keeps looking where it looked


@pytest.mark.parametrize(
    ("time_s", "north", "speed"),
    [
        (-5, 0, 0),
        (0, 0, 0),
        (1, 0, 10),
        (1.5, 5, 10),
        (2.999999999, 20, 10),
        (3, 0, 10),
        (4.5, 15, 10),
        (5, 0, 10),
    ],
)
def test_a_loop_goes_back_to_where_it_says(time_s: float, north: float, speed: float) -> None:
    paths = paths_of([Trajectory((0, 1, 3), ((0, 0, 0), (0, 0, 0), (20, 0, 0)), loop=True, loop_from=1.0)])
    now = sample(paths, round(time_s * 1e9))
    assert now.position[0, 0] == pytest.approx(north, abs=1e-6)
    assert now.velocity[0, 0] == pytest.approx(speed, abs=1e-6)


def test_a_single_waypoint_is_a_place() -> None:
    paths = paths_of([Trajectory((2,), ((1, 2, 3),)), Trajectory((0, 1), SQUARE[:2])])
    for time_ns in (0, 2 * NS, 9 * NS):
        assert sample(paths, time_ns).position[0].tolist() == [1, 2, 3]
    assert len(sample(paths_of([]), 0).position) == 0


def test_waypoints_on_earth_stay_above_it_and_cross_the_date_line() -> None:
    origin = Origin(10.0, 179.5, 0.0)
    path = Trajectory((0, 100), ((10.0, 179.0, 1000.0), (10.0, -179.0, 1000.0)), frame="lla")
    for time in range(0, 101, 10):
        now = sample(paths_of([path]), time * NS, origin)
        latitude, longitude, altitude = lla_from_ned(now.position[0], origin)
        assert latitude == pytest.approx(10.0, abs=1e-9)
        assert altitude == pytest.approx(1000.0, abs=1e-5)  # m; a straight line would dip by 900 m
        assert (longitude - (179.0 + time * 0.02) + 180.0) % 360.0 == pytest.approx(180.0, abs=1e-9)
    speed = np.linalg.norm(sample(paths_of([path]), 50 * NS, origin).velocity[0])
    assert speed == pytest.approx(2.0 / 360 * 2 * np.pi * 6378137 * np.cos(np.radians(10)) / 100, rel=2e-3)
    with pytest.raises(StateError, match="need a scene with a place on Earth"):
        sample(paths_of([path]), 0)


def test_aerosim_trajectory_files(tmp_path: Path) -> None:
    file = tmp_path / "flight.json"
    file.write_text(
        '[{"time": 0.0, "lat": 29.5937, "lon": -95.1631, "alt": 10.0},\n'
        ' {"time": 8.0, "lat": 29.6037, "lon": -95.1631, "alt": 110.0}]'
    )
    path = read_trajectory(file, smooth=False)
    assert path.name == "flight"
    now = sample(paths_of([path]), 4 * NS, HOUSTON)
    np.testing.assert_allclose(now.position[0], ned_from_lla((29.5987, -95.1631, 60.0), HOUSTON), atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "f.json:1:1: expected an array of waypoints with time, lat, lon and alt"),
        (
            '[{"time": 0, "lat": 91, "lon": 0, "alt": 0}]',
            "f.json:1:21: [0].lat: expected a number from -90 to 90, got 91",
        ),
        (
            '[{"time": 0, "lat": 1, "alt": 0}]',
            "f.json:1:2: [0].lon: expected a number from -180 to 180, got nothing",
        ),
        (
            '[{"time": 1, "lat": 1, "lon": 2, "alt": 0},\n {"time": 1, "lat": 1, "lon": 2, "alt": true}]',
            "f.json:2:41: [1].alt: expected a number, got true\nf.json:2:11: [1].time: expected a time after 1, got 1",
        ),
    ],
)
def test_wrong_trajectory_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "f.json"
    file.write_text(text)
    with pytest.raises(SceneError) as caught:
        read_trajectory(file)
    assert str(caught.value).replace(f"{tmp_path}/", "") == message


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (Trajectory((), ()), "expected as many positions as times, and at least one, got 0 and 0"),
        (Trajectory((0, 1), SQUARE), "got 4 and 2"),
        (Trajectory((0, 0), SQUARE[:2], name="Loop"), "Loop: expected ascending times, got 0 s too early"),
        (Trajectory((0, 1), SQUARE[:2], ((0, 0, 0, 1),)), "expected 2 orientations or none, got 1"),
        (Trajectory((0, float("nan")), SQUARE[:2]), "expected finite times and positions"),
    ],
)
def test_impossible_trajectories(path: Trajectory, message: str) -> None:
    with pytest.raises(StateError, match=message):
        paths_of([path])
