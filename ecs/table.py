"""The hot state of a world: float64 columns with one stable row per entity.

Columns are allocated once at full capacity and never move; the operating system commits their pages when rows are
first used, so an array handed out stays good however the world grows.
"""

from collections import OrderedDict
from operator import index
from struct import Struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from diorama.ecs.components import Transform, Velocity
from diorama.schemas.errors import StateError

Floats = NDArray[np.float64]
CAPACITY = 1 << 22
ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1
GENERATION_MASK = (1 << 31) - 1  # a handle fits in an int64
# Rows that a claim leaves out are handed out later, unless they are more than these: a single claim may name the
# last row there can be, and must not fill the memory with what is free.
GAP_REUSED = 1 << 16
IDENTITY = np.array((0, 0, 0, 0, 0, 0, 1, 1, 1, 1), np.float64)
# What `seen` holds for a row whose pose must be computed afresh: a NaN no arithmetic produces.
UNSEEN = np.array(0x7FF8_D10A_2A3A_0001, np.uint64).view(np.float64)
UNSEEN_NUMBER = float(UNSEEN)
POSE_SIZE = 80  # bytes
_put_pose = Struct(f"{POSE_SIZE}s").pack_into  # half the price of a slice


class Columns(NamedTuple):
    """A block of poses under names: the same memory. Write into columns; they cannot be replaced."""

    position: Floats
    orientation: Floats
    scale: Floats


class Velocities(NamedTuple):
    """Linear (m/s, world NED axes) and angular (rad/s, own axes) velocity columns, and which rows have one."""

    block: Floats
    linear: Floats
    angular: Floats
    present: NDArray[np.bool_]


