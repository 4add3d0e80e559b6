"""The scene as JSON on the wire: the scene document, complete or only what changed, with a header of its own."""

from collections.abc import Iterator

import orjson

from diorama.ecs.world import World
from diorama.formats.aerosim_write import resources_document
from diorama.transport import codec
from diorama.transport.changed_text import ChangedText, Texts
from diorama.transport.codec import Frame, Header, Since
from diorama.transport.scene_text import SceneText


def complete_document(text: SceneText, world: World, header: Header) -> Frame:
    """The whole scene."""
    return text.complete(world, b'"header":' + _json_header(header) + b",")


def changes_document(text: ChangedText, world: World, header: Header, since: Since) -> bytes:
    """What changed since: see `ChangedText.components`; all resources if any changed."""
    entities, texts, removed = text.components(world, since)
    parts: list[Frame] = [b'{"header":', _json_header(header), b',"entities":', orjson.dumps(entities)]
    parts += [b',"components":', *_components(texts), b',"removed":', orjson.dumps(removed)]
    if resource_epoch(world) > since.epoch:
        parts += [b',"resources":', resources_text(world)]
    return b"".join([*parts, b"}"])


def _components(texts: Texts) -> Iterator[Frame]:
    """All groups as one object, in parts: long texts are copied once, when everything is joined."""
    for number, (group, members) in enumerate(texts.items()):
        yield (b"," if number else b"{") + orjson.dumps(group) + b":"
        for place, member in enumerate(members):
            yield b"," if place else b"{"
            yield member
        yield b"}"
    yield b"}" if texts else b"{}"


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
