"""Following a published world: a World kept equal to it, in the axes a renderer wants."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from typing import Self
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs.tree import propagate
from diorama.ecs.world import World
from diorama.geo import AXES
from diorama.schemas import topics
from diorama.schemas.errors import MessageError, StateError, did_you_mean
from diorama.schemas.view import View
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.codec import Frame, Header
from diorama.transport.connect import open_subscribe_link
from diorama.transport.moments import Moment, between
from diorama.transport.security import ClientSecurity
from diorama.transport.view_codec import decode_view

Floats = NDArray[np.float64]
ASK_AGAIN_S = 1.0
ASK_AGAIN_MOST_S = 8.0
# With several endpoints: a publisher that was heard so lately is not left for another. Heartbeats come every second.
LOYALTY_S = 2.5
# Reading the latest ends after so long even if more keeps coming: a reader slower than the publisher sees something.
DRAIN_S = 0.25


@dataclass(frozen=True, slots=True)
class Update:
    """What one step of a replica brought: the tick, what moved (entities) and what went (handles)."""

    index: int
    time_ns: int
    sequence: int
    complete: bool  # `replica.world` is a new World; every entity counts as changed
    changed: NDArray[np.int64]
    removed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Poses:
    """World poses of entities, as arrays for instanced rendering, in the replica's axes and units."""

    entities: NDArray[np.int64]
    position: NDArray[np.floating]
    orientation: NDArray[np.floating]
    scale: NDArray[np.floating]


