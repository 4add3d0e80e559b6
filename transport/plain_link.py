"""Plain topics of other systems: bytes under a name, out and in, with no protocol of ours.

The seam for speaking to programs that are not diorama's. `zenoh:...` puts under the topic's own name, as AeroSim's
fork does; `kafka://HOST:PORT` is Kafka, as AeroSim's original does.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from diorama.schemas.errors import DioramaError


class PlainLink(Protocol):
    """A way out and in. Publishing does not wait for anybody."""

    endpoint: str

    def publish(self, topic: str, payload: bytes) -> None:
        """Send a message."""

    def receive(self, timeout_s: float = 0.0) -> tuple[str, bytes] | None:
        """The next message of the topics listened to, or None after that long."""

    def close(self) -> None:
        """Send what is left, and end."""


def open_plain_link(endpoint: str, listen: Sequence[str], *, insecure: bool = False) -> PlainLink:
    """Open a link that listens to some topics."""
    if endpoint.startswith("zenoh:"):
        return ZenohPlainLink(endpoint, listen, insecure=insecure)
    if endpoint.startswith("kafka://"):
        from diorama.transport.kafka_link import KafkaLink

        return KafkaLink(endpoint, listen)
    raise DioramaError(f"endpoint {endpoint!r}: expected zenoh:... or kafka://HOST:PORT")


class ZenohPlainLink:
    """Topics as keys of zenoh. Options of the endpoint are as everywhere; its scene does not matter."""

    def __init__(self, endpoint: str, listen: Sequence[str], *, insecure: bool = False) -> None:
        from diorama.transport.zenoh_endpoint import parse_endpoint
        from diorama.transport.zenoh_session import Inbox, close_link, direct, open_session, undeclare

        where = parse_endpoint(endpoint)
        self._session = open_session(where, serves=True, insecure=insecure)
        self._undeclare, self._close = undeclare, close_link
        self.endpoint = where.text if where.discovers else where.told(self._session.listen)
        self._inbox = inbox = Inbox(10_000)
        self._declared: list[Any] = []

        def declare(session: Any) -> None:
            for topic in listen:
                self._declared.append(
                    session.declare_subscriber(
                        topic, direct(lambda sample: inbox.put((str(sample.key_expr), sample.payload)))
                    )
                )

        self._session.when_open(declare)

    def publish(self, topic: str, payload: bytes) -> None:
        """Send a message; what cannot leave is lost."""
        session = self._session.now
        if session is not None:
            session.put(topic, payload)

    def receive(self, timeout_s: float = 0.0) -> tuple[str, bytes] | None:
        """The next message, or None after that long."""
        item = self._inbox.take(timeout_s)
        return None if item is None else (item[0], item[1].to_bytes())

    def close(self) -> None:
        """End."""
        self._undeclare(self._declared)
        self._close(self._session, self._inbox)
