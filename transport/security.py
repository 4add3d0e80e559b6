"""Who may speak to us: CURVE keys, the allow-list, and binds that only this machine can reach.

A server has a key pair and a list of client public keys; a client has a key pair and knows the server's public key.
Keys are the 40 printable characters of ZeroMQ (Z85). Whoever is refused gets nothing, and the log
`diorama.transport` says who and why.
"""

import os
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import zmq
import zmq.auth

from diorama.schemas.errors import DioramaError
from diorama.transport.guard import guard_of

KEY = re.compile(rb"[0-9A-Za-z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
# A socket with a domain refuses ZMTP 1 and 2 and whatever does not begin like ZeroMQ. Without one libzmq (4.3.5) takes
# that for an old peer, and aborts the process if the socket is closed while such a peer is saying its name. Where a
# guard runs it is asked about this domain too, and lets everybody in.
OPEN_DOMAIN = b"diorama.open"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSecurity:
    """A server's key pair and the public keys of the clients it lets in (none: nobody)."""

    public_key: bytes
    secret_key: bytes = field(repr=False)
    allowed: frozenset[bytes] = frozenset()

    def __post_init__(self) -> None:
        for what, key in (("public_key", self.public_key), ("secret_key", self.secret_key)):
            _refuse_bad_key(f"server {what}", key)
        for key in self.allowed:
            _refuse_bad_key("allowed client", key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSecurity:
    """A client's key pair and the public key of the server it trusts."""

    public_key: bytes
    secret_key: bytes = field(repr=False)
    server_key: bytes

    def __post_init__(self) -> None:
        for what in ("public_key", "secret_key", "server_key"):
            _refuse_bad_key(f"client {what}", getattr(self, what))


# -- sockets -----------------------------------------------------------------------------------------------------


def secure_server(socket: "zmq.Socket[bytes]", security: ServerSecurity | None) -> None:
    """Let only the allowed clients in, or everybody who speaks ZMTP 3; call it before the socket binds."""
    if security is None:
        socket.setsockopt(zmq.ZAP_DOMAIN, OPEN_DOMAIN)
        return
    socket.curve_publickey = security.public_key
    socket.curve_secretkey = security.secret_key
    socket.curve_server = True
    guard_of(socket.context).watch(socket, security.allowed)


def secure_client(socket: "zmq.Socket[bytes]", security: ClientSecurity) -> None:
    """Speak as this client, and only to that server; call it before the socket connects."""
    socket.curve_publickey = security.public_key
    socket.curve_secretkey = security.secret_key
    socket.curve_serverkey = security.server_key


def refuse_open_bind(endpoint: str, security: ServerSecurity | None, insecure: bool = False) -> None:
    """Raise unless only this machine reaches the endpoint, or CURVE guards it, or the user insists."""
    if security is not None or insecure or is_local(endpoint):
        return
    raise DioramaError(
        f"{endpoint}: expected an endpoint only this machine can reach (tcp://127.0.0.1:..., ipc://..., inproc://...) "
        "or CURVE keys, got neither; make keys with `diorama keys DIRECTORY`, or say --insecure (insecure=True)"
    )


def is_local(endpoint: str) -> bool:
    """Whether other machines cannot reach an endpoint: ipc, inproc, or tcp on a loopback address."""
    scheme, _, address = endpoint.partition("://")
    if scheme in ("ipc", "inproc"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    if scheme != "tcp":
        return False
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # *, an interface or a host name: it may be anything
        return False


# -- key files ---------------------------------------------------------------------------------------------------


def make_keys(directory: str | Path, clients: tuple[str, ...] = ("client",)) -> list[Path]:
    """Write the keys of a server (unless they are there) and of clients; returns the new files.

    `server.key` is public and goes to the clients, `server.key_secret` stays; `clients/NAME.key` is the allow-list,
    `NAME.key_secret` goes to that client alone. Secrets are readable by their owner only (mode 600). An existing key
    is never overwritten.
    """
    folder = Path(directory)
    for name in clients:
        if not NAME.fullmatch(name) or name == "server":
            raise DioramaError(
                f"client {name!r}: expected a name of letters, digits, '_', '-', '.'; not 'server'"
            )
    taken = [path for name in clients for path in _client_files(folder, name) if path.exists()]
    if taken:
        raise DioramaError(f"{taken[0]}: there is a key already; choose another name, or take the file away")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "clients").mkdir(mode=0o700, exist_ok=True)
    made = []
    if not (folder / "server.key_secret").exists():
        made += _write_pair(folder / "server.key", folder / "server.key_secret")
    for name in clients:
        made += _write_pair(*_client_files(folder, name))
    return made


def load_server(directory: str | Path) -> ServerSecurity:
    """The server's keys of a directory made by `make_keys`, letting in every key under `clients/`."""
    folder = Path(directory)
    public, secret = _read_pair(folder / "server.key_secret")
    allowed = frozenset(_read(path)[0] for path in sorted((folder / "clients").glob("*.key")))
    return ServerSecurity(public_key=public, secret_key=secret, allowed=allowed)


def load_client(directory: str | Path, name: str = "client") -> ClientSecurity:
    """One client's keys of a directory that holds its `NAME.key_secret` and the server's `server.key`."""
    folder = Path(directory)
    public, secret = _read_pair(folder / f"{name}.key_secret")
    return ClientSecurity(public_key=public, secret_key=secret, server_key=_read(folder / "server.key")[0])


def _client_files(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / "clients" / f"{name}.key", folder / f"{name}.key_secret"


def _write_pair(public_path: Path, secret_path: Path) -> list[Path]:
    public, secret = zmq.curve_keypair()
    text = f'curve\n    public-key = "{public.decode()}"\n'
    _write_new(secret_path, text + f'    secret-key = "{secret.decode()}"\n', 0o600)
    _write_new(public_path, text, 0o644)
    return [public_path, secret_path]


def _write_new(path: Path, text: str, mode: int) -> None:
    """Made with its mode, so that there is no moment at which others can read it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)


def _read(path: Path) -> tuple[bytes, bytes | None]:
    try:
        return zmq.auth.load_certificate(path)
    except (OSError, ValueError):
        raise DioramaError(f"{path}: expected a CURVE key file; make one with `diorama keys`") from None


def _read_pair(path: Path) -> tuple[bytes, bytes]:
    public, secret = _read(path)
    if secret is None:
        raise DioramaError(f"{path}: expected a secret key, got a file with the public key only")
    return public, secret


def _refuse_bad_key(what: str, key: bytes) -> None:
    if not isinstance(key, bytes) or not KEY.fullmatch(key):
        raise DioramaError(f"{what}: expected a CURVE key of 40 Z85 characters, got something else")
