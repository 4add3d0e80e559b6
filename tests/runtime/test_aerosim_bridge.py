"""AeroSim's renderers, played by the test as its world-link does it, over zenoh and over Kafka.

The player knows nothing of diorama: raw topics, the envelope, and the answers world-link gives.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import confluent_kafka
import pytest
import zenoh
from scipy.spatial.transform import Rotation

from diorama.ecs import Effector, Sensor, World, propagate
from diorama.geo import Origin
from diorama.runtime.aerosim_bridge import AeroSimBridge
from diorama.runtime.clock import Tick
from diorama.schemas.errors import DioramaError, GeoError
from diorama.tests.cli.test_network import running
from diorama.tests.transport.engines import ZENOH_FREE_PORT

COMMANDS, UPDATE, CLOCK, STATUS = (
    "aerosim.orchestrator.commands",
    "aerosim.scene_graph.update",
    "aerosim.clock",
    "aerosim.renderer.status",
)
HOUSTON = Origin(29.594656, -95.16384722, -28.3)


class Wire(Protocol):
    """What a renderer has: topics in, topics out."""

    def say(self, topic: str, payload: bytes) -> None: ...

    def hear(self) -> list[tuple[str, bytes]]: ...


class ZenohWire:
    def __init__(self, address: str) -> None:
        config = zenoh.Config()
        for path, value in {
            "mode": "peer",
            "connect/endpoints": [address],
            "listen/endpoints": [],
            "scouting/multicast/enabled": False,
        }.items():
            config.insert_json5(path, json.dumps(value))
        self.session = zenoh.open(config)
        self.channels = [self.session.declare_subscriber(topic) for topic in (COMMANDS, UPDATE, CLOCK)]

    def say(self, topic: str, payload: bytes) -> None:
        self.session.put(topic, payload)

    def hear(self) -> list[tuple[str, bytes]]:
        found = []
        for channel in self.channels:
            while (sample := channel.try_recv()) is not None:
                found.append((str(sample.key_expr), sample.payload.to_bytes()))
        return found


class KafkaWire:
    def __init__(self, address: str) -> None:
        brokers = {"bootstrap.servers": address, "log_level": 0}
        self.producer = confluent_kafka.Producer(brokers)
        self.consumer = confluent_kafka.Consumer({**brokers, "group.id": "renderer", "fetch.wait.max.ms": 10})
        self.consumer.assign(
            [
                confluent_kafka.TopicPartition(topic, number, confluent_kafka.OFFSET_BEGINNING)
                for topic in (COMMANDS, UPDATE, CLOCK)
                for number in self.producer.list_topics(topic, timeout=10).topics[topic].partitions
            ]
        )

    def say(self, topic: str, payload: bytes) -> None:
        self.producer.produce(topic, payload)
        self.producer.flush(10)

    def hear(self) -> list[tuple[str, bytes]]:
        found = []
        while (message := self.consumer.poll(0.005)) is not None:
            if message.error() is None:
                found.append((message.topic() or "", message.value() or b""))
        return found


class Renderer:
    """World-link and a renderer behind it: answers commands, keeps what it was told."""

    def __init__(self, wire: Wire, name: str = "0") -> None:
        self.wire, self.name = wire, name
        self.commands: list[str] = []
        self.config: dict[str, Any] = {}
        self.graph: dict[str, Any] = {}
        self.updates: list[dict[str, Any]] = []
        self.clocks: list[dict[str, Any]] = []
        self.metadata: list[dict[str, Any]] = []

    def work(self) -> None:
        for topic, payload in self.wire.hear():
            message = json.loads(payload)
            assert message["metadata"]["topic"] == topic
            assert message["metadata"]["type_name"] == "aerosim::types::JsonData"
            self.metadata.append(message["metadata"])
            content = json.loads(message["data"]["data"])
            if topic == UPDATE:
                self.updates.append(content)
            elif topic == CLOCK:
                self.clocks.append(content)
            else:
                self.obey(content["command"], content["parameters"])

    def obey(self, command: str, parameters: dict[str, Any]) -> None:
        self.commands.append(command)
        if command == "load_config":
            self.config = parameters["sim_config"]
            for renderer in self.config["renderers"]:  # what world-link's parser asks for
                assert renderer.keys() >= {"renderer_id", "role", "sensors", "viewport_config"}
            self.tell("config_loaded")
        elif command == "load_scene_graph":
            self.graph = parameters["scene_graph"]
            self.tell("scene_graph_loaded")

    def tell(self, status: str) -> None:
        content = json.dumps({"renderer_id": self.name, "status": status})
        unset = {"sec": -(2**31), "nanosec": 0}
        now = {"sec": int(time.time()), "nanosec": 0}
        metadata = {
            "topic": STATUS,
            "type_name": "aerosim::types::JsonData",
            "timestamp_sim": unset,
            "timestamp_platform": now,
        }
        self.wire.say(STATUS, json.dumps({"metadata": metadata, "data": {"data": content}}).encode())


@contextmanager
def zenoh_place() -> Iterator[tuple[str, Callable[[str], Wire]]]:
    wires: list[ZenohWire] = []

    def connect(endpoint: str) -> Wire:
        wires.append(ZenohWire(endpoint.removeprefix("zenoh:")))
        return wires[-1]

    yield ZENOH_FREE_PORT, connect
    for wire in wires:
        wire.session.close()  # type: ignore[no-untyped-call]


@contextmanager
def kafka_place() -> Iterator[tuple[str, Callable[[str], Wire]]]:
    """librdkafka's own mock broker, in this process."""
    mock = confluent_kafka.Producer(
        {"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0}
    )
    brokers = mock.list_topics(timeout=10).brokers.values()
    address = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    wires: list[KafkaWire] = []

    def connect(endpoint: str) -> Wire:
        wires.append(KafkaWire(endpoint.removeprefix("kafka://")))
        return wires[-1]

    yield f"kafka://{address}", connect
    for wire in wires:
        wire.consumer.close()


PLACES = pytest.mark.parametrize("place", [zenoh_place, kafka_place], ids=["zenoh", "kafka"])


def flying_world() -> World:
    world = World(HOUSTON)
    turned = Rotation.from_euler("ZYX", [30.0, 20.0, 10.0], degrees=True).as_quat()
    evtol = world.spawn("evtol", asset="generic/EVTOL", position=(100.0, 200.0, -50.0), orientation=turned)
    world.spawn("evtol/rotor", Effector("rotor", "evtol/rotor"), parent=evtol, position=(1.0, 0.0, -1.0))
    camera = Sensor("front", "rgb_camera", {"fov": 80.0, "resolution": {"x": 640, "y": 480}})
    world.spawn("front", camera, parent=evtol, position=(2.0, 0.0, 0.0))
    propagate(world)
    return world


def run_until(
    bridge: AeroSimBridge, world: World, renderers: list[Renderer], enough: Callable[[], bool]
) -> None:
    """Ticks of 20 ms simulated, as fast as messages go, until something is so."""
    end = time.monotonic() + 60.0
    for index in count():
        tick = Tick(index, (index + 1) * 20_000_000, 20_000_000)
        assert tuple(bridge(world, tick)) == ()
        for renderer in renderers:
            renderer.work()
        if enough():
            return
        if time.monotonic() > end:
            break
        os.sched_yield()
    raise AssertionError(
        f"it did not become so: {bridge.state}, {[renderer.commands for renderer in renderers]}"
    )


@PLACES
def test_a_renderer_made_for_aerosim_shows_our_scene(place: Any) -> None:
    world = flying_world()
    with place() as (endpoint, connect):
        bridge = AeroSimBridge(endpoint, world, repeat_s=0.05)
        renderer = Renderer(connect(bridge.endpoint))
        run_until(bridge, world, [renderer], lambda: len(renderer.updates) >= 3 and len(renderer.clocks) >= 3)
        # The order of the handshake; load_config may be repeated.
        assert list(dict.fromkeys(renderer.commands)) == ["load_config", "load_scene_graph", "start"]
        assert renderer.config["world"]["origin"]["latitude"] == 29.594656
        assert renderer.config["renderers"][0]["renderer_id"] == "0"

        for graph in (renderer.graph, renderer.updates[-1]):
            assert set(graph) == {"entities", "components", "resources"}
            keys = {
                graph["components"]["actor_properties"][key]["actor_name"]: key for key in graph["entities"]
            }
            assert set(keys) == {"evtol", "front"}
            state = graph["components"]["actor_state"][keys["evtol"]]["pose"]["transform"]
            assert state["position"] == {"x": 100.0, "y": 200.0, "z": -50.0}
            # facts of AeroSim: roll, pitch, yaw 10, 20, 30 degrees in its own encoding
            expected = {"w": 0.94371436, "x": 0.26853582, "y": 0.14487813, "z": 0.12767944}
            assert state["orientation"] == pytest.approx(expected, abs=1e-8)
            effector = graph["components"]["effectors"][keys["evtol"]][0]
            assert (effector["effector_id"], effector["relative_path"]) == ("rotor", "evtol/rotor")
            camera = graph["components"]["sensor"][keys["front"]]
            assert camera["sensor_type"] == "sensors/cameras/rgb_camera"
            assert camera["sensor_parameters"]["RGBCamera"]["resolution"] == [640, 480]
            assert graph["components"]["actor_properties"][keys["front"]]["parent"] == keys["evtol"]
            assert graph["resources"]["weather"] == {"preset": "Cloudy"}
        assert renderer.clocks[-1]["tick_group"] == 1
        assert renderer.clocks[-1]["timestamp_sim"]["nanosec"] % 20_000_000 == 0

        world.transforms.position[world.row(world.find("evtol")), 0] = 150.0
        propagate(world)
        renderer.updates.clear()

        def moved() -> bool:
            states = [update["components"]["actor_state"] for update in renderer.updates]
            return any(
                s["pose"]["transform"]["position"]["x"] == 150.0 for one in states for s in one.values()
            )

        run_until(bridge, world, [renderer], moved)
        bridge.close()
        end = time.monotonic() + 30.0
        while renderer.commands[-1] != "stop" and time.monotonic() < end:
            renderer.work()
        assert renderer.commands[-1] == "stop"


def test_nothing_runs_until_every_renderer_has_loaded() -> None:
    world = flying_world()
    with (
        zenoh_place() as (endpoint, connect),
        AeroSimBridge(endpoint, world, renderers=["0", "7"], repeat_s=0.05) as bridge,
    ):
        first = Renderer(connect(bridge.endpoint), "0")
        run_until(bridge, world, [first], lambda: "load_config" in first.commands)
        first.wire.say(STATUS, b"nonsense")
        first.wire.say(STATUS, b'{"metadata": {}, "data": {"data": "[]"}}')
        for index in range(50):
            bridge(world, Tick(index, index, 1))
            first.work()
        assert bridge.state == "loading"
        assert first.updates == []
        second = Renderer(connect(bridge.endpoint), "7")
        bridge._sent_at = -1e9  # as if five seconds had passed
        run_until(bridge, world, [first, second], lambda: bool(first.updates and second.updates))
        assert bridge.state == "running"


def test_a_scene_without_an_earth_loaded_meanwhile_is_waited_out() -> None:
    world, nowhere = flying_world(), World()
    with (
        zenoh_place() as (endpoint, connect),
        AeroSimBridge(endpoint, world, repeat_s=0.0) as bridge,
    ):
        renderer = Renderer(connect(bridge.endpoint))
        run_until(bridge, nowhere, [renderer], lambda: bridge.state == "building")
        for index in range(50):
            bridge(nowhere, Tick(index, index, 1))
            renderer.work()
        assert "load_scene_graph" not in renderer.commands
        run_until(bridge, world, [renderer], lambda: bool(renderer.updates))


def test_serving_a_sim_config_to_a_renderer() -> None:
    path = Path(__file__).parent.parent / "scenes" / "houston.sim_config.json"
    command = ["serve", str(path), "--endpoint", "tcp://127.0.0.1:*", "--aerosim", ZENOH_FREE_PORT]
    with running(*command, says="AeroSim's renderers 0 are awaited at ") as endpoint, zenoh_place() as place:
        renderer = Renderer(place[1](endpoint))
        end = time.monotonic() + 60.0
        while len(renderer.updates) < 2 and time.monotonic() < end:
            renderer.work()
        assert renderer.config == json.loads(path.read_text())
        names = {actor["actor_name"] for actor in renderer.graph["components"]["actor_properties"].values()}
        assert {"evtol_0"} <= names
        assert len(renderer.updates) >= 2


def test_what_is_refused() -> None:
    with pytest.raises(GeoError):
        AeroSimBridge(ZENOH_FREE_PORT, World())
    with pytest.raises(DioramaError, match=r"expected zenoh:... or kafka://HOST:PORT"):
        AeroSimBridge("tcp://127.0.0.1:1", flying_world())
