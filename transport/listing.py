"""What is there: the topics, the traffic, the scene in short, its entities and one of them in full."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from diorama.transport import methods
from diorama.transport.methods import Call, Name, Nothing, required_handler


@methods.query
def topics(call: Call, params: Nothing) -> list[str]:  # noqa: ARG001
    """The topics that are published."""
    found: list[str] = required_handler(call.handlers.topics, "list topics")()
    return found


@methods.query
def traffic(call: Call, params: Nothing) -> Any:  # noqa: ARG001
    """What the publisher has done: updates, messages by topic, bytes, joins, and resyncs of who lost updates."""
    return required_handler(call.handlers.traffic, "count what is published")()


@methods.query
def scene(call: Call, params: Nothing) -> dict[str, Any]:  # noqa: ARG001
    """The scene in short: its place on Earth, how many entities, which resources."""
    origin = call.world.origin
    place = origin and {
        "latitude_deg": origin.latitude_deg,
        "longitude_deg": origin.longitude_deg,
        "altitude": origin.altitude,
    }
    return {"origin": place, "entities": len(call.world), "resources": sorted(call.world.resources)}


class Entities(msgspec.Struct, forbid_unknown_fields=True):
    """`prefix` chooses by the beginning of the name, `start` and `count` a part of what is left."""

    prefix: Name = ""
    start: Annotated[int, Meta(ge=0)] = 0
    count: Annotated[int, Meta(ge=0, le=100_000)] = 1000


@methods.query
def entities(call: Call, params: Entities) -> dict[str, Any]:
    """Entities, parents before children: name, key, asset, parent; `total` says how many there are."""
    world = call.world
    found = world.entities.tolist()
    if params.prefix:
        found = [entity for entity in found if world.name(entity).startswith(params.prefix)]
    rows = []
    for entity in found[params.start : params.start + params.count]:
        parent = world.parent(entity)
        rows.append(
            {
                "name": world.name(entity),
                "key": world.key(entity),
                "asset": world.asset(entity),
                "parent": None if parent is None else world.name(parent),
            }
        )
    return {"total": len(found), "entities": rows}


class Named(msgspec.Struct, forbid_unknown_fields=True):
    """One entity."""

    name: Name


@methods.query
def entity(call: Call, params: Named) -> dict[str, Any]:
    """All about one entity: its place in the tree, its local pose, its components."""
    world = call.world
    found = call.entity(params.name)
    row = world.row(found)
    parent = world.parent(found)
    return {
        "name": params.name,
        "key": world.key(found),
        "asset": world.asset(found),
        "parent": None if parent is None else world.name(parent),
        "children": [world.name(child) for child in world.children(found)],
        "position": world.transforms.position[row].tolist(),
        "orientation": world.transforms.orientation[row].tolist(),
        "scale": world.transforms.scale[row].tolist(),
        "components": world.groups(found),
    }
