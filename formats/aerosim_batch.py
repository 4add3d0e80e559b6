"""A scene document on its way to a world: names and poses in lists and arrays, checked all at once, then inserted.

Effectors are entities like the others here: children of their owner, with the component Effector.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import World, locate, propagate
from diorama.ecs.check import sound
from diorama.formats.findings import Findings
from diorama.formats.jsonc import Path
from diorama.geo import WGS84, Ellipsoid, Origin
from diorama.schemas.errors import GeoError, StateError

Floats = NDArray[np.float64]
# The eighteen numbers of `world_coordinate`, in the order of the columns of `Batch.coordinates`.
COORDINATE_KEYS: dict[str, tuple[str, ...]] = {
    "ned": ("north", "east", "down"),
    "lla": ("latitude", "longitude", "altitude"),
    "ecef": ("x", "y", "z"),
    "cartesian": ("x", "y", "z"),
    "origin_lla": ("latitude", "longitude", "altitude"),
    "ellipsoid": ("equatorial_radius", "flattening_factor", "polar_radius"),
}
# More than this between the position a document states and the one its poses give is worth a warning, metres.
COORDINATE_TOLERANCE = 1.0
# Two origins nearer than this (degrees, degrees, metres; ellipsoid: metres, ratio) are one.
ORIGIN_TOLERANCE = np.array([1e-9, 1e-9, 1e-4, 1e-3, 1e-12])
METRES_PER_DEGREE = 111_320.0


@dataclass(slots=True)
class Batch:
    """What a document says. Index i is the same entity in every list; `parents` are keys, "" for roots."""

    keys: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    poses: Floats = field(default_factory=lambda: np.empty((0, 10)))
    places: dict[int, Path] = field(default_factory=dict)  # where entity i stands, if it is an effector
    components: dict[str, list[object]] = field(default_factory=dict)  # by key
    groups: list[tuple[str, str, Any]] = field(
        default_factory=list
    )  # (key, group, JSON) nobody has registered
    velocities: dict[str, Sequence[float]] = field(default_factory=dict)  # by key, six numbers
    resources: dict[str, Any] = field(default_factory=dict)
    origin_lla: list[float] | None = None  # as resources.origin says
    ellipsoid: list[float] | None = None  # and equatorial radius and flattening, if it says so
    located: list[int] = field(default_factory=list)  # the entities that state a world_coordinate
    coordinates: Floats = field(
        default_factory=lambda: np.empty((0, 18))
    )  # theirs; NaN where nothing is stated
    inside_pose: bool = False  # whether world_coordinate stands inside `pose` instead of beside it

    def place(self, index: int, *steps: str | int) -> Path:
        """The path of an entity's pose or, with steps, of something else about it."""
        place = self.places.get(index)
        if place is not None:
            return (*place, *steps)
        group = "actor_state" if steps and steps[0] in ("pose", "world_coordinate") else "actor_properties"
        return ("components", group, self.keys[index], *steps)


def world_from_batch(batch: Batch, findings: Findings, *, compare: bool = True) -> World:
    """The settled world of a batch; whatever is wrong goes to the findings, and the world is then not to be used.

    `compare` notes stated coordinates that are not where the poses put the entity.
    """
    parents = _parent_indices(batch, findings)
    _check_names(batch, findings)
    _check_poses(batch, findings)
    origin = _origin(batch, findings)
    world = World(origin=origin)
    if findings.errors:
        return world
    entities = world.insert(
        batch.names,
        asset=batch.assets,
        parents=parents,
        position=batch.poses[:, 0:3],
        orientation=batch.poses[:, 3:7],
        scale=batch.poses[:, 7:10],
        keys=batch.keys,
    )
    entity_of = dict(zip(batch.keys, entities.tolist(), strict=True))
    for key, components in batch.components.items():
        world.set(entity_of[key], *components)
    for key, group, value in batch.groups:
        world.set_group(entity_of[key], group, value)
    if batch.velocities:
        rows = world.rows([entity_of[key] for key in batch.velocities])
        world.velocities.block[rows] = list(batch.velocities.values())
        world.velocities.present[rows] = True
    for name, value in batch.resources.items():
        world.set_resource(name, value)
    try:
        propagate(world)
    except StateError as error:  # poses that are fine one by one, but overflow together
        findings.wrong(("components", "actor_state"), str(error))
        return world
    if compare:
        _compare_coordinates(world, entities, batch, findings)
    return world


