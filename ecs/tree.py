"""The transform tree: world poses from local ones, for forests of any shape.

A pass runs parents first. It finds what moved by comparing bits with what it saw last time (nobody has to set a
flag), recomputes those rows and all below them, and refuses numbers that are not finite. `propagate` uses the numba
kernel when numba is installed and numpy level by level otherwise; both do the same operations in the same order and
so give the same bits.

Composition is position, rotation, scale as renderers do it: a child's position is scaled and rotated by its parent,
scales multiply component-wise. `matrix_world` gives the exact product of 4x4 matrices, shear included.
"""

from collections.abc import Callable, Sequence
from functools import cache, reduce
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import check
from diorama.ecs.table import UNSEEN
from diorama.geo import rotation
from diorama.schemas.errors import StateError, missing_extra

if TYPE_CHECKING:
    from diorama.ecs.world import Entity, World

Floats = NDArray[np.float64]
Parts = Floats | Sequence[Any]  # a pose as ten numbers, or many as ten arrays


def propagate(world: "World", *, fast: bool | None = None) -> None:
    """Bring every world pose up to date.

    `fast` chooses the numba kernel (True) or numpy (False); the default takes numba when it is there. A row with a
    number that is not finite, or a zero quaternion, keeps its last good pose and raises StateError once all the
    others are done; so does a velocity that is not finite.
    """
    table = world.table
    order = world.forest.order()
    world.version += 1
    world.propagated_epoch = world.epoch
    kernel = None if fast is False else compiled_kernel()
    if fast and kernel is None:
        missing_extra("fast", "the compiled transform kernel")
    if kernel is None:
        bad = _propagate_levels(world, order)
    else:
        bad = kernel(
            order, table.parent, table.local, table.seen, table.pose, table.moved, table.posed, world.version
        )
    bad_velocity = _stamp_velocities(world)
    if bad >= 0:
        raise StateError(check.complaint(world.name(world.entity_at(bad)), table.local[bad]))
    if bad_velocity >= 0:
        name, values = (
            world.name(world.entity_at(bad_velocity)),
            table.velocities.block[bad_velocity].tolist(),
        )
        check.finite(name, "linear velocity", values[:3], 3)
        check.finite(name, "angular velocity", values[3:], 3)


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
    """All living rows, parents before children, level by level."""
    return world.forest.order()


def _propagate_levels(world: "World", order: NDArray[np.int32]) -> int:
    table = world.table
    version = world.version
    changed = (table.local[order].view(np.int64) != table.seen[order].view(np.int64)).any(axis=1)
    bad = -1
    levels = world.forest.levels
    with np.errstate(all="ignore"):  # what overflows is found and named
        for start, stop in pairwise(levels):
            rows = order[start:stop]
            dirty = changed[start:stop]
            if start:  # every level but the roots
                dirty = dirty | (table.posed[table.parent[rows]] == version)
            chosen = np.flatnonzero(dirty)
            if len(chosen) == 0:
                continue
            rows = rows[chosen]
            local = table.local[rows]
            child, good = _normalised(local.T)
            if start:
                child = _compose(table.pose[table.parent[rows]].T, child)
            pose = np.stack(child, axis=1)
            good &= np.isfinite(pose).all(axis=1)
            moved = changed[start:stop][chosen]
            if not good.all():
                if bad < 0:
                    bad = int(rows[np.argmin(good)])
                table.seen[rows[~good]] = UNSEEN  # looked at again next time, moved or not
                rows, local, pose, moved = rows[good], local[good], pose[good], moved[good]
            table.pose[rows] = pose
            table.posed[rows] = version
            table.moved[rows[moved]] = version
            table.seen[rows[moved]] = local[moved]
    return bad


def _normalised(local: Parts) -> tuple[tuple[Any, ...], Any]:
    """Poses (ten numbers or arrays) with unit quaternions, those that are left alone; and which could be normalised."""
    px, py, pz, x, y, z, w, sx, sy, sz = local
    norm2 = x * x + y * y + z * z + w * w
    good = (norm2 >= check.SMALLEST_NORM2) & (norm2 < inf)
    scale = np.where(np.abs(norm2 - 1.0) > check.UNIT_TOLERANCE, 1.0 / np.sqrt(norm2), 1.0)
    return (px, py, pz, x * scale, y * scale, z * scale, w * scale, sx, sy, sz), good


