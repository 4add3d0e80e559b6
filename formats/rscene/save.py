"""A document from a world: every line as it was, but for the words that say something else now."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import UNSET

from diorama.ecs import Entity, World
from diorama.ecs.components import GROUPS, component_from_json, group_of, json_from_component
from diorama.formats.rscene import derive
from diorama.formats.rscene.build import SKELETON, line_from_json
from diorama.formats.rscene.components import RsceneRecord, came_from
from diorama.formats.rscene.derive import bits
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.extras import (
    NO_SCENE_NOTES,
    NOTHING,
    NodeExtras,
    SceneExtras,
    document_extras,
    line_from_scene_extras,
    scene_extras,
    store_node_extras,
)
from diorama.formats.rscene.fresh import Records, fresh_record, repoint, store_parent, store_path
from diorama.formats.rscene.moved import document_of_moved
from diorama.formats.rscene.nodes import Node, effective, nodes_of, overrides_of
from diorama.formats.rscene.references import Index, points_nowhere
from diorama.formats.rscene.resources import insert_in_order, resources_of, store_resources
from diorama.schemas.errors import Problem, SceneError

RECORD_GROUP = group_of(RsceneRecord)


def document_from_world(world: World) -> Document:
    """The document of a world: untouched records are the bytes they were."""
    if (moved := document_of_moved(world)) is not None:
        return moved
    problems = [
        Problem(f"entity {world.name(entity)!r}: expected a finite pose to write")
        for entity in world.entities.tolist()
        if not np.isfinite(world.table.local[world.row(entity)]).all()
    ]
    if problems:
        raise SceneError(problems)
    document, owner, astray = _assemble(world)
    _drop_orphans(document, astray)
    while True:
        _store_all(world, document, owner)
        _note_records(world, document, owner)
        if not _add_missing(world, document, owner):
            break
    _blank_dangling(document, owner, astray)
    store_resources(document, {name: value for name, value in world.resources.items() if name != SKELETON})
    _note_scene(world, document)
    return document


def _assemble(world: World) -> tuple[Document, dict[int, Entity], set[int]]:
    """The lines as they were read, without those of entities that are gone; whose each record is; which are astray."""
    skeleton = world.resource(SKELETON)
    items = skeleton.get("lines") if isinstance(skeleton, dict) else None
    lines: list[bytes | Record] = []
    owner: dict[int, Entity] = {}
    astray: set[int] = set()
    for item in items if isinstance(items, list) else ["raisim_engine_scene 2", ""]:
        if isinstance(item, dict) and "entity" in item:
            entity = world.find_key(item["entity"])
            came = came_from(world, entity) if entity is not None else None
            if entity is not None and came is not None and came.text:
                record = Record(came.to_bytes())
                owner[id(record)] = entity
                lines.append(record)
                if item.get("astray"):
                    astray.add(id(record))
        elif isinstance(item, dict) and isinstance(item.get("notes"), str):
            lines.append(item["notes"].encode())
        elif (line := line_from_json(item)) is not None:
            blank = not line.strip(b" \t\r")
            lines.append(line if blank or line.lstrip(b" \t\r")[:1] == b"#" else Record(line))
    marked = isinstance(skeleton, dict) and bool(skeleton.get("byte_order_mark"))
    return Document(lines, marked=marked), owner, astray


def _store_all(world: World, document: Document, owner: dict[int, Entity]) -> None:
    """Bring every record up to its entity."""
    nodes = nodes_of(document)
    keys = [node.key for node in nodes]
    overrides = overrides_of(document)
    records = Records({owner[id(record)]: record for record in document.records if id(record) in owner})
    renamed: dict[str, str] = {}
    for node in nodes:
        entity = owner.get(id(node.record))
        if entity is None or node.record is None:
            continue
        record = node.record
        seen = effective(record, overrides) if overrides else record
        before = Record(seen.raw) if seen is not record else seen
        _store_fields(world, entity, node, seen)
        if seen is not record:
            _store_overridden(record, before, seen, overrides[str(before.get("path"))])
        if world.name(entity) != node.name:
            renamed.update([changed] if (changed := store_path(world, entity, record, records)) else [])
        parent = world.parent(entity)
        if (None if parent is None else world.key(parent)) != (
            keys[node.parent] if node.parent >= 0 else None
        ):
            store_parent(world, entity, record, records)
    repoint(document, renamed)


def _store_fields(world: World, entity: Entity, node: Node, record: Record) -> None:
    pose = world.table.local[world.row(entity)].tolist()
    if bits(pose) != bits(node.pose):
        derive.store_pose(record, pose, node.pose)
    if world.key(entity) != node.key and record.kind is not None and "id" in record.kind.fields:
        record["id"] = world.key(entity)
    if world.asset(entity) != node.asset:
        derive.store_asset(record, world.asset(entity))
    known = dict(_groups_of(node))
    for group, value in world.groups(entity).items():
        if group in GROUPS and group != RECORD_GROUP and known.get(group) != value:
            derive.store_component(record, component_from_json(group, value))


def _store_overridden(record: Record, before: Record, after: Record, overrides: dict[str, Record]) -> None:
    """Write what changed in an overridden record: to the override where there is one, else to the record."""
    for name in after.written():
        value = derive.json_value(after.get(name))
        if name in before and derive.json_value(before.get(name)) == value:
            continue
        if name in overrides:
            words = b",".join(after.words_of(name))
            overrides[name]["value"] = after[name] if isinstance(after[name], str) else words.decode()
        else:
            record[name] = after[name]


def _drop_orphans(document: Document, astray: set[int]) -> None:
    """Leave out parts whose owner is gone; their entities get records of their own."""
    index = Index(document.records)
    document.lines[:] = [
        line
        for line in document.lines
        if not isinstance(line, Record)
        or line.kind is None
        or line.kind.role != "part"
        or id(line) in astray
        or not points_nowhere(line, index)
    ]


def _blank_dangling(document: Document, owner: dict[int, Entity], astray: set[int]) -> None:
    """Make references empty that a reader would refuse because what they meant is gone."""
    index = Index(document.records)
    for record in document.records:
        if id(record) in owner and id(record) not in astray:
            for name in points_nowhere(record, index):
                record[name] = ""


def _add_missing(world: World, document: Document, owner: dict[int, Entity]) -> bool:
    """Make records for the entities that no line stands for or implies; whether there were any."""
    nodes = nodes_of(document)
    there = {node.key for node in nodes}
    keys = [node.key for node in nodes]
    parents = {
        node.key: keys[node.parent] if node.parent >= 0 else None for node in nodes if node.record is None
    }
    records = Records({owner[id(record)]: record for record in document.records if id(record) in owner})
    added: list[Record] = []
    for entity in world.entities.tolist():
        parent = world.parent(entity)
        key = world.key(entity)
        if key in there and parents.get(key, UNSET) in (UNSET, None if parent is None else world.key(parent)):
            continue
        came = came_from(world, entity)
        kept = Record(came.to_bytes()) if came is not None and came.text.strip() else None
        usable = kept is not None and kept.kind is not None and kept.kind.role == "node"
        record = kept if kept is not None and usable else fresh_record(world, entity, records)
        owner[id(record)] = entity
        records.add(entity, record)
        store_parent(world, entity, record, records)
        added.append(record)
    insert_in_order(document, added)
    return bool(added)


def _note_records(world: World, document: Document, owner: dict[int, Entity]) -> None:
    """Note beside each record what it cannot hold of its entity; notes that still hold are left as they are."""
    noted, plain = nodes_of(document), nodes_of(document, extras=False)
    for node, bare in zip(noted, plain, strict=False):
        entity = owner.get(id(node.record))
        if entity is None or node.record is None:
            continue
        if _notes(world, entity, node, noted[node.parent].key if node.parent >= 0 else None) != NOTHING:
            parent = plain[bare.parent].key if bare.parent >= 0 else None
            store_node_extras(node.record, _notes(world, entity, bare, parent))


def _note_scene(world: World, document: Document) -> None:
    """Note in one comment what no record can hold of the scene and of the entities that are only implied."""
    places = [
        place
        for place, line in enumerate(document.lines)
        if isinstance(line, bytes) and scene_extras(line) is not None
    ]
    if _scene_notes(world, document, document_extras(document)) == NO_SCENE_NOTES and (
        document_extras(document).origin is not UNSET or world.origin is None
    ):
        return
    for place in places[:1]:
        document.lines[place] = line_from_scene_extras(NO_SCENE_NOTES)
    notes = _scene_notes(world, document, NO_SCENE_NOTES)
    if notes == NO_SCENE_NOTES:
        if len(places) == 1:  # an empty note keeps one further down from being taken for the first
            del document.lines[places[0]]
    elif places:
        document.lines[places[0]] = line_from_scene_extras(notes)
    else:
        first = next((i for i, line in enumerate(document.lines, 1) if isinstance(line, Record)), 0)
        document.lines.insert(first, line_from_scene_extras(notes))


def _scene_notes(world: World, document: Document, said: SceneExtras) -> SceneExtras:
    """What the world says of the scene and neither the records nor the notes `said` do."""
    found = resources_of(document)
    for name, value in ({} if said.resources is UNSET else said.resources).items():
        found[name] = value
    found = {name: value for name, value in found.items() if value is not None}
    wanted = {name: value for name, value in world.resources.items() if name != SKELETON}
    resources = {name: value for name, value in wanted.items() if found.get(name) != value}
    resources |= dict.fromkeys(found.keys() - wanted.keys())
    implied = {}
    for node in nodes_of(document):
        entity = world.find_key(node.key) if node.record is None else None
        if entity is not None and (notes := _notes(world, entity, node, UNSET)) != NOTHING:
            implied[node.key] = notes
    origin = UNSET if world.origin is None else world.origin.lla
    return SceneExtras(
        origin=UNSET if origin == said.origin else origin,
        resources=resources or UNSET,
        implied=implied or UNSET,
    )


def _notes(world: World, entity: Entity, node: Node, parent: Any) -> NodeExtras:
    """What the world says of an entity and a node does not."""
    pose, said = world.table.local[world.row(entity)].tolist(), node.pose
    above = world.parent(entity)
    above_key = None if above is None else world.key(above)
    groups, known = world.groups(entity), dict(_groups_of(node))
    groups.pop(RECORD_GROUP, None)
    components = {group: value for group, value in groups.items() if known.get(group) != value}
    components |= dict.fromkeys(known.keys() - groups.keys())
    velocity = None
    if world.velocities.present[world.row(entity)]:
        row = world.velocities.block[world.row(entity)].tolist()
        velocity = ((row[0], row[1], row[2]), (row[3], row[4], row[5]))

    def part(start: int, stop: int) -> Any:
        same = bits(pose[start:stop]) == bits(said[start:stop])
        return UNSET if same else tuple(pose[start:stop])

    return NodeExtras(
        name=UNSET if world.name(entity) == node.name else world.name(entity),
        key=UNSET if world.key(entity) == node.key else world.key(entity),
        parent=UNSET if parent is UNSET or parent == above_key else above_key,
        asset=UNSET if world.asset(entity) == node.asset else world.asset(entity),
        position=part(0, 3),
        orientation=part(3, 7),
        scale=part(7, 10),
        velocity=UNSET if velocity is None or velocity == node.extras.velocity else velocity,
        components=components or UNSET,
    )


def _groups_of(node: Node) -> Iterator[tuple[str, Any]]:
    """The components that a node gives its entity, as JSON, with what our notes say of them."""
    noted = {} if node.extras.components is UNSET else node.extras.components
    for value in node.components:
        if group_of(type(value)) not in noted:
            yield group_of(type(value)), json_from_component(value)
    for group, value in noted.items():
        if value is not None:
            yield group, json_from_component(component_from_json(group, value)) if group in GROUPS else value
