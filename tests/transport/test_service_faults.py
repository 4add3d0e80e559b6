"""What clients should not do: garbage, floods, giant messages, silence, wrong keys, all at once."""

import random
import socket as sockets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.tests.patience import patiently
from diorama.tests.transport.serving import ANY_PORT, asking, scattered_world, serving, small_world
from diorama.transport.client import Client
from diorama.transport.methods import METHODS, Limits, NoAnswerError, RequestError
from diorama.transport.security import load_client, load_server, make_keys
from diorama.transport.service import Service
from diorama.transport.service_link import Caller

FUZZ_CASES = 10_000
SOMEBODY = Caller(b"somebody", (b"somebody",))
NO_HURRY = Limits(requests_per_s=1e9)

json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
PARAMETERS = sorted({name for method in METHODS.values() for name in method.params.__struct_fields__})


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Service(small_world(), "inproc://fuzzed", limits=NO_HURRY) as service:
        yield service


def well_formed(answer: list[Any]) -> dict[str, Any]:
    """The JSON of an answer that is a result or a structured error, and no defect of ours."""
    decoded: dict[str, Any] = msgspec.json.decode(answer[0])
    assert ("result" in decoded) != ("error" in decoded)
    if "error" in decoded:
        assert set(decoded["error"]) == {"code", "message", "path"}
        assert decoded["error"]["code"] != "internal"
    return decoded


@given(frames=st.lists(st.binary(max_size=200), max_size=5))
def test_random_bytes_are_answered(service: Service, frames: list[bytes]) -> None:
    assert "error" in well_formed(service.answer(SOMEBODY, list(frames)))


@settings(max_examples=300)
@given(
    method=st.sampled_from(sorted(METHODS)),
    params=st.dictionaries(st.sampled_from(PARAMETERS), json_values, max_size=4) | json_values,
    bodies=st.lists(st.binary(max_size=160), max_size=2),
    number=json_values,
)
def test_random_parameters_are_answered(
    service: Service, method: str, params: Any, bodies: list[bytes], number: Any
) -> None:
    head = msgspec.json.encode({"id": number, "method": method, "params": params})
    well_formed(service.answer(SOMEBODY, [head, *bodies]))


def valid_requests() -> list[list[bytes]]:
    """A request of every kind, as the fuzzer's starting points."""
    pose = b"\0" * 48 + b"\0\0\0\0\0\0\xf0\x3f"
    cases: list[tuple[str, dict[str, Any], list[bytes]]] = [
        ("convert", {"source": "ned", "target": "lla", "points": [[1, 2, 3]]}, []),
        ("convert", {"source": "ned", "target": "lla"}, [b"\0" * 24]),
        ("where", {"name": "mast", "axes": "unreal"}, []),
        ("nearest", {"point": [1, 2, 3], "k": 2}, []),
        ("within_radius", {"name": "mast", "radius": 100}, []),
        ("within_box", {"minimum": [0, 0, 0], "maximum": [1, 1, 1], "frame": "lla"}, []),
        ("within_polygon", {"corners": [[0, 0], [0, 1], [1, 1]]}, []),
        ("distance", {"start": "mast", "end": "drone"}, []),
        ("relative_pose", {"name": "mast", "seen_from": "drone"}, []),
        ("entities", {"prefix": "m"}, []),
        ("set_pose", {"name": "arm", "position": [1, 2, 3], "space": "world"}, []),
        ("set_poses", {"names": ["mast"]}, [pose]),
        ("set_resource", {"name": "weather", "value": {"a": [1, 2.5, None]}}, []),
        ("claim", {"owner": "me", "session": "0123456789", "names": ["mast", "nobody"]}, []),
        ("feed", {"owner": "me", "session": "0123456789", "lease": 1}, [b"\0" * 8, pose]),
        ("release", {"session": "0123456789"}, []),
    ]
    return [
        [msgspec.json.encode({"id": 1, "method": method, "params": params}), *bodies]
        for method, params, bodies in cases
    ]


