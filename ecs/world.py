"""The world: entities with names, parents, poses and components. It stores; loading, stepping and publishing are
functions of a world. A world belongs to one thread.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import check
from diorama.ecs.components import (
    GROUPS,
    Transform,
    Velocity,
    component_from_json,
    group_of,
    json_from_component,
)
from diorama.ecs.store import Store
from diorama.ecs.table import CAPACITY, IDENTITY, ROW_MASK, UNSEEN, Columns, Table, Velocities
from diorama.geo import Origin
from diorama.schemas.errors import StateError, did_you_mean

Entity = int
Rows = NDArray[np.intp]
T = TypeVar("T")
REMOVALS_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Groups:
    """Component groups nobody has registered, kept as the JSON they came as."""

    values: Mapping[str, Any]


class World:
    """Entities, their tree, their columns, their components, and resources of the whole scene."""

    def __init__(self, origin: Origin | None = None, *, capacity: int = CAPACITY) -> None:
        self.table = Table(capacity)
        self.epoch = 0  # structural changes so far
        self.version = 0  # propagations so far
        self.removals: deque[tuple[int, Entity, str]] = deque(maxlen=REMOVALS_KEPT)
        self.resource_epochs: dict[str, int] = {}
        self.ordered_epoch = -1  # the epoch `order` was built for
        self.order: NDArray[np.int32] = np.empty(0, np.int32)
        self.levels: list[int] = []
        self._store = Store()
        self._entity_by_name: dict[str, Entity] = {}
        self._entity_by_key: dict[str, Entity] = {}
        self._names: list[str] = []
        self._keys: list[str] = []
        self._assets: list[str] = []
        self._children: dict[int, dict[int, None]] = {}
        self._resources: dict[str, Any] = {}
        self._next_key = 0
        self._origin = origin
        self.origin_epoch = 0
        self.transforms = Columns(self.table.local)
        poses = self.table.pose.view()
        poses.flags.writeable = False
        self._poses = poses
        self.poses = Columns(poses)

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
        key: str = "",
    ) -> Entity:
        """Make one entity. Without a name it is called by its key; without a key it gets the next `entity_<n>`."""
        row_values = check.pose_row(name or key, position, orientation, scale)
        parent_row = -1 if parent is None else self.row(parent)
        key = key or self._fresh_key()
        name = name or key
        self._refuse_taken(name, key)
        for value in components:
            self._refuse_unstorable(name, value)
        entity = self.table.allocate()
        self._settle(entity, key, name, asset, parent_row, row_values)
        if components:
            self._assign(entity, components)
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
        entities: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Make many entities at once; `components` are shared by all of them.

        `names` may be a count. `parents` are indices into this very batch, -1 for a child of `under` (or a root).
        `entities` asks for exactly these handles, as a replica does.
        """
        count = names if isinstance(names, int) else len(names)
        keys = [self._fresh_key() for _ in range(count)] if keys is None else list(keys)
        names = (
            keys if isinstance(names, int) else [name or key for name, key in zip(names, keys, strict=True)]
        )
        self._refuse_taken_many(names, keys)
        values = check.pose_rows(names, position, orientation, scale)
        parent_index = check.batch_parents(names, parents)
        under_row = -1 if under is None else self.row(under)
        for value in components:
            self._refuse_unstorable(f"{count} entities", value)
        if entities is None:
            entities = self.table.allocate_many(count)
        else:
            self.table.claim(entities)
        rows = entities & ROW_MASK
        parent_rows = np.where(parent_index < 0, under_row, rows[parent_index] if count else under_row)
        self._settle_many(entities, keys, names, asset, parent_rows, values)
        if components:
            for entity in entities.tolist():
                self._assign(entity, components)
        return entities

    def despawn(self, entity: Entity, children: Literal["despawn", "grandparent"] = "despawn") -> None:
        """Take an entity away, with all below it, or handing its children, where they are, to its parent."""
        row = self.row(entity)
        if children == "grandparent":
            for child in self.children(entity):
                self.reparent(child, self.parent(entity), keep="world")
        self.epoch += 1
        above = self._children.get(int(self.table.parent[row]))
        if above is not None:
            above.pop(row, None)
        pending = [row]
        for found in pending:
            pending.extend(self._children.pop(found, ()))
        for gone in reversed(pending):
            self._bury(gone)

    def reparent(
        self, entity: Entity, parent: Entity | None, keep: Literal["local", "world"] = "local"
    ) -> None:
        """Hang an entity under another (or make it a root), keeping its local or its world pose."""
        row = self.row(entity)
        parent_row = -1 if parent is None else self.row(parent)
        self._refuse_cycle(row, parent_row)
        if keep == "world":
            from diorama.ecs.tree import local_from_world  # the tree needs the World type

            self.table.local[row] = local_from_world(self, row, parent_row)
        elif keep != "local":
            raise ValueError(f"keep: expected 'local' or 'world', got {keep!r}")
        self._hang(row, parent_row)
        self.touch(entity)
        self.table.seen[row] = UNSEEN

    # -- identity ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._entity_by_key)

    def __contains__(self, entity: object) -> bool:
        return isinstance(entity, int) and self.alive(entity)

    def alive(self, entity: Entity) -> bool:
        """Whether the handle still stands for an entity."""
        row = entity & ROW_MASK
        table = self.table
        return 0 <= row < table.high and bool(table.alive[row]) and int(table.generation[row]) == entity >> 32

    def row(self, entity: Entity) -> int:
        """The row of an entity in every column, good for its whole life."""
        if not self.alive(entity):
            raise StateError(f"entity {entity} is not in this world; it may have been despawned")
        return int(entity) & ROW_MASK

    def rows(self, entities: ArrayLike) -> Rows:
        """The rows of many entities."""
        handles = np.asarray(entities, np.int64)
        rows = handles & ROW_MASK
        table = self.table
        good = (rows < table.high) & (handles >= 0)
        good[good] = table.alive[rows[good]] & (table.generation[rows[good]] == handles[good] >> 32)
        if not good.all():
            raise StateError(
                f"entity {int(handles[~good][0])} is not in this world; it may have been despawned"
            )
        return rows.astype(np.intp)

    @property
    def entities(self) -> NDArray[np.int64]:
        """Every entity, parents before children."""
        from diorama.ecs.tree import settle_order  # the tree needs the World type

        rows = settle_order(self).astype(np.int64)
        return rows | self.table.generation[rows].astype(np.int64) << 32

    def entity_at(self, row: int) -> Entity:
        """The living entity of a row."""
        return int(row) | int(self.table.generation[row]) << 32

    def find(self, name: str) -> Entity:
        """The entity of that name."""
        try:
            return self._entity_by_name[name]
        except KeyError:
            hint = did_you_mean(name, self._entity_by_name)
            raise StateError(f"no entity is named {name!r}{hint}") from None

    def find_key(self, key: str) -> Entity | None:
        """The entity of that document id, or None."""
        return self._entity_by_key.get(key)

    @property
    def names(self) -> Mapping[str, Entity]:
        """Every entity by name."""
        return MappingProxyType(self._entity_by_name)

    def name(self, entity: Entity) -> str:
        """The unique name of an entity."""
        return self._names[self.row(entity)]

    def key(self, entity: Entity) -> str:
        """The id of an entity in documents, such as `entity_0`."""
        return self._keys[self.row(entity)]

    def asset(self, entity: Entity) -> str:
        """The path of the entity's 3-D asset, or nothing."""
        return self._assets[self.row(entity)]

    def parent(self, entity: Entity) -> Entity | None:
        """The entity it hangs under, or None for a root."""
        row = int(self.table.parent[self.row(entity)])
        return None if row < 0 else self.entity_at(row)

    def children(self, entity: Entity) -> list[Entity]:
        """The entities right below, in the order they came."""
        return [self.entity_at(row) for row in self._children.get(self.row(entity), ())]

    def rename(self, entity: Entity, name: str) -> None:
        """Give an entity another unique name."""
        row = self.row(entity)
        if name != self._names[row]:
            self._refuse_taken(name, "")
            del self._entity_by_name[self._names[row]]
            self._names[row] = name
            self._entity_by_name[name] = entity
            self.touch(entity)

    def set_asset(self, entity: Entity, asset: str) -> None:
        """Give an entity another 3-D asset."""
        self._assets[self.row(entity)] = asset
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
        if cls is Transform:
            return cast(T, Transform.view(self.table.local[row], self._poses[row]))
        if cls is Velocity:
            velocities = self.table.velocities
            return cast(T, Velocity.view(velocities.block[row])) if velocities.present[row] else None
        return self._store.try_get(entity, cls)

    def has(self, entity: Entity, cls: type) -> bool:
        """Whether the entity has such a component."""
        return self.try_get(entity, cls) is not None

    def set(self, entity: Entity, *values: object) -> None:
        """Give an entity components, each replacing the one of its type."""
        name = self.name(entity)
        for value in values:
            self._refuse_unstorable(name, value)
        self._assign(entity, values)

    def remove(self, entity: Entity, cls: type) -> None:
        """Take a component away."""
        if cls is Transform:
            raise StateError("an entity always has a Transform")
        self.get(entity, cls)
        if cls is Velocity:
            self.table.velocities.present[self.row(entity)] = False
        else:
            self._store.remove(entity, cls)
        self.touch(entity)

    def query(self, *types: type) -> list[tuple[Any, ...]]:
        """Every (entity, component, ...) that has all the types, by ascending entity."""
        cold = [cls for cls in types if cls not in (Transform, Velocity)]
        if cold:
            found = {
                entity: dict(zip(cold, values, strict=True)) for entity, values in self._store.query(*cold)
            }
        else:
            found = {entity: {} for entity in sorted(self._entity_by_key.values())}
        if Velocity in types:
            present = self.table.velocities.present
            found = {entity: values for entity, values in found.items() if present[entity & ROW_MASK]}
        return [
            (entity, *(values[cls] if cls in values else self.get(entity, cls) for cls in types))
            for entity, values in found.items()
        ]

    @property
    def velocities(self) -> Velocities:
        """The velocity columns."""
        return self.table.velocities

    def groups(self, entity: Entity) -> dict[str, Any]:
        """Every cold component of an entity as JSON, by group: the registered ones and those kept raw."""
        found: dict[str, Any] = {}
        for value in self._store.all_of(entity):
            if isinstance(value, Groups):
                found.update(value.values)
            else:
                found[group_of(type(value))] = json_from_component(value)
        return found

    def set_group(self, entity: Entity, group: str, value: Any) -> None:
        """Give an entity a component from JSON: typed when the group is registered, kept as it is otherwise."""
        if group in GROUPS:
            self.set(entity, component_from_json(group, value))
            return
        raw = self._store.try_get(entity, Groups)
        self.row(entity)
        self._store.add(entity, [Groups({**(raw.values if raw else {}), group: value})])
        self.touch(entity)

    def remove_group(self, entity: Entity, group: str) -> None:
        """Take the component of a group away."""
        if group in GROUPS:
            self.remove(entity, GROUPS[group])
            return
        raw = self.get(entity, Groups).values
        self._store.add(entity, [Groups({name: value for name, value in raw.items() if name != group})])
        self.touch(entity)

    def touch(self, entity: Entity) -> None:
        """Note that an entity's structure changed, so that whoever follows this world is told."""
        self.epoch += 1
        self.table.structured[entity & ROW_MASK] = self.epoch

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

    def _fresh_key(self) -> str:
        while (key := f"entity_{self._next_key}") in self._entity_by_key or key in self._entity_by_name:
            self._next_key += 1
        self._next_key += 1
        return key

    def _refuse_taken(self, name: str, key: str) -> None:
        if name in self._entity_by_name:
            raise StateError(f"entity {name!r}: the name is taken; names are unique in a world")
        if key in self._entity_by_key:
            raise StateError(f"entity {name!r}: the key {key!r} is taken; keys are unique in a world")

    def _refuse_taken_many(self, names: Sequence[str], keys: Sequence[str]) -> None:
        for kind, new, known in (("name", names, self._entity_by_name), ("key", keys, self._entity_by_key)):
            unique = set(new)
            taken = unique & known.keys()
            if taken or len(unique) < len(new):
                wrong = min(taken) if taken else Counter(new).most_common(1)[0][0]
                raise StateError(f"entity {wrong!r}: the {kind} is taken; {kind}s are unique in a world")

    def _refuse_unstorable(self, name: str, value: object) -> None:
        if isinstance(value, Transform):
            check.pose_row(name, value.position, value.orientation, value.scale)
        elif isinstance(value, Velocity):
            check.finite(name, "linear velocity", value.linear, 3)
            check.finite(name, "angular velocity", value.angular, 3)
        elif not isinstance(value, Groups):
            group_of(type(value))

    def _refuse_cycle(self, row: int, parent_row: int) -> None:
        above = parent_row
        while above >= 0:
            if above == row:
                raise StateError(
                    f"entity {self._names[row]!r}: {self._names[parent_row]!r} hangs below it already; "
                    "a parent must not be the entity itself or one of its descendants"
                )
            above = int(self.table.parent[above])

    def _assign(self, entity: Entity, values: Iterable[object]) -> None:
        row = entity & ROW_MASK
        table = self.table
        cold = []
        for value in values:
            if isinstance(value, Transform):
                table.local[row] = (*value.position, *value.orientation, *value.scale)
            elif isinstance(value, Velocity):
                table.velocities.block[row] = (*value.linear, *value.angular)
                if not table.velocities.present[row]:
                    table.velocities.present[row] = True
                    table.velocity_seen[row] = UNSEEN
                    self.touch(entity)
            else:
                cold.append(value)
        if cold:
            self._store.add(entity, cold)
            self.touch(entity)

    def _hang(self, row: int, parent_row: int) -> None:
        above = self._children.get(int(self.table.parent[row]))
        if above is not None:
            above.pop(row, None)
        self.table.parent[row] = parent_row
        if parent_row >= 0:
            self._children.setdefault(parent_row, {})[row] = None

    def _settle(
        self, entity: Entity, key: str, name: str, asset: str, parent_row: int, values: Sequence[float] | None
    ) -> None:
        table = self.table
        row = entity & ROW_MASK
        table.local[row] = IDENTITY if values is None else values
        table.seen[row] = UNSEEN
        table.parent[row] = parent_row
        if parent_row >= 0:
            self._children.setdefault(parent_row, {})[row] = None
        if row < len(self._names):
            self._names[row], self._keys[row], self._assets[row] = name, key, asset
        else:
            self._names.append(name)
            self._keys.append(key)
            self._assets.append(asset)
        self._entity_by_name[name] = self._entity_by_key[key] = entity
        self.epoch += 1
        table.structured[row] = self.epoch

    def _settle_many(
        self,
        entities: NDArray[np.int64],
        keys: Sequence[str],
        names: Sequence[str],
        asset: str | Sequence[str],
        parent_rows: NDArray[np.int64],
        values: NDArray[np.float64] | None,
    ) -> None:
        table = self.table
        rows = entities & ROW_MASK
        table.local[rows] = IDENTITY if values is None else values
        table.seen[rows] = UNSEEN
        table.parent[rows] = parent_rows
        assets = [asset] * len(rows) if isinstance(asset, str) else list(asset)
        for column, new in ((self._names, names), (self._keys, keys), (self._assets, assets)):
            column.extend([""] * (table.high - len(column)))
            if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
                column[int(rows[0]) : int(rows[-1]) + 1] = new
            else:
                for row, item in zip(rows.tolist(), new, strict=True):
                    column[row] = item
        handles = entities.tolist()
        self._entity_by_name.update(zip(names, handles, strict=True))
        self._entity_by_key.update(zip(keys, handles, strict=True))
        hung = np.nonzero(parent_rows >= 0)[0]
        for parent_row, row in zip(parent_rows[hung].tolist(), rows[hung].tolist(), strict=True):
            self._children.setdefault(parent_row, {})[row] = None
        self.epoch += 1
        table.structured[rows] = self.epoch

    def _bury(self, row: int) -> None:
        entity = self.entity_at(row)
        self._store.discard(entity)
        key = self._keys[row]
        del self._entity_by_name[self._names[row]], self._entity_by_key[key]
        self.removals.append((self.epoch, entity, key))
        self.table.release(row)
