"""Publishing a world: every update on the topics somebody listens to, and the complete scene to whoever joins."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol, Self
from uuid import uuid4

import numpy as np
import orjson
from numpy.typing import NDArray

from diorama.ecs.tree import propagate
from diorama.ecs.world import World
from diorama.schemas import topics
from diorama.schemas.errors import StateError
from diorama.schemas.view import SNAPSHOT_PREFIX, VIEW
from diorama.transport import codec
from diorama.transport.changed_text import ChangedText
from diorama.transport.codec import Block, Header, Since
from diorama.transport.connect import open_publish_link
from diorama.transport.engine import Frame
from diorama.transport.listeners import Listeners
from diorama.transport.scene_json import changes_document, complete_document, resource_epoch, resources_text
from diorama.transport.scene_text import SceneText
from diorama.transport.security import ServerSecurity
from diorama.transport.views import Views

HEARTBEAT_S = 1.0
log = logging.getLogger("diorama.transport")
BLOCKS: dict[str, Block] = {topics.SCENE_LOCAL: "local", topics.SCENE_WORLD: "world", topics.SCENE_GEO: "geo"}


class Tick(Protocol):
    """A moment of simulation time."""

    @property
    def index(self) -> int:
        """Which tick of the run."""

    @property
    def time_ns(self) -> int:
        """Simulation time in nanoseconds."""


@dataclass(frozen=True, slots=True)
class _Moment:
    index: int = 0
    time_ns: int = 0


@dataclass(slots=True)
class Statistics:
    """What a publisher has done so far."""

    updates: int = 0
    joins: int = 0
    resyncs: int = 0  # complete scenes asked for again: a listener lost updates, or its connection
    bytes_sent: int = 0
    messages: dict[str, int] = field(default_factory=dict)  # by topic; all snapshots are one, and all views


class Publisher:
    """Publishes one world at a time. Nothing is encoded that nobody listens to, and nobody can block it."""

    def __init__(
        self,
        endpoint: str | Sequence[str] = "tcp://127.0.0.1:5555",
        *,
        keyframe_interval: int = 0,
        queue: int = 16,
        security: ServerSecurity | None = None,
        insecure: bool = False,
        json_decimals: bool = False,
    ) -> None:
        """Bind; port `*` takes a free one (see `endpoints`).

        `keyframe_interval` sends a complete scene to everyone every so many updates, for listeners behind a proxy that
        hides joins. `queue` is how many updates may wait for one slow subscriber before its next ones are dropped.
        `json_decimals` writes the complete JSON three times as fast with fixed decimals (0.05 mm); see `docs/wire.md`.
        """
        endpoints = [endpoint] if isinstance(endpoint, str) else list(endpoint)
        self._link = open_publish_link(endpoints, queue=queue, security=security, insecure=insecure)
        self.endpoints = self._link.endpoints
        self.run_id = uuid4().bytes
        self.sequence = 0
        self.statistics = Statistics()
        self._keyframe_interval = keyframe_interval
        self._listeners = Listeners()
        self._since = Since()
        self._world: World | None = None
        self._moment: Tick = _Moment()
        self._last_beat = -np.inf
        self._buffers = _Buffers()
        self._views = Views()
        self._resources_wanted = False
        self._text = SceneText(decimals=json_decimals)
        self._changed = ChangedText()
        self._complaint = ""

    @property
    def endpoint(self) -> str:
        """The (first) endpoint others connect to."""
        return self.endpoints[0]

    @property
    def link(self) -> Any:
        """The engine's link, for whoever waits on several at once."""
        return self._link

    def listens(self, topic: str) -> bool:
        """Whether somebody listens to a topic."""
        return self._listeners.hears(topic)

    def publish(self, world: World, tick: Tick | None = None) -> None:
        """Tell everybody what changed since the last update."""
        if tick is None:
            tick = _Moment(self.sequence + 1, self._moment.time_ns)
        self._notice_interests()
        self._resolve(world)
        fresh = world is not self._world or self._lost_removals(world)
        complete = fresh or (self._keyframe_interval > 0 and self.sequence % self._keyframe_interval == 0)
        self._world, self._moment = world, tick
        self.sequence += 1
        self.statistics.updates += 1
        self._send_scene(world, complete)
        resources_changed = fresh or resource_epoch(world) > self._since.epoch
        self._since = Since(world.version, world.epoch)
        for topic, state, whole, frames in self._views.updates(world, tick.time_ns):
            self._send(topic, codec.COMPLETE if whole else codec.UPDATE, frames, state.sequence)
        if self._resources_wanted or resources_changed:
            self._send_resources(world)
        if self.listens(topics.CLOCK):
            clock = {"tick": tick.index, "time_ns": tick.time_ns}
            self._send(topics.CLOCK, codec.DATA, [orjson.dumps(clock)])
        self._answer_joins()
        self._beat()

    def send_json(self, topic: str, value: Mapping[str, Any]) -> None:
        """Publish a message of your own, as JSON, if somebody listens; numbers and arrays of numpy are welcome.

        JSON has no NaN and no infinity: they arrive as null.
        """
        name = topics.user_topic(topic)
        if self.listens(name):
            self._send(name, codec.DATA, [orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)])

    def send_bytes(self, topic: str, *frames: Frame) -> None:
        """Publish bytes of your own, if somebody listens."""
        name = topics.user_topic(topic)
        if self.listens(name):
            # Large frames travel without copying: what the caller may write again is copied first.
            self._send(name, codec.DATA, [bytes(frame) for frame in frames])

    def poll(self, timeout_s: float = 0.0) -> None:
        """Between updates: greet whoever joined and keep the heartbeat going. Call it while waiting or paused."""
        self._notice_interests(timeout_s)
        if self._resources_wanted and self._world is not None:
            self._send_resources(self._world)
        self._answer_joins()
        self._beat()

    def close(self) -> None:
        """Stop publishing."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _resolve(self, world: World) -> None:
        """Resolve what is new. Numbers that cannot be are told to the log, and the rest is published."""
        if world.propagated_epoch != world.epoch:
            try:
                propagate(world)
            except StateError as problem:
                self._complain(problem)

    def _complain(self, problem: StateError) -> None:
        if str(problem) != self._complaint:
            self._complaint = str(problem)
            log.error("%s", problem)

    def _lost_removals(self, world: World) -> bool:
        """Whether entities went so fast that the world no longer knows all that this publisher has not told."""
        removals = world.removals
        return len(removals) == removals.maxlen and removals[0][0] > self._since.epoch

    def _send_scene(self, world: World, complete: bool) -> None:
        kind = codec.COMPLETE if complete else codec.UPDATE
        for topic, block in BLOCKS.items():
            if self.listens(topic) and not (block == "geo" and world.origin is None):
                self._send(topic, kind, self._column_frames(world, block, complete))
        if self.listens(topics.SCENE_JSON):
            for body in self._document(world, codec.COMPLETE):
                self._send(topics.SCENE_JSON, codec.COMPLETE, [body])
        if self.listens(topics.SCENE_CHANGES):
            for body in self._document(world, kind):
                self._send(topics.SCENE_CHANGES, kind, [body])

    def _document(self, world: World, kind: int) -> list[Frame]:
        """The scene as JSON; nothing while it holds numbers that JSON cannot tell."""
        header = self._header(kind)
        try:
            if kind == codec.COMPLETE:
                return [complete_document(self._text, world, header)]
            return [changes_document(self._changed, world, header, self._since)]
        except StateError as problem:
            self._complain(problem)
            return []

    def _send_resources(self, world: World) -> None:
        self._resources_wanted = False
        if self.listens(topics.RESOURCES):
            try:
                self._send(topics.RESOURCES, codec.DATA, [resources_text(world)])
            except StateError as problem:
                self._complain(problem)

    def _column_frames(self, world: World, block: Block, complete: bool) -> list[Frame]:
        since = self._since
        if complete:
            structured = rows = world.forest.order()
            structure = codec.encode_structure(world, structured, None)
            moving = rows[world.velocities.present[rows]]
        else:
            rows = codec.moved_rows(world, since) if block == "local" else codec.posed_rows(world, since)
            changed = world.epoch != since.epoch
            structured = codec.structured_rows(world, since)
            structure = codec.encode_structure(world, structured, since) if changed else codec.NO_STRUCTURE
            moving = codec.velocity_rows(world, since)
        values = self._buffers.take(len(rows), codec.WIDTH[block])
        doubtful = len(structured) > 0
        return [structure, *codec.encode_blocks(world, block, rows, moving, values, doubtful=doubtful)]

    def _header(self, kind: int, sequence: int | None = None) -> Header:
        """`sequence` is the publisher's, unless a view counts its own updates."""
        number = self.sequence if sequence is None else sequence
        epoch = 0 if self._world is None else self._world.epoch
        base = number - 1 if kind == codec.UPDATE else number
        return Header(kind, self.run_id, number, epoch, self._moment.index, self._moment.time_ns, base)

    def _send(self, topic: str, kind: int, frames: Sequence[Frame], sequence: int | None = None) -> None:
        done = self._link.send(topic, [codec.pack_header(self._header(kind, sequence)), *frames])
        self._buffers.sent(done)
        self.statistics.bytes_sent += sum(len(frame) for frame in frames)
        counted = topics.family(topic)
        self.statistics.messages[counted] = self.statistics.messages.get(counted, 0) + 1

    def _notice_interests(self, timeout_s: float = 0.0) -> None:
        for interest in self._link.interests(timeout_s):
            if interest.topic.startswith(VIEW):
                self._views.want(interest.topic, interest.listens)
            else:
                self._listeners.note(interest.topic, interest.listens)
                self._resources_wanted |= interest.listens and topics.RESOURCES.startswith(interest.topic)

    def _answer_joins(self) -> None:
        """A complete scene for each newcomer, on the topic that only it listens to; equal encodings share the work."""
        if self._world is None:
            return
        bodies: dict[str, tuple[list[Frame], int | None]] = {}
        for topic in self._listeners.take_joins():
            encoding = topics.encoding_of_snapshot(topic) or ""
            if encoding not in bodies:
                bodies[encoding] = self._complete_body(self._world, encoding)
            frames, sequence = bodies[encoding]
            if not frames:
                continue
            self._send(topic, codec.COMPLETE, frames, sequence)
            again = topic.rstrip("/").rpartition(".")[2] not in ("", "0")
            self.statistics.joins += not again
            self.statistics.resyncs += again

    def _complete_body(self, world: World, encoding: str) -> tuple[list[Frame], int | None]:
        """Body frames and, for a view, its own sequence; no frames when there is nothing of the kind."""
        self._resolve(world)
        if encoding in ("json", "changes"):
            return self._document(world, codec.COMPLETE), None
        if encoding.startswith(SNAPSHOT_PREFIX):
            state = self._views.find(encoding.removeprefix(SNAPSHOT_PREFIX))
            if state is None:
                return [], None
            if state.world is not world:
                return self._views.advance(world, state, complete=True), state.sequence
            return self._views.complete(world, state), state.sequence
        block = BLOCKS[topics.CONTINUES[encoding]]
        if block == "geo" and world.origin is None:
            return [], None
        rows = world.forest.order()
        moving = rows[world.velocities.present[rows]]
        structure = codec.encode_structure(world, rows, None)
        # Fresh memory: the same frames may be on their way to several newcomers at once.
        return [structure, *codec.encode_blocks(world, block, rows, moving, doubtful=True)], None

    def _beat(self) -> None:
        now = monotonic()
        if now - self._last_beat >= HEARTBEAT_S:
            self._last_beat = now
            self._send(topics.HEARTBEAT, codec.BEAT, [])
            for topic, state in self._views.states():
                self._send(topic, codec.BEAT, [], state.sequence)


class _Buffers:
    """Send buffers, used again once the engine is done with them: a live column sent without copying would change
    on its way, and fresh memory for every update costs more than filling it.
    """

    KEPT = 8

    def __init__(self) -> None:
        self._free: list[NDArray[np.float64]] = []
        self._taken: list[NDArray[np.float64]] = []
        self._flying: list[tuple[NDArray[np.float64], Callable[[], bool]]] = []

    def take(self, rows: int, width: int) -> NDArray[np.float64]:
        """An array of (rows, width), with whatever it held before."""
        size = rows * width
        self._free += [buffer for buffer, done in self._flying if done()]
        self._flying = [(buffer, done) for buffer, done in self._flying if not done()]
        for index, buffer in enumerate(self._free):
            if buffer.size >= size:
                found = self._free.pop(index)
                break
        else:
            found = np.empty(max(size, 1024))
            self._free = self._free[-self.KEPT :]
        self._taken.append(found)
        return found[:size].reshape(rows, width)

    def sent(self, done: Callable[[], bool]) -> None:
        """What was taken is on its way until `done` says otherwise."""
        self._flying += [(buffer, done) for buffer in self._taken]
        self._taken = []
