"""What a LiDAR has in sight: its rays against the oriented boxes of everything around.

An object is in sight when at least one ray meets its box before any other. The rays form a grid of angles, so
a box is met only by those within the window of its bounding sphere: the work grows with what is seen, not with
rays times boxes. With numba installed the same is done compiled, with the same result.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil, pi, radians

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.geo.arrays import FloatArray
from diorama.geo.rotation import conjugate, matrix_from_quaternion, multiply, rotate
from diorama.perception.parameters import Lidar
from diorama.schemas.errors import missing_extra

Ints = NDArray[np.intp]
# Windows are widened by this angle (radians), so that rounding never loses a ray that touches a box.
MARGIN = 1e-9


@dataclass(frozen=True)
class RayGrid:
    """Rays from one point: every elevation (radians, up) at each of evenly spaced azimuths (to the left)."""

    elevations: tuple[float, ...]
    columns: int

    @cached_property
    def directions(self) -> FloatArray:
        """Unit vectors (rows, columns, 3), forward, left, up."""
        elevation = np.array(self.elevations)[:, None]
        azimuth = np.arange(self.columns) * (2.0 * pi / self.columns)
        level = np.cos(elevation)
        up = np.broadcast_to(np.sin(elevation), (len(self.elevations), self.columns))
        return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), up], axis=-1)


def ray_grid(lidar: Lidar) -> RayGrid:
    """The rays of a LiDAR, lowest first: from half the field of view below its centre, the topmost row open.

    With the defaults, -15° to +13.125° in 16 rows and 360 columns. (The simulator that these defaults come
    from casts the first column twice, 5 776 rays in all; what is in sight is the same.)
    """
    field, rows = radians(lidar.vertical_field_of_view_deg), lidar.channels
    lowest = radians(lidar.vertical_center_deg) - field / 2.0
    return RayGrid(
        # Beyond straight up or down a ray would come down on the other side; it stays there.
        elevations=tuple(min(max(lowest + field / rows * row, -pi / 2), pi / 2) for row in range(rows)),
        columns=max(1, ceil(360.0 / lidar.horizontal_resolution_deg - 1e-9)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Oriented boxes: centres (n, 3), body-to-map quaternions (n, 4), half sizes (n, 3) in metres."""

    center: FloatArray
    orientation: FloatArray
    half: FloatArray


def in_sight(
    boxes: Boxes,
    grid: RayGrid,
    position: ArrayLike,
    orientation: ArrayLike,
    reach: float,
    *,
    fast: bool | None = None,
) -> NDArray[np.bool_]:
    """Which boxes (n,) a sensor at a position (3,) and orientation (4,) sees within `reach` metres.

    The position and orientation are in the map, the orientation's axes forward, left, up. Boxes are hollow: a
    sensor inside one sees its walls from within. `fast` chooses numba (True) or numpy (False); the default takes
    numba when it is there.
    """
    kernel = None if fast is False else compiled_kernel()
    if fast and kernel is None:
        missing_extra("fast", "the compiled visibility kernel")
    # In the sensor's own axes the rays are always the same.
    to_sensor = conjugate(orientation)
    center = rotate(to_sensor, boxes.center - np.asarray(position, np.float64))
    axes = matrix_from_quaternion(multiply(to_sensor, boxes.orientation)).swapaxes(-1, -2)
    offset = np.einsum("nij,nj->ni", axes, center)
    windows = _windows(center, boxes.half, grid, reach)
    return (kernel or _cast)(axes, offset, boxes.half, *windows, grid.directions, reach)


@cache
def compiled_kernel() -> Callable[..., NDArray[np.bool_]] | None:
    """The numba kernel, or None where numba is not installed; imported when first needed."""
    try:
        from diorama.perception.kernels import cast_rays
    except ImportError:
        return None
    kernel: Callable[..., NDArray[np.bool_]] = cast_rays
    return kernel


