"""New records for entities that have none, and the two fields that place a record in the tree."""

from collections.abc import Mapping

from diorama.ecs import Entity, Sensor, World
from diorama.formats.rscene import tokens
from diorama.formats.rscene.components import came_from
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


class Records:
    """Whose record is whose, and which paths are taken."""

    def __init__(self, of: dict[Entity, Record]) -> None:
        self.of = of
        self._owner = {path_of(record): entity for entity, record in of.items() if _has_path(record)}
        self._last: dict[str, int] = {}  # path -> the last number that was given to one of it

    def add(self, entity: Entity, record: Record) -> None:
        """Note a new record."""
        self.of[entity] = record
        self._owner.setdefault(path_of(record), entity)

    def move(self, entity: Entity, before: str, after: str) -> None:
        """Note that a record has another path."""
        if self._owner.get(before) == entity:
            del self._owner[before]
        self._owner[after] = entity

    def free(self, path: str, entity: Entity) -> str:
        """The path, or the path with the first number after it that nobody else has."""
        # Who has a record may have one of the lower numbers already; the others are spared the search.
        free, number = path, 1 if entity in self.of else self._last.get(path, 1)
        while self._owner.get(free, entity) != entity:
            number += 1
            free = f"{path}#{number}"
        self._last[path] = number
        return free


def _has_path(record: Record) -> bool:
    return record.kind is not None and record.kind.role == "node"


def fresh_record(world: World, entity: Entity, records: Records) -> Record:
    """A record for an entity: a sensor, a mesh, a folder, or an unseen box that only carries a pose."""
    sensor = world.try_get(entity, Sensor)
    if sensor is not None:
        shape = "camera" if sensor.type == "camera" else "sensor"
    elif world.asset(entity):
        shape = "mesh"
    else:
        shape = "group" if _is_folder(world, entity, records) else "empty"
    path = tokens.word_from_text(_free_path(world, entity, records))
    return Record(_TEMPLATES[shape] % (path, tokens.word_from_text(world.key(entity))))


def store_path(world: World, entity: Entity, record: Record, records: Records) -> tuple[str, str] | None:
    """Give a node the path of its entity's name; the path it had and the one it has, when they differ."""
    if record.kind is None or record.kind.role != "node" or not record.has_room("path"):
        return None
    before, after = path_of(record), _free_path(world, entity, records)
    if before == after:
        return None
    if "id" not in record:  # the id that goes with the old path must stay
        record["id"] = id_of(record)
    record["path"] = after
    records.move(entity, before, after)
    return before, after


def repoint(document: Document, renamed: Mapping[str, str]) -> None:
    """Let everything that means a node by its old path mean it by its new one."""
    for record in document.records if renamed else ():
        for name in POINTERS:
            if after := renamed.get(record.get_written(name) or ""):
                record[name] = after


def store_parent(world: World, entity: Entity, record: Record, records: Records) -> None:
    """Point a record to the parent of its entity, as far as the format can."""
    kind = record.kind
    assert kind is not None
    parent = world.parent(entity)
    above = None if parent is None else records.of.get(parent)
    if kind.role == "part":
        owner = next(iter(kind.layouts[kind.longest]))
        if above is not None and above.tag == kind.owner and record.has_room(owner):
            record[owner] = path_of(above)
        return
    if record.has_room("parentObject"):
        body, link = _body(world, parent, records)
        record["parentObject"] = body
        if link or "parentLink" in record:
            record["parentLink"] = link
        if body:
            return
    name = "parentId" if record.tag == "group" else "parentGroupId"
    if name in kind.fields and (above is not None or name in record):
        record[name] = id_of(above) if above is not None else ""


def _body(world: World, parent: Entity | None, records: Records) -> tuple[str, str]:
    """The id of the body and the link that a sensor below `parent` is attached to."""
    if parent is None:
        return "", ""
    above = records.of.get(parent)
    if above is not None:
        return ("", "") if above.tag == "group" else (id_of(above), "")
    owner = world.parent(parent)
    came = came_from(world, parent)
    if came is None or owner is None or owner not in records.of or records.of[owner].tag == "group":
        return "", ""
    return id_of(records.of[owner]), world.key(parent).removeprefix(f"{world.key(owner)}/")


def _is_folder(world: World, entity: Entity, records: Records) -> bool:
    """Whether an entity and all above it have no pose of their own."""
    above: Entity | None = entity
    while above is not None and above not in records.of:
        if world.table.local[world.row(above)].tolist() != IDENTITY:
            return False
        above = world.parent(above)
    return above is None or records.of[above].tag == "group"


def _free_path(world: World, entity: Entity, records: Records) -> str:
    name = world.name(entity)
    if name.startswith("/"):
        path = name
    else:
        parent = world.parent(entity)
        above = records.of.get(parent) if parent is not None else None
        if above is not None:
            folder = path_of(above)
        else:
            folder = world.name(parent) if parent is not None and world.name(parent)[:1] == "/" else "/World"
        path = f"{folder}/{name.rpartition('/')[2] or 'node'}"
    return records.free(path, entity)