def mutated(message: list[bytes], chance: random.Random) -> list[bytes]:
    """A message with bytes flipped, cut, repeated or inserted, or with frames lost or doubled."""
    frames = [bytearray(frame) for frame in message]
    for _ in range(chance.randint(1, 4)):
        frame = chance.choice(frames)
        place = chance.randrange(len(frame) + 1)
        kind = chance.randrange(6)
        if kind == 0 and place < len(frame):
            frame[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del frame[place:]
        elif kind == 2:
            frame[place:place] = chance.randbytes(chance.randint(1, 8))
        elif kind == 3:
            frame[place:place] = frame[place : place + chance.randint(1, 16)]
        elif kind == 4:
            frame[place : place + 1] = chance.choice(
                [b"-1e999", b"null", b"[", b"{}", b'"\\ud800"', b"1e308"]
            )
        else:
            frames.append(bytearray(frame))
    return [bytes(frame) for frame in frames]


def test_a_byte_fuzzer_finds_nothing_that_stops_the_service(service: Service) -> None:
    chance = random.Random(5)
    messages = valid_requests()
    for message in messages:
        well_formed(service.answer(SOMEBODY, list(message)))
    for _ in range(FUZZ_CASES):
        well_formed(service.answer(SOMEBODY, list(mutated(chance.choice(messages), chance))))
    assert "result" in well_formed(service.answer(SOMEBODY, [b'{"method": "scene"}']))


@pytest.mark.parametrize("depth", [100, 5000, 100_000])
def test_deep_nests_are_answered(service: Service, depth: int) -> None:
    value = b"[" * depth + b"]" * depth
    head = b'{"method": "set_resource", "params": {"name": "deep", "value": ' + value + b"}}"
    well_formed(service.answer(SOMEBODY, [head]))


def test_malformed_messages_over_a_socket_are_answered_and_others_go_on() -> None:
    chance = random.Random(6)
    messages = valid_requests()
    with (
        serving(small_world(), limits=NO_HURRY) as service,
        Client(service.endpoint, timeout_s=20) as client,
        raw_dealer(service.endpoint) as dealer,
    ):
        for index in range(FUZZ_CASES):
            dealer.send_multipart(mutated(chance.choice(messages), chance))
            if index % 100 == 0:
                assert client.scene()["origin"]
        dealer.send_multipart([b""] * 20)
        dealer.send_multipart([b"", b"", b'{"method": "scene"}'])
        assert client.scene()["origin"]


def ask_often(*clients: Client) -> None:
    """Ask in turn, more often than anybody may."""
    for index in range(1000):
        clients[index % len(clients)].scene()


@contextmanager
def raw_dealer(endpoint: str) -> Iterator["zmq.Socket[bytes]"]:
    dealer: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
    dealer.linger = 0
    dealer.connect(endpoint)
    try:
        yield dealer
    finally:
        dealer.close()


def test_bytes_that_are_not_even_zeromq_do_no_harm() -> None:
    chance = random.Random(7)
    with serving(small_world()) as service, Client(service.endpoint, timeout_s=20) as client:
        address = urlsplit(service.endpoint)
        greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48)
        for index in range(200):
            start = greeting[: chance.randrange(len(greeting))] if index % 2 else b""
            with sockets.create_connection((address.hostname, address.port or 0)) as connection:
                connection.sendall(start + chance.randbytes(chance.randint(0, 300)))
        for _ in range(200):  # and while libzmq clears them away
            assert client.scene()["entities"] == 4


def test_a_giant_message_costs_its_sender_the_connection_and_nobody_else() -> None:
    limits = Limits(message_bytes=100_000)
    with (
        serving(small_world(), limits=limits) as service,
        Client(service.endpoint, timeout_s=20) as client,
        raw_dealer(service.endpoint) as dealer,
    ):
        dealer.send(b" " * 200_000 + b'{"method": "scene"}')
        assert client.scene()["entities"] == 4
        dealer.send_multipart([b'{"id": 1, "method": "scene"}', b"x" * 60_000, b"x" * 60_000])
        assert dealer.poll(20_000)
        assert msgspec.json.decode(dealer.recv())["error"]["code"] == "too_large"


def test_a_client_in_a_hurry_is_slowed_down_and_others_are_not() -> None:
    limits = Limits(requests_per_s=2)
    with (
        serving(small_world(), limits=limits) as service,
        Client(service.endpoint, timeout_s=20) as hasty,
        Client(service.endpoint, timeout_s=20) as calm,
    ):
        with pytest.raises(RequestError) as caught:
            ask_often(hasty)
        assert caught.value.code == "rate_limited"
        assert calm.scene()["entities"] == 4


@pytest.mark.parametrize(
    ("request_", "limits", "code"),
    [
        ({"id": 8, "method": "scene"}, Limits(requests_per_s=0.5), "rate_limited"),
        (
            {"id": "big", "method": "scene", "params": {"x": "y" * 200}},
            Limits(message_bytes=100),
            "too_large",
        ),
        ({"id": 8, "method": ["scene"]}, Limits(), "bad_request"),
        ({"id": {"no": "id"}, "method": "scene"}, Limits(), "bad_request"),
    ],
)
def test_a_refusal_says_which_request_it_is_about(
    request_: dict[str, Any], limits: Limits, code: str
) -> None:
    with Service(small_world(), "inproc://which", limits=limits) as service:
        answer = service.answer(Caller(b"hasty", (b"",)), [msgspec.json.encode(request_)])
    refusal = msgspec.json.decode(answer[0])
    assert refusal["error"]["code"] == code
    assert refusal["id"] == (None if isinstance(request_["id"], dict) else request_["id"])


