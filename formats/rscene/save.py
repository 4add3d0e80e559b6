"""A document from a world: every line as it was, but for the words that say something else now."""

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType

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
    Vector,
    document_extras,
    line_from_scene_extras,
    scene_extras,
    store_node_extras,
)
from diorama.formats.rscene.fresh import Records, fresh_record, repoint, store_parent, store_path
from diorama.formats.rscene.moved import document_of_moved
from diorama.formats.rscene.nodes import Node, effective, nodes_of, overrides_of
from diorama.formats.rscene.references import Index, path_of, points_nowhere
from diorama.formats.rscene.resources import insert_in_order, resources_of, store_resources
from diorama.geo import WGS84
from diorama.schemas.errors import Problem, SceneError

RECORD_GROUP = group_of(RsceneRecord)


class _Draft:
    """A world and its document in the making: the lines, whose each record is, and which were astray from the start."""

    def __init__(self, world: World, document: Document, owner: dict[int, Entity], astray: set[int]) -> None:
        self.world = world
        self.document = document
        self.owner = owner  # by id(record)
        self.astray = astray
        self._groups: dict[Entity, dict[str, Any]] = {}
        self._lines: list[bytes | Record] = []
        self._raws: list[bytes] = []
        self._nodes: list[Node] = []

    def groups(self, entity: Entity) -> Mapping[str, Any]:
        """The components of an entity as JSON, by group, but for its record."""
        found = self._groups.get(entity)
        if found is None:
            found = self._groups[entity] = self.world.groups(entity)
            found.pop(RECORD_GROUP, None)
        return found

    def nodes(self) -> list[Node]:
        """The nodes of the document as it is now; made anew only when a line is another than the last time."""
        lines = self.document.lines
        raws = [line.raw if isinstance(line, Record) else line for line in lines]
        if not (_same_objects(lines, self._lines) and _same_objects(raws, self._raws)):
            self._lines, self._raws, self._nodes = list(lines), raws, nodes_of(self.document)
        return self._nodes

    def plain_nodes(self) -> list[Node]:
        """The nodes as a reader sees them that knows nothing of our notes."""
        if document_extras(self.document) == NO_SCENE_NOTES and all(
            node.extras is NOTHING for node in self.nodes()
        ):
            return self.nodes()
        return nodes_of(self.document, extras=False)

    def records(self) -> Records:
        """The record of each entity that has one."""
        owner = self.owner
        return Records({owner[id(record)]: record for record in self.document.records if id(record) in owner})


def _same_objects(left: Sequence[object], right: Sequence[object]) -> bool:
    return len(left) == len(right) and all(map(is_, left, right))


def document_from_world(world: World) -> Document:
    """The document of a world: untouched records are the bytes they were."""
    if (moved := document_of_moved(world)) is not None:
        return moved
    entities = world.entities
    finite = np.isfinite(world.table.local[world.rows(entities)]).all(axis=1)
    if not finite.all():
        raise SceneError(
            Problem(f"entity {world.name(entity)!r}: expected a finite pose to write")
            for entity in entities[~finite].tolist()
        )
    draft = _assemble(world)
    _drop_orphans(draft)
    while True:
        _store_all(draft)
        _note_records(draft)
        if not _add_missing(draft):
            break
    _blank_dangling(draft)
    store_resources(
        draft.document, {name: value for name, value in world.resources.items() if name != SKELETON}
    )
    _note_scene(draft)
    return draft.document


def _assemble(world: World) -> _Draft:
    """The lines as they were read, without those of entities that are gone."""
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
    return _Draft(world, Document(lines, marked=marked), owner, astray)


def _store_all(draft: _Draft) -> None:
    """Bring every record up to its entity."""
    world, nodes = draft.world, draft.nodes()
    keys = [node.key for node in nodes]
    overrides = overrides_of(draft.document)
    records = draft.records()
    renamed: dict[str, str] = {}
    for node in nodes:
        entity = draft.owner.get(id(node.record))
        if entity is None or node.record is None:
            continue
        record = node.record
        seen = effective(record, overrides) if overrides else record
        before = Record(seen.raw) if seen is not record else seen
        _store_fields(draft, entity, node, seen)
        if seen is not record:
            _store_overridden(record, before, seen, overrides[path_of(record)])
        if world.name(entity) != node.name:
            renamed.update([changed] if (changed := store_path(world, entity, record, records)) else [])
        parent = world.parent(entity)
        if (None if parent is None else world.key(parent)) != (
            keys[node.parent] if node.parent >= 0 else None
        ):
            store_parent(world, entity, record, records)
    repoint(draft.document, renamed)


def _store_fields(draft: _Draft, entity: Entity, node: Node, record: Record) -> None:
    world = draft.world
    pose = world.table.local[world.row(entity)].tolist()
    if bits(pose) != bits(node.pose):
        derive.store_pose(record, pose, node.pose)
    if world.key(entity) != node.key and record.kind is not None and "id" in record.kind.fields:
        record["id"] = world.key(entity)
    if world.asset(entity) != node.asset:
        derive.store_asset(record, world.asset(entity))
    known = _groups_of(node)
    for group, value in draft.groups(entity).items():
        if group in GROUPS and known.get(group) != value:
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


def _drop_orphans(draft: _Draft) -> None:
    """Leave out parts whose owner is gone; their entities get records of their own."""
    index = Index(draft.document.records)
    draft.document.lines[:] = [
        line
        for line in draft.document.lines
        if not isinstance(line, Record)
        or line.kind is None
        or line.kind.role != "part"
        or id(line) in draft.astray
        or not points_nowhere(line, index)
    ]


