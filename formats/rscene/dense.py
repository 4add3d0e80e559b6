"""Many things in one entity: particles, points and instances as arrays in our axes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, World
from diorama.formats.rscene.axes import ned_from_nwu
from diorama.formats.rscene.build import scene_lines
from diorama.formats.rscene.components import came_from
from diorama.formats.rscene.document import Record
from diorama.formats.rscene.nodes import effective, overrides_of
from diorama.schemas.errors import SceneError

Floats = NDArray[np.float64]
# What a box is filled with when the file sets no limit of its own.
MOST_PARTICLES = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Particles:
    """Centres (n, 3) in the entity's axes and radii (n,), metres."""

    position: Floats
    radius: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Points (n, 3) in the entity's axes, metres, and their colours (n, 4); no colours is (0, 4)."""

    position: Floats
    color: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """Poses of copies in the entity's axes: position (n, 3) in metres, orientation xyzw (n, 4), scale (n, 3).

    Orientations are of unit length, as the engine makes them when it reads a list.
    """

    position: Floats
    orientation: Floats
    scale: Floats


def record_of(world: World, entity: Entity) -> Record:
    """The typed view of the record an entity came from; changing it does not change the world."""
    came = came_from(world, entity)
    if came is None or not came.text:
        raise SceneError(f"entity {world.name(entity)!r}: expected one that came from a record of its own")
    return Record(came.to_bytes())


def particles(world: World, entity: Entity) -> Particles:
    """The particles of a granular body: those written, or its box filled at its spacing up to its limit."""
    record = _record(world, entity, "granular")
    written = record.get("positions")
    if len(written):
        radii = record.get("radii")
        if len(radii) != len(written):
            radii = np.full(len(written), record.get("radius"))
        return Particles(position=ned_from_nwu(written), radius=radii)
    low, high, spacing = record.get("boxMin"), record.get("boxMax"), record.get("spacing")
    limit = record.get("maxParticles")
    limit = min(limit, MOST_PARTICLES) if limit > 0 else MOST_PARTICLES
    if not spacing > 0 or (high < low).any():
        return Particles(position=np.zeros((0, 3)), radius=np.zeros(0))
    # A box a whole number of spacings wide has a particle on both walls, rounding or not.
    counts = np.minimum(np.floor((high - low) / spacing * (1 + 1e-12)) + 1, limit).astype(np.int64)
    total = min(limit, int(counts[0]) * int(counts[1]) * int(counts[2]))
    index = np.arange(total)
    steps = np.column_stack(
        (index % counts[0], index // counts[0] % counts[1], index // (counts[0] * counts[1]))
    )
    return Particles(
        position=ned_from_nwu(low + steps * spacing), radius=np.full(total, float(record.get("radius")))
    )


def points(world: World, entity: Entity) -> Points:
    """The points of a point cloud."""
    record = _record(world, entity, "point_cloud")
    return Points(position=ned_from_nwu(record.get("points")), color=record.get("colors"))


def instances(world: World, entity: Entity) -> Instances:
    """The copies of an instanced visual."""
    rows = _record(world, entity, "instanced_visual").get("instances")
    turns = rows[:, [4, 5, 6, 3]] * np.array([1.0, -1.0, -1.0, 1.0])
    length = np.linalg.norm(turns, axis=1, keepdims=True)
    turns = np.where(length > 0, turns / np.where(length > 0, length, 1.0), (0.0, 0.0, 0.0, 1.0))
    return Instances(position=ned_from_nwu(rows[:, 0:3]), orientation=turns, scale=rows[:, 7:10].copy())


def _record(world: World, entity: Entity, tag: str) -> Record:
    came = came_from(world, entity)
    record = Record(came.to_bytes()) if came is not None and came.text else None
    if record is None or record.tag != tag:
        raise SceneError(f"entity {world.name(entity)!r}: expected a {tag}")
    return effective(record, overrides_of(scene_lines(world)))
