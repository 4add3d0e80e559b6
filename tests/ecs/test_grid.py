"""The spatial index against looking at every point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs.grid import Grid


@given(
    seed=st.integers(0, 1000),
    count=st.integers(0, 300),
    spread=st.sampled_from([1.0, 100.0, 1e6, 1e8]),
    cell=st.sampled_from([0.5, 10.0, 1e3]),
    radius=st.floats(0.1, 2e3),
)
def test_within_is_what_brute_force_finds(
    seed: int, count: int, spread: float, cell: float, radius: float
) -> None:
    random = np.random.default_rng(seed)
    points = random.normal(scale=spread, size=(count, 3))
    center = points[0] if count else np.zeros(3)
    expected = np.flatnonzero(((points - center) ** 2).sum(axis=1) <= radius**2)
    assert Grid(points, cell).within(center, radius).tolist() == expected.tolist()


def test_a_cell_holds_its_own_points_and_no_others() -> None:
    points = np.random.default_rng(1).uniform(-50.0, 50.0, (400, 3))
    grid, cells = Grid(points, 10.0), np.floor(points / 10.0).astype(np.int64)
    for cell in np.unique(cells, axis=0):
        found = grid._members(grid._keys(cell[None]))
        assert found.tolist() == np.flatnonzero((cells == cell).all(axis=1)).tolist()


@pytest.mark.parametrize("center", [(0.0, 0.0, 0.0), (-0.1, -0.1, -0.1), (1e9, 0.0, 0.0)])
def test_borders_of_cells_and_far_places(center: tuple[float, float, float]) -> None:
    points = np.array(
        [[x, y, z] for x in (-10.0, 0.0, 10.0) for y in (-10.0, 0.0, 10.0) for z in (-10.0, 0.0, 10.0)]
    )
    expected = np.flatnonzero(((points - np.array(center)) ** 2).sum(axis=1) <= 100.0)
    assert Grid(points, 10.0).within(center, 10.0).tolist() == expected.tolist()
