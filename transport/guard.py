"""The thread that decides who is let in: one for each ZeroMQ context, started with its first guarded socket.

pyzmq's Authenticator answers libzmq's question about each client key; socket monitors tell of those who never get
as far as that question (no keys at all, or keys made for another server). The thread ends with its context.
"""

import asyncio
import logging
from collections import Counter
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread

import zmq
from zmq.auth import Authenticator
from zmq.utils.monitor import recv_monitor_message

from diorama.schemas.errors import DioramaError

LOG = logging.getLogger("diorama.transport")
REFUSALS = (
    zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_MONITOR_STOPPED
)
REASONS: dict[int, str] = {
    zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: "it came without CURVE keys",
    zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: "its keys are for another server",
}
REASONS_KEPT = 1024

_guards: dict[int, "Guard"] = {}
_guards_lock = Lock()
_names = count()


class Guard:
    """Allow-lists of the guarded sockets of one context, by the domain each socket got."""

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]") -> None:
        # A shadow: `context.destroy()` then leaves our sockets to us, and the end of the context wakes the thread.
        self.context = context = zmq.Context.shadow(context.underlying)
        self.allowed: dict[str, frozenset[bytes]] = {}
        self.auth = Authenticator(context, log=LOG)
        self.refused: Counter[str] = Counter()
        self._address = ""
        self._new: SimpleQueue[tuple[zmq.Socket[bytes], str]] = SimpleQueue()
        self._wake_endpoint = f"inproc://diorama.guard.{next(_names)}"
        try:
            self.auth.start()
        except zmq.ZMQError as error:
            self.auth.stop()
            raise DioramaError(
                f"another authenticator runs in this ZeroMQ context already ({error})"
            ) from None
        self._wake = context.socket(zmq.PULL)
        self._wake.bind(self._wake_endpoint)
        Thread(target=self._run, name="diorama-guard", daemon=True).start()

    def watch(self, socket: "zmq.Socket[bytes]", allowed: frozenset[bytes]) -> None:
        """Let only the allowed keys in at a socket that has not been bound yet."""
        domain = f"diorama.{next(_names)}"
        self.allowed[domain] = allowed
        self.auth.configure_curve_callback(domain, credentials_provider=self)
        socket.zap_domain = domain.encode()
        monitor_endpoint = f"inproc://{domain}.monitor"
        socket.monitor(monitor_endpoint, REFUSALS)
        monitor = self.context.socket(zmq.PAIR)
        monitor.connect(monitor_endpoint)
        self._new.put((monitor, domain))
        with self.context.socket(zmq.PUSH) as wake:
            wake.connect(self._wake_endpoint)
            wake.send(b"")

    def callback(self, domain: str, key: bytes) -> bool:
        """pyzmq's question: is this client's public key on the list of this domain?"""
        known = key in self.allowed.get(domain, ())
        if not known:
            self._refuse(f"client {self._address} with key {key.decode()}: the key is not on the allow-list")
        return known

    def _refuse(self, text: str) -> None:
        """Log the first, second, fourth, eighth ... refusal of a kind: a client that retries must not fill the log."""
        if len(self.refused) >= REASONS_KEPT:
            self.refused.clear()
        self.refused[text] += 1
        times = self.refused[text]
        if times & (times - 1) == 0:
            LOG.warning("refused %s%s", text, f" ({times} times)" if times > 1 else "")

    def _run(self) -> None:
        monitors: dict[zmq.Socket[bytes], str] = {}
        zap = self.auth.zap_socket
        poller = zmq.Poller()
        for socket in (zap, self._wake):
            poller.register(socket, zmq.POLLIN)
        try:
            while True:
                for ready, _ in poller.poll():
                    if ready is zap:
                        self._answer(zap.recv_multipart())
                    elif ready is self._wake:
                        self._wake.recv()
                        monitor, domain = self._new.get()
                        monitors[monitor] = domain
                        poller.register(monitor, zmq.POLLIN)
                    elif self._note(ready):
                        poller.unregister(ready)
                        self.allowed.pop(monitors.pop(ready), None)
                        ready.close(0)
        except zmq.ContextTerminated:
            pass
        finally:
            with _guards_lock:
                _guards.pop(self.context.underlying, None)
            while not self._new.empty():
                monitors[self._new.get()[0]] = ""
            for socket in (zap, self._wake, *monitors):
                socket.close(0)

    def _answer(self, question: list[bytes]) -> None:
        self._address = question[3].decode(errors="replace") if len(question) > 3 else "?"
        asyncio.run(self.auth.handle_zap_message(question))

    def _note(self, monitor: "zmq.Socket[bytes]") -> bool:
        """Log what a monitor tells of a failed handshake; True when its socket has been closed."""
        message = recv_monitor_message(monitor)
        if message["event"] == zmq.EVENT_MONITOR_STOPPED:
            return True
        reason = REASONS.get(message["value"], "it broke off or does not speak ZeroMQ")
        self._refuse(f"a client at {message['endpoint'].decode(errors='replace')}: {reason}")
        return False


def guard_of(context: "zmq.Context[zmq.Socket[bytes]]") -> Guard:
    """The guard of a context, started when there is none yet."""
    with _guards_lock:
        guard = _guards.get(context.underlying)
        if guard is None:
            guard = _guards[context.underlying] = Guard(context)
        return guard
