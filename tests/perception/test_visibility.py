"""Visibility: the same boxes as brute force over triangles, and scenes whose answer is plain to see."""

from math import radians

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from diorama.geo.arrays import FloatArray
from diorama.geo.rotation import matrix_from_quaternion, normalize, quaternion_from_rpy, rotate
from diorama.perception import visibility
from diorama.perception.parameters import Lidar
from diorama.perception.visibility import Boxes, RayGrid, in_sight, ray_grid
from diorama.schemas.errors import MissingExtraError

PATHS = [pytest.param(False, id="numpy"), pytest.param(True, id="numba")]
DEFAULT = ray_grid(Lidar())
IDENTITY = (0.0, 0.0, 0.0, 1.0)
CAR = (2.2, 0.9, 0.75)
# The two triangles of each face of a cube, as corners numbered by the bits of (x, y, z).
QUADS = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
TRIANGLES = np.array([(a, b, c) for a, b, c, _ in QUADS] + [(a, c, d) for a, _, c, d in QUADS])
CORNERS = np.array(
    [[(n >> 2 & 1) * 2 - 1, (n >> 1 & 1) * 2 - 1, (n & 1) * 2 - 1] for n in range(8)], np.float64
)


def boxes_at(center: object, half: object = CAR, orientation: object = IDENTITY) -> Boxes:
    centers = np.atleast_2d(np.asarray(center, np.float64))
    rows = len(centers)
    return Boxes(
        center=centers,
        orientation=np.array(np.broadcast_to(np.asarray(orientation, np.float64), (rows, 4))),
        half=np.array(np.broadcast_to(np.asarray(half, np.float64), (rows, 3))),
    )


def brute_force(
    boxes: Boxes, grid: RayGrid, position: FloatArray, orientation: FloatArray, reach: float
) -> NDArray[np.bool_]:
    """Every ray against all twelve triangles of every box (Möller and Trumbore), the nearest hit wins."""
    rays = rotate(orientation, grid.directions.reshape(-1, 3))
    nearest = np.full((len(boxes.center), len(rays)), np.inf)
    matrices = matrix_from_quaternion(boxes.orientation)
    for box in range(len(boxes.center)):
        corners = boxes.center[box] + (CORNERS * boxes.half[box]) @ matrices[box].T
        for a, b, c in corners[TRIANGLES]:
            edge, other = b - a, c - a
            p = np.cross(rays, other)
            determinant = p @ edge
            with np.errstate(divide="ignore", invalid="ignore"):
                s = position - a
                u = (p @ s) / determinant
                q = np.cross(s, edge)
                v = (rays @ q) / determinant
                t = (other @ q) / determinant
            hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0) & (t <= reach) & (determinant != 0)
            nearest[box, hit] = np.minimum(nearest[box, hit], t[hit])
    first = nearest.min(axis=0, initial=np.inf)
    seen: NDArray[np.bool_] = ((nearest == first) & np.isfinite(nearest)).any(axis=1)
    return seen


@pytest.mark.parametrize("fast", PATHS)
@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(0, 40),
    spread=st.sampled_from([3.0, 20.0, 80.0]),
    field_deg=st.sampled_from([40.0, 120.0, 179.0]),
)
def test_the_same_boxes_are_seen_as_by_brute_force(
    fast: bool, seed: int, count: int, spread: float, field_deg: float
) -> None:
    """Any number of boxes of any shape around, over, under and about a sensor of any attitude."""
    random = np.random.default_rng(seed)
    boxes = Boxes(
        center=random.normal(size=(count, 3)) * spread,
        orientation=normalize(random.normal(size=(count, 4))) if count else np.empty((0, 4)),
        half=random.uniform(0.1, 4.0, (count, 3)),
    )
    grid = ray_grid(Lidar(channels=15, horizontal_resolution_deg=7.7, vertical_field_of_view_deg=field_deg))
    position, orientation = random.normal(size=3), normalize(random.normal(size=4))
    expected = brute_force(boxes, grid, position, orientation, 60.0)
    assert np.array_equal(in_sight(boxes, grid, position, orientation, 60.0, fast=fast), expected)


