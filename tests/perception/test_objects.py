"""Objects of a world in the map: east-north-up, forward-left-up, boxes and twists."""

from math import pi

import numpy as np

from diorama.ecs import Bounds, Classification, Transform, Velocity
from diorama.geo.rotation import matrix_from_quaternion, quaternion_from_rpy, rotate
from diorama.perception import (
    GROUND_TRUTH_TOPIC,
)
from diorama.tests.perception.street import one, orientation, position, street, told
from diorama.tests.perception.test_messages import vector

TOLERANCE_M = 1e-9


def test_the_map_is_east_north_up_and_bodies_are_forward_left_up() -> None:
    world = street()
    # 30 m north, 10 m east, 5 m up, nose to the east, going north at 3 m/s and turning clockwise from above.
    car = world.spawn(
        "car",
        Bounds((4.0, 2.0, 1.5)),
        Classification("car"),
        position=(30.0, 10.0, -5.0),
        orientation=quaternion_from_rpy([0, 0, pi / 2]),
    )
    world.set(car, Velocity((3.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    assert np.allclose(position(item), [10.0, 30.0, 5.0], atol=TOLERANCE_M)
    forward, left, up = matrix_from_quaternion(orientation(item)).T
    assert np.allclose([forward, left, up], np.eye(3), atol=TOLERANCE_M)  # forward is east, left north
    twist = item["kinematics"]["twist_with_covariance"]["twist"]
    assert np.allclose(vector(twist["linear"]), [0.0, 3.0, 0.0], atol=TOLERANCE_M)  # to its left
    assert np.allclose(vector(twist["angular"]), [0.0, 0.0, -0.5], atol=TOLERANCE_M)  # clockwise about up
    assert vector(item["shape"]["dimensions"]) == [4.0, 2.0, 1.5]
    assert item["classification"][0]["label"] == 1


def test_the_pose_is_that_of_the_box_under_any_parent_scale_and_turn() -> None:
    random = np.random.default_rng(3)
    world = street()
    carrier = world.spawn(
        "carrier", position=(50.0, 0.0, 0.0), orientation=random.normal(size=4), scale=(2, 2, 2)
    )
    turn = random.normal(size=4)
    car = world.spawn(
        "car",
        Bounds((4.0, 2.0, 1.0), (1.0, 0.2, -0.3)),
        Classification("truck"),
        parent=carrier,
        position=(1, 2, 3),
        orientation=turn,
        scale=(0.5, 1.5, 1.0),
    )
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    pose = world.get(car, Transform)
    center = pose.world_position + rotate(
        pose.world_orientation, np.array([1.0, 0.2, -0.3]) * [1.0, 3.0, 2.0]
    )
    north, east, down = center
    assert np.allclose(position(item), [east, north, -down], atol=TOLERANCE_M)
    assert np.allclose(vector(item["shape"]["dimensions"]), [4.0, 6.0, 2.0])
    # The body's axes, forward and minus right and minus down, written in east, north, up.
    ned = matrix_from_quaternion(pose.world_orientation) * [1.0, -1.0, -1.0]
    assert np.allclose(
        matrix_from_quaternion(orientation(item)), ned[[1, 0, 2]] * [[1], [1], [-1]], atol=1e-12
    )


def test_a_mirrored_box_has_lengths_above_zero() -> None:
    world = street()
    world.spawn("car", Bounds((4.0, 2.0, 1.5)), Classification("car"), position=(30, 0, 0), scale=(1, -2, 1))
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    assert vector(item["shape"]["dimensions"]) == [4.0, 4.0, 1.5]


def test_the_centre_of_a_turning_box_moves() -> None:
    world = street()
    car = world.spawn("car", Bounds((4, 2, 1), (2.0, 0.0, 0.0)), Classification("car"), position=(20, 0, 0))
    world.set(car, Velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    twist = item["kinematics"]["twist_with_covariance"]["twist"]
    assert np.allclose(vector(twist["linear"]), [1.0, -1.0, 0.0])  # the nose swings to the right
