"""New records for entities that have none, and the two fields that place a record in the tree."""

from collections.abc import Mapping

from diorama.ecs import Entity, Sensor, World
from diorama.formats.rscene import tokens
from diorama.formats.rscene.components import RsceneRecord
from diorama.formats.rscene.derive import IDENTITY
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.references import id_of, path_of

# Fields that mean a node by its path (or its id).
POINTERS = (
    "nodePath",
    "compound",
    "terrain",
    "articulated",
    "bodyA",
    "bodyB",
    "parentObject",
    "parentGroupId",
    "parentId",
    "cloneSource",
    "terrainBinding",
)
_TEMPLATES = {
    "group": b"group %b id=%b parentId=-",
    "mesh": b"object %b mesh 0 0 0 1 0 0 0 1 1 1 0.5 1 0 default engine_default true true false - visual_only false"
    b" 1 18446744073709551615 id=%b parentGroupId=-",
    "empty": b"object %b box 0 0 0 1 0 0 0 1 1 1 0.5 1 0 default engine_default true false false - visual_only false"
    b" 1 18446744073709551615 id=%b parentGroupId=-",
    "camera": b"camera %b 0 0 0 1 0 0 0 60 0.1 1000 640 480 rgb true id=%b parentGroupId=-",
    "sensor": b"sensor %b - - 0 0 0 1 0 0 0 id=%b parentGroupId=-",
}


def fresh_record(world: World, entity: Entity, record_of: Mapping[Entity, Record]) -> Record:
    """A record for an entity: a sensor, a mesh, a folder, or an unseen box that only carries a pose."""
    sensor = world.try_get(entity, Sensor)
    if sensor is not None:
        shape = "camera" if sensor.type == "camera" else "sensor"
    elif world.asset(entity):
        shape = "mesh"
    else:
        shape = "group" if _is_folder(world, entity, record_of) else "empty"
    path = tokens.word_from_text(_free_path(world, entity, record_of))
    return Record(_TEMPLATES[shape] % (path, tokens.word_from_text(world.key(entity))))


def store_path(
    world: World, entity: Entity, record: Record, record_of: Mapping[Entity, Record], document: Document
) -> None:
    """Give a node the path of its entity's name, and all that means it by path as well."""
    if record.kind is None or record.kind.role != "node":
        return
    before, after = path_of(record), _free_path(world, entity, record_of)
    if before == after or id_of(record) == "":
        return
    if "id" not in record:  # the id that goes with the old path must stay
        record["id"] = id_of(record)
    record["path"] = after
    for other in document.records:
        for name in POINTERS:
            if name in other and other.get(name) == before:
                other[name] = after


def store_parent(world: World, entity: Entity, record: Record, record_of: Mapping[Entity, Record]) -> None:
    """Point a record to the parent of its entity, as far as the format can."""
    kind = record.kind
    assert kind is not None
    parent = world.parent(entity)
    above = None if parent is None else record_of.get(parent)
    if kind.role == "part":
        if above is not None and above.tag == kind.owner:
            record[next(iter(kind.layouts[kind.longest]))] = path_of(above)
        return
    if record.tag == "sensor":
        body, link = _body(world, parent, record_of)
        record["parentObject"] = body
        if link or "parentLink" in record:
            record["parentLink"] = link
        if body:
            return
    name = "parentId" if record.tag == "group" else "parentGroupId"
    if name in kind.fields and (above is not None or name in record):
        record[name] = id_of(above) if above is not None else ""


def _body(world: World, parent: Entity | None, record_of: Mapping[Entity, Record]) -> tuple[str, str]:
    """The id of the body and the link that a sensor below `parent` is attached to."""
    if parent is None:
        return "", ""
    above = record_of.get(parent)
    if above is not None:
        return ("", "") if above.tag == "group" else (id_of(above), "")
    owner = world.parent(parent)
    came = world.try_get(parent, RsceneRecord)
    if came is None or owner is None or owner not in record_of or record_of[owner].tag == "group":
        return "", ""
    return id_of(record_of[owner]), world.key(parent).removeprefix(f"{world.key(owner)}/")


def _is_folder(world: World, entity: Entity, record_of: Mapping[Entity, Record]) -> bool:
    """Whether an entity and all above it have no pose of their own."""
    if world.table.local[world.row(entity)].tolist() != IDENTITY:
        return False
    parent = world.parent(entity)
    if parent is None:
        return True
    above = record_of.get(parent)
    return above.tag == "group" if above is not None else _is_folder(world, parent, record_of)


def _free_path(world: World, entity: Entity, record_of: Mapping[Entity, Record]) -> str:
    name = world.name(entity)
    if name.startswith("/"):
        path = name
    else:
        parent = world.parent(entity)
        above = record_of.get(parent) if parent is not None else None
        if above is not None:
            folder = path_of(above)
        else:
            folder = world.name(parent) if parent is not None and world.name(parent)[:1] == "/" else "/World"
        path = f"{folder}/{name.rpartition('/')[2] or 'node'}"
    taken = {path_of(record) for other, record in record_of.items() if other != entity}
    free, count = path, 2
    while free in taken:
        free = f"{path}#{count}"
        count += 1
    return free