def _blank_dangling(draft: _Draft) -> None:
    """Make references empty that a reader would refuse because what they meant is gone."""
    index = Index(draft.document.records)
    for record in draft.document.records:
        if id(record) in draft.owner and id(record) not in draft.astray:
            for name in points_nowhere(record, index):
                record[name] = ""


def _add_missing(draft: _Draft) -> bool:
    """Make records for the entities that no line stands for or implies; whether there were any."""
    world, nodes = draft.world, draft.nodes()
    there = {node.key for node in nodes}
    keys = [node.key for node in nodes]
    parents = {
        node.key: keys[node.parent] if node.parent >= 0 else None for node in nodes if node.record is None
    }
    records = draft.records()
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
        draft.owner[id(record)] = entity
        records.add(entity, record)
        store_parent(world, entity, record, records)
        added.append(record)
    insert_in_order(draft.document, added)
    return bool(added)


def _note_records(draft: _Draft) -> None:
    """Note beside each record what it cannot hold of its entity; notes that still hold are left as they are."""
    noted = draft.nodes()
    short = [
        (place, entity)
        for place, node in enumerate(noted)
        if (entity := draft.owner.get(id(node.record))) is not None
        and _notes(draft, entity, node, noted[node.parent].key if node.parent >= 0 else None) != NOTHING
    ]
    plain = draft.plain_nodes() if short else []
    for place, entity in short:
        bare = plain[place]
        assert bare.record is not None  # the nodes of records come first, in the order of the file
        parent = plain[bare.parent].key if bare.parent >= 0 else None
        store_node_extras(bare.record, _notes(draft, entity, bare, parent))


def _note_scene(draft: _Draft) -> None:
    """Note in one comment what no record can hold of the scene and of the entities that are only implied."""
    world, document = draft.world, draft.document
    places = [
        place
        for place, line in enumerate(document.lines)
        if isinstance(line, bytes) and scene_extras(line) is not None
    ]
    said = document_extras(document)
    if (said.origin, said.ellipsoid) == _place(world) and _scene_notes(draft, said) == NO_SCENE_NOTES:
        return
    for place in places[:1]:
        document.lines[place] = line_from_scene_extras(NO_SCENE_NOTES)
    notes = _scene_notes(draft, NO_SCENE_NOTES)
    if notes == NO_SCENE_NOTES:
        if len(places) == 1:  # an empty note keeps one further down from being taken for the first
            del document.lines[places[0]]
    elif places:
        document.lines[places[0]] = line_from_scene_extras(notes)
    else:
        first = next((i for i, line in enumerate(document.lines, 1) if isinstance(line, Record)), 0)
        document.lines.insert(first, line_from_scene_extras(notes))


def _scene_notes(draft: _Draft, said: SceneExtras) -> SceneExtras:
    """What the world says of the scene and neither the records nor the notes `said` do."""
    world = draft.world
    found = resources_of(draft.document)
    for name, value in ({} if said.resources is UNSET else said.resources).items():
        found[name] = value
    found = {name: value for name, value in found.items() if value is not None}
    wanted = {name: value for name, value in world.resources.items() if name != SKELETON}
    resources = {name: value for name, value in wanted.items() if found.get(name) != value}
    resources |= dict.fromkeys(found.keys() - wanted.keys())
    implied = {}
    for node in draft.nodes():
        entity = world.find_key(node.key) if node.record is None else None
        if entity is not None and (notes := _notes(draft, entity, node, UNSET)) != NOTHING:
            implied[node.key] = notes
    origin, ellipsoid = _place(world)
    return SceneExtras(
        origin=UNSET if origin == said.origin else origin,
        ellipsoid=UNSET if ellipsoid == said.ellipsoid else ellipsoid,
        resources=resources or UNSET,
        implied=implied or UNSET,
    )


def _place(world: World) -> tuple[Vector | UnsetType, tuple[float, float] | UnsetType]:
    """The origin of a world and its ellipsoid as notes have them."""
    if world.origin is None:
        return UNSET, UNSET
    ellipsoid = world.origin.ellipsoid
    if ellipsoid == WGS84:
        return world.origin.lla, UNSET
    return world.origin.lla, (ellipsoid.equatorial_radius, ellipsoid.flattening)


def _notes(draft: _Draft, entity: Entity, node: Node, parent: Any) -> NodeExtras:
    """What the world says of an entity and a node does not."""
    world = draft.world
    pose, said = world.table.local[world.row(entity)].tolist(), node.pose
    above = world.parent(entity)
    above_key = None if above is None else world.key(above)
    groups, known = draft.groups(entity), _groups_of(node)
    components = {group: value for group, value in groups.items() if known.get(group) != value}
    components |= dict.fromkeys(known.keys() - groups.keys())
    velocity: Any = None
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
        velocity=UNSET if velocity == (node.extras.velocity or None) else velocity,
        components=components or UNSET,
    )


def _groups_of(node: Node) -> Mapping[str, Any]:
    """The components that a node gives its entity, as JSON, with what our notes say of them."""
    noted = node.extras.components
    if noted is UNSET:
        return node.content.groups
    typed = {
        group: json_from_component(component_from_json(group, value)) if group in GROUPS else value
        for group, value in noted.items()
        if value is not None
    }
    return {group: value for group, value in node.content.groups.items() if group not in noted} | typed
