"""World poses with numpy alone: a level of the tree at a time, or row by row where levels are narrow.

The operations and their order are those of the compiled kernel, so the bits are the same.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import inf, isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from diorama.ecs.check import SMALLEST_NORM2, UNIT_TOLERANCE, sound
from diorama.ecs.forest import Forest
from diorama.ecs.table import UNSEEN, Table

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Positions = NDArray[np.intp]  # places in the order, where parents come first
# Levels with fewer rows than this on average are quicker in plain Python.
NARROW = 8
# Wide levels are worked on in pieces of this many rows, which stay in the cache.
BLOCK = 4096
# While it is worked on, a pose is a column of twelve numbers: position, quaternion as x y z x y w (what a cross
# product needs are then slices), scale.


def propagate_levels(table: Table, forest: Forest, version: int) -> int:
    """Recompute what moved and all below it; returns the first row that cannot be resolved, or -1."""
    order = forest.order()
    changed = differ(table.local[: table.high], table.seen[: table.high]).take(order)
    if len(order) < NARROW * len(forest.levels):
        return _row_by_row(table, order, changed, version)
    bad = -1
    good, wanted = None, changed
    with np.errstate(all="ignore"):  # what is not finite is found
        for _ in range(2):
            chosen = _affected(forest, wanted, good)
            rows = order.take(chosen).astype(np.intp)
            poses = _resolve(table, forest, chosen, rows)
            if poses is not None:
                _write(table, rows, poses, changed.take(chosen), version)
                return bad
            good = np.ones(len(order), np.bool_)
            good[chosen] = sound(table.local.take(rows, axis=0))
            if good.all():
                break
            bad = int(order[np.argmin(good)])
            table.seen[order[~good], 0] = UNSEEN  # looked at again next time, moved or not
            wanted = changed & good
    # Every local pose left is sound, but somewhere a product is too large.
    return _row_by_row(table, order, changed, version)


def differ(one: Floats, two: Floats) -> Flags:
    """Which rows of two (n, 2k) blocks differ in any bit."""
    # Pairs of flags as one number: half the steps, and no slow reduction along short rows.
    pairs = (one.view(np.int64) != two.view(np.int64)).view(np.uint16)
    some = pairs[:, 0] | pairs[:, 1]
    for column in range(2, pairs.shape[1]):
        some |= pairs[:, column]
    return np.asarray(some, np.bool_)


def _affected(forest: Forest, changed: Flags, good: Flags | None) -> Positions:
    """The rows to be recomputed: those that changed, and all below them."""
    dirty = changed.copy()
    if not dirty.all():
        for start, stop in pairwise(forest.levels[1:]):
            dirty[start:stop] |= dirty.take(forest.above[start:stop])
            if good is not None:
                dirty[start:stop] &= good[start:stop]
    return np.flatnonzero(dirty)


def _resolve(table: Table, forest: Forest, chosen: Positions, rows: NDArray[np.intp]) -> Floats | None:
    """World poses (12, n) of the chosen rows, or None when one is not finite or has no rotation."""
    count = len(chosen)
    levels = np.searchsorted(chosen, forest.levels).tolist()
    roots = levels[1]
    above, outside = _parents_among(forest, chosen, roots)
    local, poses = _room(table, count, count + len(outside))
    for piece in _pieces(0, count):
        _unfold(table.local.take(rows[piece], axis=0), local[:, piece])
        if not _normalise(local[3:9, piece]):
            return None
    poses[:, :roots] = local[:, :roots]
    _unfold(table.pose.take(forest.order().take(outside), axis=0), poses[:, count:])
    # Rotations and scales go down the tree first; positions follow once all offsets are rotated.
    pieces = [piece for start, stop in pairwise(levels[1:]) for piece in _pieces(start, stop)]
    for piece in pieces:
        parent = poses[3:].take(above[piece], axis=1)
        q, r = parent[0:6], local[3:9, piece]
        xyz = q[5] * r[0:3]
        xyz += q[0:3] * r[5]
        xyz += q[1:4] * r[2:5]
        xyz -= q[2:5] * r[1:4]
        product = q[0:3] * r[0:3]
        w = q[5] * r[5]
        w -= product[0]
        w -= product[1]
        w -= product[2]
        poses[3:6, piece], poses[6:8, piece], poses[8, piece] = xyz, xyz[:2], w
        np.multiply(parent[6:9], local[9:12, piece], out=poses[9:12, piece])
    for piece in _pieces(roots, count):
        local[0:3, piece] = _offset(poses[3:].take(above[piece], axis=1), local[0:3, piece])
    for piece in pieces:
        np.add(poses[0:3].take(above[piece], axis=1), local[0:3, piece], out=poses[0:3, piece])
    return poses[:, :count] if isfinite(poses.sum()) else None


def _pieces(start: int, stop: int) -> Iterator[slice]:
    for first in range(start, stop, BLOCK):
        yield slice(first, min(first + BLOCK, stop))


def _unfold(rows: Floats, columns: Floats) -> None:
    """(n, 10) poses into (12, n)."""
    columns[0:6], columns[6:8], columns[8:12] = rows.T[0:6], rows.T[3:5], rows.T[6:10]


def _fold(columns: Floats) -> Floats:
    """(12, n) poses as (n, 10)."""
    rows = np.empty((columns.shape[1], 10))
    rows.T[0:6], rows.T[6:10] = columns[0:6], columns[8:12]
    return rows


def _room(table: Table, first: int, second: int) -> tuple[Floats, Floats]:
    """Blocks (12, first) and (12, second) to work in, kept between passes: fresh memory costs more than the work."""
    size = 12 * (first + second)
    if len(table.workspace) < size:
        table.workspace = np.empty(size + size // 4)
    split = 12 * first
    return table.workspace[:split].reshape(12, first), table.workspace[split:size].reshape(12, second)


def _parents_among(forest: Forest, chosen: Positions, roots: int) -> tuple[Positions, Positions]:
    """The parent of each chosen row as an index into the chosen, and then into the others that are needed."""
    count, every = len(chosen), len(forest.above)
    if count == every:
        return forest.above, chosen[:0]
    above = forest.above.take(chosen)
    index = np.full(every, -1)
    index[chosen] = np.arange(count)
    needed = above[roots:]
    outside = np.unique(needed[index.take(needed) < 0])
    index[outside] = np.arange(count, count + len(outside))
    return index.take(above), outside


def _normalise(turn: Floats) -> bool:
    """Make (6, n) quaternions x y z x y w unit ones, leaving those alone that are; False when one has no direction."""
    x, y, z, _, _, w = turn
    norm2 = x * x + y * y
    norm2 += z * z + w * w
    off = np.flatnonzero(np.abs(norm2 - 1.0) > UNIT_TOLERANCE)
    if len(off):
        some = norm2[off]
        if not (some.min() >= SMALLEST_NORM2 and some.max() < inf):
            return False
        turn[:, off] *= 1.0 / np.sqrt(some)
    return True


def _offset(parent: Floats, place: Floats) -> Floats:
    """Local positions (3, n) scaled and rotated by their parents (9, n): quaternions x y z x y w, and scales."""
    q = parent[0:6]
    v, u = np.empty((2, 5, place.shape[1]))
    np.multiply(parent[6:9], place, out=v[0:3])
    v[3:5] = v[0:2]
    np.multiply(q[1:4], v[2:5], out=u[0:3])
    u[0:3] -= q[2:5] * v[1:4]
    u[0:3] *= 2.0
    u[3:5] = u[0:2]
    cross = q[1:4] * u[2:5]
    cross -= q[2:5] * u[1:4]
    offset: Floats = q[5] * u[0:3]
    offset += v[0:3]
    offset += cross
    return offset


def _write(table: Table, rows: NDArray[np.intp], poses: Floats, moved: Flags, version: int) -> None:
    for piece in _pieces(0, len(rows)):
        put_rows(table.pose, rows[piece], _fold(poses[:, piece]))
    if len(rows) == table.high and moved.all():  # every row there is
        table.posed[: table.high] = table.moved[: table.high] = version
        table.seen[: table.high] = table.local[: table.high]
        return
    table.posed[rows] = version
    rows = rows[moved]
    table.moved[rows] = version
    put_rows(table.seen, rows, table.local.take(rows, axis=0))


def put_rows(target: Floats, rows: NDArray[np.intp], values: Floats) -> None:
    """target[rows] = values, twice as fast: each row is copied as one piece."""
    piece = np.dtype((np.void, target.itemsize * target.shape[1]))
    np.put(target.view(piece)[:, 0], rows, values.view(piece)[:, 0])


def _row_by_row(table: Table, order: NDArray[np.int32], changed: Flags, version: int) -> int:
    bad = -1
    done: dict[int, list[float]] = {}
    moved = []
    parents = table.parent[order].tolist()
    for row, above, own in zip(order.tolist(), parents, changed.tolist(), strict=True):
        if not own and above not in done:
            continue
        child = unit(table.local[row].tolist())
        if child is not None and above >= 0:
            child = compose(done.get(above) or table.pose[above].tolist(), child)
        if child is None or not all(map(isfinite, child)):
            table.seen[row, 0] = UNSEEN  # looked at again next time, moved or not
            bad = row if bad < 0 else bad
            continue
        done[row] = child
        if own:
            moved.append(row)
    if done:
        rows = np.array(list(done), np.intp)
        put_rows(table.pose, rows, np.array(list(done.values())))
        table.posed[rows] = version
        table.moved[moved] = version
        table.seen[moved] = table.local[moved]
    return bad


def unit(pose: list[float]) -> list[float] | None:
    """A pose of ten numbers with a unit quaternion, or None when it cannot have one."""
    px, py, pz, x, y, z, w, sx, sy, sz = pose
    norm2 = (x * x + y * y) + (z * z + w * w)
    if abs(norm2 - 1.0) <= UNIT_TOLERANCE:
        return pose
    if not SMALLEST_NORM2 <= norm2 < inf:
        return None
    scale = 1.0 / sqrt(norm2)
    return [px, py, pz, x * scale, y * scale, z * scale, w * scale, sx, sy, sz]


def compose(parent: list[float], child: list[float]) -> list[float]:
    """A parent's world pose times a local pose with a unit quaternion, ten numbers each."""
    px, py, pz, qx, qy, qz, qw, sx, sy, sz = parent
    lx, ly, lz, rx, ry, rz, rw, tx, ty, tz = child
    vx, vy, vz = sx * lx, sy * ly, sz * lz
    ux = 2.0 * (qy * vz - qz * vy)
    uy = 2.0 * (qz * vx - qx * vz)
    uz = 2.0 * (qx * vy - qy * vx)
    return [
        px + (vx + qw * ux + (qy * uz - qz * uy)),
        py + (vy + qw * uy + (qz * ux - qx * uz)),
        pz + (vz + qw * uz + (qx * uy - qy * ux)),
        qw * rx + qx * rw + qy * rz - qz * ry,
        qw * ry + qy * rw + qz * rx - qx * rz,
        qw * rz + qz * rw + qx * ry - qy * rx,
        qw * rw - qx * rx - qy * ry - qz * rz,
        sx * tx,
        sy * ty,
        sz * tz,
    ]


def stamp_velocities(
    high: int, present: Flags, block: Floats, seen: Floats, moved: NDArray[np.int64], version: int
) -> int:
    """Note which velocities changed; returns the first row with one that is not finite, or -1."""
    if not present[:high].any():
        return -1
    rows = np.flatnonzero(differ(block[:high], seen[:high]) & present[:high])
    values = block.take(rows, axis=0)
    bad = -1
    good = np.isfinite(values)
    if not good.all():
        whole = good.all(axis=1)
        bad = int(rows[np.argmin(whole)])
        rows, values = rows[whole], values[whole]
    put_rows(seen, rows, values)
    moved[rows] = version
    return bad
