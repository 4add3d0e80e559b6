"""Opening links by endpoint. Engines are imported only when an endpoint asks for them."""

from collections.abc import Sequence
from typing import Any

from diorama.schemas.errors import DioramaError
from diorama.transport.engine import PublishLink, SubscribeLink, engine_of
from diorama.transport.security import ClientSecurity, ServerSecurity


def open_publish_link(
    endpoints: Sequence[str], *, queue: int, security: ServerSecurity | None, insecure: bool
) -> PublishLink:
    """A way out, bound to all endpoints."""
    if _one_engine(endpoints) == "zenoh":
        from diorama.transport.zenoh_pubsub import ZenohPublishLink, one_endpoint

        refuse_curve(security)
        return ZenohPublishLink(one_endpoint(endpoints), queue=queue, insecure=insecure)
    from diorama.transport.zmq_pubsub import ZmqPublishLink

    return ZmqPublishLink(endpoints, queue=queue, security=security, insecure=insecure)


def open_subscribe_link(
    endpoints: Sequence[str], *, queue: int, security: ClientSecurity | None
) -> SubscribeLink:
    """A way in, connected to all endpoints."""
    if _one_engine(endpoints) == "zenoh":
        from diorama.transport.zenoh_pubsub import ZenohSubscribeLink, one_endpoint

        refuse_curve(security)
        return ZenohSubscribeLink(one_endpoint(endpoints), queue=queue)
    from diorama.transport.zmq_pubsub import ZmqSubscribeLink

    return ZmqSubscribeLink(endpoints, queue=queue, security=security)


def wait_any(links: Sequence[Any], timeout_s: float) -> None:
    """Wait until one of the links has something, or for that long. Links of both engines may be mixed."""
    from diorama.transport.zmq_pubsub import poll_sockets

    poll_sockets([link.socket for link in links], timeout_s)


def refuse_curve(security: object) -> None:
    """Raise when somebody gives CURVE keys to zenoh, which has its own ways."""
    if security is not None:
        raise DioramaError(
            "CURVE keys are for ZeroMQ; a zenoh: endpoint takes user and password_file, or ca, cert and key"
        )


def _one_engine(endpoints: Sequence[str]) -> str:
    engines = {engine_of(endpoint) for endpoint in endpoints}
    if len(engines) != 1:
        raise DioramaError(
            "endpoints: expected one or more, all ZeroMQ (tcp://, ipc://, inproc://) or all zenoh:, "
            f"got {list(endpoints)}"
        )
    return engines.pop()
