"""Keys, allow-lists and binds: who is let in, who is not, and that the log says so."""

import logging
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zmq

from diorama.ecs import World
from diorama.schemas.errors import DioramaError
from diorama.schemas.topics import SCENE_JSON
from diorama.tests.patience import PATIENCE_MS, PATIENCE_S
from diorama.transport import guard, security
from diorama.transport.publisher import Publisher
from diorama.transport.security import ClientSecurity, ServerSecurity
from diorama.transport.subscriber import Subscriber

SILENCE_MS = 300  # for what must not


class Sockets:
    """A context whose sockets are closed when the test is over."""

    def __init__(self) -> None:
        self.context = zmq.Context()
        self.opened: list[zmq.Socket[bytes]] = []

    def open(self, kind: int) -> "zmq.Socket[bytes]":
        self.opened.append(self.context.socket(kind))
        return self.opened[-1]


@pytest.fixture
def sockets() -> Iterator[Sockets]:
    sockets = Sockets()
    yield sockets
    for socket in sockets.opened:
        socket.close(0)
    sockets.context.term()


@pytest.fixture
def heard() -> Iterator["Heard"]:
    handler = Heard()
    guard.LOG.addHandler(handler)
    yield handler
    guard.LOG.removeHandler(handler)


class Heard(logging.Handler):
    """Log lines, and a socketless way to wait for one."""

    def __init__(self) -> None:
        super().__init__()
        from queue import Queue

        self.lines: Queue[str] = Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.put(record.getMessage())

    def next(self) -> str:
        return self.lines.get(timeout=PATIENCE_S)


def keys() -> tuple[bytes, bytes]:
    public, secret = zmq.curve_keypair()
    return public, secret


def server_for(*clients: bytes) -> ServerSecurity:
    public, secret = keys()
    return ServerSecurity(public_key=public, secret_key=secret, allowed=frozenset(clients))


def client_of(server: ServerSecurity, pair: tuple[bytes, bytes] | None = None) -> ClientSecurity:
    public, secret = pair or keys()
    return ClientSecurity(public_key=public, secret_key=secret, server_key=server.public_key)


def bound(sockets: Sockets, server: ServerSecurity) -> tuple["zmq.Socket[bytes]", str]:
    socket = sockets.open(zmq.ROUTER)
    security.secure_server(socket, server)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    return socket, f"tcp://127.0.0.1:{port}"


def test_an_allowed_client_is_heard_and_answered(sockets: Sockets) -> None:
    pair = keys()
    server = server_for(pair[0])
    socket, endpoint = bound(sockets, server)
    client = sockets.open(zmq.DEALER)
    security.secure_client(client, client_of(server, pair))
    client.connect(endpoint)
    client.send(b"hello")
    assert socket.poll(PATIENCE_MS)
    who, said = socket.recv_multipart()
    assert said == b"hello"
    socket.send_multipart([who, b"welcome"])
    assert client.poll(PATIENCE_MS)
    assert client.recv() == b"welcome"


@pytest.mark.parametrize(
    ("arm", "line"),
    [
        pytest.param(lambda socket, server: None, "without CURVE keys", id="no keys"),
        pytest.param(
            lambda socket, server: security.secure_client(socket, client_of(server)),
            "not on the allow-list",
            id="unknown client key",
        ),
        pytest.param(
            lambda socket, server: security.secure_client(socket, client_of(server_for())),
            "keys are for another server",
            id="wrong server key",
        ),
    ],
)
def test_others_get_nothing_and_the_log_says_so(
    sockets: Sockets,
    heard: Heard,
    arm: Callable[["zmq.Socket[bytes]", ServerSecurity], None],
    line: str,
) -> None:
    server = server_for(keys()[0])
    socket, endpoint = bound(sockets, server)
    client = sockets.open(zmq.DEALER)
    arm(client, server)
    client.connect(endpoint)
    client.send(b"hello")
    said = heard.next()
    assert line in said
    assert said.startswith("refused ")
    assert not socket.poll(SILENCE_MS)


def test_two_guarded_sockets_of_a_context_keep_their_own_lists(sockets: Sockets, heard: Heard) -> None:
    ours, theirs = keys(), keys()
    first, second = server_for(ours[0]), server_for(theirs[0])
    socket_1, endpoint_1 = bound(sockets, first)
    socket_2, endpoint_2 = bound(sockets, second)
    for endpoint, server in ((endpoint_1, first), (endpoint_2, second)):
        client = sockets.open(zmq.DEALER)
        security.secure_client(client, client_of(server, ours))
        client.connect(endpoint)
        client.send(b"hello")
    assert socket_1.poll(PATIENCE_MS)
    assert ours[0].decode() in heard.next()
    assert not socket_2.poll(SILENCE_MS)


