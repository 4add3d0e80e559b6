"""Write a world as a scene document: parents before children, effectors in their owners' lists."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Effector, World, locate
from diorama.ecs.check import complaint, sound
from diorama.formats.aerosim_batch import COORDINATE_KEYS
from diorama.geo import WGS84, Ellipsoid
from diorama.schemas.errors import StateError


@dataclass(frozen=True, slots=True)
class Mount:
    """Where an effector is written: in the list of `owner`, below the effector `parent_id` ("" for none)."""

    owner: int
    parent_id: str


def document(world: World, entities: Iterable[int] | None = None) -> dict[str, Any]:
    """The scene document of a world, as of the last `propagate`; with `entities`, of those alone.

    What is there is whole: an effector that is asked for brings its owner. A document of chosen entities has no
    `resources`, and its cost follows what is chosen. Positions on Earth are given when the world has an origin.
    """
    if entities is None:
        carriers: list[int] = world.entities.tolist()
        mounts = mounts_of(world)
        owners = {mount.owner for mount in mounts.values()}
    else:
        chosen = {int(entity) for entity in entities}
        world.rows(list(chosen))  # refuses the dead
        owners = {owner_of(world, entity) for entity in chosen}
        mounts = {}
        for owner in owners:
            mounts |= mounts_below(world, owner)
        owners |= {mount.owner for mount in mounts.values()}
        carriers = _parents_first(world, chosen | owners)
        owners = {mount.owner for mount in mounts.values()}
    actors = [entity for entity in carriers if entity not in mounts]
    listed: dict[str, list[str]] = {}
    components: dict[str, dict[str, Any]] = {}

    def put(entity: int, group: str, value: Any) -> None:
        key = world.key(entity)
        listed.setdefault(key, []).append(group)
        components.setdefault(group, {})[key] = value

    # Entities appear in this order: actors parents first, then effectors that carry components of their own.
    for entity in actors:
        put(entity, "actor_properties", _properties(world, entity))
    for entity, state in zip(actors, _states(world, actors), strict=True):
        put(entity, "actor_state", state)
    for owner, effectors in _effectors(world, mounts, owners).items():
        put(owner, "effectors", effectors)
    for entity in carriers:
        for group, value in _groups(world, entity, mounts).items():
            put(entity, group, value)
    written: dict[str, Any] = {"entities": listed}
    if entities is None and (resources := resources_document(world)):
        written["resources"] = resources
    return {**written, "components": components}


def resources_document(world: World) -> dict[str, Any]:
    """The resources of a world with its origin, as a document has them."""
    resources = dict(world.resources)
    for name, value in resources.items():
        _refuse_non_finite(value, f"resource {name!r}")
    if world.origin is None:
        return resources
    origin = _named("origin_lla", world.origin.lla)
    if world.origin.ellipsoid != WGS84:
        origin["ellipsoid"] = _ellipsoid(world.origin.ellipsoid)
    return {"origin": origin, **resources}


def mounts_of(world: World) -> dict[int, Mount]:
    """Every effector that stands in an owner's list.

    An effector without a parent or an id, or with the same id as another one of its owner, is written as an entity
    with the group `effector` instead.
    """
    mounts: dict[int, Mount] = {}
    for owner in dict.fromkeys(owner_of(world, entity) for entity, _ in world.query(Effector)):
        mounts |= mounts_below(world, owner)
    return mounts


def owner_of(world: World, entity: int) -> int:
    """The first above an entity, or itself, that is no effector; an effector without a parent owns itself."""
    while world.has(entity, Effector):
        parent = world.parent(entity)
        if parent is None:
            break
        entity = parent
    return entity


def mounts_below(world: World, owner: int) -> dict[int, Mount]:
    """The effectors in an owner's list, parents first; one without an id of its own owns those below it."""
    mounts: dict[int, Mount] = {}
    taken: set[str] = set()
    level = [(owner, "")]
    while level:
        below = [(child, above) for entity, above in level for child in world.children(entity)]
        level = []
        for child, above in sorted(below):
            effector = world.try_get(child, Effector)
            if effector is None:
                continue
            if not effector.id or effector.id in taken:
                mounts |= mounts_below(world, child)
            else:
                taken.add(effector.id)
                mounts[child] = Mount(owner, above)
                level.append((child, effector.id))
    return mounts


def _parents_first(world: World, entities: set[int]) -> list[int]:
    def depth(entity: int) -> int:
        steps, above = 0, world.parent(entity)
        while above is not None:
            steps, above = steps + 1, world.parent(above)
        return steps

    return sorted(entities, key=lambda entity: (depth(entity), world.row(entity)))


def _properties(world: World, entity: int) -> dict[str, Any]:
    parent = world.parent(entity)
    return {
        "actor_name": world.name(entity),
        "actor_asset": world.asset(entity),
        "parent": "" if parent is None else world.key(parent),
    }


