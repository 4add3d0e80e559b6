"""Renderer axes: tables of what is where, and the law that a rotation must obey in any of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from diorama.geo.axes import AXES, ENU, GLTF, NWU, UNREAL, Axes
from diorama.geo.rotation import multiply, quaternion_from_rpy, rotate, rpy_from_quaternion

ROUNDING = 1e-12
EVERY = pytest.mark.parametrize("axes", AXES.values(), ids=AXES.keys())
RNG = np.random.default_rng(5)
QUATERNIONS = Rotation.random(50, rng=RNG).as_quat()
VECTORS = RNG.normal(size=(50, 3))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ned", (1, 2, 3)),
        ("enu", (2, 1, -3)),
        ("nwu", (1, -2, -3)),
        ("unreal", (200, -100, -300)),
        ("gltf", (2, -3, -1)),
    ],
)
def test_one_north_two_east_three_down(name: str, expected: tuple[float, ...]) -> None:
    np.testing.assert_array_equal(AXES[name].points([1.0, 2.0, 3.0]), expected)
    np.testing.assert_array_equal(AXES[name].ned_points(expected), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ned", (1, 2, 3)),
        ("enu", (1, -2, -3)),
        ("nwu", (1, -2, -3)),
        ("unreal", (100, 200, -300)),
        ("gltf", (-2, -3, 1)),
    ],
)
def test_one_forward_two_right_three_down_of_a_parent(name: str, expected: tuple[float, ...]) -> None:
    np.testing.assert_array_equal(AXES[name].child.points([1.0, 2.0, 3.0]), expected)
    np.testing.assert_array_equal(AXES[name].child.ned_points(expected), [1.0, 2.0, 3.0])


def test_only_unreal_is_left_handed() -> None:
    assert [name for name, axes in AXES.items() if axes.left_handed] == ["unreal"]


@EVERY
def test_turning_then_mapping_is_mapping_then_turning(axes: Axes) -> None:
    mapped = rotate(axes.rotations(QUATERNIONS), axes.child.points(VECTORS))
    np.testing.assert_allclose(
        mapped, axes.points(rotate(QUATERNIONS, VECTORS)), rtol=0.0, atol=100 * ROUNDING
    )


@EVERY
def test_a_child_hangs_where_it_hung(axes: Axes) -> None:
    parent_at, parent, child_at, child = VECTORS, QUATERNIONS, VECTORS[::-1], QUATERNIONS[::-1]
    ours_at, ours = parent_at + rotate(parent, child_at), multiply(parent, child)
    mapped = axes.rotations(parent)
    theirs_at = axes.points(parent_at) + rotate(mapped, axes.child.points(child_at))
    theirs = multiply(mapped, axes.child.rotations(child))
    np.testing.assert_allclose(theirs_at, axes.points(ours_at), rtol=0.0, atol=100 * ROUNDING)
    np.testing.assert_allclose(theirs, axes.rotations(ours), rtol=0.0, atol=ROUNDING)


@EVERY
def test_a_scaled_body_keeps_its_shape(axes: Axes) -> None:
    scales = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        axes.child.points(scales * VECTORS),
        axes.scales(scales) * axes.child.points(VECTORS),
        rtol=0.0,
        atol=1e-10,
    )
    np.testing.assert_array_equal(axes.ned_scales(axes.scales(scales)), scales)


@EVERY
def test_an_angular_velocity_moves_points_the_same_way(axes: Axes) -> None:
    turn, arm = VECTORS, VECTORS[::-1]
    mapped = np.cross(axes.turns(turn), axes.points(arm))
    np.testing.assert_allclose(mapped, axes.points(np.cross(turn, arm)), rtol=0.0, atol=100 * ROUNDING)


@EVERY
@given(st.tuples(*[st.floats(-1e7, 1e7)] * 3))
def test_points_come_back(axes: Axes, point: tuple[float, float, float]) -> None:
    np.testing.assert_allclose(axes.ned_points(axes.points(point)), point, rtol=3e-16, atol=1e-300)


@EVERY
def test_rotations_come_back(axes: Axes) -> None:
    np.testing.assert_allclose(
        axes.ned_rotations(axes.rotations(QUATERNIONS)), QUATERNIONS, rtol=0.0, atol=ROUNDING
    )


@EVERY
def test_no_points_are_fine(axes: Axes) -> None:
    assert axes.points(np.empty((0, 3))).shape == (0, 3)
    assert axes.rotations(np.empty((0, 4))).shape == (0, 4)


def unreal_quaternion(roll: float, pitch: float, yaw: float) -> list[float]:
    """What Unreal's FRotator.Quaternion gives for angles in radians, xyzw."""
    (sr, sp, sy), (cr, cp, cy) = (
        np.sin([roll / 2, pitch / 2, yaw / 2]),
        np.cos([roll / 2, pitch / 2, yaw / 2]),
    )
    return [
        cr * sp * sy - sr * cp * cy,
        -cr * sp * cy - sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    ]


@pytest.mark.parametrize("rpy_deg", [(0, 0, 0), (10, 20, 30), (-40, 5, 170), (0, -80, -90), (180, 0, 45)])
def test_unreal_rotators_keep_roll_and_pitch_and_count_yaw_from_east(rpy_deg: tuple[float, ...]) -> None:
    roll, pitch, yaw = np.radians(rpy_deg)
    quaternion = quaternion_from_rpy([roll, pitch, yaw])
    for found, expected in (
        (UNREAL.rotations(quaternion), unreal_quaternion(roll, pitch, yaw - np.pi / 2)),
        (UNREAL.child.rotations(quaternion), unreal_quaternion(roll, pitch, yaw)),
    ):
        assert abs(np.dot(found, expected)) == pytest.approx(1.0, abs=ROUNDING)


@pytest.mark.parametrize("rpy_deg", [(0, 0, 0), (10, 20, 30), (-40, 5, 170), (0, -80, -90)])
def test_ros_attitudes_turn_pitch_and_yaw_around(rpy_deg: tuple[float, ...]) -> None:
    roll, pitch, yaw = np.radians(rpy_deg)
    quaternion = quaternion_from_rpy([roll, pitch, yaw])
    for found, expected_yaw in (
        (ENU.rotations(quaternion), np.pi / 2 - yaw),
        (NWU.rotations(quaternion), -yaw),
    ):
        expected = np.array([roll, -pitch, expected_yaw])
        difference = rpy_from_quaternion(found) - expected
        np.testing.assert_allclose(np.sin(difference), 0.0, atol=ROUNDING)
        np.testing.assert_allclose(np.cos(difference), 1.0, atol=ROUNDING)


def test_a_gltf_asset_facing_north_looks_along_minus_z() -> None:
    facing_north = GLTF.rotations([0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(rotate(facing_north, [0.0, 0.0, 1.0]), [0.0, 0.0, -1.0], atol=ROUNDING)
    np.testing.assert_allclose(rotate(facing_north, [0.0, 1.0, 0.0]), [0.0, 1.0, 0.0], atol=ROUNDING)


def test_axes_of_mixed_handedness_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="differ in handedness"):
        Axes("odd", UNREAL.world, ENU.body)
