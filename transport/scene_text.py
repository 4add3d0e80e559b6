"""The scene document as text with gaps: everything but the numbers that move is kept ready, the numbers are spliced in.

The result are the very bytes that `orjson.dumps` of the whole document would give, in about half the time. Pieces are
kept while the structure stays.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any
from uuid import uuid4

import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.ecs import Effector, World
from diorama.ecs.locate import refresh
from diorama.formats.aerosim_write import Mount, document, mounts_below, owner_of
from diorama.transport import codec
from diorama.transport.codec import Frame, Since
from diorama.transport.decimals import DEGREES, METRES, PARTS, DecimalText, require_decimals
from diorama.transport.splice import Splice

Floats = NDArray[np.float64]
# Stands for a number in a text that is about to be cut up; random, so that no name can contain it.
MARK = uuid4().hex
MARK_JSON = f'"{MARK}"'.encode()
MOVING_PARTS = ("ned", "lla", "ecef", "cartesian")


# What kind of number each is, for those who want fixed decimals.
POSE_KINDS = [METRES] * 3 + [PARTS] * 7
PLACE_KINDS = [METRES] * 3 + [DEGREES, DEGREES, METRES] + [METRES] * 6
VELOCITY_KINDS = [PARTS] * 6


class SceneText:
    """The text of one world's document; with `decimals` numbers have a fixed number of these (see `decimals.py`)."""

    def __init__(self, *, decimals: bool = False) -> None:
        if decimals:
            require_decimals()
        self._decimals = decimals
        # The world itself and not its id: a world that came and went may have left its id to another.
        self._state: tuple[World, int] | None = None
        self._splice = Splice([b""])
        self._fields: DecimalText | None = None
        self._actors: NDArray[np.intp] = np.empty(0, np.intp)
        self._effectors: NDArray[np.intp] = np.empty(0, np.intp)
        self._moving: NDArray[np.intp] = np.empty(0, np.intp)

    def complete(self, world: World, first: bytes = b"") -> Frame:
        """The whole document; `first` are members that it begins with, each with a comma after it."""
        if self._state != (world, world.epoch):
            self._state = (world, world.epoch) if self._cut(world) else None
        numbers = self._numbers(world)
        # Without a latitude somewhere, or with a number that is none (which is refused), the gaps are others.
        if self._state is None or not np.isfinite(numbers).all():
            return b"".join([b"{", first, orjson.dumps(document(world))[1:]])
        written = None if self._fields is None else self._fields.fill(numbers)
        return (
            self._splice.fill(numbers, b"{" + first) if written is None else b"".join([b"{", first, written])
        )

    def _numbers(self, world: World) -> Floats:
        """What stands in the gaps, in their order."""
        states = _state_numbers(world, self._actors).ravel()
        if len(self._effectors) == len(self._moving) == 0:
            return states
        effectors, velocities = world.table.local[self._effectors], world.velocities.block[self._moving]
        return np.concatenate([states, effectors.ravel(), velocities.ravel()])

    def _cut(self, world: World) -> bool:
        """Make the pieces between the numbers, and note whose they are; False when some place has no coordinates."""
        whole = document(world)
        parts = whole["components"]
        actors = parts.get("actor_state", {})
        for state in actors.values():
            _blank(state["pose"])
            for name in MOVING_PARTS if "world_coordinate" in state else ():
                if name not in state["world_coordinate"]:
                    return False
                _blank(state["world_coordinate"][name])
        for listed in parts.get("effectors", {}).values():
            for effector in listed:
                _blank(effector["pose"])
        moving = parts.get("velocity", {})
        for velocity in moving.values():
            _blank(velocity)
        self._actors = _rows_of(world, actors)
        owners = [world.find_key(key) for key in parts.get("effectors", {})]
        mounted = [list(_own_effectors(world, owner)) for owner in owners if owner is not None]
        self._effectors = np.array([world.row(entity) for one in mounted for entity in one], np.intp)
        self._moving = _rows_of(world, moving)
        pieces = orjson.dumps(whole)[1:].split(MARK_JSON)
        self._splice = Splice(pieces)
        if self._decimals:
            state = POSE_KINDS if world.origin is None else POSE_KINDS + PLACE_KINDS
            parts = (state, self._actors), (POSE_KINDS, self._effectors), (VELOCITY_KINDS, self._moving)
            kinds = [np.tile(np.array(kinds, np.int8), len(rows)) for kinds, rows in parts]
            self._fields = DecimalText(pieces, np.concatenate(kinds))
        return True


def changed_components(
    world: World, since: Since
) -> tuple[dict[str, Any], dict[str, list[bytes]], list[str]]:
    """What changed: group lists of entities whose structure did; for each group its `"key":value` texts; keys to drop.

    An entity whose structure changed is told whole, and with it its owner's list of effectors. Of one that only moved,
    `actor_state`, `effectors` and `velocity` are told as far as they changed. The cost follows what changed.
    """
    told = {world.entity_at(row) for row in codec.structured_rows(world, since).tolist()}
    told |= {owner_of(world, entity) for entity in told}
    for entity in list(told):
        told |= _effectors_below(world, entity)
    whole = document(world, told) if told else {"entities": {}, "components": {}}
    texts = {group: _members(values) for group, values in whole["components"].items()}
    # An effector without components of its own stands in its owner's list only, even if it was an entity before.
    dropped = [key for key in map(world.key, told) if key not in whole["entities"]]
    known = {world.row(entity) for entity in told}
    actors, owners = _sort_out(
        world, [row for row in codec.posed_rows(world, since).tolist() if row not in known], since
    )
    moving = [row for row in codec.velocity_rows(world, since).tolist() if row not in known]
    _tell_states(world, actors, texts)
    _tell_effectors(world, owners, texts)
    _tell_velocities(world, moving, texts)
    return whole["entities"], texts, codec.removed_keys_since(world, since) + dropped


