"""Replaying: a recording published again. Replicas, the viewer and everybody else cannot tell it from live.

The recorded updates are applied to a world, and that world is published: every encoding, every newcomer's complete
scene and every heartbeat come from the same publisher as in a live simulation.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diorama.ecs import World, propagate
from diorama.runtime.answer import open_somewhere
from diorama.schemas import topics
from diorama.schemas.errors import SceneError
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.connect import wait_any
from diorama.transport.methods import Handlers
from diorama.transport.publisher import Publisher
from diorama.transport.service import Service
from diorama.viewer.mcap_file import Recorded, read

SCENE = topics.SCENE_LOCAL.rstrip("/")


@dataclass(frozen=True, slots=True)
class Moment:
    """A tick as it was."""

    index: int
    time_ns: int


class Replay:
    """A recording on its way out. `rate` 2 is twice as fast; `start_s` and `end_s` count from the file's beginning."""

    def __init__(
        self,
        path: str | Path,
        publisher: Publisher,
        *,
        rate: float = 1.0,
        loop: bool = False,
        start_s: float = 0.0,
        end_s: float = float("inf"),
    ) -> None:
        self.path, self.publisher = path, publisher
        self.rate, self.loop, self.start_s, self.end_s = rate, loop, start_s, end_s
        self.is_paused = False
        self.updates = 0
        self.time_s = 0.0  # since the beginning of the file
        self._steps = 0  # updates to show although paused
        self.world = World()  # as it is published now
        self.service: Service | None = None
        self._stopped = False

    def run(self) -> None:
        """Publish to the end of the file, or for ever with `loop`."""
        while not self._stopped:
            before = self.updates
            self._once()
            if self.updates == before and not self._stopped:
                raise SceneError(f"{self.path}: there is no scene in it from {self.start_s:g} s on")
            if not self.loop:
                return

    def pause(self) -> None:
        """Hold after this update."""
        self.is_paused = True

    def resume(self) -> None:
        """Go on."""
        self.is_paused = False

    def step(self, updates: int = 1) -> None:
        """Show so many more updates, then hold."""
        self.is_paused = True
        self._steps += updates

    def stop(self) -> None:
        """End."""
        self._stopped = True

    def _once(self) -> None:
        world: World | None = None
        moment = Moment(0, 0)
        begin_ns: int | None = None
        started: float | None = None  # the wall time of start_s; None before anything is shown
        for message in read(self.path):
            begin_ns = message.time_ns if begin_ns is None else begin_ns
            at = (message.time_ns - begin_ns) * 1e-9
            if at > self.end_s:
                return
            is_scene, fresh = message.topic == SCENE, started is None
            if at >= self.start_s and (world is not None or is_scene):
                offset = (at - self.start_s) / self.rate
                # Before the update is applied: whoever joins while we wait gets the scene as it is shown.
                started = self._until(offset, time.monotonic() - offset if started is None else started)
            if self._stopped:
                return
            if is_scene:
                world = applied(world, message)
                moment = Moment(message.header.tick, message.header.time_ns)
            if started is None or world is None:
                continue
            self.time_s = at
            if is_scene or fresh:
                self.world = world
                self.publisher.publish(world, moment)
                self.updates += 1
            if not is_scene:
                self.publisher.send_bytes(message.topic, *message.frames)

    def _wait(self, timeout_s: float) -> None:
        """Greet who joins and answer who asks."""
        if self.service is None:
            self.publisher.poll(timeout_s)
            return
        wait_any([self.publisher.link, self.service.link], timeout_s)
        self.publisher.poll()
        self.service.poll(tick=self.updates)

    def _until(self, offset: float, started: float) -> float:
        """Wait until so long after the start; a pause moves the start, and all that follows, by its length."""
        while not self._stopped and not self._steps:
            now = time.monotonic()
            left = started + offset - now
            if not self.is_paused and left <= 0.0:
                return started
            self._wait(0.05 if self.is_paused else min(0.05, left))
            if self.is_paused:
                started += time.monotonic() - now
        if self._steps:
            self._steps -= 1
            started = time.monotonic() - offset
        return started


def worlds(path: str | Path) -> Iterator[tuple[Recorded, World]]:
    """Every recorded update with the world as it was then; the world is the same object as long as its run lasted."""
    world: World | None = None
    for message in read(path):
        if message.topic == SCENE:
            world = applied(world, message)
            if world is not None:
                yield message, world


def applied(world: World | None, message: Recorded) -> World | None:
    """The world after a recorded update; None for an update that has nothing to build on."""
    if message.header.kind == codec.COMPLETE:
        world = world_from_complete(codec.decode_columns(message.frames))
    elif world is not None:
        apply_update(world, codec.decode_columns(message.frames))
    if world is not None:
        propagate(world)
    return world


@contextmanager
def answering(replay: Replay, endpoint: str | None = None) -> Iterator[str]:
    """Answer questions about the replayed world, and let clients pause, step and resume; gives the endpoint."""
    handlers = Handlers(
        topics=lambda: list(topics.OURS),
        pause=replay.pause,
        resume=replay.resume,
        step=replay.step,
    )

    def open_at(where: str) -> Service:
        return Service(lambda: replay.world, where, handlers=handlers, read_only=False)

    with open_somewhere(open_at, endpoint) as service:
        replay.service = service
        yield service.endpoint