class Replica:
    """A World kept equal to a published one. It joins, notices gaps, restarts and silence, and heals by itself.

    `for update in replica:` yields after every step; with `latest` (the default) everything that has arrived is
    applied first, so a slow renderer is never behind. `on_event(event, detail)` is told of "joined", "gap",
    "restart", "malformed" and "silence".

    Of several endpoints one publisher is followed, and another one only when the first has fallen silent. `close` may
    be called from any thread; everything else belongs to one at a time.

    With a `view`, only that part of the scene is followed: its entities stand side by side, each with its world pose.
    """

    def __init__(
        self,
        endpoint: str | Sequence[str] = "tcp://127.0.0.1:5555",
        *,
        axes: str = "ned",
        latest: bool = True,
        interpolated: bool = False,
        silence_s: float = 5.0,
        queue: int = 64,
        on_event: Callable[[str, str], None] | None = None,
        security: ClientSecurity | None = None,
        view: View | None = None,
    ) -> None:
        if axes not in AXES:
            raise ValueError(
                f"axes: expected one of {', '.join(AXES)}, got {axes!r}{did_you_mean(axes, AXES)}"
            )
        self.axes = AXES[axes]
        self._view = view
        self._topic = topics.SCENE_LOCAL if view is None else view.topic
        self.world = World()
        self.whole = False  # whether `world` is the published one; nothing is yielded before
        self.run_id = b""
        self.sequence = 0
        self.time_ns = 0
        self.gaps = 0
        self.malformed = 0
        self._latest = latest
        self._interpolated = interpolated
        self._moments: tuple[Moment, ...] = ()
        self._silence_s = silence_s
        self._on_event = on_event
        self._closed = False
        self._in_use = RLock()
        self._last: Update | None = None
        self._trouble = ""
        self._name = uuid4().hex
        self._attempt = 0
        self._snapshot = ""
        self._patience_s = ASK_AGAIN_S
        self._asked = self._heard = self._run_heard = monotonic()
        self._silent = False
        endpoints = [endpoint] if isinstance(endpoint, str) else list(endpoint)
        self._several = len(endpoints) > 1
        self._link = open_subscribe_link(endpoints, queue=queue, security=security)
        # The scene first: when the complete scene arrives, everything after it does too.
        self._link.subscribe(self._topic)
        self._link.subscribe(topics.HEARTBEAT)
        self._ask()

    # -- following -----------------------------------------------------------------------------------------------

    def poll(self, timeout_s: float = 0.0) -> Update | None:
        """Apply what has arrived, waiting that long for something new; None when nothing did."""
        with self._in_use:
            steps = self._read(timeout_s)
            if not steps or not self.whole or self._closed:
                return None
            self._last = self._conclude(steps)
            return self._last

    def _read(self, timeout_s: float) -> "list[_Step]":
        deadline = monotonic() + timeout_s
        enough = deadline + DRAIN_S
        steps: list[_Step] = []
        while not self._closed:
            waiting = 0.0 if steps else max(0.0, min(deadline - monotonic(), 0.1))
            message = self._link.receive(waiting)
            if message is None:
                self._watch()
                if steps or monotonic() >= deadline:
                    break
                continue
            now = self._heard = monotonic()
            self._silent = False
            step = self._take(*message)
            if step is not None:
                if step.complete:
                    steps.clear()
                if not steps:
                    enough = min(enough, now + DRAIN_S)
                steps.append(step)
                if not self._latest:
                    break
            elif not self.whole:
                steps.clear()
                self._watch()
            if now >= enough:
                break
        return steps

    def __iter__(self) -> Iterator[Update]:
        while not self._closed:
            update = self.poll(0.1)
            if update is not None:
                yield update

    async def __aiter__(self) -> AsyncIterator[Update]:
        from asyncio import to_thread  # only for those who use it

        while not self._closed:
            update = await to_thread(self.poll, 0.1)
            if update is not None:
                yield update

    def wait_until_whole(self, timeout_s: float = 5.0) -> Update:
        """Wait for the complete scene and give the last update; TimeoutError says what to look at."""
        deadline = monotonic() + timeout_s
        while not self._closed:
            waiting = deadline - monotonic()
            self.poll(max(0.0, 0.0 if self.whole else min(0.1, waiting)))
            if self.whole and self._last is not None:
                return self._last
            if waiting <= 0:
                break
        hint = self._trouble or "is a publisher running at that endpoint?"
        raise TimeoutError(f"no scene within {timeout_s} s; {hint}")

    @property
    def silent(self) -> bool:
        """Whether nothing has been heard for `silence_s`, not even a heartbeat."""
        return self._silent

    def close(self) -> None:
        """Stop following; a running iteration ends, in this thread or another."""
        self._closed = True
        with self._in_use:  # sockets must not be closed under somebody who waits on them
            self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- poses ---------------------------------------------------------------------------------------------------

    def poses(self, entities: ArrayLike | None = None) -> Poses:
        """World poses in the renderer's axes, of all entities (parents first) or of some."""
        handles = self.world.entities if entities is None else np.asarray(entities, np.int64)
        return self._in_axes(handles, self.world.table.pose[self.world.rows(handles)])

    def instances(self, center: ArrayLike = (0.0, 0.0, 0.0), entities: ArrayLike | None = None) -> Poses:
        """The same in float32, relative to a centre (NED metres) such as the camera, so that far scenes do not jitter.

        Within 1 km of the centre a position is right to 0.06 mm.
        """
        handles = self.world.entities if entities is None else np.asarray(entities, np.int64)
        pose = self.world.table.pose[self.world.rows(handles)]
        pose[:, 0:3] -= np.asarray(center, np.float64)
        found = self._in_axes(handles, pose)
        small = (part.astype(np.float32) for part in (found.position, found.orientation, found.scale))
        return Poses(handles, *small)

    def interpolate(self, time_ns: int, *, extrapolate: bool = False) -> Poses:
        """World poses at a time between the last two updates (slerp; positions and scales linear).

        Outside that span the nearest update counts, unless `extrapolate` is on. Needs `interpolated=True`.
        """
        if not self._interpolated:
            raise ValueError(
                "interpolation keeps the last two updates: make the Replica with interpolated=True"
            )
        if not self._moments:
            raise StateError("no update has arrived yet")
        before, after = self._moments[0], self._moments[-1]
        return self._in_axes(after.entities, between(before, after, time_ns, extrapolate=extrapolate))

    def _in_axes(self, entities: NDArray[np.int64], pose: Floats) -> Poses:
        return Poses(
            entities,
            self.axes.points(pose[:, 0:3]),
            self.axes.rotations(pose[:, 3:7]),
            self.axes.scales(pose[:, 7:10]),
        )

    # -- inside --------------------------------------------------------------------------------------------------

    def _take(self, topic: str, frames: Sequence[Frame]) -> "_Step | None":
        """One message; a step when the world changed."""
        try:
            if not frames:
                raise MessageError("message: expected a header, got nothing")
            header = codec.unpack_header(frames[0])
            if not self._follows(header.run_id):
                return None
            if header.kind == codec.BEAT:
                self._compare(header, of_scene=topic == topics.HEARTBEAT)
                return None
            if header.kind == codec.COMPLETE and topic in (self._snapshot, self._topic):
                return self._take_complete(header, frames[1:])
            if header.kind == codec.UPDATE and topic == self._topic:
                return self._take_update(header, frames[1:])
        except MessageError as problem:
            self.malformed += 1
            self._trouble = str(problem)
            self._lose("malformed", str(problem))
        return None

    def _follows(self, run_id: bytes) -> bool:
        """Whether a publisher is ours; with several endpoints others may speak too, and must wait their turn."""
        if self._several and self.run_id and run_id != self.run_id:
            return self._heard - self._run_heard > LOYALTY_S
        self._run_heard = self._heard
        return True

    def _take_complete(self, header: Header, frames: Sequence[Frame]) -> "_Step | None":
        same_run = header.run_id == self.run_id
        if self.whole and same_run and header.sequence <= self.sequence:
            return None
        world = world_from_complete(self._decode(frames))
        self._propagate(world)
        if self.whole and not same_run:
            self._tell("restart", "the publisher is a new one")
        self._moments = tuple(moment.still(self.world, world) for moment in self._moments if same_run)
        self.world = world
        self._accept(header)
        if not self.whole:
            self.whole = True
            self._patience_s = ASK_AGAIN_S
            self._tell("joined", f"{len(world)} entities at update {header.sequence}")
        return _Step(header, complete=True, since=-1)

    def _take_update(self, header: Header, frames: Sequence[Frame]) -> "_Step | None":
        if not self.whole:
            return None
        if header.run_id != self.run_id:
            self._lose("restart", "the publisher is a new one")
            return None
        if header.sequence <= self.sequence:
            return None
        if header.base != self.sequence:
            self.gaps += 1
            self._lose("gap", f"updates {self.sequence + 1} to {header.base} are lost")
            return None
        since, epoch = self.world.version, self.world.epoch
        apply_update(self.world, self._decode(frames))
        self._propagate(self.world)
        self._accept(header)
        removed = codec.removed_since(self.world, codec.Since(epoch=epoch))
        return _Step(header, complete=False, since=since, removed=tuple(removed))

    def _decode(self, frames: Sequence[Frame]) -> codec.Columns:
        return codec.decode_columns(frames) if self._view is None else decode_view(self._view, frames)

    def _propagate(self, world: World) -> None:
        try:
            propagate(world)
        except StateError as problem:
            raise MessageError(str(problem)) from None

    def _accept(self, header: Header) -> None:
        self.run_id, self.sequence, self.time_ns = header.run_id, header.sequence, header.time_ns

    def _compare(self, header: Header, *, of_scene: bool) -> None:
        """A heartbeat shows a lost last update and a new publisher. A view has a count, and heartbeats, of its own."""
        if not self.whole:
            return
        if header.run_id != self.run_id:
            self._lose("restart", "the publisher is a new one")
        elif of_scene == (self._view is None) and header.sequence > self.sequence:
            self.gaps += 1
            self._lose("gap", f"updates {self.sequence + 1} to {header.sequence} are lost")

    def _lose(self, event: str, detail: str) -> None:
        """What we have can no longer be trusted: tell, and ask for the complete scene."""
        self._tell(event, detail)
        if self.whole:
            self.whole = False
            self._attempt += 1
            self._ask()

    def _ask(self) -> None:
        if self._closed:  # by a callback, just now
            return
        if self._snapshot:
            self._link.unsubscribe(self._snapshot)
        encoding = "local" if self._view is None else self._view.encoding
        self._snapshot = topics.snapshot(encoding, f"{self._name}.{self._attempt}")
        self._link.subscribe(self._snapshot)
        self._asked = monotonic()

    def _watch(self) -> None:
        """Nothing came: ask again if we wait for a scene, and notice silence."""
        now = monotonic()
        if not self.whole and now - self._asked > self._patience_s:
            self._patience_s = min(ASK_AGAIN_MOST_S, 2 * self._patience_s)
            self._attempt += 1
            self._ask()
        if not self._silent and now - self._heard > self._silence_s:
            self._silent = True
            self._tell("silence", f"nothing heard for {self._silence_s} s")

    def _tell(self, event: str, detail: str) -> None:
        if self._on_event is not None:
            self._on_event(event, detail)

    def _conclude(self, steps: "list[_Step]") -> Update:
        world = self.world
        complete = any(step.complete for step in steps)
        if complete:
            changed = world.entities
        else:
            since = min(step.since for step in steps)
            changed = world.table.handles(codec.posed_rows(world, codec.Since(since, world.epoch)))
        header = steps[-1].header
        if self._interpolated:
            self._moments = (*self._moments[-1:], Moment.of(world, header.time_ns))
        removed = tuple(entity for step in steps for entity in step.removed)
        return Update(header.tick, header.time_ns, header.sequence, complete, changed, removed)


@dataclass(frozen=True, slots=True)
class _Step:
    """One applied message, and the propagation of the replica's world before it."""

    header: Header
    complete: bool
    since: int
    removed: tuple[int, ...] = ()
