"""A world from a document: nodes become entities, whole-scene records resources.

The order of the lines and what is not an entity (comments, blank lines, materials) is kept in the resource
`rscene`, so that saving gives the file back.
"""

from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET

from diorama.ecs import Velocity, World
from diorama.formats.rscene.components import RsceneRecord
from diorama.formats.rscene.document import Document, Record, parse
from diorama.formats.rscene.extras import NOTHING, SceneExtras, document_extras, scene_extras
from diorama.formats.rscene.nodes import Node, nodes_of
from diorama.formats.rscene.references import Index, points_nowhere, refers
from diorama.formats.rscene.resources import resources_of
from diorama.geo import WGS84, Ellipsoid, Origin
from diorama.schemas.errors import GeoError, Problem, SceneError, StateError

SKELETON = "rscene"


def world_from_document(document: Document) -> World:
    """Make the entities, components and resources of a document that was found readable."""
    nodes = nodes_of(document)
    notes = document_extras(document)
    world = World(_origin(notes))
    poses = np.array([node.pose for node in nodes], dtype=np.float64).reshape(-1, 10)
    entities = world.insert(
        [node.name for node in nodes],
        asset=[node.asset for node in nodes],
        parents=np.array([node.parent for node in nodes], dtype=np.int64),
        position=poses[:, 0:3],
        orientation=poses[:, 3:7],
        scale=poses[:, 7:10],
        keys=[node.key for node in nodes],
    )
    for entity, node in zip(entities.tolist(), nodes, strict=True):
        record = RsceneRecord("") if node.record is None else RsceneRecord.from_bytes(node.record.raw)
        world.set(entity, record, *node.content.components)
        if node.extras is not NOTHING:
            _apply_notes(world, entity, node)
    for name, value in resources_of(document).items():
        world.set_resource(name, value)
    for name, value in ({} if notes.resources is UNSET else notes.resources).items():
        world.set_resource(name, value)
    world.set_resource(SKELETON, skeleton_of(document, nodes))
    return world


def _origin(notes: SceneExtras) -> Origin | None:
    if notes.origin is UNSET:
        return None
    try:
        ellipsoid = WGS84 if notes.ellipsoid is UNSET else Ellipsoid(*notes.ellipsoid)
        return Origin(*notes.origin, ellipsoid)
    except GeoError as error:
        raise SceneError(Problem(str(error), path="the comment `# diorama`: origin")) from None


def skeleton_of(document: Document, nodes: list[Node]) -> dict[str, Any]:
    """The lines of a document as JSON: text, `{"entity": key}`, or `{"notes": text}` for our own comment.

    An entity is `astray` when its record pointed nowhere to begin with: saving leaves such a record alone.
    """
    keys = {id(node.record): node.key for node in nodes if node.record is not None}
    index: Index | None = None  # costly, and seldom needed
    lines: list[Any] = []
    noted = False
    for line in document.lines:
        if isinstance(line, Record):
            key = keys.get(id(line))
            if key is None:
                lines.append(json_from_line(line.raw))
                continue
            lines.append({"entity": key})
            if refers(line):
                index = index or Index(document.records)
                if points_nowhere(line, index):
                    lines[-1]["astray"] = True
        elif not noted and scene_extras(line) is not None:
            noted = True
            lines.append({"notes": line.decode()})
        else:
            lines.append(json_from_line(line))
    return {"lines": lines, "byte_order_mark": True} if document.marked else {"lines": lines}


def scene_lines(world: World) -> Document:
    """The lines that a world came from and that stand for no entity: header, whole-scene records, overrides."""
    skeleton = world.resource(SKELETON)
    items = skeleton.get("lines") if isinstance(skeleton, dict) else None
    lines = map(line_from_json, items if isinstance(items, list) else [])
    return parse(b"\n".join(line for line in lines if line is not None))


def json_from_line(line: bytes) -> str | dict[str, str]:
    """A line as text; one that is not UTF-8 says so."""
    record = RsceneRecord.from_bytes(line)
    return record.text if record.encoding == "utf-8" else {record.encoding: record.text}


def line_from_json(item: Any) -> bytes | None:
    """The bytes of a line of the skeleton, or None when the item is none."""
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    if isinstance(item, dict) and isinstance(item.get("latin-1"), str):
        return str(item["latin-1"]).encode("latin-1", "replace")
    return None


def _apply_notes(world: World, entity: int, node: Node) -> None:
    if node.extras.velocity:
        world.set(entity, Velocity(*node.extras.velocity))
    for group, value in ({} if node.extras.components is UNSET else node.extras.components).items():
        try:
            if value is not None:
                world.set_group(entity, group, value)
            elif group in world.groups(entity):
                world.remove_group(entity, group)
        except (msgspec.ValidationError, StateError, TypeError) as error:
            line = node.record.line if node.record is not None else None
            raise SceneError(Problem(f"component {group!r}: {error}", path=node.name, line=line)) from None
