"""Are two worlds the same scene? Used by tests, by replicas that doubt, and by anyone who converts files."""

import numpy as np
from msgspec import json
from numpy.typing import NDArray

from diorama.ecs.world import World


def difference(a: World, b: World, *, tolerance: float = 0.0) -> str:
    """The first difference between two worlds in a sentence, or nothing.

    Entities are matched by key; names, assets, parents, local poses, velocities, components, resources and origins
    are compared. Poses are compared bit for bit unless a tolerance (metres and unit-less alike) is given.
    """
    keys_a, keys_b = ({world.key(entity): entity for entity in world.names.values()} for world in (a, b))
    if only := keys_a.keys() ^ keys_b.keys():
        key = min(only)
        return f"{key!r} is only in the {'first' if key in keys_a else 'second'} world"
    if a.origin != b.origin:
        return f"origin: {a.origin} and {b.origin}"
    if not _alike(dict(a.resources), dict(b.resources)):
        return f"resources: {dict(a.resources)} and {dict(b.resources)}"
    for key, left in keys_a.items():
        right = keys_b[key]
        for what, one, two in (
            ("name", a.name(left), b.name(right)),
            ("asset", a.asset(left), b.asset(right)),
            ("parent", _parent_key(a, left), _parent_key(b, right)),
            ("components", a.groups(left), b.groups(right)),
        ):
            if not _alike(one, two):
                return f"{key!r}: {what}: {one!r} and {two!r}"
        rows = a.row(left), b.row(right)
        if not _equal(a.table.local[rows[0]], b.table.local[rows[1]], tolerance):
            return f"{key!r}: pose: {a.table.local[rows[0]].tolist()} and {b.table.local[rows[1]].tolist()}"
        present = a.velocities.present[rows[0]], b.velocities.present[rows[1]]
        if present[0] != present[1]:
            return f"{key!r}: only one of the two has a velocity"
        if present[0] and not _equal(a.velocities.block[rows[0]], b.velocities.block[rows[1]], tolerance):
            return f"{key!r}: velocity: {a.velocities.block[rows[0]]} and {b.velocities.block[rows[1]]}"
    return ""


def _parent_key(world: World, entity: int) -> str:
    parent = world.parent(entity)
    return "" if parent is None else world.key(parent)


def _alike(one: object, two: object) -> bool:
    """Whether two values are the same JSON: a tuple is a list there."""
    return one == two or json.encode(one, order="deterministic") == json.encode(two, order="deterministic")


def _equal(a: NDArray[np.float64], b: NDArray[np.float64], tolerance: float) -> bool:
    if tolerance:
        return bool(np.allclose(a, b, rtol=0.0, atol=tolerance))
    return a.tobytes() == b.tobytes()