def _compose(parent: Parts, child: Parts) -> tuple[Any, ...]:
    """Parent poses times child poses, ten numbers or arrays; the same operations as the kernel, in the same order."""
    px, py, pz, qx, qy, qz, qw, sx, sy, sz = parent
    lx, ly, lz, rx, ry, rz, rw, tx, ty, tz = child
    vx, vy, vz = sx * lx, sy * ly, sz * lz
    ux = 2.0 * (qy * vz - qz * vy)
    uy = 2.0 * (qz * vx - qx * vz)
    uz = 2.0 * (qx * vy - qy * vx)
    return (
        px + (vx + qw * ux + (qy * uz - qz * uy)),
        py + (vy + qw * uy + (qz * ux - qx * uz)),
        pz + (vz + qw * uz + (qx * uy - qy * ux)),
        qw * rx + qx * rw + qy * rz - qz * ry,
        qw * ry - qx * rz + qy * rw + qz * rx,
        qw * rz + qx * ry - qy * rx + qz * rw,
        qw * rw - qx * rx - qy * ry - qz * rz,
        sx * tx,
        sy * ty,
        sz * tz,
    )


def _stamp_velocities(world: "World") -> int:
    """Note which velocities changed, by bits, as for poses; returns the first row that is not finite, or -1."""
    table = world.table
    rows = np.flatnonzero(table.velocities.present[: table.high])
    if len(rows) == 0:
        return -1
    block = table.velocities.block[rows]
    changed = (block.view(np.int64) != table.velocity_seen[rows].view(np.int64)).any(axis=1)
    rows, block = rows[changed], block[changed]
    good = np.isfinite(block).all(axis=1)
    table.velocity_seen[rows[good]] = block[good]
    table.velocity_moved[rows[good]] = world.version
    return -1 if good.all() else int(rows[np.argmin(good)])


def _pose_now(world: "World", row: int) -> Floats:
    """The world pose (10,) of a row from the local poses as they are now, propagated or not."""
    above = [row]
    while (row := int(world.table.parent[row])) >= 0:
        above.append(row)
    poses: list[Parts] = [_sound_local(world, each) for each in reversed(above)]
    return np.array(reduce(_compose, poses))


def _sound_local(world: "World", row: int) -> list[float]:
    """The local pose of a row with a unit quaternion, as ten floats; raises when it has none."""
    local = world.table.local[row]
    check.bad_row([world.name(world.entity_at(row))], local[None])
    return [float(value) for value in _normalised(local)[0]]


def local_from_world(world: "World", rows: Sequence[int], parent_row: int) -> Floats:
    """(n, 10) local poses under another parent that leave siblings where they are in the world now."""
    if not rows:
        return np.empty((0, 10))
    table = world.table
    names = [world.name(world.entity_at(row)) for row in rows]
    check.bad_row(names, table.local[rows])
    child, _ = _normalised(table.local[rows].T)
    above = int(table.parent[rows[0]])
    with np.errstate(all="ignore"):
        poses = np.stack(child if above < 0 else _compose(_pose_now(world, above), child), axis=1)
    if parent_row >= 0:
        parent = _pose_now(world, parent_row)
        if not parent[7:10].all():
            name = world.name(world.entity_at(parent_row))
            raise StateError(
                f"entity {name!r}: a scale of zero has no inverse, so a child cannot keep its world pose"
            )
        inverse = rotation.conjugate(parent[3:7])
        with np.errstate(all="ignore"):
            poses[:, 0:3] = rotation.rotate(inverse, poses[:, 0:3] - parent[0:3]) / parent[7:10]
            poses[:, 3:7] = rotation.multiply(inverse, poses[:, 3:7])
            poses[:, 7:10] /= parent[7:10]
    check.bad_row(names, poses)
    return poses


def matrix_local(world: "World", entity: "Entity") -> Floats:
    """The 4x4 matrix of the entity's local pose: parent_from_entity, column vectors."""
    pose = np.array(_sound_local(world, world.row(entity)))
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
