"""The hot state of a world: float64 columns with one stable row per entity.

Columns are allocated once at full capacity and never move; the operating system commits their pages when rows are
first used, so an array handed out stays good however the world grows.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from diorama.schemas.errors import StateError

CAPACITY = 1 << 22
ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1
IDENTITY = np.array((0, 0, 0, 0, 0, 0, 1, 1, 1, 1), np.float64)
# What `seen` holds for a row whose pose must be computed afresh: a NaN no arithmetic produces.
UNSEEN = np.array(0x7FF8_D10A_2A3A_0001, np.uint64).view(np.float64)


class Columns:
    """Three (or four) adjacent blocks of one table: the same memory under names."""

    __slots__ = ("orientation", "position", "scale")

    def __init__(self, block: NDArray[np.float64]) -> None:
        self.position = block[:, 0:3]
        self.orientation = block[:, 3:7]
        self.scale = block[:, 7:10]


class Velocities:
    """Linear (m/s, world NED axes) and angular (rad/s, own axes) velocity columns, and which rows have one."""

    __slots__ = ("angular", "block", "linear", "present")

    def __init__(self, capacity: int) -> None:
        self.block = np.zeros((capacity, 6))
        self.linear = self.block[:, 0:3]
        self.angular = self.block[:, 3:6]
        self.present = np.zeros(capacity, np.bool_)


class Table:
    """Rows, their generations and their columns. A pose is ten numbers: position 3, orientation xyzw 4, scale 3.

    `seen` is the local pose at the last propagation: a row has moved when its bits differ. The stamps say when a row
    last changed: `moved` and `posed` (local and world pose) in propagations, `structured` in structural changes.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.high = 0  # rows ever used
        self.free: deque[int] = (
            deque()
        )  # oldest first, so that a stale view stays harmless as long as possible
        self.local = np.zeros((capacity, 10))
        self.seen = np.zeros((capacity, 10))
        self.pose = np.zeros((capacity, 10))
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
        self.velocities = Velocities(capacity)
        self.velocity_seen = np.zeros((capacity, 6))
        self.velocity_moved = np.zeros(capacity, np.int64)

    def allocate(self) -> int:
        """A free row, marked alive; returns the entity handle."""
        if self.free:
            row = self.free.popleft()
        else:
            row = self.high
            self._grow(row + 1)
        self.alive[row] = True
        return row | int(self.generation[row]) << ROW_BITS

    def allocate_many(self, count: int) -> NDArray[np.int64]:
        """`count` free rows at once, marked alive; returns entity handles."""
        reused = min(count, len(self.free))
        self._grow(self.high + count - reused)
        rows = np.empty(count, np.int64)
        rows[:reused] = [self.free.popleft() for _ in range(reused)]
        rows[reused:] = np.arange(self.high - count + reused, self.high)
        self.alive[rows] = True
        return rows | self.generation[rows].astype(np.int64) << ROW_BITS

    def claim(self, entities: NDArray[np.int64]) -> None:
        """Make exactly these handles alive: how a replica keeps the rows of the world it mirrors."""
        rows = entities & ROW_MASK
        if len(rows) == 0:
            return
        top = int(rows.max()) + 1
        taken = rows[self.alive[rows]] if top <= self.capacity else rows[:0]
        if len(taken):
            raise StateError(f"row {int(taken[0])} is in use already")
        if top > self.high:
            fresh = np.ones(top - self.high, np.bool_)
            fresh[rows[rows >= self.high] - self.high] = False
            gaps = np.nonzero(fresh)[0] + self.high
            self._grow(top)
            self.free.extend(gaps.tolist())
        wanted = set(rows.tolist())
        if any(row in wanted for row in self.free):
            self.free = deque(row for row in self.free if row not in wanted)
        self.generation[rows] = entities >> ROW_BITS
        self.alive[rows] = True

    def release(self, row: int) -> None:
        """Give a row back; its generation rises, so old handles are dead."""
        self.alive[row] = False
        self.generation[row] += 1
        self.velocities.present[row] = False
        self.free.append(row)

    def _grow(self, high: int) -> None:
        if high > self.capacity:
            raise StateError(
                f"the world is full: {self.capacity} rows; make a larger one with World(capacity=...)"
            )
        self.high = high