def _sort_out(world: World, posed: list[int], since: Since) -> tuple[list[int], list[int]]:
    """Of rows with a new world pose: the rows of actors, and the owners of effectors that moved on their own."""
    moved = set(codec.moved_rows(world, since).tolist())
    mounts: dict[int, Mount] = {}
    seen: set[int] = set()
    actors: list[int] = []
    owners: dict[int, None] = {}
    for row in posed:
        entity = world.entity_at(row)
        owner = owner_of(world, entity)
        if owner != entity and owner not in seen:
            seen.add(owner)
            mounts |= mounts_below(world, owner)
        if entity not in mounts:
            actors.append(row)
        elif row in moved:
            owners[mounts[entity].owner] = None
    return actors, list(owners)


def _effectors_below(world: World, entity: int) -> set[int]:
    """All effectors that hang below an entity with nothing but effectors between."""
    found: list[int] = []
    for above in chain([entity], found):
        found += [child for child in world.children(above) if world.has(child, Effector)]
    return set(found)


def _tell_states(world: World, rows: list[int], texts: dict[str, list[bytes]]) -> None:
    if not rows:
        return
    numbers = _state_numbers(world, np.array(rows))
    whole = np.asarray(np.isfinite(numbers).all(axis=1))
    alike = [row for row, has in zip(rows, whole.tolist(), strict=True) if has]
    if alike:
        pieces = _pieces_of(document(world, [world.entity_at(alike[0])])["components"]["actor_state"])
        _tell(world, "actor_state", alike, pieces, numbers[whole], texts)
    if len(alike) < len(rows):  # some are where there is no latitude
        others = document(world, [world.entity_at(row) for row in set(rows).difference(alike)])
        texts.setdefault("actor_state", []).extend(_members(others["components"]["actor_state"]))


def _tell_velocities(world: World, rows: list[int], texts: dict[str, list[bytes]]) -> None:
    if rows:
        sample = {"": {part: dict.fromkeys("xyz", 0.0) for part in ("linear", "angular")}}
        _tell(world, "velocity", rows, _pieces_of(sample), world.velocities.block[rows], texts)


def _tell_effectors(world: World, owners: list[int], texts: dict[str, list[bytes]]) -> None:
    if owners:
        lists = document(world, owners)["components"]["effectors"]
        texts.setdefault("effectors", []).extend(_members(lists))


def _members(values: dict[str, Any]) -> list[bytes]:
    """`"key":value` of each."""
    return [orjson.dumps(key) + b":" + orjson.dumps(value) for key, value in values.items()]


def _tell(
    world: World,
    group: str,
    rows: list[int],
    pieces: list[bytes],
    numbers: Floats,
    texts: dict[str, list[bytes]],
) -> None:
    """The same pieces for every row, with its own key and numbers."""
    first, *between, last = pieces
    width = numbers.shape[1]
    written = orjson.dumps(numbers.ravel(), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    step = 2 * width + 1
    woven = [last + b","] * (len(rows) * step)
    woven[0::step] = [orjson.dumps(world.key(world.entity_at(row))) + b":" + first for row in rows]
    for number in range(width):
        woven[2 * number + 1 :: step] = written[number::width]
    for number, piece in enumerate(between, start=1):
        woven[2 * number :: step] = [piece] * len(rows)
    texts.setdefault(group, []).append(b"".join(woven)[:-1])


def _pieces_of(values: dict[str, Any]) -> list[bytes]:
    """What stands between the numbers of the one value in a group, without its key."""
    (value,) = values.values()
    for name, part in list(value.items()):
        if name == "world_coordinate":
            for moving in MOVING_PARTS:
                _blank(part[moving])
        else:
            _blank(part)
    return orjson.dumps(value).split(MARK_JSON)


def _state_numbers(world: World, rows: NDArray[np.intp]) -> Floats:
    """(n, 10) local poses, and with an Earth (n, 22): NED, LLA, ECEF and cartesian after them."""
    table = world.table
    if world.origin is None:
        return table.local[rows]
    ecef, lla = refresh(world)
    numbers = np.empty((len(rows), 22))
    chosen = slice(int(rows[0]), int(rows[-1]) + 1) if codec.is_run(rows) else rows
    numbers[:, 0:10] = table.local[chosen]
    numbers[:, 10:13] = table.pose[chosen, 0:3]
    numbers[:, 13:16] = lla[chosen]
    numbers[:, 16:19] = ecef[chosen]
    for axis, origin in enumerate(
        world.origin.ecef.tolist()
    ):  # a long axis at a time: numpy is slow on rows of three
        np.subtract(numbers[:, 16 + axis], origin, out=numbers[:, 19 + axis])
    return numbers


def _blank(value: dict[str, Any]) -> None:
    for name, part in value.items():
        if isinstance(part, dict):
            _blank(part)
        else:
            value[name] = MARK


def _rows_of(world: World, keys: Iterable[str]) -> NDArray[np.intp]:
    found = (world.find_key(key) for key in keys)
    return np.array([world.row(entity) for entity in found if entity is not None], np.intp)


def _own_effectors(world: World, owner: int) -> Iterable[int]:
    """The effectors of an owner's list, in its order."""
    return (entity for entity, mount in mounts_below(world, owner).items() if mount.owner == owner)
