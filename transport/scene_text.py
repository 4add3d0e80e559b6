"""The scene document as text with gaps: everything but the numbers that move is kept ready, the numbers are spliced in.

The result are the very bytes that `orjson.dumps` of the whole document would give, in about half the time. Pieces are
kept while the structure stays.
"""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.ecs import World
from diorama.ecs.locate import refresh
from diorama.formats.aerosim_write import document, mounts_below
from diorama.transport import codec
from diorama.transport.codec import Frame
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
        states = state_numbers(world, self._actors).ravel()
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


def pieces_of(value: dict[str, Any]) -> list[bytes]:
    """What stands between the moving numbers of a state or a velocity."""
    for name, part in value.items():
        if name == "world_coordinate":
            for moving in MOVING_PARTS:
                _blank(part[moving])
        else:
            _blank(part)
    return orjson.dumps(value).split(MARK_JSON)


def state_numbers(world: World, rows: NDArray[np.signedinteger[Any]]) -> Floats:
    """(n, 10) local poses, and with an Earth (n, 22): NED, LLA, ECEF and cartesian after them."""
    table = world.table
    if world.origin is None:
        local: Floats = table.local[rows]
        return local
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
