"""The tree of a document: one node for each record that is a thing, and for the folders and links they imply.

A node hangs under the parent it names by id or path. A parent that is a folder has no pose, so its children
stand in the world frame; a parent that is a thing hands its pose down, unless `scene_graph
inheritedTransforms=false`. A node that names no parent belongs to the folder of its path.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec import UNSET

from diorama.ecs.components import group_of, json_from_component
from diorama.formats.rscene import derive, numbers, tokens, values
from diorama.formats.rscene.document import Document, Record
from diorama.formats.rscene.extras import NOTHING, NodeExtras, document_extras, node_extras
from diorama.formats.rscene.references import Index, id_of, owner_of, path_of
from diorama.formats.rscene.table import Field


@dataclass(frozen=True)
class Content:
    """What a record gives its entity apart from name and place; shared by records that say the same."""

    asset: str = ""
    components: tuple[object, ...] = ()

    @cached_property
    def groups(self) -> Mapping[str, Any]:
        """The components as JSON."""
        return {group_of(type(value)): json_from_component(value) for value in self.components}


EMPTY = Content()
# What a node is and where it hangs; no override changes that.
IDENTITY_FIELDS = ("path", "id", "parentGroupId", "parentId", "parentObject", "parentLink")


@dataclass(slots=True, kw_only=True)
class Node:
    """An entity in the making; `record` is None when it is only implied, `parent` an index or -1."""

    record: Record | None
    name: str
    key: str
    pose: list[float] = field(default_factory=lambda: list(derive.IDENTITY))
    asset: str = ""
    content: Content = EMPTY
    parent: int = -1
    extras: NodeExtras = NOTHING

    def note(self, extras: NodeExtras) -> None:
        """Let our notes overrule what the record says about the pose."""
        self.extras = extras
        parts = (extras.position, 0, 3), (extras.orientation, 3, 7), (extras.scale, 7, 10)
        for part, start, stop in parts if extras is not NOTHING else ():
            if part is not UNSET:
                self.pose[start:stop] = part


def nodes_of(document: Document, *, extras: bool = True) -> list[Node]:
    """Every node of a document in the order of the file, then those implied.

    `extras` are our own notes on what records cannot hold; without them the nodes are what any reader sees.
    """
    return _Tree(document, extras).nodes


def effective(record: Record, overrides: Mapping[str, Mapping[str, Record]]) -> Record:
    """A record with the prefab overrides of its path applied; itself where there are none."""
    mine = overrides.get(path_of(record))
    kind = record.kind
    if not mine or kind is None or kind.role != "node":
        return record
    changed = Record(record.raw, record.line)
    for name, override in mine.items():
        known = kind.fields.get(name)
        if known is None or name in IDENTITY_FIELDS:
            continue
        try:
            changed[name] = override_value(known, override.get("value"))
        except ValueError:
            continue  # an override that does not fit changes nothing
    return changed


def override_value(known: Field, text: str) -> Any:
    """The value of a field that an override gives as text; ValueError when the field cannot hold it."""
    if known.count > 1:
        return [numbers.float_from_text(part.encode()) for part in text.split(",")]
    is_text = known.type in ("str", "path", "enum")
    return values.decode(known, tokens.word_from_text(text) if is_text else text.encode())


def overrides_of(document: Document) -> dict[str, dict[str, Record]]:
    """The `prefab_override` that counts for each path and property."""
    found: dict[str, dict[str, Record]] = {}
    for record in document.of("prefab_override"):
        found.setdefault(record.get("nodePath"), {})[record.get("property")] = record
    return found


def _noted(record: Record) -> NodeExtras:
    try:
        return node_extras(record)
    except ValueError:
        return NOTHING


class _Distinct:
    """Texts told apart: a second one of the same gets `#2` behind it, a third `#3`."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}  # text -> node
        self._last: dict[str, int] = {}  # text -> the last number that was given to one of it

    def add(self, text: str, place: int) -> str:
        """The text, or the text with the first free number after it."""
        free, number = text, self._last.get(text, 1)
        while free in self.places:
            number += 1
            free = f"{text}#{number}"
        self._last[text] = number
        self.places[free] = place
        return free


