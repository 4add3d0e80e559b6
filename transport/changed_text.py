"""What changed in a world, as text: the values of all that moved in one go, since they differ in their numbers alone.

Who is told under which key is learnt when it is asked for and kept while the structure stays, so that the cost follows
what changed and is about that of the same entities in a complete document.
"""

from itertools import chain
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.ecs import Effector, World
from diorama.formats.aerosim_write import Mount, document, mounts_below, owner_of
from diorama.geo import Origin
from diorama.transport import codec
from diorama.transport.codec import Frame, Since
from diorama.transport.members import Members, Named
from diorama.transport.scene_text import pieces_of, state_numbers

Rows = NDArray[np.int32]
Texts = dict[str, list[Frame]]


class ChangedText:
    """The text of what changed, for one listener or for many that know the same."""

    def __init__(self) -> None:
        # The world and the structural change that the keys and owners are right for.
        self._state: tuple[World | None, int] = (None, -1)
        self._keys: dict[int, bytes] = {}  # by row, of those that have a state of their own
        self._owners: dict[int, int] = {}  # by row, of effectors that stand in an owner's list
        self._states: tuple[Origin | None, Members] | None = None
        self._last: tuple[Rows, Named] | None = None  # whose states were told last time, and how
        self._velocities = Members(
            pieces_of({part: dict.fromkeys("xyz", 0.0) for part in ("linear", "angular")})
        )

    def components(self, world: World, since: Since) -> tuple[dict[str, Any], Texts, list[str]]:
        """Group lists of entities whose structure changed; for each group its `"key":value` texts; keys to drop.

        An entity whose structure changed is told whole, and with it its owner's list of effectors. Of one that only
        moved, `actor_state`, `effectors` and `velocity` are told as far as they changed.
        """
        told = _structured(world, since)
        whole = document(world, told) if told else {"entities": {}, "components": {}}
        texts: Texts = {group: _members(values) for group, values in whole["components"].items()}
        # An effector without components of its own stands in its owner's list only, even if it was an entity before.
        dropped = [key for key in map(world.key, told) if key not in whole["entities"]]
        known = np.array([world.row(entity) for entity in told], np.int32)
        self._forget(world, since, known)
        posed, moving = codec.posed_rows(world, since), codec.velocity_rows(world, since)
        if told:
            posed, moving = posed[~np.isin(posed, known)], moving[~np.isin(moving, known)]
        actors = self._actors(world, posed)
        if len(actors):
            self._tell_states(world, actors, texts)
        if len(actors) < len(posed):
            self._tell_effectors(world, posed, since, texts)
        if len(moving):
            velocities = self._velocities.named(self._all_keys(world, moving))
            texts.setdefault("velocity", []).extend(velocities.fill(world.velocities.block[moving]))
        return whole["entities"], texts, codec.removed_keys_since(world, since) + dropped

    def _forget(self, world: World, since: Since, rows: Rows) -> None:
        """Keep what is known of all but these, if nothing else changed since it was learnt."""
        if self._state != (world, since.epoch):
            self._keys, self._owners, self._last = {}, {}, None
        if world.epoch != since.epoch:
            self._last = None
        for row in rows.tolist():
            self._keys.pop(row, None)
            self._owners.pop(row, None)
        self._state = world, world.epoch

    def _actors(self, world: World, posed: Rows) -> Rows:
        """Those of the rows that have a state of their own."""
        if self._last is not None and np.array_equal(self._last[0], posed):
            return self._last[0]
        rows = posed.tolist()
        self._learn(world, rows)
        return np.array([row for row in rows if row in self._keys], np.int32)

    def _learn(self, world: World, rows: list[int]) -> None:
        """The keys and the owners of rows."""
        mounts: dict[int, Mount] = {}
        seen: set[int] = set()
        for row in rows:
            if row in self._keys or row in self._owners:
                continue
            entity = world.entity_at(row)
            owner = owner_of(world, entity)
            if owner != entity and owner not in seen:
                seen.add(owner)
                mounts |= mounts_below(world, owner)
            if entity in mounts:
                self._owners[row] = mounts[entity].owner
            else:
                self._keys[row] = orjson.dumps(world.key(entity))

    def _all_keys(self, world: World, rows: Rows) -> list[bytes]:
        """The keys of rows, those of effectors in lists as well."""
        keys = self._keys
        return [keys.get(row) or orjson.dumps(world.key(world.entity_at(row))) for row in rows.tolist()]

    def _tell_states(self, world: World, rows: Rows, texts: Texts) -> None:
        numbers = state_numbers(world, rows)
        nowhere = rows[:0]  # where there is no latitude
        if not np.isfinite(numbers).all():
            whole = np.asarray(np.isfinite(numbers).all(axis=1))
            rows, nowhere, numbers = rows[whole], rows[~whole], numbers[whole]
        told = texts.setdefault("actor_state", [])
        if len(rows):
            told += self._named(world, rows).fill(numbers)
        if len(nowhere):
            entities = [world.entity_at(row) for row in nowhere.tolist()]
            told += _members(_states(world, entities))

    def _named(self, world: World, rows: Rows) -> Named:
        """The states of these; as a rule they are the very same as last time."""
        if self._last is None or self._last[0] is not rows:
            keys = [self._keys[row] for row in rows.tolist()]
            self._last = rows, self._members_like(world, int(rows[0])).named(keys)
        return self._last[1]

    def _tell_effectors(self, world: World, posed: Rows, since: Since, texts: Texts) -> None:
        """The lists of those whose effectors moved on their own."""
        moved = set(codec.moved_rows(world, since).tolist()).intersection(self._owners)
        owners = dict.fromkeys(self._owners[row] for row in posed.tolist() if row in moved)
        if owners:
            lists = document(world, owners)["components"]["effectors"]
            texts.setdefault("effectors", []).extend(_members(lists))

    def _members_like(self, world: World, row: int) -> Members:
        """What is said of every actor, as it is said of this row."""
        if self._states is None or self._states[0] is not world.origin:
            (state,) = _states(world, [world.entity_at(row)]).values()
            self._states = world.origin, Members(pieces_of(state))
        return self._states[1]


def _states(world: World, entities: list[int]) -> dict[str, Any]:
    """`actor_state` of these by key; a document of an effector has that of its owner as well."""
    states = document(world, entities)["components"]["actor_state"]
    return {key: states[key] for key in map(world.key, entities)}


def _structured(world: World, since: Since) -> set[int]:
    """Entities to be told whole: those whose structure changed, their owners, and the effectors below all of them."""
    told = {world.entity_at(row) for row in codec.structured_rows(world, since).tolist()}
    told |= {owner_of(world, entity) for entity in told}
    for entity in list(told):
        told |= _effectors_below(world, entity)
    return told


def _effectors_below(world: World, entity: int) -> set[int]:
    """All effectors that hang below an entity with nothing but effectors between."""
    found: list[int] = []
    for above in chain([entity], found):
        found += [child for child in world.children(above) if world.has(child, Effector)]
    return set(found)


def _members(values: dict[str, Any]) -> list[Frame]:
    """`"key":value` of each."""
    return [orjson.dumps(key) + b":" + orjson.dumps(value) for key, value in values.items()]