def _parent_indices(batch: Batch, findings: Findings) -> NDArray[np.int64]:
    """The index of every entity's parent, -1 for roots."""
    index_of = {key: index for index, key in enumerate(batch.keys)}
    if len(index_of) < len(batch.keys):
        for key, count in Counter(batch.keys).items():
            if count > 1:
                index = max(index for index, other in enumerate(batch.keys) if other == key)
                findings.wrong(batch.place(index), f"the id {key!r} is taken; ids are unique in a scene")
    if "" in index_of:
        findings.wrong(batch.place(index_of[""]), "expected an id, got an empty one")
    index_of[""] = -1
    indices = np.fromiter(
        (index_of.get(parent, -2) for parent in batch.parents), np.int64, len(batch.parents)
    )
    unknown = np.flatnonzero(indices == -2).tolist()
    named = dict(zip(batch.names, batch.keys, strict=True)) if unknown else {}
    for index in unknown:
        parent = batch.parents[index]
        if parent in named:
            hint = f"; that is the name of {named[parent]!r}: write the id"
        else:
            hint = findings.hint(parent, index_of)
        findings.wrong(batch.place(index, "parent"), f"no entity has the id {parent!r}{hint}")
        indices[index] = -1
    _check_cycles(batch, indices, findings)
    return indices


def _check_cycles(batch: Batch, parents: NDArray[np.int64], findings: Findings) -> None:
    # Pointer doubling: after log2(n) rounds every chain has ended at a root, unless it leads into a circle.
    above = np.append(parents, -1)
    for _ in range(len(parents).bit_length()):
        above = above[above]
    told: set[int] = set()
    for start in np.flatnonzero(above[:-1] >= 0).tolist():
        walked: dict[int, None] = {}
        index = start
        while index not in walked and index not in told:
            walked[index] = None
            index = int(parents[index])
        told.update(walked)
        if index in walked:
            circle = list(walked)[list(walked).index(index) :]
            route = " → ".join(batch.keys[index] for index in [*circle, circle[0]][:12])
            message = f"its parents go in a circle: {route}"
            findings.wrong(batch.place(index, "parent"), message)


def _check_names(batch: Batch, findings: Findings) -> None:
    if len(set(batch.names)) == len(batch.names):
        return
    first: dict[str, int] = {}
    for index, name in enumerate(batch.names):
        if first.setdefault(name, index) != index:
            message = (
                f"the name {name!r} is taken by {batch.keys[first[name]]!r}; names are unique in a scene"
            )
            findings.wrong(batch.place(index, "actor_name"), message)


def _check_poses(batch: Batch, findings: Findings) -> None:
    for index in np.flatnonzero(~sound(batch.poses)).tolist():
        pose = batch.poses[index].tolist()
        place = batch.place(index, "pose", "transform")
        if np.isfinite(pose).all():
            message = f"expected a quaternion that can be normalised (not zero), got {pose[3:7]}"
            findings.wrong((*place, "orientation"), message)
        else:
            findings.wrong(place, f"expected finite numbers, got {pose}")


