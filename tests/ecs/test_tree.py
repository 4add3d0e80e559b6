"""World poses against products of 4x4 matrices, by both paths."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from diorama.ecs import Transform, Velocity, World, matrix_world, propagate
from diorama.schemas.errors import StateError
from diorama.tests.ecs.strategies import forests

# Positions up to 1e5 m times scales up to 10 per level: rounding grows with the magnitude.
RELATIVE = 1e-12
PATHS = [pytest.param(False, id="numpy"), pytest.param(True, id="numba")]


def world_of(parents: list[int], poses: NDArray[np.float64]) -> World:
    world = World(capacity=1 << 18)
    world.insert(
        len(parents), parents=parents, position=poses[:, :3], orientation=poses[:, 3:7], scale=poses[:, 7:]
    )
    return world


def oracle(parents: list[int], poses: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """world_from_entity by multiplying matrices, written without any of our code."""

    def matrix(index: int) -> NDArray[np.float64]:
        local = np.eye(4)
        local[:3, :3] = Rotation.from_quat(poses[index, 3:7]).as_matrix() @ np.diag(poses[index, 7:10])
        local[:3, 3] = poses[index, :3]
        return local if parents[index] < 0 else matrix(parents[index]) @ local

    return [matrix(index) for index in range(len(parents))]


@pytest.mark.parametrize("fast", PATHS)
@given(forest=forests())
def test_world_poses_are_products_of_matrices_where_there_is_no_shear(
    fast: bool, forest: tuple[list[int], NDArray[np.float64]]
) -> None:
    parents, poses = forest
    world = world_of(parents, poses)

    propagate(world, fast=fast)

    for row, expected in enumerate(oracle(parents, poses)):
        ours = np.eye(4)
        ours[:3, :3] = Rotation.from_quat(world.poses.orientation[row]).as_matrix() * world.poses.scale[row]
        ours[:3, 3] = world.poses.position[row]
        np.testing.assert_allclose(
            ours, expected, rtol=0, atol=RELATIVE * max(1.0, float(np.abs(expected).max())) * 100
        )


@given(forest=forests(uniform_scale=False))
def test_matrix_world_keeps_the_shear(forest: tuple[list[int], NDArray[np.float64]]) -> None:
    parents, poses = forest
    world = world_of(parents, poses)
    for row, expected in enumerate(oracle(parents, poses)):
        ours = matrix_world(world, world.entity_at(row))
        np.testing.assert_allclose(
            ours, expected, rtol=0, atol=RELATIVE * max(1.0, float(np.abs(expected).max())) * 100
        )


@given(forest=forests(uniform_scale=False))
def test_numpy_and_numba_give_the_same_bits(forest: tuple[list[int], NDArray[np.float64]]) -> None:
    parents, poses = forest
    poses[::3, 3:7] *= 1.7  # quaternions that must be normalised first
    worlds = [world_of(parents, poses) for _ in range(2)]
    for world, fast in zip(worlds, (False, True), strict=True):
        propagate(world, fast=fast)
        if len(parents):
            world.transforms.position[len(parents) // 2, 1] += 3.25
        propagate(world, fast=fast)

    slow, quick = (world.table for world in worlds)
    size = len(parents)
    assert slow.pose[:size].tobytes() == quick.pose[:size].tobytes()
    for stamp in ("moved", "posed"):
        assert (getattr(slow, stamp)[:size] == getattr(quick, stamp)[:size]).all()


@pytest.mark.parametrize("fast", PATHS)
def test_only_what_moved_and_all_below_it_is_stamped(fast: bool) -> None:
    world = World()
    entities = world.insert(5, parents=[-1, 0, 1, -1, 3])
    rows = world.rows(entities)
    propagate(world, fast=fast)

    world.transforms.position[rows[1], 0] = 7.0
    propagate(world, fast=fast)

    assert (world.table.moved[rows] == world.version).tolist() == [False, True, False, False, False]
    assert (world.table.posed[rows] == world.version).tolist() == [False, True, True, False, False]
    assert world.poses.position[rows[2]].tolist() == [7.0, 0.0, 0.0]


@pytest.mark.parametrize("fast", PATHS)
def test_a_sign_of_zero_counts_as_a_change_and_writing_the_same_value_does_not(fast: bool) -> None:
    world = World()
    row = world.row(world.spawn("a"))
    propagate(world, fast=fast)
    before = world.table.moved[row]

    world.transforms.position[row] = 0.0
    propagate(world, fast=fast)
    assert world.table.moved[row] == before

    world.transforms.position[row, 2] = -0.0
    propagate(world, fast=fast)
    assert world.table.moved[row] == world.version


@pytest.mark.parametrize("fast", PATHS)
@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "position",
            [1.0, np.nan, 0.0],
            r"entity 'b': position: expected finite numbers, got \[1.0, nan, 0.0\]",
        ),
        ("scale", [1.0, np.inf, 0.0], "entity 'b': scale: expected finite numbers"),
        (
            "orientation",
            [0.0, 0.0, 0.0, 0.0],
            "entity 'b': orientation: expected a quaternion that can be normalised",
        ),
        (
            "orientation",
            [1e-200, 0.0, 0.0, 0.0],
            "entity 'b': orientation: expected a quaternion that can be",
        ),
        ("orientation", [1e200, 0.0, 0.0, 0.0], "entity 'b': orientation: expected a quaternion that can be"),
        ("orientation", [np.nan, 0.0, 0.0, 1.0], "entity 'b': orientation: expected finite numbers"),
    ],
)
def test_a_bad_row_is_named_each_time_and_the_others_are_right(
    fast: bool, column: str, values: list[float], message: str
) -> None:
    world = World()
    a, b, c = world.spawn("a"), world.spawn("b", position=(0, 0, 5)), world.spawn("c")
    propagate(world, fast=fast)
    getattr(world.transforms, column)[world.row(b)] = values
    world.transforms.position[world.row(c), 0] = 4.0

    for _ in range(2):
        with pytest.raises(StateError, match=message):
            propagate(world, fast=fast)

    assert world.get(b, Transform).world_position.tolist() == [0, 0, 5]
    assert world.get(c, Transform).world_position.tolist() == [4, 0, 0]
    assert a in world


@pytest.mark.parametrize("fast", PATHS)
def test_a_chain_ten_thousand_deep(fast: bool) -> None:
    depth = 10_000
    world = World(capacity=depth)
    world.insert(depth, parents=np.arange(depth) - 1, position=(1.0, 0.0, 0.0))

    propagate(world, fast=fast)

    assert world.poses.position[depth - 1].tolist() == [depth, 0.0, 0.0]


@pytest.mark.parametrize("fast", PATHS)
def test_a_hundred_thousand_children_of_one_parent(fast: bool) -> None:
    world = World()
    parent = world.spawn(
        "parent", position=(10, 0, 0), orientation=(0, 0, np.sqrt(0.5), np.sqrt(0.5))
    )  # yaw 90°
    children = world.insert(100_000, under=parent, position=(1.0, 0.0, 0.0))

    propagate(world, fast=fast)

    np.testing.assert_allclose(
        world.poses.position[world.rows(children)], np.tile([10.0, 1.0, 0.0], (100_000, 1)), atol=1e-12
    )


@pytest.mark.parametrize("fast", PATHS)
def test_zero_scale_flattens_all_below(fast: bool) -> None:
    world = World()
    flat = world.spawn("flat", position=(1, 2, 3), scale=(0, 0, 0))
    child = world.spawn("child", parent=flat, position=(9, 9, 9))

    propagate(world, fast=fast)

    assert world.get(child, Transform).world_position.tolist() == [1, 2, 3]
    assert world.get(child, Transform).world_scale.tolist() == [0, 0, 0]


def test_an_empty_world_propagates() -> None:
    for fast in (False, True):
        propagate(World(), fast=fast)


@pytest.mark.parametrize("fast", PATHS)
def test_an_overflow_on_the_way_down_is_named_every_time_until_it_is_mended(fast: bool) -> None:
    world = World()
    root = world.spawn("root")
    leaf = world.spawn("leaf", parent=root, position=(1, 2, 3), scale=(1e200, 1, 1))
    propagate(world, fast=fast)
    world.transforms.scale[world.row(root)] = (1e200, 2, 2)

    for _ in range(3):
        with pytest.raises(StateError, match="entity 'leaf': its world pose is too large"):
            propagate(world, fast=fast)
        assert world.get(leaf, Transform).world_position.tolist() == [1, 2, 3]
        assert world.get(root, Transform).world_scale.tolist() == [1e200, 2, 2]

    world.transforms.scale[world.row(root)] = 2.0
    propagate(world, fast=fast)
    assert world.get(leaf, Transform).world_position.tolist() == [2, 4, 6]


@pytest.mark.parametrize("fast", PATHS)
def test_a_velocity_that_is_not_finite_is_named_every_time_and_not_stamped(fast: bool) -> None:
    world = World()
    world.insert(["a", "b"], Velocity((1, 0, 0)))
    propagate(world, fast=fast)
    stamp = world.table.velocity_moved[1]
    for column, message in (("linear", "linear velocity"), ("angular", "angular velocity")):
        getattr(world.velocities, column)[1, 2] = np.nan
        for _ in range(2):
            with pytest.raises(StateError, match=f"entity 'b': {message}: expected three finite numbers"):
                propagate(world, fast=fast)
        getattr(world.velocities, column)[1, 2] = 0.0
    assert world.table.velocity_moved[1] == stamp
    world.velocities.linear[1, 2] = np.nan
    world.remove(world.find("b"), Velocity)
    propagate(world, fast=fast)


@pytest.mark.parametrize("fast", PATHS)
@pytest.mark.parametrize("size", [1e-144, 1e-20, 3.0, 1e150])
def test_quaternions_of_any_length_that_can_be_normalised_are(fast: bool, size: float) -> None:
    world = World()
    world.spawn("a", orientation=(0.6 * size, 0, 0, 0.8 * size))
    child = world.spawn("b", parent=world.find("a"), orientation=(0, 0, size, 0))
    propagate(world, fast=fast)
    np.testing.assert_allclose(
        world.get(child, Transform).world_orientation, [0, -0.6, 0.8, 0], rtol=0, atol=1e-15
    )


def test_a_quaternion_with_too_few_bits_left_is_refused() -> None:
    """Its squared norm is a denormal number: normalising it would give a rotation that is off by percents."""
    world = World()
    for attempt in (
        lambda: world.spawn("a", orientation=(3e-162, 4e-162, 0, 0)),
        lambda: world.insert(["a"], orientation=[(3e-162, 4e-162, 0, 0)]),
    ):
        with pytest.raises(StateError, match="entity 'a': orientation: expected a quaternion that can be"):
            attempt()


def test_a_new_entity_is_where_it_was_put_until_the_first_propagation() -> None:
    world = World(capacity=1)
    old = world.spawn("old", position=(9, 9, 9))
    propagate(world)
    world.despawn(old)
    new = world.get(world.spawn("new", position=(1, 2, 3)), Transform)
    assert new.world_position.tolist() == [1, 2, 3]
    assert new.world_orientation.tolist() == [0, 0, 0, 1]


def test_a_matrix_of_a_bad_pose_is_refused() -> None:
    world = World()
    a = world.spawn("a")
    b = world.spawn("b", parent=a)
    world.get(a, Transform).orientation[:] = 0.0
    with pytest.raises(StateError, match="entity 'a': orientation: expected a quaternion"):
        matrix_world(world, b)
