"""A spatial index over world positions: a uniform grid, sorted once and searched many times."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Index = NDArray[np.intp]
# Cells are numbered by 21 bits an axis; beyond that they wrap, which costs a few needless distance tests.
BITS = 21
MASK = (1 << BITS) - 1
MOST_CELLS = 4096


class Grid:
    """Points in cells of one size; `within` gives exact answers, the cells only narrow the search."""

    def __init__(self, points: Floats, cell_size: float) -> None:
        self._points = points
        self._cell_size = cell_size
        keys = self._keys(np.floor(points / cell_size).astype(np.int64))
        self._order = np.argsort(keys, kind="stable")
        self._sorted = keys[self._order]

    def within(self, center: ArrayLike, radius: float) -> Index:
        """Indices of the points not farther than `radius` from the centre, ascending."""
        middle = np.asarray(center, np.float64)
        low = np.floor((middle - radius) / self._cell_size).astype(np.int64)
        high = np.floor((middle + radius) / self._cell_size).astype(np.int64)
        if float(np.prod((high - low + 1).astype(np.float64))) > min(MOST_CELLS, len(self._points)):
            candidates = np.arange(len(self._points))
        else:
            cells = np.stack(
                np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(low, high, strict=True)), indexing="ij"),
                axis=-1,
            ).reshape(-1, 3)
            candidates = self._members(np.unique(self._keys(cells)))
        offsets = self._points[candidates] - middle
        near = np.einsum("ij,ij->i", offsets, offsets) <= radius * radius
        return np.sort(candidates[near])

    def _members(self, keys: NDArray[np.int64]) -> Index:
        starts = np.searchsorted(self._sorted, keys, side="left")
        stops = np.searchsorted(self._sorted, keys, side="right")
        filled = stops > starts
        starts, counts = starts[filled], (stops - starts)[filled]
        # Every run start..start+count, laid end to end without a loop.
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found: Index = self._order[np.repeat(starts, counts) + steps]
        return found

    @staticmethod
    def _keys(cells: NDArray[np.int64]) -> NDArray[np.int64]:
        x, y, z = (cells & MASK).T
        keys: NDArray[np.int64] = x << (2 * BITS) | y << BITS | z
        return keys
