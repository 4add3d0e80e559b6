"""Lines over the scene: trails, detection boxes, what a LiDAR covers, the box around what is selected.

All are (n, 2, 3) segments in metres north, east, down of a centre.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import Bounds, Entity, Sensor, World
from diorama.geo.axes import ENU
from diorama.geo.rotation import rotate

Floats = NDArray[np.float64]

_CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
_EDGES = np.array([(i, j) for i in range(8) for j in range(i + 1, 8) if bin(i ^ j).count("1") == 1])


def boxes(center: ArrayLike, orientation: ArrayLike, size: ArrayLike) -> Floats:
    """The twelve edges of each of n boxes: (12 n, 2, 3)."""
    places, sizes = np.reshape(center, (-1, 1, 3)), np.reshape(size, (-1, 1, 3))
    turns = np.reshape(np.asarray(orientation, np.float64), (-1, 1, 4))
    corners = places + rotate(turns, _CORNERS * sizes)
    edges: Floats = corners[:, _EDGES].reshape(-1, 2, 3)
    return edges


def boxes_of_message(message: Mapping[str, Any], origin: Floats) -> Floats:
    """The boxes of a perception message, brought from the map's east-north-up to north-east-down."""
    objects = message.get("objects", ())
    poses = [item["kinematics"]["pose_with_covariance"]["pose"] for item in objects]
    if not poses:
        return np.zeros((0, 2, 3))
    place = np.array([[pose["position"][axis] for axis in "xyz"] for pose in poses])
    turn = np.array([[pose["orientation"][axis] for axis in "xyzw"] for pose in poses])
    size = np.array([[item["shape"]["dimensions"][axis] for axis in "xyz"] for item in objects])
    return boxes(ENU.ned_points(place) - origin, ENU.ned_rotations(turn), ENU.ned_scales(size))


def range_rings(world: World, lidars: Sequence[Entity], origin: Floats) -> Floats:
    """A circle at the range of each LiDAR, and spokes to it."""
    angle = np.linspace(0.0, 2 * np.pi, 97)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(97)])
    found = [np.zeros((0, 2, 3))]
    for entity in lidars:
        row = world.row(entity)
        reach = float(world.get(entity, Sensor).parameters.get("range", 100.0))
        place, turn = world.table.pose[row, 0:3] - origin, world.table.pose[row, 3:7]
        rim = place + rotate(turn, circle * reach)
        inner = place + rotate(turn, circle * 0.5 * reach)
        found += [np.stack([rim[:-1], rim[1:]], axis=1), np.stack([inner[:-1], inner[1:]], axis=1)]
    return np.concatenate(found)


def selection_box(world: World, entity: Entity, size: ArrayLike, center: ArrayLike, origin: Floats) -> Floats:
    """The box around one entity, a little larger than it."""
    pose = world.table.pose[world.row(entity)]
    place, turn, scale = pose[0:3] - origin, pose[3:7], pose[7:10]
    middle = place + rotate(turn, scale * np.asarray(center, np.float64))
    return boxes(middle, turn, scale * np.asarray(size, np.float64) * 1.06 + 0.1)


class Trails:
    """Where the chosen entities have been: the last `length` places of each, one every `every_ns`."""

    def __init__(self, length: int = 160, every_ns: int = 250_000_000) -> None:
        self._length, self._every_ns = length, every_ns
        self.clear([])

    def clear(self, entities: Sequence[Entity]) -> None:
        """Follow these from now on."""
        self.entities = np.array(entities, np.int64)
        self._places = np.full((len(self.entities), self._length, 3), np.nan)
        self._next_ns = -(2**62)

    def follow(self, entities: Sequence[Entity]) -> None:
        """Follow these; whoever was followed before keeps its trail."""
        before, places = self.entities.tolist(), self._places
        due = self._next_ns
        self.clear(entities)
        self._next_ns = due
        for index, entity in enumerate(self.entities.tolist()):
            if entity in before:
                self._places[index] = places[before.index(entity)]

    def note(self, world: World, time_ns: int) -> bool:
        """Remember where they are now, if it is time; a clock set back forgets everything."""
        if time_ns < self._next_ns - self._every_ns:
            self.clear(self.entities.tolist())
        if time_ns < self._next_ns or not len(self.entities):
            return False
        self._next_ns = time_ns + self._every_ns
        self._places[:, :-1] = self._places[:, 1:]
        self._places[:, -1] = world.table.pose[world.rows(self.entities), 0:3]
        return True

    def places(self, index: int) -> Floats:
        """The places (k, 3) of one of them, oldest first, NED metres."""
        kept = self._places[index]
        known: Floats = kept[~np.isnan(kept[:, 0])]
        return known

    def segments(self, origin: Floats) -> tuple[Floats, Floats]:
        """(n, 2, 3) segments and (n, 2) ages from 1, now, down to 0."""
        lines = np.stack([self._places[:, :-1], self._places[:, 1:]], axis=2) - origin
        fresh = np.linspace(0.0, 1.0, self._length)
        ages = np.broadcast_to(np.stack([fresh[:-1], fresh[1:]], axis=1), (len(lines), self._length - 1, 2))
        known = ~np.isnan(lines).any(axis=(2, 3))
        return lines[known], ages[known]


def size_of(world: World, entity: Entity) -> float:
    """The longest side of an entity's bounds (m), 0 without any."""
    bounds = world.try_get(entity, Bounds)
    return max(bounds.size) if bounds else 0.0
