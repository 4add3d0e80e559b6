"""Interest management: parts of a scene for those who asked for them.

Each view remembers who is in it, so that entering and leaving are told like spawning and removing. Views by distance
share one spatial index, refreshed from the columns when something has moved.
"""

import logging
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Classification
from diorama.ecs.components import GROUPS
from diorama.ecs.grid import Grid
from diorama.ecs.table import ROW_BITS, ROW_MASK
from diorama.ecs.world import World
from diorama.schemas.errors import MessageError
from diorama.schemas.view import VIEW, View, view_from_text
from diorama.transport.codec import Frame, Since
from diorama.transport.view_codec import center_of, encode_view

Handles = NDArray[np.int64]
MOST_VIEWS = 4096
NANOSECONDS = 1_000_000_000
log = logging.getLogger("diorama.transport")


class ViewState:
    """One view: what it holds, and what its listeners have been told."""

    def __init__(self, view: View, sequence: int = 0) -> None:
        self.view = view
        self.members: Handles = np.empty(0, np.int64)
        self.since = Since()
        self.sequence = sequence
        self.due_ns: int | None = None
        self.world: World | None = None

    def is_due(self, time_ns: int, *, at_once: bool) -> bool:
        """Whether an update may be sent now; keeps the phase, so that a rate is kept on the average."""
        if self.view.rate_hz is None:
            return True
        period = round(NANOSECONDS / self.view.rate_hz)
        if at_once or self.due_ns is None or time_ns - self.due_ns > period:
            self.due_ns = time_ns + period
        elif time_ns >= self.due_ns:
            self.due_ns += period
        else:
            return False
        return True


class Views:
    """All views of a publisher."""

    def __init__(self) -> None:
        self._states: dict[str, ViewState] = {}
        # Views begin to count where those that ended have stopped: a listener whose connection broke comes back to a
        # new one of the same run, and must see that it is not the next update of what it had.
        self._counted = 0
        self._index = _Index()
        self._time_ns: int | None = None  # of the last update

    def __len__(self) -> int:
        return len(self._states)

    def want(self, topic: str, wanted: bool) -> None:
        """Somebody subscribed to a view's topic, or the last one left."""
        if not wanted:
            ended = self._states.pop(topic, None)
            self._counted = max(self._counted, 0 if ended is None else ended.sequence)
            return
        if topic in self._states:
            return
        if len(self._states) >= MOST_VIEWS:
            log.warning("a view is refused: there are %d already", MOST_VIEWS)
            return
        try:
            view = view_from_text(topic.removeprefix(VIEW).removesuffix("/"))
        except MessageError as problem:
            log.warning("a view is refused: %s", problem)
        else:
            self._states[topic] = ViewState(view, self._counted)

    def states(self) -> Iterable[tuple[str, ViewState]]:
        """Every view with its topic."""
        return list(self._states.items())

    def find(self, text: str) -> ViewState | None:
        """The view of that text, if somebody listens to it."""
        return self._states.get(f"{VIEW}{text}/")

    def updates(self, world: World, time_ns: int) -> Iterator[tuple[str, ViewState, bool, list[Frame]]]:
        """What is due: topic, view, whether it is complete, and body frames."""
        # Paused, or the clock of another scene: no one knows when a time that is waited for would come.
        stands_still = self._time_ns is not None and time_ns <= self._time_ns
        self._time_ns = time_ns
        for topic, state in self._states.items():
            complete = state.world is not world
            if state.is_due(time_ns, at_once=complete or stands_still):
                yield topic, state, complete, self.advance(world, state, complete)

    def advance(self, world: World, state: ViewState, complete: bool) -> list[Frame]:
        """Body frames that bring a listener from what it was told to what is; the view remembers."""
        members = self.members_of(world, state.view)
        old = np.empty(0, np.int64) if complete else state.members
        since = Since() if complete else state.since
        gone = np.setdiff1d(old, members, assume_unique=True)
        entered = np.setdiff1d(members, old, assume_unique=True)
        frames = encode_view(world, state.view, members, entered, gone, since, complete)
        state.members, state.world = members, world
        state.since = Since(world.version, world.epoch)
        state.sequence += 1
        return frames

    def complete(self, world: World, state: ViewState) -> list[Frame]:
        """The view as it was last told, complete, for one who joins."""
        members = state.members[[world.alive(entity) for entity in state.members.tolist()]]
        return encode_view(world, state.view, members, members, members[:0], Since(), True)

    def members_of(self, world: World, view: View) -> Handles:
        """Who is in a view now: handles, ascending."""
        rows: NDArray[np.int64] | None = None
        if view.near is not None and view.radius is not None:
            center = center_of(world, view)
            if center is None:
                return np.empty(0, np.int64)
            rows = self._index.within(world, center, view.radius)
        if view.under:
            rows = _meet(rows, _subtree(world, view.under))
        for group in view.components:
            rows = _meet(rows, self._index.with_group(world, group))
        if view.classes:
            rows = _meet(rows, self._index.of_classes(world, view.classes))
        if rows is None:
            rows = np.sort(world.forest.order()).astype(np.int64)
        return np.sort(rows | world.table.generation[rows].astype(np.int64) << ROW_BITS)


class _Index:
    """What several views look up, found once for each state of the world."""

    def __init__(self) -> None:
        # The world itself and not its id: a world that came and went may have left its id to another.
        self._state: tuple[World, int, int] | None = None
        self._structure: tuple[World, int] | None = None
        self._grid: Grid | None = None
        self._rows: NDArray[np.int64] = np.empty(0, np.int64)
        self._groups: dict[str, NDArray[np.int64]] = {}
        self._labels: dict[str, list[int]] | None = None

    def within(self, world: World, center: NDArray[np.float64], radius: float) -> NDArray[np.int64]:
        state = (world, world.version, world.epoch)
        if self._state != state or self._grid is None:
            self._state = state
            self._rows = world.forest.order().astype(np.int64)
            # The first asked radius sets the size of the cells: right when views are alike, and never wrong.
            self._grid = Grid(world.table.pose[self._rows, 0:3], max(radius, 1e-3))
        return self._rows[self._grid.within(center, radius)]

    def with_group(self, world: World, group: str) -> NDArray[np.int64]:
        self._forget_if_changed(world)
        if group not in self._groups:
            if group in GROUPS:
                found = [entity for entity, _ in world.query(GROUPS[group])]
            else:
                found = [entity for entity in world.names.values() if group in world.groups(entity)]
            self._groups[group] = np.array(found, np.int64) & ROW_MASK
        return self._groups[group]

    def of_classes(self, world: World, classes: tuple[str, ...]) -> NDArray[np.int64]:
        self._forget_if_changed(world)
        if self._labels is None:
            self._labels = {}
            for entity, classification in world.query(Classification):
                self._labels.setdefault(classification.label, []).append(entity & ROW_MASK)
        return np.array([row for label in classes for row in self._labels.get(label, ())], np.int64)

    def _forget_if_changed(self, world: World) -> None:
        if self._structure != (world, world.epoch):
            self._structure = (world, world.epoch)
            self._groups.clear()
            self._labels = None


def _meet(rows: NDArray[np.int64] | None, others: NDArray[np.int64]) -> NDArray[np.int64]:
    return others if rows is None else np.intersect1d(rows, others)


def _subtree(world: World, name: str) -> NDArray[np.int64]:
    top = world.names.get(name)
    if top is None:
        return np.empty(0, np.int64)
    found = [world.row(top)]
    for row in found:
        found.extend(world.forest.children(row))
    return np.array(found, np.int64)
