"""The world: entities with names, parents, poses and components. It stores; loading, stepping and publishing are
functions of a world. A world belongs to one thread.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NoReturn, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import check
from diorama.ecs.components import (
    GROUPS,
    RESERVED,
    Effector,
    Groups,
    Transform,
    Velocity,
    component_from_json,
    json_from_components,
)
from diorama.ecs.forest import Forest
from diorama.ecs.names import Names
from diorama.ecs.query import find_all
from diorama.ecs.store import Store
from diorama.ecs.table import CAPACITY, ROW_MASK, UNSEEN, Table, Velocities, columns_of
from diorama.ecs.tree import local_from_world
from diorama.geo import Origin
from diorama.schemas.errors import StateError

Entity = int
Rows = NDArray[np.intp]
T = TypeVar("T")
REMOVALS_KEPT = 100_000


class World:
    """Entities, their tree, their columns, their components, and resources of the whole scene."""

    def __init__(self, origin: Origin | None = None, *, capacity: int = CAPACITY) -> None:
        self.table = Table(capacity)
        self.forest = Forest(self.table)
        self.epoch = 0  # structural changes so far
        self.version = 0  # propagations so far
        self.propagated_epoch = -1  # the epoch the last one saw
        self.removals: deque[tuple[int, Entity, str]] = deque(maxlen=REMOVALS_KEPT)
        self.resource_epochs: dict[str, int] = {}
        self.origin_epoch = 0
        self._origin = origin
        self._resources: dict[str, Any] = {}
        self._names = Names()
        self._store = Store()
        self.transforms = columns_of(self.table.local)
        self.poses = columns_of(self.table.shown)

    def __reduce__(self) -> NoReturn:
        # A shallow copy would share the columns, a deep one commit gigabytes of free rows before it fails.
        raise TypeError("a world cannot be copied or pickled; diorama.save it and diorama.load it again")

    # -- making and unmaking -------------------------------------------------------------------------------------

    def spawn(
        self,
        name: str = "",
        *components: object,
        asset: str = "",
        parent: Entity | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        key: str | None = None,
    ) -> Entity:
        """Make one entity. Without a name it is called by its key; without a key it gets the next `entity_<n>`."""
        names = self._names
        next_key = names.next_key
        if not key:
            key, next_key = names.fresh_key()
        name = name or key
        if name in names.by_name or key in names.by_key:
            names.refuse_taken(name, key)
        pose = check.packed_pose(name, position, orientation, scale)
        table = self.table
        parent_row = -1 if parent is None else table.row_of(parent)
        hot, cold = check.storable(name, components) if components else ((), {})
        entity = table.begin(parent_row, pose, self.version, self.epoch + 1)
        row = entity & ROW_MASK
        self.epoch += 1
        names.add(entity, row, name, key, asset)
        names.next_key = next_key
        self.forest.add(row, parent_row)
        if cold:
            self._store.begin(entity, cold)
        for value in hot:
            table.write(row, value, new=True)
        return entity

    def insert(
        self,
        names: Sequence[str] | int,
        *components: object,
        asset: str | Sequence[str] = "",
        parents: ArrayLike | None = None,
        under: Entity | None = None,
        position: ArrayLike | None = None,
        orientation: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        keys: Sequence[str] | None = None,
        entities: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """Make many entities at once; `components` are shared by all of them.

        `names` may be a count. `parents` are indices into this very batch, -1 for a child of `under` (or a root).
        `entities` asks for exactly these handles, as a replica does.
        """
        given = check.batch_names(names)
        count = len(given)
        called, keys, next_key = self._names.choose_many(given, keys)
        assets = [asset] * count if isinstance(asset, str) else asset
        check.length("asset", assets, count)
        poses = check.pose_rows(called, position, orientation, scale)
        parent_index = check.batch_parents(called, parents)
        under_row = -1 if under is None else self.row(under)
        hot, cold = check.storable(f"each of {count}", components)
        if entities is None:
            handles = self.table.allocate_many(count)
        else:
            handles = np.array(check.whole("entities", entities)).reshape(-1)
            check.length("entities", handles, count)
            self.table.claim(handles)
        rows = handles & ROW_MASK
        self._names.add_many(handles, rows, called, keys, assets)
        self._names.next_key = next_key
        parent_rows = np.where(parent_index < 0, under_row, rows[parent_index])
        self.epoch += 1
        self.table.begin_many(rows, parent_rows, poses, self.version, self.epoch)
        self.forest.add_many(rows, parent_rows)
        if cold:
            self._store.begin_many(handles.tolist(), cold)
        for value in hot:
            self.table.write(rows, value, new=True)
        return handles

    def despawn(self, entity: Entity, children: Literal["despawn", "grandparent"] = "despawn") -> None:
        """Take an entity away, with all below it, or handing its children, where they are, to its parent."""
        table = self.table
        row = table.row_of(entity)
        if children != "despawn":
            if children != "grandparent":
                raise ValueError(f"children: expected 'despawn' or 'grandparent', got {children!r}")
            if below := self.forest.children(row):
                self._hang(below, table.parent_of(row), keep="world")
        self._touch_owner(entity, row)
        self.epoch = epoch = self.epoch + 1
        for gone in reversed(self.forest.cut(row)):
            buried = table.release(gone)
            self._store.discard(buried)
            self.removals.append((epoch, buried, self._names.drop(gone)))

    def reparent(
        self, entity: Entity, parent: Entity | None, keep: Literal["local", "world"] = "local"
    ) -> None:
        """Hang an entity under another (or make it a root), keeping its local or its world pose."""
        row = self.row(entity)
        parent_row = -1 if parent is None else self.row(parent)
        if parent_row >= 0 and self.forest.is_below(parent_row, row):
            raise StateError(
                f"entity {self._names.names[row]!r}: {self._names.names[parent_row]!r} hangs below it already; "
                "a parent must not be the entity itself or one of its descendants"
            )
        self._hang([row], parent_row, keep)

    # -- identity ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._names.by_key)

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, int | np.integer) and self.alive(int(entity))

    def alive(self, entity: Entity) -> bool:
        """Whether the handle still stands for an entity."""
        return self.table.holds(entity)

    def row(self, entity: Entity) -> int:
        """The row of an entity in every column, good for its whole life."""
        return self.table.row_of(entity)

    def rows(self, entities: ArrayLike) -> Rows:
        """The rows of many entities."""
        return self.table.rows_of(check.whole("entities", entities))

    @property
    def entities(self) -> NDArray[np.int64]:
        """Every entity, parents before children."""
        return self.table.handles(self.forest.order())

    def entity_at(self, row: int) -> Entity:
        """The living entity of a row."""
        return self.table.handle(row)

    def find(self, name: str) -> Entity:
        """The entity of that name."""
        return self._names.find(name)

    def find_key(self, key: str) -> Entity | None:
        """The entity of that document id, or None."""
        return self._names.by_key.get(key)

    @property
    def names(self) -> Mapping[str, Entity]:
        """Every entity by name."""
        return MappingProxyType(self._names.by_name)

    def name(self, entity: Entity) -> str:
        """The unique name of an entity."""
        return self._names.names[self.row(entity)]

    def key(self, entity: Entity) -> str:
        """The id of an entity in documents, such as `entity_0`."""
        return self._names.keys[self.row(entity)]

    def asset(self, entity: Entity) -> str:
        """The path of the entity's 3-D asset, or nothing."""
        return self._names.assets[self.row(entity)]

    def parent(self, entity: Entity) -> Entity | None:
        """The entity it hangs under, or None for a root."""
        row = self.table.parent_of(self.row(entity))
        return None if row < 0 else self.entity_at(row)

    def children(self, entity: Entity) -> list[Entity]:
        """The entities right below, in the order they came."""
        return [self.entity_at(row) for row in self.forest.children(self.row(entity))]

    def rename(self, entity: Entity, name: str) -> None:
        """Give an entity another unique name."""
        row = self.row(entity)
        if not name:
            raise StateError(f"entity {self._names.names[row]!r}: expected another name, got none")
        if name != self._names.names[row]:
            self._names.refuse_taken(name, "")
            self._names.rename(row, name)
            self.touch(entity)

    def set_asset(self, entity: Entity, asset: str) -> None:
        """Give an entity another 3-D asset."""
        self._names.assets[self.row(entity)] = asset
        self.touch(entity)

    # -- components ----------------------------------------------------------------------------------------------

    def get(self, entity: Entity, cls: type[T]) -> T:
        """The component of that type; `Transform` and `Velocity` are live views on the entity's row."""
        found = self.try_get(entity, cls)
        if found is None:
            raise StateError(f"entity {self.name(entity)!r} has no {cls.__name__}")
        return found

    def try_get(self, entity: Entity, cls: type[T]) -> T | None:
        """The component of that type, or None."""
        row = self.row(entity)
        if cls is Transform or cls is Velocity:
            return cast(T | None, self.table.view(row, cls))
        return self._store.try_get(entity, cls)

    def has(self, entity: Entity, cls: type) -> bool:
        """Whether the entity has such a component."""
        return self.try_get(entity, cls) is not None

    def set(self, entity: Entity, *values: object) -> None:
        """Give an entity components, each replacing the one of its type."""
        row = self.table.row_of(entity)
        hot, cold = check.storable(self._names.names[row], values)
        told = False
        for value in hot:
            told |= self.table.write(row, value)
        if cold:
            self._store.add(int(entity), cold)
        if cold or told:
            self.touch(entity)

    def remove(self, entity: Entity, cls: type) -> None:
        """Take a component away."""
        if cls is Transform:
            raise StateError("an entity always has a Transform")
        self.get(entity, cls)
        if cls is Velocity:
            self.table.velocities.present[self.row(entity)] = False
        else:
            if cls is Effector:
                self._touch_owner(entity, self.row(entity))
            self._store.remove(entity, cls)
        self.touch(entity)

    def query(self, *types: type) -> list[tuple[Any, ...]]:
        """Every (entity, component, ...) that has all the types, by ascending entity, as it is now."""
        return find_all(self.table, self._store, types)

    @property
    def velocities(self) -> Velocities:
        """The velocity columns."""
        return self.table.velocities

    def groups(self, entity: Entity) -> dict[str, Any]:
        """Every cold component of an entity as JSON, by group: the registered ones and those kept raw."""
        self.row(entity)
        return json_from_components(self._store.all_of(entity))

    def set_group(self, entity: Entity, group: str, value: Any) -> None:
        """Give an entity a component from JSON: typed when the group is registered, kept as it is otherwise."""
        name = self.name(entity)
        if group in RESERVED:
            raise StateError(f"entity {name!r}: the group {group!r} is diorama's own; choose another name")
        if group in GROUPS:
            try:
                typed = component_from_json(group, value)
            except msgspec.ValidationError as problem:
                raise StateError(f"entity {name!r}: {group}: {problem}") from None
            self.set(entity, typed)
        else:
            raw = self._store.try_get(entity, Groups)
            self.set(entity, Groups({**(raw.values if raw else {}), group: value}))

    def remove_group(self, entity: Entity, group: str) -> None:
        """Take the component of a group away."""
        if group in GROUPS:
            self.remove(entity, GROUPS[group])
            return
        raw = self.try_get(entity, Groups)
        if raw is None or group not in raw.values:
            raise StateError(f"entity {self.name(entity)!r} has no group {group!r}")
        left = {name: value for name, value in raw.values.items() if name != group}
        if left:
            self.set(entity, Groups(left))
        else:
            self.remove(entity, Groups)

    def touch(self, entity: Entity) -> None:
        """Note that an entity's structure changed, so that whoever follows this world is told."""
        row = self.row(entity)
        self.epoch += 1
        self.table.touch(row, self.epoch)

    # -- the whole scene -----------------------------------------------------------------------------------------

    @property
    def origin(self) -> Origin | None:
        """Where on Earth NED zero is; None for a scene that has no Earth."""
        return self._origin

    @origin.setter
    def origin(self, origin: Origin | None) -> None:
        self._origin = origin
        self.epoch += 1
        self.origin_epoch = self.epoch

    @property
    def resources(self) -> Mapping[str, Any]:
        """What belongs to the whole scene (weather, viewport configs, ...), by name; JSON values."""
        return MappingProxyType(self._resources)

    def resource(self, name: str, default: Any = None) -> Any:
        """One resource, or the default."""
        return self._resources.get(name, default)

    def set_resource(self, name: str, value: Any) -> None:
        """Set a resource; None takes it away."""
        if name == "origin":
            raise ValueError("the origin is set with world.origin = Origin(...)")
        if value is None:
            self._resources.pop(name, None)
        else:
            self._resources[name] = value
        self.epoch += 1
        self.resource_epochs[name] = self.epoch

    # -- inside --------------------------------------------------------------------------------------------------

    def _touch_owner(self, entity: Entity, row: int) -> None:
        """An effector stands in its parent's list: when it goes, the parent has changed."""
        if self._store.try_get(entity, Effector) is not None:
            parent = self.table.parent_of(row)
            if parent >= 0:
                self.touch(self.entity_at(parent))

    def _hang(self, rows: list[int], parent_row: int, keep: Literal["local", "world"]) -> None:
        """Hang siblings somewhere else."""
        if keep == "world":
            self.table.local[rows] = local_from_world(self, rows, parent_row)
        elif keep != "local":
            raise ValueError(f"keep: expected 'local' or 'world', got {keep!r}")
        for row in rows:
            entity = self.entity_at(row)
            self._touch_owner(entity, row)
            self.forest.move(row, parent_row)
            self.touch(entity)
            self.table.seen[row] = UNSEEN
