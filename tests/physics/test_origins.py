"""Where environments stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.physics.origins import grid_origins, share

# Layouts of mjlab 1.6 for the same counts, spacing 1 m: (rows, columns), first origin.
LAYOUTS = {
    1: ((1, 1), (0.0, 0.0)),
    2: ((2, 1), (0.5, 0.0)),
    5: ((3, 2), (1.0, -0.5)),
    7: ((4, 2), (1.5, -0.5)),
    10: ((4, 3), (1.5, -1.0)),
    64: ((8, 8), (3.5, -3.5)),
}


@pytest.mark.parametrize("count", LAYOUTS)
def test_grid_is_that_of_mjlab(count: int) -> None:
    (rows, columns), first = LAYOUTS[count]
    origins = grid_origins(count, 1.0)
    assert len(np.unique(origins[:, 0])) == rows
    assert len(np.unique(origins[:, 1])) == columns
    np.testing.assert_array_equal(origins[0], (*first, 0.0))


def test_five_environments_fill_rows_from_the_front() -> None:
    expected = [(1, -0.5, 0), (1, 0.5, 0), (0, -0.5, 0), (0, 0.5, 0), (-1, -0.5, 0)]
    np.testing.assert_array_equal(grid_origins(5, 1.0), expected)


@given(count=st.integers(1, 300), spacing=st.floats(0.1, 50))
def test_neighbours_keep_their_distance(count: int, spacing: float) -> None:
    origins = grid_origins(count, spacing)
    assert origins.shape == (count, 3)
    near = np.linalg.norm(origins[:, None] - origins[None], axis=-1) + np.eye(count) * 1e9
    assert near.min() >= spacing * (1 - 1e-9)


@given(count=st.integers(0, 500), weights=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=12))
def test_shares_are_contiguous_and_within_one_of_exact(count: int, weights: list[float]) -> None:
    columns = share(count, weights)
    assert len(columns) == count
    assert np.all(np.diff(columns) >= 0)
    counts = np.bincount(columns, minlength=len(weights))
    if count >= len(weights):
        assert counts.min() >= 1
    exact = np.array(weights) / sum(weights) * count
    if exact.min() >= 1:
        assert np.abs(counts - exact).max() < 1


def test_a_small_share_still_gets_one() -> None:
    np.testing.assert_array_equal(np.bincount(share(10, [0.98, 0.01, 0.01])), [8, 1, 1])
