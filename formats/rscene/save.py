"""A document from a world: every line as it was, but for the words that say something else now."""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from msgspec import UNSET

from diorama.ecs import Entity, World
from diorama.ecs.components import GROUPS, component_from_json, group_of, json_from_component
from diorama.formats.rscene import derive
from diorama.formats.rscene.build import SKELETON, line_from_json
from diorama.formats.rscene.components import RsceneRecord
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
from diorama.formats.rscene.fresh import fresh_record, store_parent, store_path
from diorama.formats.rscene.nodes import Node, effective, nodes_of, overrides_of
from diorama.formats.rscene.references import Index, owner_of
from diorama.formats.rscene.resources import insert_in_order, resources_of, store_resources
from diorama.formats.rscene.validate import REQUIRED_REFERENCES
from diorama.schemas.errors import Problem, SceneError

RECORD_GROUP = group_of(RsceneRecord)


def document_from_world(world: World) -> Document:
    """The document of a world: untouched records are the bytes they were."""
    remembered = _remembered.get(world)
    if remembered is not None and remembered.still_true(world):
        return remembered.document
    problems = [
        Problem(f"entity {world.name(entity)!r}: expected a finite pose to write")
        for entity in world.entities.tolist()
        if not np.isfinite(world.table.local[world.row(entity)]).all()
    ]
    if problems:
        raise SceneError(problems)
    document, owner = _assemble(world)
    _drop_orphans(document)
    while True:
        _store_all(world, document, owner)
        _note_records(world, document, owner)
        if not _add_missing(world, document, owner):
            break
    _blank_dangling(document, owner)
    store_resources(document, {name: value for name, value in world.resources.items() if name != SKELETON})
    _note_scene(world, document)
    return document


def remember(world: World, document: Document) -> None:
    """Note that a world and a document say the same, so that saving an untouched world costs nothing."""
    _remembered[world] = _Remembered(world, document)


class _Remembered:
    """A document and the state of the world it stands for."""

    def __init__(self, world: World, document: Document) -> None:
        self.document = document
        self.epoch = world.epoch
        self.local = world.table.local[: world.table.high].copy()

    def still_true(self, world: World) -> bool:
        """Whether nothing was made, set or moved since."""
        local = world.table.local[: world.table.high]
        return (
            world.epoch == self.epoch
            and not world.velocities.present[: world.table.high].any()
            and local.tobytes() == self.local.tobytes()
        )


_remembered: WeakKeyDictionary[World, _Remembered] = WeakKeyDictionary()


def _assemble(world: World) -> tuple[Document, dict[int, Entity]]:
    """The lines as they were read, without those of entities that are gone, and whose each record is."""
    skeleton = world.resource(SKELETON)
    items = skeleton.get("lines") if isinstance(skeleton, dict) else None
    lines: list[bytes | Record] = []
    owner: dict[int, Entity] = {}
    for item in items if isinstance(items, list) else ["raisim_engine_scene 2", ""]:
        if isinstance(item, dict) and "entity" in item:
            entity = world.find_key(item["entity"])
            came = world.try_get(entity, RsceneRecord) if entity is not None else None
            if entity is not None and came is not None and came.text:
                record = Record(came.to_bytes())
                owner[id(record)] = entity
                lines.append(record)
        elif isinstance(item, dict) and isinstance(item.get("notes"), str):
            lines.append(item["notes"].encode())
        elif (line := line_from_json(item)) is not None:
            blank = not line.strip(b" \t\r")
            lines.append(line if blank or line.lstrip(b" \t\r")[:1] == b"#" else Record(line))
    return Document(lines, marked=isinstance(skeleton, dict) and bool(skeleton.get("byte_order_mark"))), owner


def _store_all(world: World, document: Document, owner: dict[int, Entity]) -> None:
    """Bring every record up to its entity."""
    nodes = nodes_of(document)
    keys = [node.key for node in nodes]
    overrides = overrides_of(document)
    record_of = {owner[id(record)]: record for record in document.records if id(record) in owner}
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
            store_path(world, entity, record, record_of, document)
        parent = world.parent(entity)
        if (None if parent is None else world.key(parent)) != (
            keys[node.parent] if node.parent >= 0 else None
        ):
            store_parent(world, entity, record, record_of)


def _store_fields(world: World, entity: Entity, node: Node, record: Record) -> None:
    pose = world.table.local[world.row(entity)].tolist()
    if _bits(pose) != _bits(node.pose):
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
            kind = after.kind
            assert kind is not None
            probe = Record(after.raw)
            words = probe.words_of(name)
            overrides[name]["value"] = b",".join(words).decode("utf-8", "surrogateescape")
        else:
            record[name] = after[name]


def _drop_orphans(document: Document) -> None:
    """Leave out parts whose owner is gone; their entities get records of their own."""
    index = Index(document.records)
    for record in document.records:
        if record.kind is not None and record.kind.role == "part" and owner_of(record, index) is None:
            document.lines.remove(record)


