"""Publishing and subscribing over ZeroMQ: one XPUB socket out, one SUB socket in.

XPUB tells the publisher who listens to what. It is set verbose, because a reconnecting subscriber can appear before
its old connection is known to be dead, and its wish to be told the scene must not be lost in between.
"""

import socket as unix
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Protocol

import zmq

from diorama.schemas.errors import DioramaError
from diorama.transport.engine import Frame, Frames, Interest
from diorama.transport.security import (
    ClientSecurity,
    ServerSecurity,
    refuse_open_bind,
    secure_client,
    secure_server,
)


class HasFileno(Protocol):
    """What can be polled beside sockets."""

    def fileno(self) -> int:
        """Readable when there is something."""


# Frames from this size on are sent without copying: 6 µs instead of 300 for a megabyte.
ZERO_COPY_BYTES = 64 * 1024
LONGEST_SUBSCRIPTION_BYTES = 4096
MAX_MESSAGE_BYTES = 1 << 30
# Wishes looked at in one go: who sends them without end must not keep the publisher from publishing.
MOST_INTERESTS = 1000
# How a dead connection is noticed within eight seconds. Sockets that bind ask their peers for a sign of life. Sockets
# that connect leave it to the kernel: with a full queue they stop reading, and if a heartbeat of their own ended the
# connection then, libzmq (4.3.5) would abort the process once the queue is read again.
BOUND = ((zmq.HEARTBEAT_IVL, 2000), (zmq.HEARTBEAT_TIMEOUT, 6000))
CONNECTED = (
    (zmq.RECONNECT_IVL, 50),
    (zmq.RECONNECT_IVL_MAX, 1000),
    (zmq.TCP_KEEPALIVE, 1),
    (zmq.TCP_KEEPALIVE_IDLE, 2),
    (zmq.TCP_KEEPALIVE_INTVL, 2),
    (zmq.TCP_KEEPALIVE_CNT, 3),
    (zmq.TCP_MAXRT, 8000),
)
# ZeroMQ closes sockets in the background: a port that this process has just given up takes a moment to be free
# (a tenth of a second on a machine with five times as much to do as it has processors).
RELEASE_S = 1.0


class ZmqPublishLink:
    """An XPUB socket bound to one or more endpoints."""

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        queue: int,
        security: ServerSecurity | None = None,
        insecure: bool = False,
    ) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XPUB)
        for option, value in (
            (zmq.XPUB_VERBOSE, 1),
            (zmq.SNDHWM, queue),
            (zmq.LINGER, 200),
            (zmq.MAXMSGSIZE, LONGEST_SUBSCRIPTION_BYTES),
            *BOUND,
        ):
            self._socket.setsockopt(option, value)
        self.endpoints = []
        try:
            secure_server(self._socket, security)
            for endpoint in endpoints:
                refuse_open_bind(endpoint, security, insecure)
                self.endpoints.append(bind(self._socket, endpoint))
        except BaseException:
            self._socket.close(linger=0)
            raise

    @property
    def socket(self) -> zmq.Socket[bytes]:
        """For whoever polls several sockets at once."""
        return self._socket

    def send(self, topic: str, frames: Frames) -> Callable[[], bool]:
        """Send a message; the answer tells when its buffers may be written again."""
        trackers = []
        self._socket.send(topic.encode(), zmq.SNDMORE)
        for index, frame in enumerate(frames):
            more = zmq.SNDMORE if index < len(frames) - 1 else 0
            if len(frame) < ZERO_COPY_BYTES:
                self._socket.send(frame, more)
            else:
                trackers.append(self._socket.send(frame, more, copy=False, track=True))
        if not trackers:
            return _done
        return lambda: all(tracker is None or tracker.done for tracker in trackers)

    def interests(self, timeout_s: float = 0.0) -> list[Interest]:
        """Who came and left since last time; waits for the first one that long."""
        found: list[Interest] = []
        if timeout_s > 0 and not self._socket.poll(round(timeout_s * 1000)):
            return found
        for _ in range(MOST_INTERESTS):
            try:
                frame = self._socket.recv_multipart(zmq.NOBLOCK)[0]
            except zmq.Again:
                break
            if frame[:1] in (b"\0", b"\1"):
                try:
                    found.append(Interest(frame[1:].decode(), frame[:1] == b"\1"))
                except UnicodeDecodeError:
                    continue  # nobody of ours
        return found

    def close(self) -> None:
        """Send what is queued as far as it goes at once, and end."""
        self._socket.close()


