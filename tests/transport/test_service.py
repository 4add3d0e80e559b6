"""The service over real sockets: schemas, refusals, and ways of asking."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import numpy as np
import pytest
import zmq

from diorama.schemas.errors import DioramaError, MessageError, StateError
from diorama.tests.patience import PATIENCE_MS, PATIENCE_S
from diorama.tests.transport.serving import ANY_PORT, asking, serving, small_world
from diorama.transport.client import Client
from diorama.transport.methods import METHODS, Limits, NoAnswerError, RequestError
from diorama.transport.service import Service


def test_every_method_has_a_line_a_schema_and_a_place_in_the_documentation() -> None:
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
    with asking(small_world()) as client:
        described = client.describe()
    assert [one["name"] for one in described] == list(METHODS)
    for one in described:
        assert len(one["about"]) > 10
        jsonschema_rs.validator_for(one["params"])
        assert f"`{one['name']}`" in page
        internal = one["name"] in ("claim", "feed", "release")  # Feed speaks those
        assert internal or hasattr(Client, one["name"])


def test_schemas_and_the_service_agree_on_what_is_wrong() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("where", {}, "params"),
        ("where", {"name": 3}, "params.name"),
        ("where", {"name": "mast", "more": 1}, "params"),
        ("convert", {"source": "lla", "target": "ned", "points": [[1, 2]]}, "params.points[0]"),
        ("nearest", {"point": [0, 0, 0], "k": 0}, "params.k"),
        ("within_radius", {"point": [0, 0, 0], "radius": -1}, "params.radius"),
        ("despawn", {"name": "mast", "children": "eat"}, "params.children"),
    ]
    with asking(small_world()) as client:
        schemas = {one["name"]: jsonschema_rs.validator_for(one["params"]) for one in client.describe()}
        for method, params, path in cases:
            assert not schemas[method].is_valid(params), (method, params)
            with pytest.raises(RequestError) as caught:
                client.request(method, **params)
            assert (caught.value.code, caught.value.path) == ("bad_params", path)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("wherre", {}, "unknown_method"),
        ("where", {"name": "mst"}, "unknown_entity"),
        ("convert", {"source": "lla", "target": "nad", "points": []}, "bad_place"),
        ("convert", {"source": "lla", "target": "ned"}, "bad_params"),
        ("convert", {"source": "lla", "target": "ned", "points": [[91, 0, 0]]}, "bad_place"),
        ("where", {"name": "mast", "axes": "nad"}, "bad_params"),
        ("nearest", {}, "bad_params"),
        ("nearest", {"point": [0, 0, 0], "name": "mast"}, "bad_params"),
        ("within_polygon", {"corners": [[0, 0], [1, 1]]}, "bad_place"),
        ("reparent", {"name": "mast", "parent": "tip"}, "refused"),
        ("spawn", {"name": "mast"}, "refused"),
        ("spawn", {"name": "new", "orientation": [0, 0, 0, 0]}, "refused"),
        ("set_resource", {"name": "origin", "value": 1}, "refused"),
        ("set_component", {"name": "mast", "group": "none", "value": None}, "refused"),
    ],
)
def test_refusals_have_a_code_and_a_message(method: str, params: dict[str, Any], code: str) -> None:
    with asking(small_world()) as client:
        with pytest.raises(RequestError) as caught:
            client.call(method, params)
        assert caught.value.code == code
        assert caught.value.message
        assert client.scene()["entities"] == 4


def test_hints_come_over_the_wire() -> None:
    with asking(small_world()) as client:
        with pytest.raises(StateError, match="did you mean 'mast'"):
            client.where("mst")
        with pytest.raises(RequestError, match="did you mean 'where'"):
            client.request("wheer")


def test_a_plain_req_socket_and_a_bare_dealer_are_answered() -> None:
    with serving(small_world()) as service:
        for kind in (zmq.REQ, zmq.DEALER):
            socket: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
            with socket:
                socket.linger = 0
                socket.connect(service.endpoint)
                socket.send(b'{"id": "x", "method": "scene"}')
                assert socket.poll(PATIENCE_MS)
                answer = msgspec.json.decode(socket.recv())
                assert answer["id"] == "x"
                assert answer["result"]["entities"] == 4


def test_answers_keep_the_order_of_requests_and_their_ids() -> None:
    with serving(small_world()) as service:
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        with socket:
            socket.linger = 0
            socket.connect(service.endpoint)
            for number in range(200):
                pose = {"name": "drone", "position": [number, 0, 0]}
                socket.send(msgspec.json.encode({"id": 2 * number, "method": "set_pose", "params": pose}))
                asked = {"id": 2 * number + 1, "method": "where", "params": {"name": "drone"}}
                socket.send(msgspec.json.encode(asked))
            for number in range(200):
                assert socket.poll(PATIENCE_MS)
                assert msgspec.json.decode(socket.recv())["id"] == 2 * number
                where = msgspec.json.decode(socket.recv())
                assert (where["id"], where["result"]["position"][0]) == (2 * number + 1, number)


def test_silence_is_told_with_the_endpoint_and_a_hint() -> None:
    with (
        Client("tcp://127.0.0.1:9", timeout_s=0.05) as client,
        pytest.raises(
            NoAnswerError, match=r"no answer from tcp://127\.0\.0\.1:9 within 0\.05 s; is `diorama serve`"
        ),
    ):
        client.scene()


def test_a_late_answer_is_not_taken_for_the_next_one() -> None:
    service = Service(small_world(), ANY_PORT)
    with service, Client(service.endpoint, timeout_s=0.05) as client:
        with pytest.raises(NoAnswerError):
            client.where("mast")
        assert service.poll(PATIENCE_S) == 1
        client.timeout_s = 0.2
        with pytest.raises(NoAnswerError):
            client.where("drone")  # only the late answer about the mast is there
        assert service.poll(PATIENCE_S) == 1


@pytest.mark.parametrize("answer", [b"", b"{", b'{"id": 1, "result": "\xff"}', b"[" * 5000])
def test_what_is_no_answer_is_told_as_such(answer: bytes) -> None:
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
    with socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        with Client(f"tcp://127.0.0.1:{port}", timeout_s=20.0) as client:
            assert client._link.send([b"who are you?"], 5.0)
            route = socket.recv_multipart()[0]
            socket.send_multipart([route, b"", answer])
            with pytest.raises(MessageError, match="expected an answer of the service, got "):
                client.scene()


def test_wrong_endpoints_are_refused_with_a_reason() -> None:
    for endpoint in ("nonsense", "tcp://127.0.0.1", "tcp://127.0.0.1:http"):
        with pytest.raises(DioramaError):
            Client(endpoint)
        with pytest.raises(DioramaError):
            Service(small_world(), endpoint)
    with pytest.raises(DioramaError, match="--insecure"):
        Service(small_world(), "tcp://*:0")
    with Service(small_world(), ANY_PORT) as service, pytest.raises(DioramaError, match="in use"):
        Service(small_world(), service.endpoint)


def test_too_many_points_corners_and_names_are_refused() -> None:
    limits = Limits(points=100, polygon_corners=10)
    with asking(small_world(), limits=limits) as client:
        points = np.zeros((101, 3))
        for ask in (
            lambda: client.convert(points, "ned", "enu"),
            lambda: client.request("convert", source="ned", target="enu", points=points.tolist()),
        ):
            with pytest.raises(RequestError, match="at most 100") as caught:
                ask()
            assert caught.value.code == "too_many"
        assert len(client.convert(np.zeros((100, 3)), "ned", "enu")) == 100
        with pytest.raises(RequestError, match="at most 10 corners"):
            client.within_polygon([(0.0, 0.0)] * 11)
        with pytest.raises(RequestError, match="at most 100"):
            client.set_poses(["mast"] * 101, np.zeros((101, 7)))