def _blank_dangling(document: Document, owner: dict[int, Entity]) -> None:
    """Make references empty that a reader would refuse because what they mean is gone."""
    index = Index(document.records)
    for record in document.records:
        for name in REQUIRED_REFERENCES.get(record.tag, ()) if id(record) in owner else ():
            wanted = record.get(name)
            if wanted and index.node(wanted) is None and index.resource(wanted) is None:
                record[name] = ""


def _add_missing(world: World, document: Document, owner: dict[int, Entity]) -> bool:
    """Make records for the entities that no line stands for or implies; whether there were any."""
    nodes = nodes_of(document)
    there = {node.key for node in nodes}
    keys = [node.key for node in nodes]
    parents = {
        node.key: keys[node.parent] if node.parent >= 0 else None for node in nodes if node.record is None
    }
    record_of = {owner[id(record)]: record for record in document.records if id(record) in owner}
    added = False
    for entity in world.entities.tolist():
        parent = world.parent(entity)
        key = world.key(entity)
        if key in there and parents.get(key, UNSET) in (UNSET, None if parent is None else world.key(parent)):
            continue
        came = world.try_get(entity, RsceneRecord)
        kept = Record(came.to_bytes()) if came is not None and came.text.strip() else None
        usable = kept is not None and kept.kind is not None and kept.kind.role == "node"
        record = kept if kept is not None and usable else fresh_record(world, entity, record_of)
        owner[id(record)] = entity
        record_of[entity] = record
        insert_in_order(document, record)
        store_parent(world, entity, record, record_of)
        added = True
    return added


def _note_records(world: World, document: Document, owner: dict[int, Entity]) -> None:
    """Note beside each record what it cannot hold of its entity."""
    nodes = nodes_of(document, extras=False)
    for node in nodes:
        entity = owner.get(id(node.record))
        if entity is not None and node.record is not None:
            parent = nodes[node.parent].key if node.parent >= 0 else None
            store_node_extras(node.record, _notes(world, entity, node, parent))


def _note_scene(world: World, document: Document) -> None:
    """Note in one comment what no record can hold of the scene and of the entities that are only implied."""
    before = document_extras(document)
    found = resources_of(document)
    resources = {name: value for name, value in world.resources.items() if found.get(name) != value}
    resources.pop(SKELETON, None)
    resources |= dict.fromkeys(found.keys() - world.resources.keys())
    implied = {}
    nodes = nodes_of(document)
    for node in nodes:
        entity = world.find_key(node.key) if node.record is None else None
        if entity is not None:
            plain = Node(record=None, name=node.plain_name, key=node.key)
            notes = _notes(world, entity, plain, UNSET)
            if notes != NOTHING:
                implied[node.key] = notes
    origin = world.origin
    notes_now = SceneExtras(
        origin=UNSET if origin is None else origin.lla,
        resources=resources or UNSET,
        implied=implied or UNSET,
    )
    place = next(
        (
            i
            for i, line in enumerate(document.lines)
            if isinstance(line, bytes) and scene_extras(line) is not None
        ),
        None,
    )
    if notes_now == NO_SCENE_NOTES:
        if place is not None:
            del document.lines[place]
    elif place is None:
        first = next((i for i, line in enumerate(document.lines, 1) if isinstance(line, Record)), 0)
        document.lines.insert(first, line_from_scene_extras(notes_now))
    elif before != notes_now:
        document.lines[place] = line_from_scene_extras(notes_now)


def _notes(world: World, entity: Entity, node: Node, parent: Any) -> NodeExtras:
    """What the world says of an entity and a node does not."""
    pose, said = world.table.local[world.row(entity)].tolist(), node.pose
    above = world.parent(entity)
    above_key = None if above is None else world.key(above)
    groups, known = world.groups(entity), dict(_groups_of(node))
    groups.pop(RECORD_GROUP, None)
    components = {group: value for group, value in groups.items() if known.get(group) != value}
    components |= dict.fromkeys(known.keys() - groups.keys())
    has_velocity = bool(world.velocities.present[world.row(entity)])
    velocity = world.velocities.block[world.row(entity)].tolist() if has_velocity else []

    def part(start: int, stop: int) -> Any:
        same = _bits(pose[start:stop]) == _bits(said[start:stop])
        return UNSET if same else tuple(pose[start:stop])

    return NodeExtras(
        name=UNSET if world.name(entity) == node.name else world.name(entity),
        key=UNSET if world.key(entity) == node.key else world.key(entity),
        parent=UNSET if parent is UNSET or parent == above_key else above_key,
        asset=UNSET if world.asset(entity) == node.asset else world.asset(entity),
        position=part(0, 3),
        orientation=part(3, 7),
        scale=part(7, 10),
        velocity=((*velocity[0:3],), (*velocity[3:6],)) if velocity else UNSET,
        components=components or UNSET,
    )


def _groups_of(node: Node) -> Iterator[tuple[str, Any]]:
    for value in node.components:
        yield group_of(type(value)), json_from_component(value)


def _bits(values: list[float]) -> bytes:
    return np.array(values, dtype=np.float64).tobytes()
