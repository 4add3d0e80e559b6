"""Who hangs under whom: children by parent row, and all rows in an order that has parents first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs.table import Table

Order = NDArray[np.int32]


class Forest:
    """The shape of the tree. The `parent` column of the table is its truth; this keeps what follows from it."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.levels: list[int] = [0, 0]  # where each level begins in `order`, and the end
        self.above: NDArray[np.intp] = np.empty(0, np.intp)  # where in `order` the parent is, -1 for none
        self._children: dict[int, dict[int, None]] = {}
        self._new: list[int] = []  # hung rows that `_children` does not have yet
        self._order: Order = np.empty(0, np.int32)
        self._settled = True
        self._parent: Any = memoryview(table.parent)  # type: ignore[arg-type]  # quick for single rows

    def children(self, row: int) -> list[int]:
        """The rows right below, in the order they came."""
        self._catch_up()
        return list(self._children.get(row, ()))

    def add(self, row: int, parent: int) -> None:
        """Hang a new row, whose parent column says so already."""
        self._settled = False
        if parent >= 0:
            self._new.append(row)

    def add_many(self, rows: NDArray[np.int64], parents: NDArray[np.int64]) -> None:
        """Hang new rows, whose parent columns say so already."""
        self._settled = False
        self._new.extend(rows[parents >= 0].tolist())

    def move(self, row: int, parent: int) -> None:
        """Hang a row somewhere else."""
        self._leave(row)
        self._parent[row] = parent
        self.add(row, parent)

    def cut(self, row: int) -> list[int]:
        """Take out a row and all below it; returns them, parents first."""
        self._settled = False
        self._leave(row)
        gone = [row]
        if row in self._children:
            for found in gone:
                gone.extend(self._children.pop(found, ()))
        return gone

    def is_below(self, row: int, top: int) -> bool:
        """Whether a row is `top` itself or hangs below it."""
        while row >= 0 and row != top:
            row = self._parent[row]
        return row == top

    def order(self) -> Order:
        """All living rows, parents before children, level by level; rebuilt when the shape has changed."""
        if not self._settled:
            table = self.table
            rows = np.flatnonzero(table.alive[: table.high]).astype(np.int32)
            depth = _depths(table.parent[: table.high], rows)
            ranked = np.argsort(depth, kind="stable")
            self._order = rows[ranked]
            self.levels = np.searchsorted(
                depth[ranked], np.arange(depth.max() + 2 if len(depth) else 2)
            ).tolist()
            position = np.full(table.high + 1, -1)  # the last one is for the parent -1 of roots
            position[self._order] = np.arange(len(rows))
            self.above = position.take(table.parent.take(self._order), mode="wrap")
            self._settled = True
        return self._order

    def _catch_up(self) -> None:
        """Bring the children up to date: many scenes are never asked for them."""
        children, above = self._children, self._parent
        for row in self._new:
            parent = above[row]
            if parent in children:
                children[parent][row] = None
            else:
                children[parent] = {row: None}
        self._new.clear()

    def _leave(self, row: int) -> None:
        if self._new:
            self._catch_up()
        siblings = self._children.get(self._parent[row])
        if siblings is not None:
            siblings.pop(row, None)


def _depths(parent: Order, rows: Order) -> Order:
    """How many parents each row has, by pointer doubling: log2(depth) rounds, whatever the shape of the tree."""
    above = np.append(parent, -1)  # index -1 meets this sentinel
    depth = (above >= 0).astype(np.int32)
    while (above[rows] >= 0).any():
        depth += depth[above]
        above = above[above]
    return depth[rows]