def test_silence_after_a_request_beyond_the_limit_is_told_with_the_limit() -> None:
    with serving(small_world()) as service, Client(service.endpoint, timeout_s=0.5) as client:
        with pytest.raises(NoAnswerError, match=r"a request of 240000\d\d bytes"):
            client.convert([[0.0, 0.0, 0.0]] * 1_000_000, "lla", "ecef")
        client.timeout_s = 20.0
        assert client.scene()["entities"] == 4


def test_what_is_remembered_of_clients_is_bounded() -> None:
    with Service(small_world(), "inproc://many", limits=Limits(clients=10)) as service:
        for index in range(100):
            service.answer(Caller(b"%d" % index, (b"",)), [b'{"method": "scene"}'])
        assert len(service._allowances) == 10


def test_a_flood_does_not_hold_up_the_simulation() -> None:
    with (
        Service(scattered_world(100), ANY_PORT, limits=NO_HURRY) as service,
        raw_dealer(service.endpoint) as dealer,
    ):
        for _ in range(500):
            dealer.send(b'{"method": "entities"}')
        assert service.poll(20.0, budget_s=0.0) == 1  # it stops after the first once the budget is gone


def test_a_client_that_never_reads_costs_bounded_memory_and_no_time() -> None:
    with (
        serving(scattered_world(1000), limits=NO_HURRY) as service,
        raw_dealer(service.endpoint) as dealer,
        Client(service.endpoint, timeout_s=20) as client,
    ):
        dealer.rcvhwm = 1
        for _ in range(3000):
            dealer.send(b'{"method": "entities", "params": {"count": 200}}')
        assert client.scene()["entities"] == 1000


def test_many_clients_at_once_each_get_their_own_answers() -> None:
    with serving(scattered_world(64)) as service:

        def ask(index: int) -> bool:
            with Client(service.endpoint, timeout_s=30) as client:
                return all(client.where(f"e{index}")["name"] == f"e{index}" for _ in range(20))

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(ask, range(64)))


CHILD = """
import sys
from diorama.transport.client import Client
with Client(sys.argv[1], timeout_s=30) as client:
    client.spawn(sys.argv[2])
    for number in range(50):
        client.set_pose(sys.argv[2], position=(number, 0, 0))
    print(client.where(sys.argv[2])["position"][0])
"""


def test_processes_command_side_by_side() -> None:
    with serving(small_world()) as service:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", CHILD, service.endpoint, f"child_{index}"], stdout=subprocess.PIPE
            )
            for index in range(3)
        ]
        for child in children:
            said, _ = child.communicate(timeout=60)
            assert (child.returncode, said) == (0, b"49.0\n")
        with Client(service.endpoint) as client:
            assert client.entities(prefix="child_")["total"] == 3


def test_keys_let_in_whom_they_should(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    make_keys(tmp_path / "ours", ("planner", "other"))
    make_keys(tmp_path / "theirs")
    with serving(
        small_world(), security=load_server(tmp_path / "ours"), limits=Limits(requests_per_s=5)
    ) as service:
        for name in ("planner", "other"):
            keys = load_client(tmp_path / "ours", name)
            with Client(service.endpoint, timeout_s=20, security=keys) as client:
                assert client.scene()["entities"] == 4
        for keys_or_none in (None, load_client(tmp_path / "theirs")):
            with (
                Client(service.endpoint, timeout_s=0.5, security=keys_or_none) as client,
                pytest.raises(NoAnswerError),
            ):
                client.scene()
        for reason in ("without CURVE keys", "for another server"):  # told by the guard's own thread
            assert any(reason in caplog.text for _ in patiently())
        # With keys, the limit is the key's: a second connection does not help.
        keys = load_client(tmp_path / "ours", "planner")
        with (
            Client(service.endpoint, timeout_s=20, security=keys) as first,
            Client(service.endpoint, timeout_s=20, security=keys) as second,
            pytest.raises(RequestError) as caught,
        ):
            ask_often(first, second)
        assert caught.value.code == "rate_limited"
        assert len(service._allowances) == 2


def test_a_defect_inside_a_method_is_answered_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Any:
        raise KeyError("a defect")

    with asking(broken) as client:
        with pytest.raises(RequestError) as caught:
            client.scene()
        assert caught.value.code == "internal"
    assert "KeyError" in caplog.text
