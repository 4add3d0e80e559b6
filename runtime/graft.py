"""One world kept as a part of another: everything under a root of its own, every name and key with its prefix.

Structure is copied entity by entity when it changes; poses and velocities are copied as blocks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, World
from diorama.ecs.table import ROW_MASK, UNSEEN
from diorama.geo import Origin, rotation
from diorama.transport.codec import Since, moved_rows, structured_rows, velocity_rows

NEVER = Since()


class Graft:
    """A part of `target`. `entities` are its entities there, by their handles in the world they come from."""

    def __init__(self, target: World, name: str) -> None:
        self.target = target
        self.name = name
        self.root: Entity | None = None
        self.entities: dict[Entity, Entity] = {}
        self._source: World | None = None
        self._since = NEVER
        self._row_of: NDArray[np.int64] = np.empty(0, np.int64)
        self._origins: tuple[Origin | None, Origin | None] = (None, None)
        self._left_at = -1  # the target's epoch after the last take

    @property
    def still(self) -> list[Entity]:
        """Its entities, without those that somebody else has taken out of the target."""
        return [entity for entity in self.entities.values() if self.target.alive(entity)]

    def take(self, source: World) -> bool:
        """Make the part what the (settled) source is now; whether its structure changed."""
        self._mend()
        if source is not self._source:
            self._adopt(source)
        changed = source.epoch != self._since.epoch
        if changed:
            self._take_structure(source)
        if self._origins != (source.origin, self.target.origin):
            self._place(source.origin)
        self._take_numbers(source)
        self._since = Since(source.version, source.epoch)
        self._left_at = self.target.epoch
        return changed

    def clear(self) -> None:
        """Take the part away."""
        for entity in (*([] if self.root is None else [self.root]), *self.entities.values()):
            if self.target.alive(entity):
                self.target.despawn(entity)
        self.root, self._source = None, None
        self.entities.clear()

    # -- inside --------------------------------------------------------------------------------------------------

    def _mend(self) -> None:
        """See that root and entities are there: a client of the target may have despawned them, and their rows may be
        another's by now. What the source still has comes back.
        """
        if self.target.epoch == self._left_at:
            return
        lost = [handle for handle, entity in self.entities.items() if not self.target.alive(entity)]
        for handle in lost:
            del self.entities[handle]
        if self.root is None or not self.target.alive(self.root):
            self.root = self.target.spawn(self.name, key=self.name)
            self._since, self._origins = NEVER, (None, None)
        elif lost:
            self._since = NEVER

    def _adopt(self, source: World) -> None:
        """Another world under the same name: whoever has the same key stays who it was."""
        known = {self.target.key(entity): entity for entity in self.entities.values()}
        self.entities = {}
        for handle in source.names.values():
            entity = known.pop(f"{self.name}/{source.key(handle)}", None)
            if entity is not None:
                self.entities[handle] = entity
        self._bury(list(known.values()))
        self._source, self._since, self._origins = source, NEVER, (None, None)

    def _bury(self, gone: list[Entity]) -> None:
        for entity in gone:
            if self.target.alive(entity):
                self.target.despawn(entity, children="grandparent")

    def _take_structure(self, source: World) -> None:
        target, prefix = self.target, f"{self.name}/"
        gone = [handle for handle in self.entities if not source.alive(handle)]
        self._bury([self.entities.pop(handle) for handle in gone])
        rows = structured_rows(source, self._since)
        handles = [source.entity_at(row) for row in rows.tolist()]
        known = [handle for handle in handles if handle in self.entities]
        # Whoever stays lets go of its parent and, if it changes, its name: both may change hands.
        for handle in known:
            entity = self.entities[handle]
            target.reparent(entity, self.root)
            if target.name(entity) != prefix + source.name(handle):
                target.rename(entity, f"\0{entity}")
        self._insert(source, [handle for handle in handles if handle not in self.entities])
        for handle in known:
            entity = self.entities[handle]
            target.rename(entity, prefix + source.name(handle))
            if target.asset(entity) != source.asset(handle):
                target.set_asset(entity, source.asset(handle))
        for handle in handles:
            entity = self.entities[handle]
            parent = source.parent(handle)
            if parent is not None and target.parent(entity) != self.entities[parent]:
                target.reparent(entity, self.entities[parent])
            self._set_groups(entity, source.groups(handle))
            target.touch(entity)
        self._row_of = np.full(source.table.high, -1, np.int64)
        all_handles = np.fromiter(self.entities, np.int64, len(self.entities))
        all_entities = np.fromiter(self.entities.values(), np.int64, len(self.entities))
        self._row_of[all_handles & ROW_MASK] = all_entities & ROW_MASK
        ours = self._row_of[rows]
        present = source.velocities.present[rows]
        target.velocities.present[ours] = present
        target.table.velocity_seen[ours[present]] = UNSEEN

    def _insert(self, source: World, handles: list[Entity]) -> None:
        if not handles:
            return
        place = {handle: index for index, handle in enumerate(handles)}
        parents = [
            place.get(-1 if (above := source.parent(handle)) is None else above, -1) for handle in handles
        ]
        made = self.target.insert(
            [f"{self.name}/{source.name(handle)}" for handle in handles],
            asset=[source.asset(handle) for handle in handles],
            keys=[f"{self.name}/{source.key(handle)}" for handle in handles],
            parents=parents,
            under=self.root,
        )
        self.entities.update(zip(handles, made.tolist(), strict=True))

    def _set_groups(self, entity: Entity, groups: dict[str, Any]) -> None:
        before = self.target.groups(entity)
        for group in before.keys() - groups.keys():
            self.target.remove_group(entity, group)
        for group, value in groups.items():
            if group not in before or before[group] != value:
                self.target.set_group(entity, group, value)

    def _place(self, origin: Origin | None) -> None:
        """Put the root where the source's origin is, turned as north, east and down are there."""
        ours = self.target.origin
        position, turn = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
        if origin is not None and ours is not None and origin != ours:
            position = ours.ned_from_ecef_rotation @ (origin.ecef - ours.ecef)
            turn = rotation.quaternion_from_matrix(
                ours.ned_from_ecef_rotation @ origin.ned_from_ecef_rotation.T
            )
        assert self.root is not None
        row = self.target.row(self.root)
        self.target.transforms.position[row] = position
        self.target.transforms.orientation[row] = turn
        self._origins = (origin, ours)
        self._since = Since(-1, self._since.epoch)  # velocities turn with it

    def _take_numbers(self, source: World) -> None:
        rows = moved_rows(source, self._since)
        self.target.table.local[self._row_of[rows]] = source.table.local[rows]
        rows = velocity_rows(source, self._since)
        if len(rows):
            assert self.root is not None
            turn = self.target.transforms.orientation[self.target.row(self.root)]
            ours, linear = self._row_of[rows], source.velocities.linear[rows]
            self.target.velocities.linear[ours] = linear if turn[3] == 1.0 else rotation.rotate(turn, linear)
            self.target.velocities.angular[ours] = source.velocities.angular[rows]
