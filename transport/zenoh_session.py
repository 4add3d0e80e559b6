"""Sessions of zenoh, shared by all links of a process that use the same endpoint. The only home of zenoh.

A session that connects to an address may be opened before anybody is there: what is to be declared waits, and
happens when the session is open. Once open, zenoh reconnects and declares everything again by itself.
"""

import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition, Event, Lock, Thread
from time import monotonic
from typing import Any

import orjson

from diorama.schemas.errors import DioramaError, missing_extra
from diorama.transport.engine import Frame
from diorama.transport.zenoh_endpoint import ZenohEndpoint, refuse_open_listen, settings

try:
    import zenoh
except ImportError:
    missing_extra("zenoh", "publishing and following over zenoh")

ALIGNMENT = 8
MOST_FRAMES = 64
PORT_ATTEMPTS = 8
LARGE_BYTES = 256 * 1024
CLOSING_S = 0.2
_open: "dict[bytes, Session]" = {}
_lock = Lock()


class Session:
    """One zenoh session. `when_open` does something with it, now or as soon as there is one."""

    def __init__(self, config: dict[str, Any], listen: tuple[str, ...]) -> None:
        self.users = 0
        self.listen = listen
        self._config = config
        self._lock = Lock()
        self._waiting: list[Callable[[zenoh.Session], object]] = []
        self._closed = Event()
        self._session: zenoh.Session | None = None
        try:
            self._session = zenoh.open(_zenoh_config(config))
        except zenoh.ZError:
            if config["mode"] != "client":
                raise
            Thread(target=self._try_on, daemon=True).start()

    def when_open(self, action: "Callable[[zenoh.Session], object]") -> None:
        """Do it now, or in order with others once the session is open."""
        with self._lock:
            if self._session is None:
                self._waiting.append(action)
                return
            session = self._session
        _quietly(action, session)

    @property
    def now(self) -> "zenoh.Session | None":
        """The session, if it is open."""
        return self._session

    def close(self) -> None:
        """End it and everything declared in it."""
        self._closed.set()
        with self._lock:
            session, self._session = self._session, None
            self._waiting.clear()
        if session is not None:
            session.close()  # type: ignore[no-untyped-call]

    def _try_on(self) -> None:
        while not self._closed.wait(0.1):
            try:
                session = zenoh.open(_zenoh_config(self._config))
            except zenoh.ZError:
                continue
            while True:
                with self._lock:
                    if self._closed.is_set():
                        break
                    if not self._waiting:
                        self._session = session
                        return
                    action = self._waiting.pop(0)
                _quietly(action, session)
            session.close()  # type: ignore[no-untyped-call]
            return


def open_session(endpoint: ZenohEndpoint, *, serves: bool, insecure: bool = False) -> Session:
    """The session of an endpoint, opened unless this process has it already; `close_session` gives it back.

    Who serves can be connected to; who only follows listens nowhere.
    """
    if serves:
        refuse_open_listen(endpoint, insecure)
    elif endpoint.listen:
        raise DioramaError(f"{endpoint.text}: listen: is for publishers; a follower connects to an address")
    listen = endpoint.listen if serves else ()
    if endpoint.discovers and serves:
        listen = ("tcp/127.0.0.1:0",) if endpoint.network == "lo" else ("tcp/[::]:0",)
    config = settings(endpoint, mode="client" if endpoint.locators else "peer", listen=listen)
    return _shared(endpoint, config, listen)


def open_router(endpoint: ZenohEndpoint, *, insecure: bool = False) -> Session:
    """A session that routes between everybody who connects to it."""
    refuse_open_listen(endpoint, insecure)
    if not endpoint.listen:
        raise DioramaError("router: expected addresses to listen at, such as tcp/127.0.0.1:7447")
    return _shared(endpoint, settings(endpoint, mode="router", listen=endpoint.listen), endpoint.listen)


def close_session(session: Session) -> None:
    """One user less; the last one closes it."""
    with _lock:
        session.users -= 1
        if session.users > 0:
            return
        for name in [name for name, other in _open.items() if other is session]:
            del _open[name]
    session.close()


def undeclare(things: list[Any]) -> None:
    """Withdraw what was declared, and forget it."""
    while things:
        things.pop(0).undeclare()


def close_link(session: Session, inbox: "Inbox") -> None:
    """Give a link's session back and close its inbox; once, since others may still use the session."""
    if not inbox.is_closed:
        close_session(session)
        inbox.close()


def direct(callback: Callable[[Any], object]) -> Any:
    """A handler called in the thread that receives, so that messages of different kinds keep their order."""
    return zenoh.handlers.Callback(callback, indirect=False)


def is_put(sample: Any) -> bool:
    """Whether a liveliness sample says that something is there, rather than gone."""
    return bool(sample.kind == zenoh.SampleKind.PUT)


def droppable() -> Any:
    """The congestion control that loses messages rather than waits."""
    return zenoh.CongestionControl.DROP


def everyone() -> Any:
    """The query target that asks all who can answer, and the consolidation that keeps every answer."""
    return {"target": zenoh.QueryTarget.ALL, "consolidation": zenoh.ConsolidationMode.NONE}


