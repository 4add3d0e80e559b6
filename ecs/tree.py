"""The transform tree: world poses from local ones, for forests of any shape.

A pass runs parents first. It finds what moved by comparing bits with what it saw last time (nobody has to set a
flag), recomputes those rows and all below them, and refuses numbers that are not finite. `propagate` uses the numba
kernel when numba is installed and numpy level by level otherwise; both do the same operations in the same order and
so give the same bits.

Composition is position, rotation, scale as renderers do it: a child's position is scaled and rotated by its parent,
scales multiply component-wise. `matrix_world` gives the exact product of 4x4 matrices, shear included.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import check
from diorama.geo import rotation
from diorama.schemas.errors import StateError, missing_extra

if TYPE_CHECKING:
    from diorama.ecs.world import Entity, World

Floats = NDArray[np.float64]
# A quaternion whose squared norm is this close to one is taken as it is; any other is normalised first.
UNIT_TOLERANCE = 1e-14


def propagate(world: "World", *, fast: bool | None = None) -> None:
    """Bring every world pose up to date.

    `fast` chooses the numba kernel (True) or numpy (False); the default takes numba when it is there. A row with a
    number that is not finite, or a zero quaternion, keeps its last good pose and raises StateError once all the
    others are done.
    """
    table = world.table
    order = settle_order(world)
    world.version += 1
    kernel = None if fast is False else compiled_kernel()
    if fast and kernel is None:
        missing_extra("fast", "the compiled transform kernel")
    if kernel is None:
        bad = _propagate_levels(world, order)
    else:
        bad = kernel(
            order, table.parent, table.local, table.seen, table.pose, table.moved, table.posed, world.version
        )
    _stamp_velocities(world)
    if bad >= 0:
        raise StateError(check.complaint(world.name(world.entity_at(bad)), table.local[bad]))


@cache
def compiled_kernel() -> Callable[..., int] | None:
    """The numba kernel, or None where numba is not installed; imported when first needed, since that takes a while."""
    try:
        from diorama.ecs.kernels import propagate_rows
    except ImportError:
        return None
    kernel: Callable[..., int] = propagate_rows
    return kernel


def settle_order(world: "World") -> NDArray[np.int32]:
    """All living rows, parents before children, level by level; rebuilt when the structure has changed."""
    if world.ordered_epoch != world.epoch:
        table = world.table
        rows = np.flatnonzero(table.alive[: table.high]).astype(np.int32)
        depth = _depths(table.parent[: table.high], rows)
        ranked = np.argsort(depth, kind="stable")
        world.order = rows[ranked]
        world.levels = np.searchsorted(
            depth[ranked], np.arange(depth.max() + 2 if len(depth) else 1)
        ).tolist()
        world.ordered_epoch = world.epoch
    return world.order


def _depths(parent: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """How many parents each row has, by pointer doubling: log2(depth) rounds, whatever the shape of the tree."""
    above = np.append(parent, -1)  # index -1 meets this sentinel
    depth = (above >= 0).astype(np.int32)
    while (above[rows] >= 0).any():
        depth += depth[above]
        above = above[above]
    return depth[rows]


def _propagate_levels(world: "World", order: NDArray[np.int32]) -> int:
    table = world.table
    version = world.version
    if len(order) == 0:
        return -1
    local = table.local[order]
    changed = (local.view(np.int64) != table.seen[order].view(np.int64)).any(axis=1)
    good = check.sound(local)
    bad = -1
    if not good.all():
        bad = int(order[np.argmin(good)])
        changed &= good
    moved = order[changed]
    table.moved[moved] = version
    table.seen[moved] = local[changed]
    for start, stop in zip(world.levels[:-1], world.levels[1:], strict=True):
        rows = order[start:stop]
        dirty = changed[start:stop]
        if start:  # every level but the roots
            dirty = (dirty | (table.posed[table.parent[rows]] == version)) & good[start:stop]
        if not dirty.all():
            rows = rows[dirty]
        if len(rows) == 0:
            continue
        child = table.local[rows].T.copy()
        _normalise(child)
        if start:
            child = _compose(table.pose[table.parent[rows]].T.copy(), child)
        table.pose[rows] = child.T
        table.posed[rows] = version
    return bad


def _normalise(pose: Floats) -> None:
    """Make the quaternions of (10, n) poses unit ones, leaving those alone that already are."""
    x, y, z, w = pose[3:7]
    norm2 = x * x + y * y + z * z + w * w
    off = np.abs(norm2 - 1.0) > UNIT_TOLERANCE
    if off.any():
        pose[3:7, off] *= 1.0 / np.sqrt(norm2[off])


def _compose(parent: Floats, child: Floats) -> Floats:
    """(10, n) parent poses times child poses. The order of operations is that of the kernel, to the bit."""
    px, py, pz, qx, qy, qz, qw, sx, sy, sz = parent
    lx, ly, lz, rx, ry, rz, rw, tx, ty, tz = child
    out = np.empty_like(child)
    vx, vy, vz = sx * lx, sy * ly, sz * lz
    ux = 2.0 * (qy * vz - qz * vy)
    uy = 2.0 * (qz * vx - qx * vz)
    uz = 2.0 * (qx * vy - qy * vx)
    out[0] = px + (vx + qw * ux + (qy * uz - qz * uy))
    out[1] = py + (vy + qw * uy + (qz * ux - qx * uz))
    out[2] = pz + (vz + qw * uz + (qx * uy - qy * ux))
    out[3] = qw * rx + qx * rw + qy * rz - qz * ry
    out[4] = qw * ry - qx * rz + qy * rw + qz * rx
    out[5] = qw * rz + qx * ry - qy * rx + qz * rw
    out[6] = qw * rw - qx * rx - qy * ry - qz * rz
    out[7], out[8], out[9] = sx * tx, sy * ty, sz * tz
    return out


def _stamp_velocities(world: "World") -> None:
    """Note which velocities changed, by bits, as for poses."""
    table = world.table
    rows = np.flatnonzero(table.velocities.present[: table.high])
    if len(rows):
        block = table.velocities.block[rows]
        changed = (block.view(np.int64) != table.velocity_seen[rows].view(np.int64)).any(axis=1)
        table.velocity_seen[rows[changed]] = block[changed]
        table.velocity_moved[rows[changed]] = world.version


def local_from_world(world: "World", row: int, parent_row: int) -> Floats:
    """The local pose (10 numbers) under another parent that leaves the row's world pose as it is."""
    propagate(world)
    pose = world.table.pose[row]
    if parent_row < 0:
        return np.array(pose)
    parent = world.table.pose[parent_row]
    if not parent[7:10].all():
        name = world.name(world.entity_at(parent_row))
        raise StateError(
            f"entity {name!r}: a scale of zero has no inverse, so a child cannot keep its world pose"
        )
    inverse = rotation.conjugate(parent[3:7])
    place = rotation.rotate(inverse, pose[0:3] - parent[0:3]) / parent[7:10]
    return np.concatenate([place, rotation.multiply(inverse, pose[3:7]), pose[7:10] / parent[7:10]])


def matrix_local(world: "World", entity: "Entity") -> Floats:
    """The 4x4 matrix of the entity's local pose: parent_from_entity, column vectors."""
    pose = world.table.local[world.row(entity)].copy()
    _normalise(pose[:, None])
    matrix = np.eye(4)
    matrix[:3, :3] = rotation.matrix_from_quaternion(pose[3:7]) * pose[7:10]
    matrix[:3, 3] = pose[0:3]
    return matrix


def matrix_world(world: "World", entity: "Entity") -> Floats:
    """The exact 4x4 world_from_entity: the product of all local matrices up to the root, shear included."""
    matrix = matrix_local(world, entity)
    parent = world.parent(entity)
    while parent is not None:
        matrix = matrix_local(world, parent) @ matrix
        parent = world.parent(parent)
    return matrix
