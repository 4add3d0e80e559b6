"""The numba kernel of the transform tree. Importing this module needs numba (extra `fast`).

Written as one scalar loop over rows, parents first: as fast as the same loop in C++ -O3. No fastmath, so no
re-association and no fused multiply-add: the numpy path gives the same bits.
"""

from math import inf, sqrt
from typing import Any

import numpy as np
from numba import njit

from diorama.ecs.check import SMALLEST_NORM2, UNIT_TOLERANCE
from diorama.ecs.table import UNSEEN

UNSEEN_BITS = int(UNSEEN.view(np.int64))


@njit(cache=True, error_model="numpy")
def propagate_rows(
    order: Any, parent: Any, local: Any, seen: Any, pose: Any, moved: Any, posed: Any, version: int
) -> int:
    """Recompute what moved and all below it; returns the first row that cannot be resolved, or -1."""
    bad = -1
    bits = local.view(np.int64)
    seen_bits = seen.view(np.int64)
    for index in range(len(order)):
        row = order[index]
        above = parent[row]
        differ = bits[row, 0] ^ seen_bits[row, 0]
        for column in range(1, 10):
            differ |= bits[row, column] ^ seen_bits[row, column]
        if differ == 0 and (above < 0 or posed[above] != version):
            continue
        lx, ly, lz = local[row, 0], local[row, 1], local[row, 2]
        rx, ry, rz, rw = local[row, 3], local[row, 4], local[row, 5], local[row, 6]
        tx, ty, tz = local[row, 7], local[row, 8], local[row, 9]
        norm2 = rx * rx + ry * ry + rz * rz + rw * rw
        good = SMALLEST_NORM2 <= norm2 < inf
        if abs(norm2 - 1.0) > UNIT_TOLERANCE:
            scale = 1.0 / sqrt(norm2)
            rx, ry, rz, rw = rx * scale, ry * scale, rz * scale, rw * scale
        if above >= 0:
            qx, qy, qz, qw = pose[above, 3], pose[above, 4], pose[above, 5], pose[above, 6]
            sx, sy, sz = pose[above, 7], pose[above, 8], pose[above, 9]
            vx, vy, vz = sx * lx, sy * ly, sz * lz
            ux = 2.0 * (qy * vz - qz * vy)
            uy = 2.0 * (qz * vx - qx * vz)
            uz = 2.0 * (qx * vy - qy * vx)
            lx = pose[above, 0] + (vx + qw * ux + (qy * uz - qz * uy))
            ly = pose[above, 1] + (vy + qw * uy + (qz * ux - qx * uz))
            lz = pose[above, 2] + (vz + qw * uz + (qx * uy - qy * ux))
            rx, ry, rz, rw = (
                qw * rx + qx * rw + qy * rz - qz * ry,
                qw * ry - qx * rz + qy * rw + qz * rx,
                qw * rz + qx * ry - qy * rx + qz * rw,
                qw * rw - qx * rx - qy * ry - qz * rz,
            )
            tx, ty, tz = sx * tx, sy * ty, sz * tz
        # A number minus itself is zero, unless it is not finite.
        finite = (lx - lx) + (ly - ly) + (lz - lz) + (tx - tx) + (ty - ty) + (tz - tz)
        finite += (rx - rx) + (ry - ry) + (rz - rz) + (rw - rw)
        if not (good and finite == 0.0):
            seen_bits[row, 0] = UNSEEN_BITS  # looked at again next time, moved or not
            if bad < 0:
                bad = row
            continue
        if differ != 0:
            moved[row] = version
            for column in range(10):
                seen[row, column] = local[row, column]
        posed[row] = version
        pose[row, 0], pose[row, 1], pose[row, 2] = lx, ly, lz
        pose[row, 3], pose[row, 4], pose[row, 5], pose[row, 6] = rx, ry, rz, rw
        pose[row, 7], pose[row, 8], pose[row, 9] = tx, ty, tz
    return bad
