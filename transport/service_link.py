"""The seam of the service: how requests and answers travel, whatever carries them.

The service and the client speak to these two kinds of link only; `open_answer_link` and `open_request_link` choose
the engine by the endpoint. A message is a list of frames: JSON first, then binary bodies.
"""

from typing import NamedTuple, Protocol

from diorama.schemas.errors import DioramaError
from diorama.transport.connect import refuse_curve
from diorama.transport.engine import Frame, Frames, engine_of
from diorama.transport.security import ClientSecurity, ServerSecurity


class Caller(NamedTuple):
    """Who asks: the name that limits go by (the public key where there is one), and the way back to it."""

    name: bytes
    route: tuple[bytes, ...]


class AnswerLink(Protocol):
    """The answering side: requests of many clients in, answers out. Replying never blocks."""

    @property
    def endpoint(self) -> str:
        """Where clients connect to."""

    def receive(self, timeout_s: float) -> tuple[Caller, list[Frame]] | None:
        """The next request, or None after that long."""

    def reply(self, caller: Caller, frames: Frames) -> None:
        """Answer; an answer for somebody who has gone is dropped."""

    def close(self) -> None:
        """End."""


class RequestLink(Protocol):
    """The asking side."""

    def send(self, frames: Frames, timeout_s: float) -> bool:
        """Send a request; False when it could not leave within that time."""

    def receive(self, timeout_s: float) -> list[Frame] | None:
        """The next answer, or None after that long."""

    def close(self) -> None:
        """End; what has not been sent is dropped."""


def open_answer_link(
    endpoint: str, *, security: ServerSecurity | None, insecure: bool, max_message_bytes: int
) -> AnswerLink:
    """Bind an endpoint for requests."""
    if _engine(endpoint) == "zenoh":
        from diorama.transport.zenoh_service import ZenohAnswerLink

        refuse_curve(security)
        return ZenohAnswerLink(endpoint, insecure=insecure)
    from diorama.transport.zmq_service import ZmqAnswerLink

    return ZmqAnswerLink(endpoint, security=security, insecure=insecure, max_message_bytes=max_message_bytes)


def open_request_link(endpoint: str, *, security: ClientSecurity | None, queue: int = 1000) -> RequestLink:
    """Connect to an endpoint that answers."""
    if _engine(endpoint) == "zenoh":
        from diorama.transport.zenoh_service import ZenohRequestLink

        refuse_curve(security)
        return ZenohRequestLink(endpoint)
    from diorama.transport.zmq_service import ZmqRequestLink

    return ZmqRequestLink(endpoint, security=security, queue=queue)


def _engine(endpoint: str) -> str:
    try:
        return engine_of(endpoint)
    except ValueError as error:
        raise DioramaError(str(error)) from None
