"""Opening links by endpoint. Engines are imported only when an endpoint asks for them."""

from collections.abc import Sequence
from typing import Any

from diorama.transport.engine import PublishLink, SubscribeLink, engine_of
from diorama.transport.security import ClientSecurity, ServerSecurity


def open_publish_link(
    endpoints: Sequence[str], *, queue: int, security: ServerSecurity | None, insecure: bool
) -> PublishLink:
    """A way out, bound to all endpoints."""
    _one_engine(endpoints)
    from diorama.transport.zmq_pubsub import ZmqPublishLink

    return ZmqPublishLink(endpoints, queue=queue, security=security, insecure=insecure)


def open_subscribe_link(
    endpoints: Sequence[str], *, queue: int, security: ClientSecurity | None
) -> SubscribeLink:
    """A way in, connected to all endpoints."""
    _one_engine(endpoints)
    from diorama.transport.zmq_pubsub import ZmqSubscribeLink

    return ZmqSubscribeLink(endpoints, queue=queue, security=security)


def wait_any(links: Sequence[Any], timeout_s: float) -> None:
    """Wait until one of the links has something, or for that long."""
    from diorama.transport.zmq_pubsub import poll_sockets

    poll_sockets([link.socket for link in links], timeout_s)


def _one_engine(endpoints: Sequence[str]) -> str:
    engines = {engine_of(endpoint) for endpoint in endpoints}
    if len(engines) != 1:
        raise ValueError(f"endpoints {list(endpoints)}: expected one or more of the same engine")
    return engines.pop()
