"""Recording: a published scene and the topics beside it, every update as it came, into a file."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from diorama.ecs import World
from diorama.schemas import topics
from diorama.transport.codec import Frame, unpack_header
from diorama.transport.replica import Replica, Update
from diorama.transport.subscriber import Subscriber
from diorama.viewer import foxglove
from diorama.viewer.batches import same_structure
from diorama.viewer.mcap_file import Recording

FOXGLOVE_S = 0.1  # Foxglove's messages are an extra: ten times a second is plenty
QUEUE = 10_000


class _Listening(Replica):
    """A replica that keeps the bytes of every message it accepts."""

    def __init__(self, endpoint: str | Sequence[str]) -> None:
        self.accepted: list[tuple[str, Sequence[Frame]]] = []
        super().__init__(endpoint, latest=False, queue=QUEUE)

    def _take(self, topic: str, frames: Sequence[Frame]) -> Any:
        step = super()._take(topic, frames)
        if step is not None:
            self.accepted.append((topic, frames))
        return step


class Recorder:
    """Writes what is published to a file. `others` are the topics beside the scene; `""` means all."""

    def __init__(
        self,
        path: str | Path,
        endpoint: str | Sequence[str],
        others: Sequence[str] = ("/",),
        *,
        with_foxglove: bool = True,
    ) -> None:
        self.recording = Recording(path)  # first: a file that cannot be written leaves no sockets behind
        self._replica = _Listening(endpoint)
        self._others = Subscriber(endpoint, *(others or ("/",)), queue=QUEUE)
        self._with_foxglove = with_foxglove
        self._next_foxglove = 0.0
        self._structure: tuple[World, int] | None = None
        # Wall clocks jump; what lies between two messages must not.
        self._epoch_ns = time.time_ns() - time.monotonic_ns()
        self.updates = 0

    @property
    def now_ns(self) -> int:
        """Nanoseconds since 1970, without jumps."""
        return self._epoch_ns + time.monotonic_ns()

    @property
    def dropped(self) -> int:
        """Gaps in what was heard."""
        return self._replica.gaps

    def poll(self, timeout_s: float = 0.1) -> bool:
        """Write what has arrived, waiting that long for it; whether there was anything."""
        update = self._replica.poll(timeout_s)
        heard = update is not None
        while update is not None:
            self._note(update)
            update = self._replica.poll(0.0)
        while (message := self._others.receive(0.0)) is not None:
            heard = True
            if not _is_scene(message.topic):
                self.recording.add(self.now_ns, message.topic, message.header, message.frames)
        self.recording.flush()
        return heard

    def close(self) -> None:
        """Finish the file."""
        self._replica.close()
        self._others.close()
        self.recording.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _note(self, update: Update) -> None:
        now = self.now_ns
        for _, frames in self._replica.accepted:
            header = unpack_header(frames[0])
            self.recording.add(now, topics.SCENE_LOCAL.rstrip("/"), header, tuple(frames[1:]))
            self.updates += 1
        self._replica.accepted.clear()
        if self._with_foxglove:
            self._note_foxglove(update, now)

    def _note_foxglove(self, update: Update, now: int) -> None:
        world = self._replica.world
        fresh = not same_structure(self._structure, world)
        if not fresh and time.monotonic() < self._next_foxglove:
            return
        self._next_foxglove = time.monotonic() + FOXGLOVE_S
        recording = self.recording
        if fresh:
            self._structure = (world, world.epoch)
            recording.add_encoded(
                now, foxglove.SCENE_TOPIC, foxglove.SCENE, foxglove.scene_update(world, now)
            )
        # Everything the first time; later only what this update moved, which is all that moves but for one-offs.
        chosen = world.entities if fresh else np.asarray(update.changed, np.int64)
        data = foxglove.frame_transforms(world, chosen, now, with_root=fresh)
        recording.add_encoded(now, foxglove.TRANSFORMS_TOPIC, foxglove.TRANSFORMS, data)
        for topic, fix in foxglove.locations(world, now).items():
            recording.add_encoded(now, topic, foxglove.LOCATION, fix)


def _is_scene(topic: str) -> bool:
    """Whether a topic is made from the scene, and so is made again by whoever replays it."""
    return topic.startswith(("scene/", "snapshot/", "clock", "heartbeat"))
