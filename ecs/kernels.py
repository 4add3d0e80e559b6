"""The numba kernels of the transform tree. Importing this module needs numba (extra `fast`).

Written as scalar loops over rows, parents first: as fast as the same loop in C -O3. No fastmath, so no re-association
and no fused multiply-add: the numpy path gives the same bits. Rows are unsigned where they index, which spares the
check for negative ones.
"""

from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numba import uintp

from diorama.ecs.check import SMALLEST_NORM2, UNIT_TOLERANCE
from diorama.ecs.table import UNSEEN
from diorama.geo.compiled import compiled

UNSEEN_BITS = int(UNSEEN.view(np.int64))


@compiled(error_model="numpy")
def propagate_rows(
    order: Any, parent: Any, local: Any, seen: Any, pose: Any, moved: Any, posed: Any, version: int
) -> int:
    """Recompute what moved and all below it; returns the first row that cannot be resolved, or -1."""
    bad = -1
    now = local.view(np.int64)
    before = seen.view(np.int64)
    for index in range(len(order)):
        row = uintp(order[index])
        above = parent[row]
        differ = now[row, 0] ^ before[row, 0]
        for column in range(1, 10):
            differ |= now[row, column] ^ before[row, column]
        if differ == 0 and (above < 0 or posed[uintp(above)] != version):
            continue
        x, y, z = local[row, 0], local[row, 1], local[row, 2]
        rx, ry, rz, rw = local[row, 3], local[row, 4], local[row, 5], local[row, 6]
        tx, ty, tz = local[row, 7], local[row, 8], local[row, 9]
        norm2 = rx * rx + ry * ry + rz * rz + rw * rw
        if abs(norm2 - 1.0) > UNIT_TOLERANCE:
            scale = 1.0 / sqrt(norm2)
            rx, ry, rz, rw = rx * scale, ry * scale, rz * scale, rw * scale
        if above >= 0:
            up = uintp(above)
            qx, qy, qz, qw = pose[up, 3], pose[up, 4], pose[up, 5], pose[up, 6]
            sx, sy, sz = pose[up, 7], pose[up, 8], pose[up, 9]
            vx, vy, vz = sx * x, sy * y, sz * z
            ux = 2.0 * (qy * vz - qz * vy)
            uy = 2.0 * (qz * vx - qx * vz)
            uz = 2.0 * (qx * vy - qy * vx)
            x = pose[up, 0] + (vx + qw * ux + (qy * uz - qz * uy))
            y = pose[up, 1] + (vy + qw * uy + (qz * ux - qx * uz))
            z = pose[up, 2] + (vz + qw * uz + (qx * uy - qy * ux))
            rx, ry, rz, rw = (
                qw * rx + qx * rw + qy * rz - qz * ry,
                qw * ry + qy * rw + qz * rx - qx * rz,
                qw * rz + qz * rw + qx * ry - qy * rx,
                qw * rw - qx * rx - qy * ry - qz * rz,
            )
            tx, ty, tz = sx * tx, sy * ty, sz * tz
        # A sum is finite unless a term is not; or it overflows by itself, which a closer look tells.
        total = ((x + y) + (z + tx)) + ((ty + tz) + (rx + ry)) + (rz + rw)
        if not (isfinite(total) and SMALLEST_NORM2 <= norm2 < inf):
            good = SMALLEST_NORM2 <= norm2 < inf
            for value in (x, y, z, rx, ry, rz, rw, tx, ty, tz):
                good = good and isfinite(value)
            if not good:
                before[row, 0] = UNSEEN_BITS  # looked at again next time, moved or not
                if bad < 0:
                    bad = order[index]
                continue
        if differ != 0:
            moved[row] = version
            for column in range(10):
                before[row, column] = now[row, column]
        posed[row] = version
        pose[row, 0], pose[row, 1], pose[row, 2] = x, y, z
        pose[row, 3], pose[row, 4], pose[row, 5], pose[row, 6] = rx, ry, rz, rw
        pose[row, 7], pose[row, 8], pose[row, 9] = tx, ty, tz
    return bad


@compiled()
def stamp_velocities(high: int, present: Any, block: Any, seen: Any, moved: Any, version: int) -> int:
    """Note which velocities changed; returns the first row with one that is not finite, or -1."""
    bad = -1
    now = block.view(np.int64)
    before = seen.view(np.int64)
    for row in range(high):
        if not present[row]:
            continue
        differ = now[row, 0] ^ before[row, 0]
        for column in range(1, 6):
            differ |= now[row, column] ^ before[row, column]
        if differ == 0:
            continue
        good = True
        for column in range(6):
            good = good and isfinite(block[row, column])
        if not good:
            if bad < 0:
                bad = row
            continue
        moved[row] = version
        for column in range(6):
            before[row, column] = now[row, column]
    return bad
