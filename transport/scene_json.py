"""The scene as JSON on the wire: the scene document, complete or only what changed, with a header of its own."""

from typing import Any

import orjson

from diorama.ecs.world import World
from diorama.formats.aerosim_write import document, resources_document
from diorama.transport import codec
from diorama.transport.codec import Header, Since


def complete_document(world: World, header: Header) -> bytes:
    """The whole scene."""
    return orjson.dumps({"header": _json_header(header), **document(world)})


def changes_document(world: World, header: Header, since: Since) -> bytes:
    """What changed since: the changed entities whole, keys of the removed ones, and the resources if any changed."""
    rows = {*codec.posed_rows(world, since).tolist(), *codec.velocity_rows(world, since).tolist()}
    changes: dict[str, Any] = {"header": _json_header(header), "entities": {}, "components": {}}
    if rows:
        changes |= document(world, [world.entity_at(row) for row in rows])
    if max((world.origin_epoch, *world.resource_epochs.values())) > since.epoch:
        changes["resources"] = resources_document(world)
    changes["removed"] = codec.removed_keys_since(world, since)
    return orjson.dumps(changes)


def _json_header(header: Header) -> dict[str, object]:
    return {
        "kind": "complete" if header.kind == codec.COMPLETE else "changes",
        "run_id": header.run_id.hex(),
        "sequence": header.sequence,
        "base": header.base,
        "tick": header.tick,
        "time_ns": header.time_ns,
    }
