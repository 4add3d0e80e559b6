"""The objects of a world, as sensors think of them: boxes with a class, in the east-north-up map.

Whatever has `Bounds` is a box that hides what is behind it; what has a `Classification` too is an object that
topics report. Poses and velocities are read anew each time, the rest only when the structure changes.
"""

from dataclasses import dataclass
from functools import lru_cache
from uuid import NAMESPACE_OID, uuid5

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Bounds, Classification, Entity, World
from diorama.geo.arrays import FloatArray
from diorama.geo.axes import ENU
from diorama.geo.rotation import conjugate, rotate
from diorama.perception.draws import Keys, key_from_name
from diorama.perception.messages import LABELS, Objects
from diorama.perception.noise import Bools

# Ids are made of names under this namespace: the same object has the same id in every run.
NAMESPACE = uuid5(NAMESPACE_OID, "diorama.perception")
FLU_FROM_FRD = np.array([1.0, -1.0, -1.0])


@lru_cache(maxsize=100_000)
def identity(name: str) -> tuple[int, str]:
    """The random-number key and the UUID that belong to a name."""
    return key_from_name(name), str(uuid5(NAMESPACE, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """The boxes of a world by name: what changes only with its structure.

    `size` and `center` (n, 3) are in the entity's own forward-right-down axes before scale; `reported` (n,) tells
    objects from mere obstacles.
    """

    entities: NDArray[np.int64]
    rows: NDArray[np.intp]
    keys: Keys
    uuids: NDArray[np.object_]
    label: NDArray[np.uint8]
    size: FloatArray
    center: FloatArray
    reported: Bools


def roster_of(world: World) -> Roster:
    """Every entity with bounds, sorted by name."""
    boxes = sorted((world.name(entity), entity, bounds) for entity, bounds in world.query(Bounds))
    kinds = {entity: kind.label for entity, kind in world.query(Classification)}
    entities = np.array([entity for _, entity, _ in boxes], np.int64)
    identities = [identity(name) for name, _, _ in boxes]
    return Roster(
        entities=entities,
        rows=world.rows(entities),
        keys=np.array([key for key, _ in identities], np.uint64),
        uuids=np.array([uuid for _, uuid in identities], object),
        label=np.array([LABELS.get(kinds.get(entity, "").lower(), 0) for _, entity, _ in boxes], np.uint8),
        size=np.array([bounds.size for *_, bounds in boxes], np.float64).reshape(-1, 3),
        center=np.array([bounds.center for *_, bounds in boxes], np.float64).reshape(-1, 3),
        reported=np.array([entity in kinds for _, entity, _ in boxes], np.bool_),
    )


def objects_in(world: World, roster: Roster) -> Objects:
    """Every box of the roster where it is now, by the world poses of the last `propagate`."""
    rows = roster.rows
    position, turn, scale = (
        column[rows] for column in (world.poses.position, world.poses.orientation, world.poses.scale)
    )
    arm = scale * roster.center
    velocities = world.velocities
    moving = velocities.present[rows, None]
    angular = np.where(moving, velocities.angular[rows], 0.0)
    linear = rotate(conjugate(turn), np.where(moving, velocities.linear[rows], 0.0)) + np.cross(angular, arm)
    return Objects(
        ids=roster.entities,
        uuids=roster.uuids,
        label=roster.label,
        position=ENU.points(position),
        center=ENU.points(position + rotate(turn, arm)),
        orientation=ENU.rotations(turn),
        size=np.abs(scale) * roster.size,
        linear=FLU_FROM_FRD * linear + 0.0,  # no -0.0 at rest
        angular=FLU_FROM_FRD * angular + 0.0,
    )


def family_of(world: World, entity: Entity) -> NDArray[np.int64]:
    """An entity and everything below it."""
    family = [entity]
    for member in family:
        family.extend(world.children(member))
    return np.array(family, np.int64)
