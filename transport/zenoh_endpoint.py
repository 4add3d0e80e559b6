"""Endpoints of zenoh: what `zenoh:...` means, as settings of a zenoh session. Knows no zenoh.

    zenoh:                                  find each other on this machine, without addresses
    zenoh:?network=eth0                     find each other on that network (`auto`: the default one)
    zenoh:tcp/10.0.0.5:7447                 connect to a router, or to a publisher that listens there
    zenoh:?listen=tcp/127.0.0.1:7450        be the one others connect to
    zenoh:...&scene=north                   one of several scenes on the same network (default: main)

User and password: `user` with `password_file`; who listens takes `users_file` (a line `name:password` each). TLS and
QUIC (`tls/HOST:PORT`, `quic/HOST:PORT`): `ca`, `cert` and `key`, names of PEM files. What is given by half is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from diorama.schemas.errors import DioramaError, did_you_mean

OPTIONS = ("scene", "network", "listen", "user", "password_file", "users_file", "ca", "cert", "key")
ENCRYPTED = ("tls", "quic")
PROTOCOLS = ("tcp", "udp", "tls", "quic", "ws", "unixsock-stream")
THIS_MACHINE = "lo"
# A peer that is silent for so long is gone: its tokens are withdrawn and what it asked for is forgotten.
LEASE_MS = 3000
# How long the parts of a large message wait for a listener that does not keep up, before the message is lost to it.
LARGE_WAIT_US = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ZenohEndpoint:
    """One endpoint, taken apart and checked."""

    text: str
    locators: tuple[str, ...] = ()
    listen: tuple[str, ...] = ()
    network: str = THIS_MACHINE
    scene: str = "main"
    user: str = ""
    password: str = field(default="", repr=False)
    users_file: str = ""
    ca: str = ""
    cert: str = ""
    key: str = ""

    @property
    def prefix(self) -> str:
        """What every key of the scene begins with."""
        return f"diorama/{self.scene}"

    @property
    def discovers(self) -> bool:
        """Whether neither side is given an address."""
        return not self.locators and not self.listen

    def told(self, listen: tuple[str, ...]) -> str:
        """The endpoint others use to reach one that listens there."""
        scene = "" if self.scene == "main" else f"?scene={self.scene}"
        return f"zenoh:{','.join(listen)}{scene}" if listen else self.text

    def with_listen(self, listen: tuple[str, ...]) -> str:
        """The same endpoint with the ports that were really taken."""
        if not self.listen:
            return self.text
        options = {**dict(parse_qsl(self.text.partition("?")[2])), "listen": ",".join(listen)}
        return "zenoh:?" + "&".join(f"{name}={quote(value, safe='/:,[]')}" for name, value in options.items())


def parse_endpoint(text: str) -> ZenohEndpoint:
    """Take an endpoint apart; DioramaError says what does not fit together."""
    if not text.startswith("zenoh:"):
        raise DioramaError(f"endpoint {text!r}: expected zenoh:...")
    place, _, query = text.removeprefix("zenoh:").partition("?")
    given: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in OPTIONS:
            raise DioramaError(
                f"endpoint {text!r}: there is no option {name!r}{did_you_mean(name, OPTIONS)}; "
                f"there are {', '.join(OPTIONS)}"
            )
        if name in given or not value:
            raise DioramaError(f"endpoint {text!r}: {name}: expected one value")
        given[name] = value
    return checked_endpoint(text, _split(place), given)


def checked_endpoint(text: str, locators: tuple[str, ...], given: Mapping[str, str]) -> ZenohEndpoint:
    """An endpoint from its parts."""
    listen = _split(given.get("listen", ""))
    for locator in (*locators, *listen):
        _refuse_bad_locator(text, locator)
    if locators and listen:
        raise DioramaError(
            f"endpoint {text!r}: expected an address to connect to or `listen`, got both; "
            "let everybody connect to a router (`diorama router`)"
        )
    if "network" in given and (locators or listen):
        raise DioramaError(f"endpoint {text!r}: network: is for discovery, without addresses")
    scene = given.get("scene", "main").strip("/")
    if not scene or any(mark in scene for mark in "*$?#@") or "//" in scene:
        raise DioramaError(f"endpoint {text!r}: scene: expected a name without * $ ? # @, got {scene!r}")
    _refuse_halves(text, given, bool(locators), bool(listen), _is_encrypted((*locators, *listen)))
    password_file = given.get("password_file", "")
    return ZenohEndpoint(
        text=text,
        locators=locators,
        listen=listen,
        network=given.get("network", THIS_MACHINE),
        scene=scene,
        user=given.get("user", ""),
        password=_file(text, "password_file", password_file).read_text().strip() if password_file else "",
        **{
            name: str(_file(text, name, given[name]))
            for name in ("users_file", "ca", "cert", "key")
            if name in given
        },
    )


def checked_router(
    listen: tuple[str, ...], connect: tuple[str, ...], given: Mapping[str, str]
) -> ZenohEndpoint:
    """The endpoint of a router, which may both listen and connect to other routers."""
    text = f"router at {', '.join(listen)}"
    for locator in connect:
        _refuse_bad_locator(text, locator)
    endpoint = checked_endpoint(text, (), {**given, "listen": ",".join(listen)})
    return replace(endpoint, locators=connect)


def refuse_open_listen(endpoint: ZenohEndpoint, insecure: bool) -> None:
    """Raise unless only this machine reaches whoever serves there, or it knows its users, or the user insists."""
    guarded = bool(endpoint.users_file) or (bool(endpoint.cert) and bool(endpoint.ca))
    if endpoint.discovers:
        local = endpoint.network == THIS_MACHINE
    else:
        local = all(_is_loopback(locator) for locator in endpoint.listen)
    if local or guarded or insecure:
        return
    raise DioramaError(
        f"{endpoint.text}: other machines can reach this; expected a loopback address, users_file, or TLS with ca, "
        "cert and key; or say --insecure (insecure=True)"
    )


def settings(endpoint: ZenohEndpoint, *, mode: str, listen: tuple[str, ...]) -> dict[str, Any]:
    """The zenoh configuration of a session, by path."""
    found: dict[str, Any] = {
        "mode": mode,
        "connect/endpoints": list(endpoint.locators),
        "connect/exit_on_failure": mode == "client",
        "connect/timeout_ms": 0 if mode == "client" else -1,
        "connect/retry": {"period_init_ms": 50, "period_max_ms": 500, "period_increase_factor": 2},
        "listen/endpoints": list(listen),
        "scouting/delay": 0,
        "scouting/multicast/enabled": endpoint.discovers,
        "scouting/gossip/enabled": endpoint.discovers,
        "open/return_conditions/connect_scouted": False,
        "transport/link/tx/lease": LEASE_MS,
        "transport/link/tx/queue/size/data": 16,
        "transport/link/tx/queue/congestion_control/drop/max_wait_before_drop_fragments": LARGE_WAIT_US,
    }
    if endpoint.discovers:
        found["scouting/multicast/interface"] = endpoint.network
    if endpoint.user:
        found["transport/auth/usrpwd/user"] = endpoint.user
        found["transport/auth/usrpwd/password"] = endpoint.password
    if endpoint.users_file:
        found["transport/auth/usrpwd/dictionary_file"] = endpoint.users_file
    if endpoint.ca:
        found["transport/link/tls/root_ca_certificate"] = endpoint.ca
    if endpoint.cert:
        side = "listen" if listen else "connect"
        found[f"transport/link/tls/{side}_certificate"] = endpoint.cert
        found[f"transport/link/tls/{side}_private_key"] = endpoint.key
        found["transport/link/tls/enable_mtls"] = bool(endpoint.ca)
    return found


def key_from_topic(topic: str) -> str:
    """A topic as part of a zenoh key: no slash at its end, and marks that keys may not have written as %XX."""
    return "/".join(quoted(part) for part in topic.removesuffix("/").split("/"))


def topic_from_key(key: str) -> str:
    """The topic of such a key, with its slash at the end."""
    return "/".join(unquoted(part) for part in key.split("/")) + "/"


def pattern_from_topic(topic: str) -> str:
    """The zenoh key expression for every topic that begins with this one."""
    if not topic:
        return "**"
    if topic.endswith("/"):
        return f"{key_from_topic(topic)}/**"
    *before, begun = topic.split("/")
    return "/".join([*(quoted(part) for part in before), f"{quoted(begun)}$*", "**"])


def quoted(part: str) -> str:
    """Any text as one chunk of a key: what keys may not have, and slashes, as %XX; nothing as a lone %."""
    return quote(part, safe="") or "%"


def unquoted(chunk: str) -> str:
    """The text of such a chunk."""
    return "" if chunk == "%" else unquote(chunk)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _refuse_bad_locator(text: str, locator: str) -> None:
    protocol, slash, address = locator.partition("/")
    if not slash or not address or protocol not in PROTOCOLS:
        raise DioramaError(
            f"endpoint {text!r}: expected an address such as tcp/127.0.0.1:7447, got {locator!r}; "
            f"protocols are {', '.join(PROTOCOLS)}"
        )


def _refuse_halves(
    text: str, given: Mapping[str, str], connects: bool, listens: bool, encrypted: bool
) -> None:
    """Raise for settings that need one another and are not all there."""
    missing: list[str] = []
    for one, other in (
        ("user", "password_file"),
        ("password_file", "user"),
        ("cert", "key"),
        ("key", "cert"),
    ):
        if one in given and other not in given:
            missing.append(f"{one} needs {other}")
    if encrypted and connects and "ca" not in given:
        missing.append("connecting by tls or quic needs ca")
    if encrypted and listens and "cert" not in given:
        missing.append("listening by tls or quic needs cert and key")
    if not encrypted and given.keys() & {"ca", "cert", "key"}:
        missing.append("ca, cert and key need a tls/ or quic/ address")
    if "users_file" in given and connects:
        missing.append("users_file is for who listens; to connect give user and password_file")
    if missing:
        raise DioramaError(f"endpoint {text!r}: {'; '.join(missing)}")


def _file(text: str, name: str, path: str) -> Path:
    found = Path(path)
    if not found.is_file():
        raise DioramaError(f"endpoint {text!r}: {name}: there is no file {path!r}")
    return found


def _is_encrypted(locators: tuple[str, ...]) -> bool:
    return any(locator.partition("/")[0] in ENCRYPTED for locator in locators)


def _is_loopback(locator: str) -> bool:
    protocol, _, address = locator.partition("/")
    if protocol.startswith("unixsock"):
        return True
    host = address.partition("?")[0].partition("#")[0].rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
