"""Instanced batches: all entities of one shape together, their poses as arrays, so that ten thousand cost a message.

Positions are metres north, east, down of a centre near the scene, so that float32 is fine enough far from the origin.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import World
from diorama.geo.rotation import rotate
from diorama.viewer.appearance import Appearance
from diorama.viewer.shapes import Shape

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
FAR = 20_000.0  # m; beyond, float32 would jitter by more than a millimetre


@dataclass(slots=True)
class Batch:
    """Entities of one shape: their handles and rows (n,), the boxes they fill (n, 3) and their colours (n, 3)."""

    shape: Shape
    entities: NDArray[np.int64]
    rows: NDArray[np.intp]
    size: Floats
    center: Floats
    color: NDArray[np.uint8]
    shown: NDArray[np.bool_]
    moving: bool

    def instances(self, world: World, origin: Floats) -> tuple[Singles, Singles, Singles]:
        """Positions (n, 3), orientations (n, 4) w first and sizes (n, 3) of the boxes; the hidden ones have none."""
        pose = world.table.pose[self.rows]
        turn, scale = pose[:, 3:7], pose[:, 7:10]
        position = pose[:, 0:3] - origin
        if self.center.any():
            position += rotate(turn, scale * self.center)
        size = scale * self.size
        if not self.shown.all():
            size = size * self.shown[:, None]
        w_first = np.empty((len(pose), 4), np.float32)
        w_first[:, 0], w_first[:, 1:4] = turn[:, 3], turn[:, 0:3]
        return position.astype(np.float32), w_first, size.astype(np.float32)


def batches(
    world: World, look: Callable[[int], Appearance | None], hidden: Collection[int] = ()
) -> list[Batch]:
    """Every entity that is drawn, by shape; large groups of still and of moving ones apart, in the order of names."""
    looks: dict[tuple[str, bool], list[tuple[int, Appearance]]] = {}
    moving = _moving(world)
    for entity in world.entities.tolist():
        found = look(entity)
        if found is not None:
            looks.setdefault((found.shape.name, entity in moving), []).append((entity, found))
    made = []
    for (_, moves), members in looks.items():
        entities = np.array([entity for entity, _ in members], np.int64)
        made.append(
            Batch(
                shape=members[0][1].shape,
                entities=entities,
                rows=world.rows(entities),
                size=np.array([found.size for _, found in members], np.float64),
                center=np.array([found.center for _, found in members], np.float64),
                color=np.array([found.color for _, found in members], np.uint8),
                shown=~np.isin(entities, list(hidden)),
                moving=moves,
            )
        )
    return made


def scene_center(world: World) -> Floats:
    """Where single precision counts from (NED metres): the origin, unless the scene is far from it."""
    rows = world.rows(world.entities)
    if not len(rows):
        return np.zeros(3)
    middle = np.median(world.table.pose[rows, 0:3], axis=0)
    return np.round(middle, -2) if np.linalg.norm(middle) > FAR else np.zeros(3)


def _moving(world: World) -> set[int]:
    """Entities with a velocity, and everything that hangs under one."""
    found: set[int] = set()
    present = world.velocities.present
    for entity, row in zip(world.entities.tolist(), world.rows(world.entities).tolist(), strict=True):
        parent = world.parent(entity)
        if present[row] or parent in found:
            found.add(entity)
    return found


def same_structure(known: tuple[World, int] | None, world: World) -> bool:
    """Whether a world is still the one that was known, with the structure it had then."""
    return known is not None and known[0] is world and known[1] == world.epoch
