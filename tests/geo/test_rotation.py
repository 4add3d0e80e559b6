"""Rotations against scipy, at gimbal lock, and by their algebra."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from diorama.geo.arrays import FloatArray
from diorama.geo.rotation import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    normalize,
    quaternion_from_matrix,
    quaternion_from_rpy,
    rotate,
    rpy_from_quaternion,
    slerp,
)
from diorama.schemas.errors import GeoError

ROUNDING = 1e-14
RNG = np.random.default_rng(4)
QUATERNIONS = Rotation.random(200, rng=RNG).as_quat()
OTHERS = Rotation.random(200, rng=RNG).as_quat()
VECTORS = RNG.normal(size=(200, 3))

angles = st.floats(-np.pi, np.pi)
components = st.floats(-1.0, 1.0)


def assert_same_rotation(found: FloatArray, expected: FloatArray, tolerance: float = ROUNDING) -> None:
    """Equal up to the sign that quaternions do not care about."""
    sign = np.sign(np.einsum("...i,...i->...", found, expected))[..., None]
    np.testing.assert_allclose(found * sign, expected, rtol=0.0, atol=tolerance)


def test_products_rotations_and_matrices_agree_with_scipy() -> None:
    ours, theirs = multiply(QUATERNIONS, OTHERS), Rotation.from_quat(QUATERNIONS) * Rotation.from_quat(OTHERS)
    assert_same_rotation(ours, theirs.as_quat())
    turned = Rotation.from_quat(QUATERNIONS).apply(VECTORS)
    np.testing.assert_allclose(rotate(QUATERNIONS, VECTORS), turned, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(rotate(conjugate(QUATERNIONS), turned), VECTORS, rtol=0.0, atol=ROUNDING)
    matrices = Rotation.from_quat(QUATERNIONS).as_matrix()
    np.testing.assert_allclose(matrix_from_quaternion(QUATERNIONS), matrices, rtol=0.0, atol=ROUNDING)
    back = quaternion_from_matrix(matrices)
    assert_same_rotation(back, QUATERNIONS)
    assert (back[:, 3] >= 0.0).all()


def test_roll_pitch_yaw_agree_with_scipy() -> None:
    ypr = Rotation.from_quat(QUATERNIONS).as_euler("ZYX")
    np.testing.assert_allclose(rpy_from_quaternion(QUATERNIONS), ypr[:, ::-1], rtol=0.0, atol=1e-13)
    assert_same_rotation(quaternion_from_rpy(ypr[:, ::-1]), QUATERNIONS)


@pytest.mark.parametrize(
    ("rpy_deg", "wxyz"),
    [
        ((10, 20, 30), (0.95154852, 0.03813458, 0.18930786, 0.23929834)),
        ((0, 0, 90), (0.70710678, 0, 0, 0.70710678)),
        ((90, 0, 0), (0.70710678, 0.70710678, 0, 0)),
        ((0, 0, 30), (0.96592583, 0, 0, 0.25881905)),
        ((0, 20, 0), (0.98480775, 0, 0.17364818, 0)),
        ((0, -10, 0), (0.9961947, 0, -0.08715574, 0)),
    ],
)
def test_known_attitudes(rpy_deg: tuple[float, ...], wxyz: tuple[float, ...]) -> None:
    quaternion = quaternion_from_rpy(np.radians(rpy_deg))
    np.testing.assert_allclose(quaternion, np.roll(wxyz, -1), rtol=0.0, atol=5e-9)  # as printed: eight digits
    np.testing.assert_allclose(np.degrees(rpy_from_quaternion(quaternion)), rpy_deg, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("pitch_deg", [90.0, -90.0])
@pytest.mark.parametrize("roll_deg", [0.0, 10.0, -135.0, 180.0])
@pytest.mark.parametrize("yaw_deg", [0.0, 30.0, 170.0, -180.0])
def test_straight_up_and_down_all_turning_is_called_yaw(
    roll_deg: float, pitch_deg: float, yaw_deg: float
) -> None:
    quaternion = quaternion_from_rpy(np.radians([roll_deg, pitch_deg, yaw_deg]))
    roll, pitch, yaw = rpy_from_quaternion(quaternion)
    assert roll == 0.0
    assert pitch == pytest.approx(np.radians(pitch_deg), abs=1e-15)
    assert_same_rotation(quaternion_from_rpy([roll, pitch, yaw]), quaternion, tolerance=1e-12)


@pytest.mark.parametrize("short_of_lock", [1e-3, 1e-6, 1e-9, 1e-11, 1e-13, 1e-15])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_near_gimbal_lock_the_attitude_survives_the_angles(short_of_lock: float, sign: float) -> None:
    quaternion = quaternion_from_rpy([0.3, sign * (np.pi / 2 - short_of_lock), -2.0])
    assert_same_rotation(quaternion_from_rpy(rpy_from_quaternion(quaternion)), quaternion, tolerance=2e-12)


@given(st.lists(st.tuples(angles, st.floats(-np.pi / 2, np.pi / 2), angles), max_size=5))
def test_angles_to_quaternion_and_back_is_the_same_rotation(rows: list[tuple[float, float, float]]) -> None:
    quaternions = quaternion_from_rpy(rows)
    assert quaternions.shape == (len(rows), 4)
    angles_back = rpy_from_quaternion(quaternions)
    assert (np.abs(angles_back) <= [np.pi, np.pi / 2 + 1e-15, np.pi]).all()
    assert_same_rotation(quaternion_from_rpy(angles_back), quaternions, tolerance=2e-12)


@given(st.tuples(components, components, components, components).filter(lambda q: any(q)))
def test_any_quaternion_but_zero_can_be_normalized(components: tuple[float, ...]) -> None:
    unit = normalize(components)
    assert np.linalg.norm(unit) == pytest.approx(1.0, abs=1e-15)
    largest = max(components, key=abs)
    np.testing.assert_allclose(np.cross(unit[:3], np.array(components[:3]) / largest), 0.0, atol=1e-14)
    assert (unit * np.array(components) >= 0.0).all()


def test_the_zero_quaternion_and_nan_are_refused_with_their_place() -> None:
    with pytest.raises(GeoError, match=r"quaternion 1: expected a rotation, got \(0, 0, 0, 0\)"):
        normalize([[0, 0, 0, 1], [0, 0, 0, 0]])
    with pytest.raises(GeoError, match=r"quaternion: expected finite numbers, got \(nan, 0, 0, 1\)"):
        rpy_from_quaternion([np.nan, 0, 0, 1])


def test_slerp_agrees_with_scipy_and_takes_the_shorter_way() -> None:
    fractions = RNG.uniform(size=200)
    ours = slerp(QUATERNIONS, -OTHERS, fractions)
    for i in range(200):
        theirs = Slerp([0, 1], Rotation.from_quat([QUATERNIONS[i], OTHERS[i]]))(fractions[i]).as_quat()
        assert_same_rotation(ours[i], theirs, tolerance=1e-12)


def test_slerp_ends_where_it_should_also_between_equal_and_nearly_equal_rotations() -> None:
    assert_same_rotation(slerp(QUATERNIONS, OTHERS, 0.0), QUATERNIONS)
    assert_same_rotation(slerp(QUATERNIONS, OTHERS, 1.0), OTHERS)
    assert_same_rotation(slerp(QUATERNIONS, QUATERNIONS, 0.5), QUATERNIONS)
    assert_same_rotation(slerp(QUATERNIONS, -QUATERNIONS, 0.5), QUATERNIONS)
    close = quaternion_from_rpy([0.0, 0.0, 1e-9])
    np.testing.assert_allclose(rpy_from_quaternion(slerp([0, 0, 0, 1], close, 0.25))[2], 2.5e-10, rtol=1e-6)


def test_half_a_turn_survives_the_matrix() -> None:
    for axis in np.eye(3):
        quaternion = np.array([*axis, 0.0])
        assert_same_rotation(quaternion_from_matrix(matrix_from_quaternion(quaternion)), quaternion)


def test_shapes_broadcast_and_may_be_empty() -> None:
    assert multiply(QUATERNIONS[0], QUATERNIONS).shape == (200, 4)
    assert rotate(QUATERNIONS[0], VECTORS.reshape(4, 50, 3)).shape == (4, 50, 3)
    assert rotate(QUATERNIONS, [1.0, 0.0, 0.0]).shape == (200, 3)
    empty = np.empty((0, 4))
    assert multiply(empty, empty).shape == (0, 4)
    assert rpy_from_quaternion([]).shape == (0, 3)
    assert quaternion_from_matrix(matrix_from_quaternion(empty)).shape == (0, 4)
    assert slerp(empty, empty, 0.5).shape == (0, 4)
    assert normalize(empty).shape == (0, 4)
