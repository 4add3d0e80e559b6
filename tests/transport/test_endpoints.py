"""Publisher, replica and service on every kind of ZeroMQ endpoint."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diorama.cli.main import main
from diorama.ecs import World, difference
from diorama.schemas.errors import DioramaError
from diorama.tests.transport.following import catch_up
from diorama.tests.transport.serving import serving
from diorama.tests.transport.test_security import Heard, client_of, keys, server_for
from diorama.tests.transport.test_security import heard as heard
from diorama.transport.client import Client
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica
from diorama.transport.service import Service

HOUSTON = Path(__file__).parents[1] / "scenes/houston.scene.json"
LISTENER = """
import sys, zmq
socket = zmq.Context.instance().socket(zmq.XPUB)
socket.bind(sys.argv[1])
print("bound", flush=True)
sys.stdin.read()
"""


def test_one_publisher_on_several_kinds_of_endpoints(tmp_path: Path) -> None:
    world = World()
    world.spawn("a", position=(1, 2, 3))
    wanted = [f"ipc://{tmp_path}/scene", "inproc://test-endpoints", "tcp://127.0.0.1:*"]
    with Publisher(wanted) as publisher:
        replicas = [Replica(endpoint) for endpoint in [*publisher.endpoints, publisher.endpoints]]
        publisher.publish(world)
        catch_up(publisher, *replicas)
        world.spawn("b")
        publisher.publish(world)
        catch_up(publisher, *replicas)
        for replica in replicas:
            assert difference(world, replica.world) == ""
            assert replica.gaps == replica.malformed == 0
            replica.close()


@pytest.mark.parametrize("command", ["serve", "compose"])
def test_endpoints_of_two_engines_are_refused_in_a_sentence(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = {"serve": str(HOUSTON), "compose": "north=inproc://north"}[command]
    assert (
        main([command, subject, "--endpoint", "zenoh:", "--endpoint", "inproc://both", "--ticks", "1"]) == 1
    )
    assert capsys.readouterr().err.startswith("endpoints: expected one or more, all ZeroMQ")


def test_a_service_answers_over_ipc(tmp_path: Path) -> None:
    world = World()
    world.spawn("a", position=(1, 2, 3))
    with serving(world, endpoint=f"ipc://{tmp_path}/service") as service, Client(service.endpoint) as client:
        assert client.where("a")["ned"] == [1, 2, 3]


def test_an_ipc_address_is_not_taken_from_who_has_it_but_from_who_died(tmp_path: Path) -> None:
    endpoint = f"ipc://{tmp_path}/scene"
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENER, endpoint], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    with pytest.raises(DioramaError, match="the address is in use"):
        Publisher(endpoint)
    with pytest.raises(DioramaError, match="the address is in use"):
        Service(World(), endpoint)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / "scene").exists()
    with Publisher(endpoint) as publisher, Replica(endpoint) as replica:
        publisher.publish(World())
        catch_up(publisher, replica)


def test_a_guarded_scene_is_followed_by_the_holders_of_keys_only(heard: Heard) -> None:
    pair = keys()
    server = server_for(pair[0])
    impostor = server_for(pair[0])  # another server, with keys of its own
    world = World()
    world.spawn("secret")
    with (
        Publisher("tcp://127.0.0.1:*", security=server) as publisher,
        Replica(publisher.endpoint, security=client_of(server, pair)) as friend,
        Replica(publisher.endpoint, security=client_of(server)) as stranger,
        Replica(publisher.endpoint, security=client_of(impostor, pair)) as lost,
        Replica(publisher.endpoint) as naked,
    ):
        said = {heard.next() for _ in range(3)}
        for reason in ("not on the allow-list", "for another server", "without CURVE keys"):
            assert any(reason in line for line in said)
        publisher.publish(world)
        catch_up(publisher, friend)
        world.spawn("more")
        publisher.publish(world)
        catch_up(publisher, friend)
        assert difference(world, friend.world) == ""
        assert publisher.statistics.joins == 1
        for other in (stranger, lost, naked):
            assert other.poll(0.05) is None
            assert not other.whole