def _origin(batch: Batch, findings: Findings) -> Origin | None:
    """The origin of the scene: the one in `resources`, else the one all entities agree on."""
    stated = batch.coordinates[:, 12:17]
    given = np.flatnonzero(np.isfinite(stated[:, 0:3]).all(axis=1))
    wanted = np.full(5, np.nan)
    if len(given):
        wanted[:] = stated[given[0]]
    if batch.origin_lla is not None:
        wanted[0:3] = batch.origin_lla
    if batch.ellipsoid is not None:
        wanted[3:5] = batch.ellipsoid
    if np.isnan(wanted[0]):
        return None
    wanted = np.where(np.isnan(wanted), (0.0, 0.0, 0.0, WGS84.equatorial_radius, WGS84.flattening), wanted)
    found = [
        (_coordinate_place(batch, number), _origin_text(stated[number]))
        for number in np.flatnonzero((np.abs(stated - wanted) > ORIGIN_TOLERANCE).any(axis=1)).tolist()
    ]
    if batch.origin_lla is not None:
        message = f"the origin is {_origin_text(wanted)}, as resources.origin says, not"
        findings.odd_many(((*place, "origin_lla"), f"{message} {other}") for place, other in found)
    else:
        message = (
            f"expected the origin of {batch.keys[batch.located[given[0]]]!r}, {_origin_text(wanted)}, got"
        )
        for place, other in found:
            advice = "a scene has one origin: write it in resources.origin"
            findings.wrong((*place, "origin_lla"), f"{message} {other}; {advice}")
    try:
        latitude_deg, longitude_deg, altitude, equatorial_radius, flattening = wanted.tolist()
        return Origin(latitude_deg, longitude_deg, altitude, Ellipsoid(equatorial_radius, flattening))
    except GeoError as error:
        in_resources = batch.origin_lla is not None
        findings.wrong(
            ("resources", "origin") if in_resources else _coordinate_place(batch, int(given[0])), str(error)
        )
        return None


def _origin_text(values: Floats) -> str:
    """Latitude, longitude, altitude; and the ellipsoid when it is not the usual one."""
    text = "({:.9g}, {:.9g}, {:.9g})".format(*values[0:3].tolist())
    usual = np.isnan(values[3]) or (values[3] == WGS84.equatorial_radius and values[4] == WGS84.flattening)
    return text if usual else f"{text} on an ellipsoid of {values[3]:.9g} m, flattening {values[4]:.9g}"


def _coordinate_place(batch: Batch, number: int) -> Path:
    steps = ("pose", "world_coordinate") if batch.inside_pose else ("world_coordinate",)
    return batch.place(batch.located[number], *steps)


def _compare_coordinates(world: World, entities: NDArray[np.int64], batch: Batch, findings: Findings) -> None:
    """Note the entities whose stated world position is not where their poses put them."""
    if len(batch.coordinates) == 0:
        return
    rows = world.rows(entities[batch.located])
    with np.errstate(over="ignore", invalid="ignore"):  # whatever overflows is far away
        apart = _distances(world, rows, batch.coordinates)
    findings.odd_many(
        (
            (*_coordinate_place(batch, number), name),
            f"{distances[number]:.4g} m from where its pose puts it; recomputed",
        )
        for name, distances in apart.items()
        for number in np.flatnonzero(distances > COORDINATE_TOLERANCE).tolist()
    )


def _distances(world: World, rows: NDArray[np.intp], stated: Floats) -> dict[str, Floats]:
    """Metres between stated (n, 18) coordinates and the world's own, by frame; NaN where nothing is stated."""
    apart = {"ned": np.linalg.norm(stated[:, 0:3] - world.poses.position[rows], axis=1)}
    if world.origin is not None:
        place = locate(world, rows)
        north_deg, east_deg = (stated[:, 3:5] - place.lla[:, 0:2]).T
        east_deg = ((east_deg + 180.0) % 360.0 - 180.0) * np.cos(np.radians(place.lla[:, 0]))
        height = stated[:, 5] - place.lla[:, 2]
        apart["lla"] = np.hypot(np.hypot(north_deg, east_deg) * METRES_PER_DEGREE, height)
        apart["ecef"] = np.linalg.norm(stated[:, 6:9] - place.ecef, axis=1)
        apart["cartesian"] = np.linalg.norm(stated[:, 9:12] - place.cartesian, axis=1)
    return apart