class ZmqSubscribeLink:
    """A SUB socket connected to one or more endpoints; ZeroMQ reconnects and subscribes again by itself."""

    def __init__(
        self, endpoints: Sequence[str], *, queue: int, security: ClientSecurity | None = None
    ) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        for option, value in (
            (zmq.RCVHWM, queue),
            (zmq.LINGER, 0),
            (zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES),
            *CONNECTED,
        ):
            self._socket.setsockopt(option, value)
        if security is not None:
            secure_client(self._socket, security)
        try:
            for endpoint in endpoints:
                self._socket.connect(endpoint)
        except zmq.ZMQError as problem:
            self._socket.close(linger=0)
            raise DioramaError(f"{endpoint}: cannot connect: {problem}") from None

    @property
    def socket(self) -> zmq.Socket[bytes]:
        """For whoever polls several sockets at once."""
        return self._socket

    def subscribe(self, topic: str) -> None:
        """Receive what begins with this topic, from now on and across reconnects."""
        self._socket.subscribe(topic)

    def unsubscribe(self, topic: str) -> None:
        """Stop receiving it."""
        self._socket.unsubscribe(topic)

    def receive(self, timeout_s: float) -> tuple[str, list[Frame]] | None:
        """The next message as topic and frames, or None after that long. Large frames are not copied."""
        parts = receive_parts(self._socket, timeout_s)
        if parts is None:
            return None
        return parts[0].bytes.decode(errors="replace"), [part.buffer for part in parts[1:]]

    def close(self) -> None:
        """End."""
        self._socket.close()


def receive_parts(socket: zmq.Socket[bytes], timeout_s: float) -> list[zmq.Frame] | None:
    """The next message, its frames not copied, or None after that long."""
    try:
        return socket.recv_multipart(zmq.NOBLOCK, copy=False)
    except zmq.Again:
        if timeout_s <= 0 or not socket.poll(max(1, round(timeout_s * 1000))):
            return None
    try:
        return socket.recv_multipart(zmq.NOBLOCK, copy=False)
    except zmq.Again:
        return None


def bind(socket: zmq.Socket[bytes], endpoint: str) -> str:
    """Bind, and say the endpoint with the port that was really taken; a sentence when that fails."""
    patience = monotonic() + RELEASE_S
    while True:
        try:
            if is_answered(endpoint):
                raise zmq.ZMQError(zmq.EADDRINUSE)
            socket.bind(endpoint)
            return socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")
        except zmq.ZMQError as problem:
            if problem.errno != zmq.EADDRINUSE:
                raise DioramaError(f"{endpoint}: cannot bind: {problem}") from None
        if monotonic() > patience:
            raise DioramaError(
                f"{endpoint}: the address is in use; stop the other program or choose another port"
            )
        sleep(0.01)


def is_answered(endpoint: str) -> bool:
    """Whether a program listens at an ipc endpoint: ZeroMQ would take its file away and the address with it."""
    path = endpoint.removeprefix("ipc://")
    if path == endpoint or path[:1] in ("*", "@"):
        return False
    with unix.socket(unix.AF_UNIX, unix.SOCK_STREAM) as probe:
        probe.settimeout(0.1)
        try:
            probe.connect(path)
        except OSError:
            return False  # nobody, or a file that somebody who died has left
    return True


def poll_sockets(sockets: "Sequence[zmq.Socket[bytes] | HasFileno]", timeout_s: float) -> None:
    """Wait until one of the sockets (or whatever has a file number) has something to read, or for that long."""
    poller = zmq.Poller()
    for socket in sockets:
        poller.register(socket, zmq.POLLIN)
    poller.poll(round(timeout_s * 1000))


def _done() -> bool:
    return True
