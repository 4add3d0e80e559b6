"""The seam between what diorama says and how bytes travel.

Everything above (publisher, replica, subscriber) speaks to these two kinds of link; everything below is one engine.
An engine is chosen by the endpoint: `tcp://`, `ipc://` and `inproc://` are ZeroMQ, `zenoh:` is zenoh.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Frame = bytes | memoryview
Frames = Sequence[Frame]


@dataclass(frozen=True, slots=True)
class Interest:
    """Somebody began to listen to a topic, or the last listener left."""

    topic: str
    listens: bool


class PublishLink(Protocol):
    """One publisher's way out. Sending never blocks: who cannot keep up loses messages, nobody else does."""

    endpoints: list[str]

    def send(self, topic: str, frames: Frames) -> Callable[[], bool]:
        """Send a message; the answer tells when its buffers may be written again."""

    def interests(self, timeout_s: float = 0.0) -> list[Interest]:
        """Who came and left since last time; waits for the first one that long."""

    def close(self) -> None:
        """Send what is queued as far as it goes at once, and end."""


class SubscribeLink(Protocol):
    """One subscriber's way in."""

    def subscribe(self, topic: str) -> None:
        """Receive what begins with this topic, from now on and across reconnects."""

    def unsubscribe(self, topic: str) -> None:
        """Stop receiving it."""

    def receive(self, timeout_s: float) -> tuple[str, list[Frame]] | None:
        """The next message as topic and frames, or None after that long."""

    def close(self) -> None:
        """End."""


def engine_of(endpoint: str) -> str:
    """`zmq` or `zenoh`; ValueError for an address that is neither, or a port that cannot be."""
    if endpoint.startswith("zenoh:"):
        return "zenoh"
    if endpoint.startswith(("ipc://", "inproc://")) or _is_tcp(endpoint):
        return "zmq"
    raise ValueError(
        f"endpoint {endpoint!r}: expected tcp://HOST:PORT, ipc://PATH, inproc://NAME or zenoh:..."
    )


def _is_tcp(endpoint: str) -> bool:
    """Whether there is a port that can be: ZeroMQ takes 99999 without a word and binds another one."""
    port = endpoint.rpartition(":")[2]
    return endpoint.startswith("tcp://") and (
        port in ("*", "!") or (port.isdecimal() and int(port) < 1 << 16)
    )