@pytest.mark.parametrize("fast", PATHS)
@pytest.mark.parametrize("count", [100, 1000])
def test_a_crowded_street_is_seen_as_by_brute_force(fast: bool, count: int) -> None:
    random = np.random.default_rng(count)
    boxes = Boxes(
        center=np.column_stack([random.uniform(-120, 120, (count, 2)), random.uniform(0.7, 0.9, count)]),
        orientation=quaternion_from_rpy(
            np.column_stack([np.zeros((count, 2)), random.uniform(-3, 3, count)])
        ),
        half=np.tile(CAR, (count, 1)),
    )
    position, orientation = np.array([0.3, 0.2, 1.9]), quaternion_from_rpy([0.01, 0.02, 0.7])
    seen = in_sight(boxes, DEFAULT, position, orientation, 100.0, fast=fast)
    grid = RayGrid(DEFAULT.elevations[:8:2], 90)
    coarse = in_sight(boxes, grid, position, orientation, 100.0, fast=fast)
    assert np.array_equal(coarse, brute_force(boxes, grid, position, orientation, 100.0))
    assert (seen | ~coarse).all()  # more rays see no less
    assert 0 < seen.sum() < count


@pytest.mark.parametrize("fast", PATHS)
@pytest.mark.parametrize("yaw", [0.0, 1.0, 3.1])
def test_a_wall_hides_what_is_behind_it(fast: bool, yaw: float) -> None:
    turn = quaternion_from_rpy([0.0, 0.0, yaw])
    ahead = rotate(turn, [[10.0, 0.0, 0.0], [15.0, 0.0, 0.0], [-15.0, 0.0, 0.0]])
    boxes = boxes_at(ahead, [(0.1, 10.0, 5.0), CAR, CAR], turn)
    assert in_sight(boxes, DEFAULT, (0, 0, 0), IDENTITY, 300.0, fast=fast).tolist() == [True, False, True]


@pytest.mark.parametrize("fast", PATHS)
def test_boxes_out_of_reach_above_below_and_around(fast: bool) -> None:
    def see(boxes: Boxes, reach: float = 300.0) -> list[bool]:
        return list(in_sight(boxes, DEFAULT, (0, 0, 0), IDENTITY, reach, fast=fast))

    assert see(boxes_at((50.0, 0.0, 0.0)), 47.8) == [True]
    assert see(boxes_at((50.0, 0.0, 0.0)), 47.7) == [False]  # its near face is 47.8 m away
    assert see(boxes_at((0.0, 0.0, 5.0))) == [False]  # rays reach 13 degrees up
    assert see(boxes_at((0.0, 0.0, 5.0), (30.0, 30.0, 0.5))) == [True]
    assert see(boxes_at((0.0, 0.0, -5.0), (30.0, 30.0, 0.5))) == [True]
    assert see(boxes_at((0.0, 0.0, 0.0), (5.0, 5.0, 5.0))) == [True]  # from within
    assert see(boxes_at([(0.0, 0.0, 0.0), (9.0, 0.0, 0.0)], [(5.0, 5.0, 5.0), CAR])) == [True, False]
    assert see(boxes_at((10.0, 0.0, 0.0), (0.0, 3.0, 3.0))) == [True]  # as thin as paper
    assert see(boxes_at((-10.0, 0.0, 0.0))) == [True]  # where azimuths wrap around
    assert see(boxes_at(np.empty((0, 3)), np.empty((0, 3)), np.empty((0, 4)))) == []


