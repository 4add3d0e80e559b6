"""The numba kernel of visibility. Importing this module needs numba (extra `fast`).

The same operations in the same order as the numpy path of `visibility`, box by box: the same boxes are seen.
"""

from typing import Any

import numpy as np

from diorama.geo.compiled import compiled


@compiled(error_model="numpy")
def hit_distance(axes: Any, offset: Any, half: Any, direction: Any) -> float:
    """Where a ray from the sensor meets one box; infinite for a miss."""
    enter, leave = -np.inf, np.inf
    for axis in range(3):
        along = axes[axis, 0] * direction[0] + axes[axis, 1] * direction[1] + axes[axis, 2] * direction[2]
        near, far = (offset[axis] - half[axis]) / along, (offset[axis] + half[axis]) / along
        if near > far:
            near, far = far, near
        # Written so that NaN, a ray within the plane of a face, ends in a miss.
        if not near <= enter:
            enter = near
        if not far >= leave:
            leave = far
        if not enter <= leave:
            return np.inf
    if leave <= 0.0:
        return np.inf
    return enter if enter > 0.0 else leave


@compiled(error_model="numpy")
def cast_rays(
    axes: Any,
    offset: Any,
    half: Any,
    row: Any,
    rows: Any,
    column: Any,
    columns: Any,
    directions: Any,
    reach: float,
) -> Any:
    """Which boxes (n,) are met first by a ray; see `visibility._cast` for the arguments."""
    height, width = directions.shape[0], directions.shape[1]
    nearest = np.full((height, width), np.inf)
    owner = np.full((height, width), -1, np.int64)
    tied = False
    for box in range(len(rows)):
        for i in range(row[box], row[box] + rows[box]):
            for nth in range(columns[box]):
                j = (column[box] + nth) % width
                distance = hit_distance(axes[box], offset[box], half[box], directions[i, j])
                if distance > reach or distance > nearest[i, j]:
                    continue
                tied |= distance == nearest[i, j]
                nearest[i, j] = distance
                owner[i, j] = box
    seen = np.zeros(len(rows), np.bool_)
    for i in range(height):
        for j in range(width):
            if owner[i, j] >= 0:
                seen[owner[i, j]] = True
    if not tied:
        return seen
    # Two boxes share a point of their surface and a ray meets it: both are seen, whatever their order.
    for box in range(len(rows)):
        for i in range(row[box], row[box] + rows[box]):
            for nth in range(columns[box]):
                j = (column[box] + nth) % width
                distance = hit_distance(axes[box], offset[box], half[box], directions[i, j])
                seen[box] |= distance <= reach and distance == nearest[i, j]
    return seen
