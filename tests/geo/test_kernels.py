"""The compiled kernel's own arithmetic: the arc tangent and where its coefficients come from."""

import mpmath
import numpy as np
import pytest

from diorama.geo import kernels
from diorama.geo.kernels import _arctan2_deg as arctan2_deg


def test_the_polynomial_is_the_arc_tangent_to_less_than_its_rounding() -> None:
    with mpmath.workdps(40):
        worst = 0.0
        for k in range(1, 401):
            tangent = mpmath.tan(mpmath.pi / 8) * k / 400
            fit = mpmath.mpf(0)
            for coefficient in kernels.ATAN:
                fit = fit * tangent**2 + mpmath.mpf(coefficient)
            worst = max(worst, float(abs(fit * tangent / mpmath.atan(tangent) - 1)))
    assert worst < 2e-17


def test_the_arc_tangent_is_within_two_units_in_the_last_place_all_around() -> None:
    angles = np.linspace(-np.pi, np.pi, 2881)
    for angle in angles:
        for radius in (1e-3, 1.0, 6.4e6):
            y, x = radius * np.sin(angle), radius * np.cos(angle)
            truth = np.degrees(np.arctan2(y, x))
            assert abs(arctan2_deg(y, x) - truth) <= 2 * np.spacing(abs(truth)), (y, x)


@pytest.mark.parametrize(
    ("y", "x", "expected"),
    [
        (0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0),
        (1.0, 1.0, 45.0),
        (1.0, 0.0, 90.0),
        (1.0, -1.0, 135.0),
        (0.0, -1.0, 180.0),
        (-1.0, -1.0, -135.0),
        (-1.0, 0.0, -90.0),
        (-1.0, 1.0, -45.0),
        (6.4e6, 1e-10, 90.0),
    ],
)
def test_the_arc_tangent_is_exact_on_the_axes_and_diagonals(y: float, x: float, expected: float) -> None:
    assert arctan2_deg(y, x) == expected
