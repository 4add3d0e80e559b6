"""Listening to any topic, as decoded messages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import RLock
from time import monotonic
from typing import Any, Self

import orjson

from diorama.schemas.errors import MessageError
from diorama.transport import codec
from diorama.transport.codec import Frame, Header
from diorama.transport.connect import open_subscribe_link
from diorama.transport.security import ClientSecurity


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its topic (without the slash at its end), header and body frames."""

    topic: str
    header: Header
    frames: tuple[Frame, ...]

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return sum(len(frame) for frame in self.frames)

    def json(self) -> Any:
        """The body, for topics that speak JSON; MessageError otherwise."""
        try:
            return orjson.loads(self.frames[0]) if self.frames else None
        except orjson.JSONDecodeError as problem:
            raise MessageError(
                f"{self.topic}: expected JSON, got {len(self.frames[0])} bytes: {problem}"
            ) from None


class Subscriber:
    """Messages of some topics; `""` means all. What is not a message of ours is counted and passed over.

    `close` may be called from any thread.
    """

    def __init__(
        self,
        endpoint: str | Sequence[str] = "tcp://127.0.0.1:5555",
        *topics: str,
        queue: int = 1000,
        security: ClientSecurity | None = None,
    ) -> None:
        endpoints = [endpoint] if isinstance(endpoint, str) else list(endpoint)
        self._link = open_subscribe_link(endpoints, queue=queue, security=security)
        self._closed = False
        self._in_use = RLock()
        self.malformed = 0
        for topic in topics or ("",):
            self._link.subscribe(topic)

    def receive(self, timeout_s: float = 1.0) -> Message | None:
        """The next message, or None after that long."""
        deadline = monotonic() + timeout_s
        with self._in_use:
            while not self._closed:
                found = self._link.receive(max(0.0, min(deadline - monotonic(), 0.1)))
                if found is not None and (message := self._decode(*found)) is not None:
                    return message
                if monotonic() >= deadline:
                    break
        return None

    def _decode(self, topic: str, frames: Sequence[Frame]) -> Message | None:
        try:
            if not frames:
                raise MessageError("message: expected a header, got nothing")
            return Message(topic.rstrip("/"), codec.unpack_header(frames[0]), tuple(frames[1:]))
        except MessageError:
            self.malformed += 1
            return None

    def __iter__(self) -> Iterator[Message]:
        while not self._closed:
            message = self.receive(0.1)
            if message is not None:
                yield message

    def close(self) -> None:
        """Stop listening; a running iteration ends, in this thread or another."""
        self._closed = True
        with self._in_use:  # sockets must not be closed under somebody who waits on them
            self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