class Table:
    """Rows, their generations and their columns. A pose is ten numbers: position 3, orientation xyzw 4, scale 3.

    `seen` is the local pose at the last propagation: a row has moved when its bits differ. The stamps say when a row
    last changed: `moved` and `posed` (local and world pose) in propagations, `structured` in structural changes.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.high = 0  # rows ever used
        # Oldest first, so that a stale view stays harmless as long as possible.
        self.free: OrderedDict[int, None] = OrderedDict()
        self.local = np.zeros((capacity, 10))
        self.seen = np.zeros((capacity, 10))
        self.pose = np.zeros((capacity, 10))
        self.shown = self.pose.view()  # what others see of it
        self.shown.flags.writeable = False
        self.parent = np.zeros(capacity, np.int32)
        self.generation = np.zeros(capacity, np.uint32)
        self.alive = np.zeros(capacity, np.bool_)
        self.moved = np.zeros(capacity, np.int64)
        self.posed = np.zeros(capacity, np.int64)
        self.structured = np.zeros(capacity, np.int64)
        self.ecef = np.zeros((capacity, 3))
        self.lla = np.zeros((capacity, 3))
        self.located = -1  # the propagation that ecef and lla are right for
        self.located_for = -1  # and the origin
        self.workspace = np.empty(0)  # where numpy resolves poses when there is no compiled kernel
        block = np.zeros((capacity, 6))
        self.velocities = Velocities(block, block[:, 0:3], block[:, 3:6], np.zeros(capacity, np.bool_))
        self.velocity_seen = np.zeros((capacity, 6))
        self.velocity_moved = np.zeros(capacity, np.int64)
        # The same memory for single rows, where indexing an array costs several times as much.
        self._alive, self._generation, self._parent, self._structured, self._moving = map(
            _view, (self.alive, self.generation, self.parent, self.structured, self.velocities.present)
        )
        self._new = (  # what a new row writes
            *(_view(column.reshape(-1).view(np.uint8)) for column in (self.local, self.pose)),
            *(_view(column) for column in (self.seen.reshape(-1), self.posed)),
        )

    # -- handles -------------------------------------------------------------------------------------------------

    def handle(self, row: int) -> int:
        """The entity of a row."""
        generation: int = self._generation[row]
        return int(row) | generation << ROW_BITS

    def handles(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """The entities of many rows."""
        handles: NDArray[np.int64] = rows.astype(np.int64)
        handles |= self.generation[rows].astype(np.int64) << ROW_BITS
        return handles

    def holds(self, entity: int) -> bool:
        """Whether a handle stands for a living row."""
        entity = index(entity)
        row = entity & ROW_MASK
        return bool(row < self.high and self._alive[row] and self._generation[row] == entity >> ROW_BITS)

    def row_of(self, entity: int) -> int:
        """The row of a living entity."""
        if entity.__class__ is not int:
            entity = _whole(entity)
        row = entity & ROW_MASK
        if row < self.high and self._alive[row] and self._generation[row] == entity >> ROW_BITS:
            return row
        raise _unknown(entity)

    def rows_of(self, entities: NDArray[np.int64]) -> NDArray[np.intp]:
        """The rows of living entities."""
        rows = entities & ROW_MASK
        good = np.asarray((rows < self.high) & (entities >= 0))
        good[good] = self.alive[rows[good]] & (self.generation[rows[good]] == entities[good] >> ROW_BITS)
        if not good.all():
            raise _unknown(int(entities[~good][0]))
        return rows.astype(np.intp)

    def parent_of(self, row: int) -> int:
        """The row a row hangs under, or -1."""
        parent: int = self._parent[row]
        return parent

    def living(self, *, moving: bool) -> NDArray[np.int64]:
        """Every entity, ascending; with `moving` those that have a velocity."""
        chosen = self.alive[: self.high]
        if moving:
            chosen = chosen & self.velocities.present[: self.high]
        return np.sort(self.handles(np.flatnonzero(chosen)))

    def view(self, row: int, cls: type) -> Transform | Velocity | None:
        """A live view on a component that lives in columns; None where a row has no velocity."""
        if cls is Transform:
            return Transform.view(self.local[row], self.shown[row])
        return Velocity.view(self.velocities.block[row]) if self.velocities.present[row] else None

    # -- rows ----------------------------------------------------------------------------------------------------

    def begin(self, parent: int, pose: bytes, version: int, epoch: int) -> int:
        """Start the columns of a free row; returns the entity.

        Until the next propagation its world pose is the local one.
        """
        if self.free:
            row, _ = self.free.popitem(last=False)
        else:
            row = self.high
            if row >= self.capacity:
                self._refuse_beyond(row + 1)
            self.high = row + 1
        local, shown, seen, posed = self._new
        start = row * POSE_SIZE
        _put_pose(local, start, pose)
        _put_pose(shown, start, pose)
        seen[row * 10] = UNSEEN_NUMBER
        # So that nobody takes the coordinates of a row's last tenant for its own.
        posed[row] = version + 1
        self._parent[row] = parent
        self._structured[row] = epoch
        self._alive[row] = True
        entity: int = row | self._generation[row] << ROW_BITS
        return entity

    def allocate_many(self, count: int) -> NDArray[np.int64]:
        """`count` free rows at once, marked alive; returns entity handles."""
        reused = min(count, len(self.free))
        self._refuse_beyond(self.high + count - reused)
        self.high += count - reused
        rows = np.empty(count, np.int64)
        rows[:reused] = [self.free.popitem(last=False)[0] for _ in range(reused)]
        rows[reused:] = np.arange(self.high - count + reused, self.high)
        self.alive[rows] = True
        return self.handles(rows)

    def claim(self, entities: NDArray[np.int64]) -> None:
        """Make exactly these handles alive: how a replica keeps the rows of the world it mirrors."""
        if len(entities) == 0:
            return
        rows = entities & ROW_MASK
        if entities.min() < 0:
            raise StateError(f"entity {int(entities.min())}: expected a handle, which is never negative")
        high = max(self.high, int(rows.max()) + 1)
        self._refuse_beyond(high)
        ordered = np.sort(rows)
        taken = np.append(rows[self.alive[rows]], ordered[1:][ordered[1:] == ordered[:-1]])
        if len(taken):
            raise StateError(f"entity {self.handle(int(taken[0]))}: its row is in use already")
        if high - self.high <= GAP_REUSED + len(rows):
            self.free.update(dict.fromkeys(range(self.high, high)))
        self.high = high
        for row in rows.tolist():
            self.free.pop(row, None)
        self.generation[rows] = entities >> ROW_BITS
        self.alive[rows] = True

    def begin_many(
        self,
        rows: NDArray[np.int64],
        parents: NDArray[np.int64],
        poses: NDArray[np.float64] | None,
        version: int,
        epoch: int,
    ) -> None:
        """Start the columns of rows that were allocated or claimed; `poses` is (n, 10)."""
        self.local[rows] = self.pose[rows] = IDENTITY if poses is None else poses
        self.seen[rows, 0] = UNSEEN
        self.parent[rows] = parents
        self.posed[rows] = version + 1
        self.structured[rows] = epoch

    def write(self, rows: int | NDArray[np.int64], value: Transform | Velocity, *, new: bool = False) -> bool:
        """Set a component that lives in columns on one row or many alike; True when some had none before.

        On new rows a Transform is the world pose too, until the next propagation.
        """
        if isinstance(value, Transform):
            self.local[rows] = pose = (*value.position, *value.orientation, *value.scale)
            if new:
                self.pose[rows] = pose
            return False
        self.velocities.block[rows] = (*value.linear, *value.angular)
        first = not np.all(self.velocities.present[rows])
        if first:
            self.velocities.present[rows] = True
            self.velocity_seen[rows] = UNSEEN
        return first

    def touch(self, row: int, epoch: int) -> None:
        """Note when the structure of a row changed last."""
        self._structured[row] = epoch

    def release(self, row: int) -> int:
        """Give a row back; returns the entity it held. Its generation rises, so that this handle is dead."""
        generation: int = self._generation[row]
        self._alive[row] = False
        self._generation[row] = (generation + 1) & GENERATION_MASK
        self._moving[row] = False
        self.free[row] = None
        return row | generation << ROW_BITS

    def _refuse_beyond(self, high: int) -> None:
        if high > self.capacity:
            raise StateError(
                f"the world is full: {self.capacity} rows; make a larger one with World(capacity=...)"
            )


def columns_of(poses: Floats) -> Columns:
    """The columns of a block of poses (n, 10)."""
    return Columns(poses[:, 0:3], poses[:, 3:7], poses[:, 7:10])


def _view(column: Any) -> Any:
    return memoryview(column)


def _whole(entity: Any) -> int:
    try:
        return index(entity)  # a numpy integer would overflow where handles are taken apart
    except TypeError:
        raise TypeError(f"entity {entity!r}: expected a handle, such as world.find gives by name") from None


def _unknown(entity: int) -> StateError:
    return StateError(f"entity {entity} is not in this world; it may have been despawned")
