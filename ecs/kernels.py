"""The numba kernels of the transform tree. Importing this module needs numba (extra `fast`).

Loops over rows, parents first, four numbers at a time. No fastmath, so no re-association and no fused multiply-add: the
numpy path gives the same bits. Rows are unsigned where they index, which spares the check for negative ones.
"""

from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numba import uintp

from diorama.ecs.check import SMALLEST_NORM2, UNIT_TOLERANCE
from diorama.ecs.lanes import alike, differ, first, infinite, load, negate_last, pick, store
from diorama.ecs.table import UNSEEN
from diorama.geo.compiled import compiled

UNSEEN_BITS = int(UNSEEN.view(np.int64))
BLOCK = 64
# Where a row's position, quaternion, and quaternion's w with the scale begin: four numbers each, so that they overlap.
PLACE, TURN, SIZE = 0, 3, 6
# Cross products want the vector turned round; the last of four is what a product of quaternions needs there.
xyzx, yzxy, zxyz, zxyy, yzxz = (
    pick(0, 1, 2, 0),
    pick(1, 2, 0, 1),
    pick(2, 0, 1, 2),
    pick(2, 0, 1, 1),
    pick(1, 2, 0, 2),
)
wwww, wwwx = pick(3, 3, 3, 3), pick(3, 3, 3, 0)
scale = pick(1, 2, 3, 1)
neighbours, halves = pick(1, 0, 3, 2), pick(2, 3, 0, 1)


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
        p, r, s = load(local, row, PLACE), load(local, row, TURN), load(local, row, SIZE)
        own_place, own_turn, own_size = p, r, s
        # What moves mostly has another x, which is quickly seen.
        changed = now[row, 0] != before[row, 0]
        if not changed:
            changed = (
                differ(p, load(seen, row, PLACE))
                | differ(r, load(seen, row, TURN))
                | differ(s, load(seen, row, SIZE))
            )
            if not changed and (above < 0 or posed[uintp(above)] != version):
                continue
        squares = r * r
        sums = squares + neighbours(squares)
        norm2 = first(sums + halves(sums))
        good = True
        if abs(norm2 - 1.0) > UNIT_TOLERANCE:
            good = SMALLEST_NORM2 <= norm2 < inf
            r = r * alike(1.0 / sqrt(norm2))
        if above >= 0:
            up = uintp(above)
            o, q, t = load(pose, up, PLACE), load(pose, up, TURN), load(pose, up, SIZE)
            q_yzx, q_zxy, q_w = yzxy(q), zxyz(q), wwww(q)
            v = scale(t) * p
            u = q_yzx * zxyz(v) - q_zxy * yzxy(v)
            u = u + u
            p = o + (v + q_w * u + (q_yzx * zxyz(u) - q_zxy * yzxy(u)))
            r = q_w * r + negate_last(xyzx(q) * wwwx(r)) + negate_last(q_yzx * zxyy(r)) - q_zxy * yzxz(r)
            s = t * s
        # A sum is finite unless a term is not; or it overflows, by itself or by what p and s drag along: look closer.
        if infinite(p + r + s):
            good = good and not (infinite(xyzx(p)) or infinite(r) or infinite(scale(s)))
        if not good:
            before[row, 0] = UNSEEN_BITS  # looked at again next time, moved or not
            if bad < 0:
                bad = order[index]
            continue
        if changed:
            moved[row] = version
            store(seen, row, PLACE, own_place)
            store(seen, row, TURN, own_turn)
            store(seen, row, SIZE, own_size)
        posed[row] = version
        # What the first and the last drag along belongs to the quaternion, which comes after them.
        store(pose, row, PLACE, p)
        store(pose, row, SIZE, s)
        store(pose, row, TURN, r)
    return bad


@compiled()
def stamp_velocities(high: int, present: Any, block: Any, seen: Any, moved: Any, version: int) -> int:
    """Note which velocities changed; returns the first row with one that is not finite, or -1."""
    bad = -1
    now = block.view(np.int64)
    before = seen.view(np.int64)
    for start in range(0, high, BLOCK):
        stop = min(start + BLOCK, high)
        some = False
        for row in range(start, stop):  # many at a time; mostly there are none
            some |= present[row]
        if not some:
            continue
        for row in range(start, stop):
            if not present[row]:
                continue
            unlike = now[row, 0] ^ before[row, 0]
            for column in range(1, 6):
                unlike |= now[row, column] ^ before[row, column]
            if unlike == 0:
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
