"""The scene as JSON on the wire: the scene document, complete or only what changed, with a header of its own."""

import orjson

from diorama.ecs.world import World
from diorama.formats.aerosim_write import resources_document
from diorama.transport import codec
from diorama.transport.codec import Frame, Header, Since
from diorama.transport.scene_text import SceneText, changed_components


def complete_document(text: SceneText, world: World, header: Header) -> Frame:
    """The whole scene."""
    return text.complete(world, b'"header":' + _json_header(header) + b",")


def changes_document(world: World, header: Header, since: Since) -> bytes:
    """What changed since: see `changed_components`; all resources if any changed."""
    entities, texts, removed = changed_components(world, since)
    components = (orjson.dumps(group) + b":{" + b",".join(told) + b"}" for group, told in texts.items())
    parts = [
        b'"header":' + _json_header(header),
        b'"entities":' + orjson.dumps(entities),
        b'"components":{' + b",".join(components) + b"}",
        b'"removed":' + orjson.dumps(removed),
    ]
    if resource_epoch(world) > since.epoch:
        parts.append(b'"resources":' + resources_text(world))
    return b"{" + b",".join(parts) + b"}"


def resource_epoch(world: World) -> int:
    """The structural change that last touched the origin or a resource."""
    return max((world.origin_epoch, *world.resource_epochs.values()))


def resources_text(world: World) -> bytes:
    """All resources and the origin."""
    return orjson.dumps(resources_document(world))


def _json_header(header: Header) -> bytes:
    return orjson.dumps(
        {
            "kind": "complete" if header.kind == codec.COMPLETE else "changes",
            "run_id": header.run_id.hex(),
            "sequence": header.sequence,
            "base": header.base,
            "tick": header.tick,
            "time_ns": header.time_ns,
        }
    )
