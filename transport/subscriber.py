"""Listening to any topic, as decoded messages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    """Messages of some topics; `""` means all. What is not a message of ours is counted and passed over."""

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
        self.malformed = 0
        for topic in topics or ("",):
            self._link.subscribe(topic)

    def receive(self, timeout_s: float = 1.0) -> Message | None:
        """The next message, or None after that long."""
        found = self._link.receive(timeout_s)
        if found is None:
            return None
        topic, frames = found
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
        """Stop listening; a running iteration ends."""
        self._closed = True
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