class Inbox:
    """What arrived, from any thread to one; `fileno` can be polled beside sockets. When full, the oldest goes."""

    def __init__(self, size: int) -> None:
        self._items: deque[Any] = deque(maxlen=size)
        self._ear, self._bell = socket.socketpair()
        self._ear.setblocking(False)
        self._bell.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._ear, select.POLLIN)

    def put(self, item: Any) -> None:
        """Add something and wake whoever waits."""
        self._items.append(item)
        self._ring()

    def take(self, timeout_s: float = 0.0) -> Any:
        """The oldest, or None after that long."""
        deadline = monotonic() + timeout_s
        while not self._items:
            self._hush()
            if self._items:
                break
            left = deadline - monotonic()
            if left <= 0:
                return None
            self._poll.poll(max(1, round(left * 1000)))
        return self._items.popleft()

    def fileno(self) -> int:
        """Readable while there may be something."""
        self._hush()
        if self._items:
            self._ring()
        return self._ear.fileno()

    @property
    def is_closed(self) -> bool:
        """Whether it has ended."""
        return self._ear.fileno() < 0

    def close(self) -> None:
        """End."""
        self._ear.close()
        self._bell.close()

    def _ring(self) -> None:
        with suppress(OSError):  # full: whoever waits wakes up anyway; closed: nobody waits
            self._bell.send(b"!")

    def _hush(self) -> None:
        with suppress(OSError):
            while self._ear.recv(4096):
                pass


class Sender:
    """Sends in order without holding up the caller: small messages at once, large ones in a thread of its own.

    zenoh takes a message at the pace of the network, and 8 MB take 70 ms at a gigabit a second.
    """

    def __init__(self, queue: int) -> None:
        self._queue: deque[Callable[[], object]] = deque()
        self._most = queue
        self._changed = Condition()
        self._sending = False
        self._closed = False
        self._thread: Thread | None = None

    def send(self, action: Callable[[], object], size: int) -> None:
        """Do it now, or after those that wait; when too many wait, the new one is lost."""
        with self._changed:
            if self._closed or len(self._queue) >= self._most:
                return
            if size >= LARGE_BYTES or self._sending or self._queue:
                self._queue.append(action)
                self._changed.notify()
                if self._thread is None:
                    self._thread = Thread(target=self._work, daemon=True)
                    self._thread.start()
                return
        with suppress(zenoh.ZError):
            action()

    def close(self) -> None:
        """Send what waits, for a fifth of a second at most, and end."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queue and not self._sending, CLOSING_S)
            self._closed = True
            self._queue.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._sending = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                action, self._sending = self._queue.popleft(), True
            with suppress(zenoh.ZError):
                action()


def pack(frames: Sequence[Frame]) -> bytearray:
    """Frames in one payload: their number and sizes as little-endian u64, then each at a multiple of 8 bytes."""
    sizes = [memoryview(frame).nbytes for frame in frames]
    head = struct.pack(f"<{1 + len(sizes)}Q", len(sizes), *sizes)
    payload = bytearray(len(head) + sum(size + -size % ALIGNMENT for size in sizes))
    payload[: len(head)] = head
    start = len(head)
    for frame, size in zip(frames, sizes, strict=True):
        payload[start : start + size] = memoryview(frame).cast("B") if size else b""
        start += size + -size % ALIGNMENT
    return payload


def unpack(payload: bytes) -> list[Frame]:
    """The frames of a payload, without copying; none when it is not such a payload."""
    if len(payload) < 8:
        return []
    count = int.from_bytes(payload[:8], "little")
    if count > MOST_FRAMES or len(payload) < 8 * (1 + count):
        return []
    sizes = struct.unpack_from(f"<{count}Q", payload, 8)
    view, start, frames = memoryview(payload), 8 * (1 + count), list[Frame]()
    for size in sizes:
        if start + size > len(payload):
            return []
        frames.append(view[start : start + size])
        start += size + -size % ALIGNMENT
    return frames


def _shared(endpoint: ZenohEndpoint, config: dict[str, Any], listen: tuple[str, ...]) -> Session:
    """The session with these settings; one that takes a free port (port 0, which becomes a real one) is a new one."""
    for attempt in range(PORT_ATTEMPTS):
        taken = tuple(_with_port(locator) for locator in listen)
        config = {**config, "listen/endpoints": list(listen if endpoint.discovers else taken)}
        name = orjson.dumps(config, option=orjson.OPT_SORT_KEYS)
        try:
            with _lock:
                session = _open.get(name)
                if session is None:
                    session = _open[name] = Session({**config, "listen/endpoints": list(taken)}, taken)
                session.users += 1
                return session
        except zenoh.ZError as problem:
            if taken != listen and attempt < PORT_ATTEMPTS - 1:
                continue  # somebody else took the port in between
            reason = str(problem).partition(" at /")[0]
            raise DioramaError(f"{endpoint.text}: cannot open: {reason}") from None
    raise AssertionError("unreachable")


def _with_port(locator: str) -> str:
    if not locator.endswith(":0"):
        return locator
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"{locator.removesuffix('0')}{probe.getsockname()[1]}"


def _zenoh_config(config: dict[str, Any]) -> "zenoh.Config":
    made = zenoh.Config()
    for path, value in config.items():
        made.insert_json5(path, orjson.dumps(value).decode())
    return made


def _quietly(action: "Callable[[zenoh.Session], object]", session: "zenoh.Session") -> None:
    """What is declared or sent while a session closes is for nobody."""
    try:
        action(session)
    except zenoh.ZError:
        if not session.is_closed():
            raise