class _Tree:
    def __init__(self, document: Document, use_extras: bool) -> None:
        self.nodes: list[Node] = []
        self.records = [record for record in document.records if record.kind is not None]
        self.index = Index(self.records)
        self.place: dict[int, int] = {}  # id(record) -> node
        self.folders: dict[str, int] = {}  # path -> node of an implied folder
        self.links: dict[tuple[int, str], int] = {}
        self.names = _Distinct()
        self.keys = _Distinct()
        self.counts: dict[tuple[str, str], int] = {}
        self.contents: dict[tuple[bytes | None, ...], Content] = {}
        graph = document.last("scene_graph")
        self.inherit = graph is None or bool(graph.get("inheritedTransforms"))
        self.extras = use_extras
        implied = document_extras(document).implied if use_extras else UNSET
        self.implied = {} if implied is UNSET else implied
        overrides = overrides_of(document)
        for record in self.records:
            if record.kind is not None and record.kind.role in ("node", "part"):
                self._add(record, effective(record, overrides) if overrides else record)
        # Parents that our notes name may be implied by other records: those come first.
        count = len(self.nodes)
        noted = [node.extras.parent is not UNSET for node in self.nodes]
        for place in sorted(range(count), key=noted.__getitem__):
            self.nodes[place].parent = self._parent(place)
        self._break_circles()

    def _add(self, record: Record, seen: Record) -> None:
        noted = _noted(record) if self.extras else NOTHING
        name, key = self._identity(record)
        content = self._content(seen)
        node = Node(
            record=record,
            name=self.names.add(noted.name or name, len(self.nodes)),
            key=self.keys.add(noted.key or key, len(self.nodes)),
            pose=derive.pose_of(seen),
            asset=content.asset if noted.asset is UNSET else noted.asset,
            content=content,
        )
        node.note(noted)
        self.place[id(record)] = len(self.nodes)
        self.nodes.append(node)

    def _content(self, record: Record) -> Content:
        like = derive.likeness(record)
        found = self.contents.get(like) if like is not None else None
        if found is None:
            found = Content(
                derive.asset_of(record, self.index.resources), tuple(derive.components_of(record))
            )
            if like is not None:
                self.contents[like] = found
        return found

    def _identity(self, record: Record) -> tuple[str, str]:
        path = derive.plain(path_of(record))
        assert record.kind is not None
        if record.kind.role == "node":
            return path or record.tag, derive.plain(id_of(record))
        what = {
            "compound_child": "child",
            "terrain_splat_layer": "splat",
            "terrain_foliage_layer": "foliage",
            "articulated_ik": "ik",
        }[record.tag]
        count = self.counts[path, what] = self.counts.get((path, what), -1) + 1
        name = f"{path}/{what}_{count}"
        return name, (derive.plain(record.get("id")) if "id" in record else "") or name

    def _parent(self, place: int) -> int:
        node = self.nodes[place]
        record = node.record
        assert record is not None
        assert record.kind is not None
        if node.extras.parent is not UNSET:
            return self._keyed(node.extras.parent)
        if record.kind.role == "part":
            owner = owner_of(record, self.index)
            if owner is None:
                return self._folder(posixpath.dirname(path_of(record)))
            # Targets are given in the world frame, not in that of the robot that reaches for them.
            return self._folder_of(owner) if record.tag == "articulated_ik" else self.place[id(owner)]
        body = self.index.node(record.get("parentObject")) if record.tag == "sensor" else None
        if body is not None and body is not record:
            return self._link(self.place[id(body)], record.get("parentLink"))
        named = self._named_parent(record)
        if named is None or named is record:
            return self._folder(posixpath.dirname(path_of(record)))
        if named.tag == "group" or (self.inherit and record.tag != "group"):
            return self.place[id(named)]
        return self._folder_of(named)

    def _named_parent(self, record: Record) -> Record | None:
        name = "parentId" if record.tag == "group" else "parentGroupId"
        assert record.kind is not None
        wanted = record.get(name) if name in record.kind.fields else ""
        return self.index.node(wanted) if wanted else None

    def _folder_of(self, record: Record) -> int:
        """The nearest folder above a record that is not one itself."""
        seen = {id(record)}
        above = self._named_parent(record)
        while above is not None and above.tag != "group" and id(above) not in seen:
            seen.add(id(above))
            record = above
            above = self._named_parent(record)
        if above is not None and above.tag == "group":
            return self.place[id(above)]
        return self._folder(posixpath.dirname(path_of(record)))

    def _folder(self, path: str) -> int:
        """The folder of a path, made when no record is one; the path of a thing is passed over."""
        missing: list[str] = []
        found = -1
        while path.strip("/") and found < 0:
            record = self.index.path(path)
            if record is None:
                missing.append(path)
                found = self.folders.get(path, -1)
            elif record.tag == "group":
                found = self.place[id(record)]
            path = posixpath.dirname(path)
        for path in reversed(missing):
            if path not in self.folders:
                shown = derive.plain(path)
                self.folders[path] = self._imply(shown, f"folder_{shown}", found)
            found = self.folders[path]
        return found

    def _link(self, body: int, link: str) -> int:
        """The link of an articulated system, or the body itself."""
        if not link:
            return body
        if (body, link) not in self.links:
            owner, shown = self.nodes[body], derive.plain(link)
            self.links[body, link] = self._imply(f"{owner.name}/{shown}", f"{owner.key}/{shown}", body)
        return self.links[body, link]

    def _imply(self, name: str, key: str, parent: int) -> int:
        key = self.keys.add(key, len(self.nodes))
        noted = self.implied.get(key, NOTHING)
        name = name if noted.name is UNSET else noted.name
        node = Node(record=None, name=self.names.add(name, len(self.nodes)), key=key, parent=parent)
        node.note(noted)
        if noted.asset is not UNSET:
            node.asset = noted.asset
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _keyed(self, key: str | None) -> int:
        """The node of a key that our notes name; a folder that nothing else implies any more is made again."""
        if key is None:
            return -1
        found = self.keys.places.get(key)
        if found is not None:
            return found
        return self._folder(key.removeprefix("folder_")) if key.startswith("folder_/") else -1

    def _break_circles(self) -> None:
        """Cut a node loose whose parents lead back to it; strict reading has refused such a file before."""
        settled: set[int] = set()
        for start in range(len(self.nodes)):
            trail: list[int] = []
            on_trail: set[int] = set()
            place = start
            while place >= 0 and place not in settled:
                if place in on_trail:
                    self.nodes[place].parent = -1
                    break
                trail.append(place)
                on_trail.add(place)
                place = self.nodes[place].parent
            settled.update(trail)