def _states(world: World, entities: list[int]) -> list[dict[str, Any]]:
    states: list[dict[str, Any]] = [{"pose": pose} for pose in _poses(world, entities)]
    if world.origin is not None and entities:
        place = locate(world, world.rows(entities))
        constant = {
            "origin_lla": _named("origin_lla", world.origin.lla),
            "ellipsoid": _ellipsoid(world.origin.ellipsoid),
        }
        names = ("ned", "lla", "ecef", "cartesian")
        columns = [getattr(place, name) for name in names]
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for state, row in zip(states, rows, strict=True):
            stated = {name: _named(name, values) for name, values in zip(names, row, strict=True)}
            state["world_coordinate"] = {**stated, **constant}
        # Far out, or near the Earth's centre, there is no latitude; JSON has no NaN, so nothing is said.
        for name, column in zip(names, columns, strict=True):
            for number in np.flatnonzero(~np.isfinite(column).all(axis=1)).tolist():
                del states[number]["world_coordinate"][name]
    return states


def _poses(world: World, entities: list[int]) -> list[dict[str, Any]]:
    """`pose` of each entity; refuses numbers that are not finite."""
    values = world.table.local[world.rows(entities)] if entities else np.empty((0, 10))
    refuse_unsound(world, entities, values)
    return [pose_document(row) for row in values.tolist()]


def refuse_unsound(world: World, entities: list[int], values: NDArray[np.float64]) -> None:
    """Raise for the first of (n, 10) poses that is not finite."""
    good = sound(values)
    if not good.all():
        index = int(np.argmin(good))
        raise StateError(complaint(world.name(entities[index]), values[index]))


def pose_document(row: list[float]) -> dict[str, Any]:
    """`pose` of ten numbers."""
    px, py, pz, qx, qy, qz, qw, sx, sy, sz = row
    return {
        "transform": {
            "position": {"x": px, "y": py, "z": pz},
            "orientation": {"x": qx, "y": qy, "z": qz, "w": qw},
            "scale": {"x": sx, "y": sy, "z": sz},
        }
    }


def _effectors(world: World, mounts: dict[int, Mount], owners: set[int]) -> dict[int, list[dict[str, Any]]]:
    """The complete effector lists of these owners."""
    members = [entity for entity, mount in mounts.items() if mount.owner in owners]
    lists: dict[int, list[dict[str, Any]]] = {}
    for entity, pose in zip(members, _poses(world, members), strict=True):
        effector, mount = world.get(entity, Effector), mounts[entity]
        written = {"id": effector.id, "usd_relative_path": effector.path, "pose": pose}
        if mount.parent_id:
            written["parent"] = mount.parent_id
        own = {
            "entity": (world.key(entity), f"{world.key(mount.owner)}/{effector.id}"),
            "actor_name": (world.name(entity), f"{world.name(mount.owner)}/{effector.id}"),
            "actor_asset": (world.asset(entity), ""),
        }
        written |= {key: value for key, (value, usual) in own.items() if value != usual}
        lists.setdefault(mount.owner, []).append(written)
    return lists


def _groups(world: World, entity: int, mounts: dict[int, Mount]) -> dict[str, Any]:
    """All other components of an entity, by group."""
    groups = world.groups(entity)
    if entity in mounts:
        del groups["effector"]
    if "sensor" in groups:
        groups["sensor"] = {f"sensor_{part}": value for part, value in groups["sensor"].items()}
    row = world.row(entity)
    if world.velocities.present[row]:
        numbers = world.velocities.block[row].tolist()
        parts = {"linear": numbers[0:3], "angular": numbers[3:6]}
        groups["velocity"] = {name: dict(zip("xyz", part, strict=True)) for name, part in parts.items()}
    for group, value in groups.items():
        _refuse_non_finite(value, f"entity {world.name(entity)!r}: {group}")
    return groups


def _named(name: str, values: Iterable[float]) -> dict[str, Any]:
    return dict(zip(COORDINATE_KEYS[name], values, strict=True))


def _ellipsoid(ellipsoid: Ellipsoid) -> dict[str, Any]:
    return _named("ellipsoid", (ellipsoid.equatorial_radius, ellipsoid.flattening, ellipsoid.polar_radius))


def _refuse_non_finite(value: Any, place: str) -> None:
    """JSON has no NaN and no infinity, and `null` in their place would be a different scene."""
    if isinstance(value, float) and not isfinite(value):
        raise StateError(f"{place}: expected finite numbers, got {value}")
    if isinstance(value, dict):
        for key, part in value.items():
            _refuse_non_finite(part, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            _refuse_non_finite(part, f"{place}[{number}]")
