"""The transform tree: world poses from local ones, for forests of any shape.

A pass runs parents first. It finds what moved by comparing bits with what it saw last time (nobody has to set a
flag), recomputes those rows and all below them, and refuses numbers that are not finite. `propagate` uses the numba
kernel when numba is installed and numpy level by level otherwise; both do the same operations in the same order and
so give the same bits.

Composition is position, rotation, scale as renderers do it: a child's position is scaled and rotated by its parent,
scales multiply component-wise. `matrix_world` gives the exact product of 4x4 matrices, shear included.
"""

from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import check
from diorama.ecs.levels import compose, propagate_levels, stamp_velocities, unit
from diorama.geo import rotation
from diorama.schemas.errors import StateError, missing_extra

if TYPE_CHECKING:
    from diorama.ecs.world import Entity, World

Floats = NDArray[np.float64]


def propagate(world: "World", *, fast: bool | None = None) -> None:
    """Bring every world pose up to date.

    `fast` chooses the numba kernel (True) or numpy (False); the default takes numba when it is there. A row with a
    number that is not finite, or a zero quaternion, keeps its last good pose and raises StateError once all the
    others are done; so does a velocity that is not finite.
    """
    table, forest = world.table, world.forest
    order = forest.order()
    kernels = None if fast is False else compiled_kernels()
    if fast and kernels is None:
        missing_extra("fast", "the compiled transform kernel")
    world.version = version = world.version + 1
    world.propagated_epoch = world.epoch
    velocities = table.velocities
    if kernels is None:
        bad = propagate_levels(table, forest, version)
        stamp = stamp_velocities
    else:
        bad = kernels.propagate_rows(
            order, table.parent, table.local, table.seen, table.pose, table.moved, table.posed, version
        )
        stamp = kernels.stamp_velocities
    bad_velocity = stamp(
        table.high, velocities.present, velocities.block, table.velocity_seen, table.velocity_moved, version
    )
    if bad >= 0:
        raise StateError(check.complaint(world.name(world.entity_at(bad)), table.local[bad]))
    if bad_velocity >= 0:
        name, values = (
            world.name(world.entity_at(bad_velocity)),
            velocities.block[bad_velocity].tolist(),
        )
        check.finite(name, "linear velocity", values[:3], 3)
        check.finite(name, "angular velocity", values[3:], 3)


@cache
def compiled_kernels() -> Any:
    """The numba kernels, or None where numba is not installed; imported when first needed, since that takes a while."""
    try:
        from diorama.ecs import kernels
    except ImportError:
        return None
    return kernels


def _pose_now(world: "World", row: int) -> Floats:
    """The world pose (10,) of a row from the local poses as they are now, propagated or not."""
    above = [row]
    while (row := int(world.table.parent[row])) >= 0:
        above.append(row)
    return np.array(reduce(compose, [_sound_local(world, each) for each in reversed(above)]))


def _sound_local(world: "World", row: int) -> list[float]:
    """The local pose of a row with a unit quaternion, ten numbers; raises when it has none."""
    local = world.table.local[row]
    pose = unit(local.tolist())
    if pose is None or not np.isfinite(local).all():
        raise StateError(check.complaint(world.name(world.entity_at(row)), local))
    return pose


def local_from_world(world: "World", rows: list[int], parent_row: int) -> Floats:
    """(n, 10) local poses under another parent that leave siblings where they are in the world now."""
    poses = np.array([_sound_local(world, row) for row in rows]).reshape(-1, 10)
    old_parent_row = int(world.table.parent[rows[0]]) if rows else -1
    with np.errstate(all="ignore"):  # what is not finite is refused below
        if old_parent_row >= 0:
            parent = _pose_now(world, old_parent_row)
            poses[:, 0:3] = rotation.rotate(parent[3:7], poses[:, 0:3] * parent[7:10]) + parent[0:3]
            poses[:, 3:7] = rotation.multiply(parent[3:7], poses[:, 3:7])
            poses[:, 7:10] *= parent[7:10]
        if parent_row >= 0:
            parent = _pose_now(world, parent_row)
            if not parent[7:10].all():
                name = world.name(world.entity_at(parent_row))
                raise StateError(
                    f"entity {name!r}: a scale of zero has no inverse, so a child cannot keep its world pose"
                )
            inverse = rotation.conjugate(parent[3:7])
            poses[:, 0:3] = rotation.rotate(inverse, poses[:, 0:3] - parent[0:3]) / parent[7:10]
            poses[:, 3:7] = rotation.multiply(inverse, poses[:, 3:7])
            poses[:, 7:10] /= parent[7:10]
    check.bad_row([world.name(world.entity_at(row)) for row in rows], poses)
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