def test_a_nagging_client_does_not_fill_the_log(heard: Heard) -> None:
    context = zmq.Context()
    watch = guard.guard_of(context)
    for _ in range(1000):
        watch._refuse("client x")
    lines = [heard.next() for _ in range(heard.lines.qsize())]
    assert len(lines) == 10  # 1, 2, 4 ... 512
    assert lines[-1] == "refused client x (512 times)"
    context.term()


def test_the_guard_ends_with_its_context() -> None:
    sockets = Sockets()
    socket, _ = bound(sockets, server_for())
    watch = guard.guard_of(sockets.context)
    assert guard.guard_of(sockets.context) is watch
    socket.close()
    sockets.context.term()  # would hang if the guard kept its sockets
    other = zmq.Context()
    assert guard.guard_of(other) is not watch
    other.term()


def test_a_second_authenticator_is_refused_with_a_reason(sockets: Sockets) -> None:
    taken = sockets.open(zmq.REP)
    taken.bind("inproc://zeromq.zap.01")
    with pytest.raises(DioramaError, match="another authenticator"):
        guard.guard_of(sockets.context)


@pytest.mark.parametrize(
    "endpoint",
    [
        "tcp://127.0.0.1:5555",
        "tcp://127.8.9.10:*",
        "tcp://[::1]:5555",
        "tcp://localhost:1",
        "ipc:///tmp/x",
        "inproc://x",
    ],
)
def test_local_endpoints_need_no_keys(endpoint: str) -> None:
    security.refuse_open_bind(endpoint, None)


@pytest.mark.parametrize(
    "endpoint",
    [
        "tcp://*:5555",
        "tcp://0.0.0.0:5555",
        "tcp://[::]:5555",
        "tcp://eth0:5555",
        "tcp://10.0.0.1:5555",
        "tcp://127.0.0.1.example.org:5555",
        "tcp://",
        "udp://127.0.0.1:5555",
        "ws://127.0.0.1:5555",
        "127.0.0.1:5555",
        "",
    ],
)
def test_wider_binds_need_keys_or_insistence(endpoint: str) -> None:
    with pytest.raises(DioramaError, match="--insecure"):
        security.refuse_open_bind(endpoint, None)
    security.refuse_open_bind(endpoint, None, insecure=True)
    security.refuse_open_bind(endpoint, server_for())


def test_key_files_are_private_complete_and_never_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    made = security.make_keys(folder, ("renderer", "client"))
    assert [path.relative_to(folder).as_posix() for path in made] == [
        "server.key",
        "server.key_secret",
        "clients/renderer.key",
        "renderer.key_secret",
        "clients/client.key",
        "client.key_secret",
    ]
    for path in made:
        if path.suffix == ".key_secret":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        else:
            assert b"secret" not in path.read_bytes()
    server, client = security.load_server(folder), security.load_client(folder, "renderer")
    assert client.server_key == server.public_key
    assert server.allowed == {client.public_key, security.load_client(folder).public_key}
    with pytest.raises(DioramaError, match="there is a key already"):
        security.make_keys(folder, ("new", "renderer"))
    assert not (folder / "new.key_secret").exists()
    before = server.secret_key
    security.make_keys(folder, ("new",))
    assert security.load_server(folder).secret_key == before
    assert len(security.load_server(folder).allowed) == 3
    assert "secret_key" not in repr(server) + repr(client)


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden", "server"])
def test_names_of_clients_stay_inside_the_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(DioramaError, match="expected a name"):
        security.make_keys(tmp_path, (name,))
    assert not list(tmp_path.iterdir())


def test_wrong_key_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DioramaError, match=r"server\.key_secret: expected a CURVE key file"):
        security.load_server(tmp_path)
    security.make_keys(tmp_path)
    (tmp_path / "client.key_secret").write_text((tmp_path / "clients" / "client.key").read_text())
    with pytest.raises(DioramaError, match="public key only"):
        security.load_client(tmp_path)
    (tmp_path / "client.key_secret").write_text('curve\n public-key = "short"\n secret-key = "short"\n')
    with pytest.raises(DioramaError, match="40 Z85 characters"):
        security.load_client(tmp_path)


def test_a_guarded_publisher_is_heard_by_the_holders_of_keys_only(heard: Heard) -> None:
    pair = keys()
    server = server_for(pair[0])
    world = World()
    world.spawn("secret")
    with (
        Publisher("tcp://127.0.0.1:*", security=server) as publisher,
        Subscriber(publisher.endpoint, SCENE_JSON) as naked,
        Subscriber(publisher.endpoint, SCENE_JSON, security=client_of(server)) as stranger,
        Subscriber(publisher.endpoint, SCENE_JSON, security=client_of(server, pair)) as friend,
    ):
        said = sorted(heard.next() for _ in range(2))
        assert "without CURVE keys" in said[0]
        assert "not on the allow-list" in said[1]
        message = None
        while message is None:
            publisher.poll(0.01)
            publisher.publish(world)
            message = friend.receive(0.05)
        assert naked.receive(0.1) is None
        assert stranger.receive(0.1) is None
