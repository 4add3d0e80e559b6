"""The poses of a whole scene at one time, and between two such times: renderers run faster than simulations."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from diorama.ecs.world import World
from diorama.geo import rotation

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moment:
    """World poses (n, 10) of all entities at one time."""

    time_ns: int
    entities: NDArray[np.int64]
    pose: Floats

    @classmethod
    def of(cls, world: World, time_ns: int) -> Self:
        """A world as it is."""
        entities = world.entities
        return cls(time_ns, entities, world.table.pose[world.rows(entities)])

    def still(self, old: World, new: World) -> "Moment":
        """What is about the same things in a world that replaces another: a loaded scene uses handles again."""
        same = [
            new.alive(entity)
            and old.alive(entity)
            and new.name(entity) == old.name(entity)
            and new.asset(entity) == old.asset(entity)
            for entity in self.entities.tolist()
        ]
        return Moment(self.time_ns, self.entities[same], self.pose[same])


def between(before: Moment, after: Moment, time_ns: int, *, extrapolate: bool) -> Floats:
    """World poses (n, 10) of the later moment's entities at a time (slerp; positions and scales linear).

    Who was not there before is where it is. Outside the span the nearest moment counts, unless `extrapolate` is on.
    """
    span = after.time_ns - before.time_ns
    part = 1.0 if span <= 0 else (time_ns - before.time_ns) / span
    if not extrapolate:
        part = min(max(part, 0.0), 1.0)
    pose = after.pose.copy()
    both, old, new = np.intersect1d(before.entities, after.entities, assume_unique=True, return_indices=True)
    if len(both) and part != 1.0:
        past, now = before.pose[old], after.pose[new]
        pose[new] = past + part * (now - past)
        pose[new, 3:7] = rotation.slerp(past[:, 3:7], now[:, 3:7], part)
    return pose