def _windows(
    center: FloatArray, half: FloatArray, grid: RayGrid, reach: float
) -> tuple[Ints, Ints, Ints, Ints]:
    """The rays that may meet each box (n,): first row, rows, first column, columns; columns wrap around.

    They are those around the box's bounding sphere, none for a box out of reach.
    """
    distance = np.linalg.norm(center, axis=1)
    radius = np.linalg.norm(half, axis=1)
    inside = distance <= radius
    sine = np.where(inside, 1.0, radius / np.where(inside, 1.0, distance))
    width = np.arcsin(sine) + MARGIN
    level = np.hypot(center[:, 0], center[:, 1])
    elevation = np.arctan2(center[:, 2], level)
    row = np.searchsorted(grid.elevations, elevation - width)
    rows = np.searchsorted(grid.elevations, elevation + width, side="right") - row
    rows[distance - radius > reach] = 0
    row[inside], rows[inside] = 0, len(grid.elevations)
    # A cap that holds the pole is met at all azimuths; others span asin(sin(width) / cos(elevation)).
    around = inside | (np.abs(elevation) + width >= pi / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        span = np.arcsin(np.minimum(np.sin(width) * distance / level, 1.0)) + MARGIN
    azimuth = np.arctan2(center[:, 1], center[:, 0])
    per_column = grid.columns / (2.0 * pi)
    with np.errstate(invalid="ignore"):
        column = np.where(around, 0.0, np.ceil((azimuth - span) * per_column))
        columns = np.where(around, grid.columns, np.floor((azimuth + span) * per_column) - column + 1.0)
    columns = np.minimum(columns, grid.columns)
    return row, rows, column.astype(np.intp) % grid.columns, columns.astype(np.intp)


def _cast(
    axes: FloatArray,
    offset: FloatArray,
    half: FloatArray,
    row: Ints,
    rows: Ints,
    column: Ints,
    columns: Ints,
    directions: FloatArray,
    reach: float,
) -> NDArray[np.bool_]:
    """Meet every box with the rays of its window and keep the nearest hit of each ray.

    `axes` (n, 3, 3) are the boxes' own axes as rows, `offset` (n, 3) their centres along these axes; then come
    half sizes (n, 3), windows (n,) each, and ray directions (rows, columns, 3).
    """
    height, width, _ = directions.shape
    count = rows * columns
    box = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(box)) - np.repeat(np.cumsum(count) - count, count)
    i, j = np.divmod(nth, columns[box])
    ray = (i + row[box]) * width + (j + column[box]) % width
    distance = _hit_distances(axes[box], offset[box], half[box], directions.reshape(-1, 3)[ray])
    hit = np.flatnonzero(distance <= reach)
    box, ray, distance = box[hit], ray[hit], distance[hit]
    nearest = np.full(height * width, np.inf)
    np.minimum.at(nearest, ray, distance)
    seen = np.zeros(len(count), np.bool_)
    seen[box[distance == nearest[ray]]] = True
    return seen


def _hit_distances(
    axes: FloatArray, offset: FloatArray, half: FloatArray, direction: FloatArray
) -> FloatArray:
    """Where rays (p, 3) from the sensor meet boxes (p), one each: metres, infinite for a miss."""
    enter, leave = np.full(len(offset), -np.inf), np.full(len(offset), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for axis in range(3):
            ax, ay, az = (axes[:, axis, i] for i in range(3))
            along = ax * direction[:, 0] + ay * direction[:, 1] + az * direction[:, 2]
            near = (offset[:, axis] - half[:, axis]) / along
            far = (offset[:, axis] + half[:, axis]) / along
            # NaN, from a ray within the plane of a face, passes on and ends in a miss.
            enter, leave = np.maximum(enter, np.minimum(near, far)), np.minimum(leave, np.maximum(near, far))
        hit = (enter <= leave) & (leave > 0.0)
    return np.where(hit, np.where(enter > 0.0, enter, leave), np.inf)
