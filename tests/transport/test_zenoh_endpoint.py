"""What zenoh: endpoints mean, how topics become keys, and how frames become one payload. Needs no network."""

import json
from pathlib import Path

import pytest
import zenoh
from hypothesis import given
from hypothesis import strategies as st

from diorama.schemas.errors import DioramaError
from diorama.transport.zenoh_endpoint import (
    key_from_topic,
    parse_endpoint,
    pattern_from_topic,
    quoted,
    refuse_open_listen,
    settings,
    topic_from_key,
    unquoted,
)
from diorama.transport.zenoh_session import pack, unpack

TOPIC = st.text(st.characters(exclude_categories=["Cs"]), min_size=0, max_size=12).map(
    lambda text: f"{text}/"
)


def test_the_parts_of_an_endpoint() -> None:
    assert parse_endpoint("zenoh:").discovers
    assert parse_endpoint("zenoh:").prefix == "diorama/main"
    assert parse_endpoint("zenoh:?network=eth0&scene=north").network == "eth0"
    there = parse_endpoint("zenoh:tcp/10.0.0.5:7447,udp/[::1]:7448?scene=fleet/one")
    assert there.locators == ("tcp/10.0.0.5:7447", "udp/[::1]:7448")
    assert there.prefix == "diorama/fleet/one"
    here = parse_endpoint("zenoh:?listen=tcp/127.0.0.1:0&scene=x")
    assert here.told(("tcp/127.0.0.1:7000",)) == "zenoh:tcp/127.0.0.1:7000?scene=x"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("zenoh:?scen=a", r"no option 'scen'; did you mean 'scene'\?"),
        ("zenoh:?scene=", "scene: expected one value"),
        ("zenoh:?scene=a&scene=b", "scene: expected one value"),
        ("zenoh:?scene=a*", r"scene: expected a name without"),
        ("zenoh:10.0.0.5:7447", r"expected an address such as tcp/127.0.0.1:7447, got '10.0.0.5:7447'"),
        ("zenoh:http/a:1", "protocols are tcp"),
        ("zenoh:tcp/a:1?listen=tcp/b:2", "got both"),
        ("zenoh:tcp/a:1?network=eth0", "network: is for discovery"),
        ("zenoh:tcp/a:1?user=me", "user needs password_file"),
        ("zenoh:tcp/a:1?password_file=x", "password_file needs user"),
        ("zenoh:tcp/a:1?users_file=x", "users_file is for who listens"),
        ("zenoh:tls/a:1", "connecting by tls or quic needs ca"),
        ("zenoh:tls/a:1?ca=x&cert=y", "cert needs key"),
        ("zenoh:quic/a:1?ca=x&key=y", "key needs cert"),
        ("zenoh:?listen=tls/127.0.0.1:1", "listening by tls or quic needs cert and key"),
        ("zenoh:tcp/a:1?ca=x", "ca, cert and key need a tls/ or quic/ address"),
        ("zenoh:tls/a:1?ca=nowhere.pem", "ca: there is no file 'nowhere.pem'"),
        ("tcp://a:1", "expected zenoh:"),
    ],
)
def test_what_does_not_fit_together_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(DioramaError, match=complaint):
        parse_endpoint(text)


def test_whoever_serves_to_other_machines_must_know_them_or_insist(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("me:secret\n")
    for text in ("zenoh:?network=auto", "zenoh:?listen=tcp/0.0.0.0:7447", "zenoh:?listen=tcp/[::]:7447"):
        with pytest.raises(DioramaError, match="other machines can reach this"):
            refuse_open_listen(parse_endpoint(text), insecure=False)
        refuse_open_listen(parse_endpoint(text), insecure=True)
    for text in (
        "zenoh:",
        "zenoh:?listen=tcp/127.0.0.1:1",
        "zenoh:?listen=tcp/[::1]:1",
        "zenoh:tcp/far.away:1",
    ):
        refuse_open_listen(parse_endpoint(text), insecure=False)
    refuse_open_listen(parse_endpoint(f"zenoh:?listen=tcp/0.0.0.0:1&users_file={users}"), insecure=False)


def test_settings_pass_through_and_the_password_is_not_shown(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key", "password"):
        (tmp_path / name).write_text(f"{name}\n")
    files = "&".join(f"{name}={tmp_path / name}" for name in ("ca", "cert", "key"))
    endpoint = parse_endpoint(f"zenoh:tls/a:1?{files}&user=me&password_file={tmp_path / 'password'}")
    found = settings(endpoint, mode="client", listen=())
    assert found["transport/link/tls/root_ca_certificate"] == str(tmp_path / "ca")
    assert found["transport/link/tls/connect_certificate"] == str(tmp_path / "cert")
    assert found["transport/link/tls/connect_private_key"] == str(tmp_path / "key")
    assert found["transport/auth/usrpwd/user"] == "me"
    assert found["transport/auth/usrpwd/password"] == "password"
    assert "'password'" not in repr(endpoint).replace("password_file", "")
    for path, value in found.items():
        zenoh.Config().insert_json5(path, json.dumps(value))  # zenoh knows every one of them


@given(TOPIC)
def test_every_topic_is_a_key_and_comes_back(topic: str) -> None:
    key = key_from_topic(topic)
    zenoh.KeyExpr(key)  # zenoh takes it
    assert topic_from_key(key) == topic


@given(TOPIC, st.data())
def test_a_pattern_matches_what_begins_with_the_topic(topic: str, data: st.DataObject) -> None:
    begun = topic[: data.draw(st.integers(0, len(topic)))]
    pattern = zenoh.KeyExpr(f"p/topic/{pattern_from_topic(begun)}")
    assert pattern.includes(f"p/topic/{key_from_topic(topic)}")


@given(TOPIC, TOPIC)
def test_a_pattern_of_a_whole_topic_matches_nothing_else(one: str, other: str) -> None:
    pattern = zenoh.KeyExpr(f"p/topic/{pattern_from_topic(one)}")
    assert pattern.includes(f"p/topic/{key_from_topic(other)}") == other.startswith(one)


@given(st.text(max_size=20))
def test_any_text_is_one_chunk_of_a_key(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert "/" not in quoted(text)
    assert unquoted(quoted(text)) == text


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_frames_come_back_aligned(frames: list[bytes]) -> None:
    payload = bytes(pack(frames))
    assert [bytes(frame) for frame in unpack(payload)] == frames
    assert len(payload) % 8 == 0


@given(st.binary(max_size=64))
def test_what_is_no_payload_has_no_frames_or_only_its_own_bytes(payload: bytes) -> None:
    assert sum(len(frame) for frame in unpack(payload)) <= len(payload)