@pytest.mark.parametrize("fast", PATHS)
def test_a_roof_hides_what_is_above_it_on_all_sides(fast: bool) -> None:
    steep = ray_grid(Lidar(channels=90, vertical_field_of_view_deg=179.0))
    roof = [(0.5, 0.0, 5.0), *((x, y, 12.0) for x, y in ((-2.0, 0.0), (2.0, 0.0), (0.0, 2.0), (0.0, -2.0)))]
    boxes = boxes_at(roof, [(3.0, 3.0, 0.1)] + [(0.5, 0.5, 0.5)] * 4)
    assert list(in_sight(boxes, steep, (0, 0, 0), IDENTITY, 50.0, fast=fast)) == [True] + [False] * 4


@pytest.mark.parametrize("fast", PATHS)
def test_a_ray_along_a_face_grazes_and_misses(fast: bool) -> None:
    level = RayGrid((0.0,), 4)
    assert in_sight(
        boxes_at((10.0, 0.0, 1.0), (1, 1, 1)), level, (0, 0, 0), IDENTITY, 50.0, fast=fast
    ).tolist() == [False]
    lower = boxes_at((10.0, 0.0, 0.99), (1, 1, 1))
    assert in_sight(lower, level, (0, 0, 0), IDENTITY, 50.0, fast=fast).tolist() == [True]


@pytest.mark.parametrize("fast", PATHS)
def test_boxes_in_one_place_are_all_seen_whatever_their_order(fast: bool) -> None:
    twins = boxes_at([(10.0, 0.0, 0.0), (10.0, 0.0, 0.0), (20.0, 0.0, 0.0)], [CAR, CAR, (0.5, 0.5, 0.5)])
    assert in_sight(twins, DEFAULT, (0, 0, 0), IDENTITY, 50.0, fast=fast).tolist() == [True, True, False]


@pytest.mark.parametrize("fast", PATHS)
@given(yaw=st.floats(-4.0, 4.0), x=st.floats(-50, 50), y=st.floats(-50, 50))
@settings(max_examples=30, deadline=None)
def test_turning_everything_changes_nothing(fast: bool, yaw: float, x: float, y: float) -> None:
    random = np.random.default_rng(7)
    center = random.normal(size=(30, 3)) * [20.0, 20.0, 1.0]
    half = random.uniform(0.5, 2.0, (30, 3))
    turn = quaternion_from_rpy([0.0, 0.0, yaw])
    still = in_sight(boxes_at(center, half), DEFAULT, (0, 0, 0), IDENTITY, 80.0, fast=fast)
    turned = boxes_at(rotate(turn, center) + np.array([x, y, 0.0]), half, turn)
    assert np.array_equal(in_sight(turned, DEFAULT, (x, y, 0.0), turn, 80.0, fast=fast), still)


def test_the_default_rays_are_those_of_the_field() -> None:
    assert len(DEFAULT.elevations) == 16
    assert DEFAULT.columns == 360
    assert np.allclose(np.degrees(DEFAULT.elevations), np.arange(-15.0, 14.0, 1.875))
    assert DEFAULT.directions.shape == (16, 360, 3)
    assert np.allclose(np.linalg.norm(DEFAULT.directions, axis=-1), 1.0)
    assert np.allclose(DEFAULT.directions[8, 90], [0.0, 1.0, 0.0])  # level, to the left


@pytest.mark.parametrize(("resolution_deg", "columns"), [(0.1, 3600), (0.2, 1800), (7.0, 52), (360.0, 1)])
def test_columns_are_at_least_as_fine_as_asked(resolution_deg: float, columns: int) -> None:
    grid = ray_grid(Lidar(horizontal_resolution_deg=resolution_deg))
    assert grid.columns == columns
    assert 2 * np.pi / columns <= radians(resolution_deg) + 1e-9


def test_without_numba_numpy_does_it_and_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visibility, "compiled_kernel", lambda: None)
    assert list(in_sight(boxes_at((10.0, 0.0, 0.0)), DEFAULT, (0, 0, 0), IDENTITY, 50.0)) == [True]
    with pytest.raises(MissingExtraError, match=r"pip install 'diorama\[fast\]'"):
        in_sight(boxes_at((10.0, 0.0, 0.0)), DEFAULT, (0, 0, 0), IDENTITY, 50.0, fast=True)
