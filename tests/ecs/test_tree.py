"""World poses against products of 4x4 matrices, by both paths."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from diorama.ecs import Transform, Velocity, World, levels, matrix_world, propagate
from diorama.schemas.errors import StateError
from diorama.tests.ecs.strategies import forests

# Positions up to 1e5 m times scales up to 10 per level: rounding grows with the magnitude.
RELATIVE = 1e-12
PATHS = ["numba", "levels", "rows"]


def propagate_by(world: World, path: str) -> None:
    """Propagate with numba, or with numpy level by level, or with numpy row by row whatever the shape."""
    with patch.object(levels, "NARROW", 0 if path == "levels" else 1_000_000):
        propagate(world, fast=path == "numba")


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


@pytest.mark.parametrize("path", PATHS)
@given(forest=forests())
def test_world_poses_are_products_of_matrices_where_there_is_no_shear(
    path: str, forest: tuple[list[int], NDArray[np.float64]]
) -> None:
    parents, poses = forest
    world = world_of(parents, poses)

    propagate_by(world, path)

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


awkward = st.sampled_from([np.nan, np.inf, 0.0, -0.0, 1e200, 1e-200, 3e-162, 1.7e308, 5e-324])


@given(forest=forests(uniform_scale=False), data=st.data())
def test_all_paths_give_the_same_bits_stamps_and_complaints(
    forest: tuple[list[int], NDArray[np.float64]], data: st.DataObject
) -> None:
    parents, poses = forest
    poses[::3, 3:7] *= 1.7  # quaternions that must be normalised first
    worlds = {path: world_of(parents, poses) for path in PATHS}
    size = len(parents)
    for _ in range(data.draw(st.integers(1, 5)) if size else 0):
        complaints = {path: complaint_of(world, path) for path, world in worlds.items()}
        assert len(set(complaints.values())) == 1
        tables = [world.table for world in worlds.values()]
        for name in ("pose", "seen", "moved", "posed"):
            assert len({getattr(table, name)[:size].tobytes() for table in tables}) == 1, name
        assert np.isfinite(tables[0].pose[:size]).all()
        row, column = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, 9))
        value = data.draw(st.one_of(st.floats(-1e3, 1e3), awkward))
        for table in tables:
            table.local[row, column] = value


def complaint_of(world: World, path: str) -> str:
    try:
        propagate_by(world, path)
    except StateError as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("path", PATHS)
def test_only_what_moved_and_all_below_it_is_stamped(path: str) -> None:
    world = World()
    entities = world.insert(5, parents=[-1, 0, 1, -1, 3])
    rows = world.rows(entities)
    propagate_by(world, path)

    world.transforms.position[rows[1], 0] = 7.0
    propagate_by(world, path)

    assert world.version == 2
    assert (world.table.moved[rows] == world.version).tolist() == [False, True, False, False, False]
    assert (world.table.posed[rows] == world.version).tolist() == [False, True, True, False, False]
    assert world.poses.position[rows[2]].tolist() == [7.0, 0.0, 0.0]


@pytest.mark.parametrize("path", PATHS)
def test_a_sign_of_zero_counts_as_a_change_and_writing_the_same_value_does_not(path: str) -> None:
    world = World()
    row = world.row(world.spawn("a"))
    propagate_by(world, path)
    before = world.table.moved[row]

    world.transforms.position[row] = 0.0
    propagate_by(world, path)
    assert world.table.moved[row] == before

    world.transforms.position[row, 2] = -0.0
    propagate_by(world, path)
    assert world.table.moved[row] == world.version


@pytest.mark.parametrize("path", PATHS)
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
            r"entity 'b': orientation: expected a quaternion that can be .*, got \[1e-200, 0.0, 0.0, 0.0\]",
        ),
        ("orientation", [1e200, 0.0, 0.0, 0.0], "entity 'b': orientation: expected a quaternion that can be"),
        ("orientation", [np.nan, 0.0, 0.0, 1.0], "entity 'b': orientation: expected finite numbers"),
    ],
)
def test_a_bad_row_is_named_each_time_and_the_others_are_right(
    path: str, column: str, values: list[float], message: str
) -> None:
    world = World()
    a, b, c = world.spawn("a"), world.spawn("b", position=(0, 0, 5)), world.spawn("c")
    propagate_by(world, path)
    getattr(world.transforms, column)[world.row(b)] = values
    world.transforms.position[world.row(c), 0] = 4.0

    for _ in range(2):
        with pytest.raises(StateError, match=message):
            propagate_by(world, path)

    assert world.get(b, Transform).world_position.tolist() == [0, 0, 5]
    assert world.get(c, Transform).world_position.tolist() == [4, 0, 0]
    assert a in world


@pytest.mark.parametrize("path", PATHS)
def test_of_many_bad_rows_the_first_is_named_though_it_is_the_first_of_all(path: str) -> None:
    world = World()
    world.insert(["a", "b", "c"], Velocity())
    world.transforms.position[[0, 2], 1] = np.nan
    with pytest.raises(StateError, match="entity 'a': position"):
        propagate_by(world, path)
    world.transforms.position[0, 1] = 0.0
    with pytest.raises(StateError, match="entity 'c': position"):
        propagate_by(world, path)
    world.transforms.position[2, 1] = 0.0
    world.velocities.linear[[0, 2], 1] = np.nan
    with pytest.raises(StateError, match="entity 'a': linear velocity"):
        propagate_by(world, path)


@pytest.mark.parametrize("path", PATHS)
def test_a_chain_ten_thousand_deep(path: str) -> None:
    depth = 10_000
    world = World(capacity=depth)
    world.insert(depth, parents=np.arange(depth) - 1, position=(1.0, 0.0, 0.0))

    propagate_by(world, path)

    assert world.poses.position[depth - 1].tolist() == [depth, 0.0, 0.0]


@pytest.mark.parametrize("path", PATHS)
def test_a_hundred_thousand_children_of_one_parent(path: str) -> None:
    world = World()
    parent = world.spawn(
        "parent", position=(10, 0, 0), orientation=(0, 0, np.sqrt(0.5), np.sqrt(0.5))
    )  # yaw 90°
    children = world.insert(100_000, under=parent, position=(1.0, 0.0, 0.0))

    propagate_by(world, path)

    np.testing.assert_allclose(
        world.poses.position[world.rows(children)], np.tile([10.0, 1.0, 0.0], (100_000, 1)), atol=1e-12
    )


@pytest.mark.parametrize("path", PATHS)
def test_zero_scale_flattens_all_below(path: str) -> None:
    world = World()
    flat = world.spawn("flat", position=(1, 2, 3), scale=(0, 0, 0))
    child = world.spawn("child", parent=flat, position=(9, 9, 9))

    propagate_by(world, path)

    assert world.get(child, Transform).world_position.tolist() == [1, 2, 3]
    assert world.get(child, Transform).world_scale.tolist() == [0, 0, 0]


def test_an_empty_world_propagates() -> None:
    for path in PATHS:
        propagate_by(World(), path)


@pytest.mark.parametrize("path", PATHS)
def test_an_overflow_on_the_way_down_is_named_every_time_until_it_is_mended(path: str) -> None:
    world = World()
    root = world.spawn("root")
    leaf = world.spawn("leaf", parent=root, position=(1, 2, 3), scale=(1e200, 1, 1))
    propagate_by(world, path)
    world.transforms.scale[world.row(root)] = (1e200, 2, 2)

    for _ in range(3):
        with pytest.raises(StateError, match="entity 'leaf': its world pose is too large"):
            propagate_by(world, path)
        assert world.get(leaf, Transform).world_position.tolist() == [1, 2, 3]
        assert world.get(root, Transform).world_scale.tolist() == [1e200, 2, 2]

    world.transforms.scale[world.row(root)] = 2.0
    propagate_by(world, path)
    assert world.get(leaf, Transform).world_position.tolist() == [2, 4, 6]


@pytest.mark.parametrize("path", PATHS)
def test_a_velocity_that_is_not_finite_is_named_every_time_and_not_stamped(path: str) -> None:
    world = World()
    world.insert(["a", "b"], Velocity((1, 0, 0)))
    propagate_by(world, path)
    stamp = world.table.velocity_moved[1]
    for column, message in (("linear", "linear velocity"), ("angular", "angular velocity")):
        getattr(world.velocities, column)[1, 2] = np.nan
        for _ in range(2):
            with pytest.raises(StateError, match=f"entity 'b': {message}: expected three finite numbers"):
                propagate_by(world, path)
        getattr(world.velocities, column)[1, 2] = 0.0
    assert world.table.velocity_moved[1] == stamp
    world.velocities.linear[1, 2] = np.nan
    world.remove(world.find("b"), Velocity)
    propagate_by(world, path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("size", [1e-144, 1e-20, 3.0, 1e150])
def test_quaternions_of_any_length_that_can_be_normalised_are(path: str, size: float) -> None:
    world = World()
    world.spawn("a", orientation=(0.6 * size, 0, 0, 0.8 * size))
    child = world.spawn("b", parent=world.find("a"), orientation=(0, 0, size, 0))
    propagate_by(world, path)
    np.testing.assert_allclose(
        world.get(child, Transform).world_orientation, [0, -0.6, 0.8, 0], rtol=0, atol=1e-15
    )


def test_a_quaternion_with_too_few_bits_left_is_refused() -> None:
    """Its squared norm is a denormal number: normalising it would give a rotation that is off by percents."""
    world = World()
    for attempt in (
        lambda: world.spawn("a", orientation=(3e-162, 4e-162, 0, 0)),
        lambda: world.spawn("a", orientation=np.array([1e200, 0, 0, 0])),
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


def test_one_put_somewhere_by_a_component_is_there_until_the_first_propagation_too() -> None:
    world = World()
    world.spawn("one", Velocity(), Transform((1, 2, 3), (1, 0, 0, 0)))
    world.insert(2, Transform((1, 2, 3), (1, 0, 0, 0)), Velocity())
    assert world.table.pose[:3].tolist() == [[1, 2, 3, 1, 0, 0, 0, 1, 1, 1]] * 3


def test_a_matrix_of_a_bad_pose_is_refused() -> None:
    world = World()
    a = world.spawn("a")
    b = world.spawn("b", parent=a)
    world.get(a, Transform).orientation[:] = 0.0
    with pytest.raises(StateError, match="entity 'a': orientation: expected a quaternion"):
        matrix_world(world, b)


def test_all_paths_agree_on_a_large_forest_that_moves_and_changes_in_places() -> None:
    """Wider than one piece of a level, rows in no order, some gone, some moved to other parents."""
    random = np.random.default_rng(5)
    size = 12_000
    ranked = [int(random.integers(-1, max(0, index // 3))) for index in range(size)]
    shuffle = random.permutation(size)
    parents = np.full(size, -1)
    parents[shuffle] = [-1 if parent < 0 else shuffle[parent] for parent in ranked]
    poses = random.normal(size=(size, 10))
    worlds = {path: world_of(parents.tolist(), poses) for path in PATHS}
    for _ in range(3):
        some = random.integers(0, size, 100)
        gone, moving, parent = random.integers(0, size, 3).tolist()
        for path, world in worlds.items():
            propagate_by(world, path)
            world.table.local[some, :3] += 1.0
            if world.table.alive[gone]:
                world.despawn(world.entity_at(gone))
            if world.table.alive[[moving, parent]].all() and not world.forest.is_below(parent, moving):
                world.reparent(world.entity_at(moving), world.entity_at(parent))
        living = worlds["numba"].forest.order()
        for name in ("pose", "moved", "posed"):
            found = {getattr(world.table, name)[living].tobytes() for world in worlds.values()}
            assert len(found) == 1, name


@pytest.mark.parametrize("path", PATHS)
def test_velocities_are_stamped_when_they_change(path: str) -> None:
    world = World()
    world.insert(3, Velocity((1, 0, 0)))
    still = world.spawn("still")
    propagate_by(world, path)
    assert (world.table.velocity_moved[:4] == world.version).tolist() == [True, True, True, False]
    world.velocities.angular[1, 2] = -0.0
    propagate_by(world, path)
    assert (world.table.velocity_moved[:4] == world.version).tolist() == [False, True, False, False]
    world.velocities.linear[:3, 0] += 1.0  # neighbours at once
    propagate_by(world, path)
    assert (world.table.velocity_moved[:4] == world.version).tolist() == [True, True, True, False]
    assert not world.has(still, Velocity)
