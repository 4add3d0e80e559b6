"""Requests and answers over ZeroMQ: a ROUTER that answers REQ and DEALER clients, and a DEALER that asks."""

import contextlib

import zmq

from diorama.schemas.errors import DioramaError
from diorama.transport.engine import Frame, Frames
from diorama.transport.security import (
    ClientSecurity,
    ServerSecurity,
    refuse_open_bind,
    secure_client,
    secure_server,
)
from diorama.transport.service_link import Caller
from diorama.transport.zmq_pubsub import BOUND, CONNECTED, bind, receive_parts

MAX_FRAMES = 8  # more than any request of ours has; the rest of a longer one is not looked at
ANSWER_BYTES = 1 << 30
# Requests of one client that wait here; the rest wait at the client. Each may have the size of the limit.
WAITING_REQUESTS = 16


class ZmqAnswerLink:
    """A ROUTER socket bound to one endpoint."""

    def __init__(
        self,
        endpoint: str,
        *,
        security: ServerSecurity | None = None,
        insecure: bool = False,
        max_message_bytes: int = 1 << 24,
    ) -> None:
        refuse_open_bind(endpoint, security, insecure)
        self._guarded = security is not None
        self.socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        # MAXMSGSIZE is for each frame: libzmq cuts the connection of whoever sends a larger one.
        options = (zmq.LINGER, 200), (zmq.MAXMSGSIZE, max_message_bytes), (zmq.RCVHWM, WAITING_REQUESTS)
        _configure(self.socket, *options, *BOUND)
        try:
            secure_server(self.socket, security)
            self.endpoint = bind(self.socket, endpoint)
        except BaseException:
            self.socket.close(linger=0)
            raise

    def receive(self, timeout_s: float) -> tuple[Caller, list[Frame]] | None:
        """The next request without its envelope, or None after that long. Large frames are not copied."""
        parts = receive_parts(self.socket, timeout_s)
        if parts is None:
            return None
        identity = parts[0].bytes
        name = identity
        if self._guarded and len(parts) > 1:
            with contextlib.suppress(zmq.ZMQError):
                name = str(parts[1].get("User-Id")).encode()
        enveloped = len(parts) > 1 and len(parts[1]) == 0
        route = (identity, b"") if enveloped else (identity,)
        return Caller(name, route), [part.buffer for part in parts[len(route) : len(route) + MAX_FRAMES]]

    def reply(self, caller: Caller, frames: Frames) -> None:
        """Answer; an answer for somebody who has gone, or who does not read, is dropped."""
        with contextlib.suppress(zmq.ZMQError):
            self.socket.send_multipart([*caller.route, *frames], zmq.NOBLOCK)

    def close(self) -> None:
        """Send what is queued as far as it goes at once, and end."""
        self.socket.close()


class ZmqRequestLink:
    """A DEALER socket connected to one endpoint; it sends the empty envelope that a REP behind it would need."""

    def __init__(self, endpoint: str, *, security: ClientSecurity | None = None, queue: int = 1000) -> None:
        self.socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        _configure(
            self.socket,
            (zmq.LINGER, 0),
            (zmq.SNDHWM, queue),
            (zmq.MAXMSGSIZE, ANSWER_BYTES),
            *CONNECTED,
        )
        try:
            if security is not None:
                secure_client(self.socket, security)
            self.socket.connect(endpoint)
        except zmq.ZMQError as error:
            self.socket.close(linger=0)
            raise DioramaError(
                f"{endpoint}: expected an endpoint such as tcp://127.0.0.1:5556: {error}"
            ) from None

    def send(self, frames: Frames, timeout_s: float) -> bool:
        """Send a request; False when it could not leave within that time."""
        if not self.socket.poll(round(timeout_s * 1000), zmq.POLLOUT):
            return False
        self.socket.send_multipart([b"", *frames])
        return True

    def receive(self, timeout_s: float) -> list[Frame] | None:
        """The next answer without its envelope, or None after that long."""
        parts = receive_parts(self.socket, timeout_s)
        if parts is None:
            return None
        return [part.buffer for part in parts[1 if len(parts[0]) == 0 else 0 :]]

    def close(self) -> None:
        """End; what has not been sent is dropped."""
        self.socket.close()


def _configure(socket: "zmq.Socket[bytes]", *options: tuple[int, int]) -> None:
    for option, value in options:
        socket.setsockopt(option, value)
