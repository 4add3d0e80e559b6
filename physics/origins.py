"""Where environments stand: on a grid, or on the patches of a generated terrain."""

from collections.abc import Sequence
from math import ceil, isqrt

import numpy as np
from numpy.typing import NDArray


def grid_origins(count: int, spacing: float) -> NDArray[np.float64]:
    """Origins of `count` environments on a centred grid, `spacing` metres apart, (count, 3).

    Row by row, the first row at the greatest x and the first column at the least y.
    """
    rows = ceil(count / max(isqrt(count), 1))
    columns = ceil(count / rows)
    row, column = np.divmod(np.arange(count), columns)
    origins = np.zeros((count, 3))
    origins[:, 0] = ((rows - 1) / 2 - row) * spacing
    origins[:, 1] = (column - (columns - 1) / 2) * spacing
    return origins


def share(count: int, proportions: Sequence[float]) -> NDArray[np.int64]:
    """Split `count` environments over columns by proportion: the column of each, in contiguous blocks.

    Largest remainders are rounded up, and every column gets one while there are enough.
    """
    weights = np.asarray(proportions, dtype=np.float64)
    exact = weights / weights.sum() * count
    counts = np.floor(exact).astype(np.int64)
    short = count - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:short]] += 1
    if count >= len(counts):
        for empty in np.flatnonzero(counts == 0):
            counts[np.argmax(counts)] -= 1
            counts[empty] += 1
    return np.repeat(np.arange(len(counts)), counts)
