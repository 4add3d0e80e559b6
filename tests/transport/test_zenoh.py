"""zenoh as an engine: everything on loopback, ports nobody has, no multicast unless a test is about it."""

import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from diorama.ecs import World, difference, propagate
from diorama.schemas import topics
from diorama.schemas.errors import DioramaError
from diorama.schemas.view import View
from diorama.tests.patience import patiently
from diorama.tests.transport.engines import FREE_PORT, ZENOH_FREE_PORT
from diorama.tests.transport.following import catch_up
from diorama.tests.transport.history import play
from diorama.tests.transport.serving import asking, scattered_world, small_world
from diorama.transport.client import Client
from diorama.transport.connect import wait_any
from diorama.transport.methods import NoAnswerError, RefusedError
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica
from diorama.transport.security import ServerSecurity
from diorama.transport.service import Service
from diorama.transport.subscriber import Subscriber
from diorama.transport.zenoh_endpoint import parse_endpoint
from diorama.transport.zenoh_session import LARGE_BYTES, Sender, close_session, open_router


def until(condition: Callable[[], object], publisher: Publisher) -> None:
    """Let a publisher serve until something is so; bounded."""
    for _ in patiently():
        if condition():
            return
        publisher.poll(0.005)
    session = publisher.link._session.now
    routers = [] if session is None else session.info.routers_zid()
    raise AssertionError(f"it did not become so: listeners {publisher.link._listeners}, routers {routers}")


@contextmanager
def router(options: str = "") -> Iterator[str]:
    """A router in this process: the address to connect to."""
    session = open_router(parse_endpoint(f"zenoh:?listen=tcp/127.0.0.1:0{options}"))
    try:
        yield session.listen[0]
    finally:
        close_session(session)


def test_a_replica_may_be_there_before_the_publisher() -> None:
    with Publisher(ZENOH_FREE_PORT) as first:
        endpoint = first.endpoint
    world = World()
    play(world, 4)
    with Replica(endpoint) as replica:
        assert replica.poll(0.02) is None
        with Publisher(endpoint.replace("zenoh:", "zenoh:?listen=")) as publisher:
            publisher.publish(world)
            catch_up(publisher, replica)
            assert difference(world, replica.world) == ""


def test_a_replica_that_reads_late_joins_though_messages_were_lost() -> None:
    """That there is a publisher is told once, and before all those messages."""
    world = World()
    play(world, 4)
    with Publisher(ZENOH_FREE_PORT) as publisher, Replica(publisher.endpoint, queue=4) as replica:
        link: Any = replica._link
        until(lambda: publisher.listens(topics.SCENE_LOCAL), publisher)
        while [key.rpartition("/")[2] for key, _ in list(link._inbox._items)] != ["local"] * 4:
            publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""


def test_only_what_somebody_listens_to_is_encoded_and_leaving_shows() -> None:
    world = World()
    world.spawn("a")
    with Publisher(ZENOH_FREE_PORT) as publisher:
        publisher.publish(world)
        assert set(publisher.statistics.messages) <= {topics.HEARTBEAT}
        with Subscriber(publisher.endpoint, topics.SCENE_JSON, "/odd *?#$ na@me/") as subscriber:
            until(lambda: publisher.listens(topics.SCENE_JSON), publisher)
            until(lambda: publisher.listens("/odd *?#$ na@me/"), publisher)
            assert not publisher.listens(topics.SCENE_LOCAL)
            publisher.publish(world)
            message = subscriber.receive(20.0)
            assert message is not None
            assert message.topic == "scene/json"
            publisher.send_json("/odd *?#$ na@me", {"value": 1})
            message = subscriber.receive(20.0)
            assert message is not None
            assert (message.topic, message.json()) == ("/odd *?#$ na@me", {"value": 1})
        until(lambda: not publisher.listens(topics.SCENE_JSON), publisher)


@pytest.mark.parametrize("prefix", ["", "cl", "clock/"])
def test_subscribing_to_the_beginning_of_topics(prefix: str) -> None:
    with Publisher(ZENOH_FREE_PORT) as publisher, Subscriber(publisher.endpoint, prefix) as subscriber:
        until(lambda: publisher.listens(topics.CLOCK), publisher)
        publisher.publish(World())
        seen = set()
        while "clock" not in seen:
            message = subscriber.receive(20.0)
            assert message is not None
            seen.add(message.topic)


def test_scenes_on_one_network_do_not_meet() -> None:
    north, south = World(), World()
    play(north, 1)
    play(south, 2)
    with (
        router() as address,
        Publisher(f"zenoh:{address}?scene=north") as one,
        Publisher(f"zenoh:{address}?scene=south") as other,
        Replica(f"zenoh:{address}?scene=south") as replica,
    ):
        one.publish(north)
        other.publish(south)
        catch_up(other, replica)
        assert difference(south, replica.world) == ""


def test_through_a_router_that_dies_and_comes_back() -> None:
    world = World()
    play(world, 7)
    session = open_router(parse_endpoint("zenoh:?listen=tcp/127.0.0.1:0"))
    address = session.listen[0]
    with Publisher(f"zenoh:{address}") as publisher, Replica(f"zenoh:{address}") as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        close_session(session)
        until(lambda: not publisher.link._session.now.info.routers_zid(), publisher)
        play(world, 8)
        publisher.publish(world)
        session = open_router(parse_endpoint(f"zenoh:?listen={address}"))
        until(lambda: publisher.listens(topics.SCENE_LOCAL), publisher)
        play(world, 9)
        publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""
    close_session(session)


def test_a_killed_listener_is_forgotten() -> None:
    code = (
        "import sys; from diorama.transport.subscriber import Subscriber\n"
        "for _ in Subscriber(sys.argv[1], 'clock/'): pass"
    )
    with Publisher(ZENOH_FREE_PORT) as publisher:
        process = subprocess.Popen([sys.executable, "-c", code, publisher.endpoint])
        try:
            until(lambda: publisher.listens(topics.CLOCK), publisher)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        until(lambda: not publisher.listens(topics.CLOCK), publisher)


def test_finding_each_other_without_addresses_on_this_machine() -> None:
    scene = f"zenoh:?scene=test-{uuid4().hex}"
    world = World()
    play(world, 3)
    with Publisher(scene) as publisher, Replica(scene) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""
    code = (
        "import sys; from diorama.transport.replica import Replica\n"
        "print(len(Replica(sys.argv[1]).wait_until_whole(60).changed))"
    )
    with Publisher(scene) as publisher:
        publisher.publish(world)
        process = subprocess.Popen([sys.executable, "-c", code, scene], stdout=subprocess.PIPE, text=True)
        until(lambda: process.poll() is not None, publisher)
        assert int(process.communicate()[0]) == len(world)


def test_a_large_scene_arrives_whole() -> None:
    world = scattered_world(50_000)
    with Publisher(ZENOH_FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        world.transforms.position[:50_000] += 1.0
        propagate(world)
        publisher.publish(world)
        catch_up(publisher, replica)
        assert replica.world.table.pose[:50_000].tobytes() == world.table.pose[:50_000].tobytes()


def test_large_and_small_messages_keep_their_order() -> None:
    """Large ones leave in a thread of their own; small ones behind them must wait."""
    sender = Sender(100)
    sent: list[int] = []
    go = Event()

    def slow() -> None:
        assert go.wait(20.0)
        sent.append(0)

    sender.send(slow, LARGE_BYTES)
    for number in range(1, 20):
        sender.send(lambda number=number: sent.append(number), 10)  # type: ignore[misc]
    assert sent == []
    go.set()
    for _ in patiently():
        if len(sent) == 20:
            break
        Event().wait(0.005)
    assert sent == list(range(20))
    sender.close()


def test_when_too_many_wait_the_new_ones_are_lost() -> None:
    sender = Sender(3)
    sent: list[int] = []
    begun, go = Event(), Event()

    def slow() -> None:
        begun.set()
        assert go.wait(20.0)

    sender.send(slow, LARGE_BYTES)
    assert begun.wait(20.0)
    for number in range(10):
        sender.send(lambda number=number: sent.append(number), 10)  # type: ignore[misc]
    go.set()
    sender.close()
    assert sent in ([0, 1, 2], [0, 1], [0], [])  # closing waits for a moment only


def test_a_view_of_part_of_the_scene() -> None:
    world = scattered_world(500)
    view = View(near=(0.0, 0.0, 0.0), radius=1500.0)
    with Publisher(ZENOH_FREE_PORT) as publisher, Replica(publisher.endpoint, view=view) as replica:
        publisher.publish(world)
        until(lambda: replica.poll(0.005) is not None, publisher)
        distance = np.linalg.norm(world.poses.position[:500], axis=1)
        assert set(replica.world.names) == {f"e{index}" for index in np.flatnonzero(distance <= 1500.0)}


def test_views_that_nobody_looks_at_any_more_leave_nothing_behind() -> None:
    world = small_world()
    with Publisher(ZENOH_FREE_PORT) as publisher:
        for radius in range(1, 6):
            view = View(near=(0.0, 0.0, 0.0), radius=float(radius))
            with Replica(publisher.endpoint, view=view) as replica:
                publisher.publish(world)
                until(lambda replica=replica: replica.poll(0.005) is not None, publisher)  # type: ignore[misc]
                publisher.publish(world)
                assert view.topic in publisher.link._publishers
            until(lambda: not len(publisher._views), publisher)
        assert set(publisher.link._publishers) <= set(topics.OURS)


# -- the service -------------------------------------------------------------------------------------------------


def test_asking_over_zenoh() -> None:
    with asking(small_world(), endpoint=ZENOH_FREE_PORT) as client:
        assert client.scene()["entities"] == 4
        points = [[float(index), 0.0, 0.0] for index in range(100)]  # enough to go as a binary body
        assert client.convert(client.convert(points, "ned", "ecef"), "ecef", "ned")[7] == pytest.approx(
            [7.0, 0.0, 0.0], abs=1e-8
        )
        with pytest.raises(RefusedError, match="did you mean 'drone'"):
            client.where("dron")


def test_a_client_waits_for_its_service_and_gives_up_when_there_is_none() -> None:
    with (
        router() as address,
        Client(f"zenoh:{address}", timeout_s=0.05) as client,
        pytest.raises(NoAnswerError, match="no answer"),
    ):
        client.scene()


def test_publisher_and_service_share_an_endpoint() -> None:
    world = small_world()
    with (
        router() as address,
        Publisher(f"zenoh:{address}") as publisher,
        Service(world, f"zenoh:{address}") as service,
        Client(f"zenoh:{address}", timeout_s=20.0) as client,
    ):
        publisher.publish(world)
        link = client._link
        assert link.send([b'{"id": 1, "method": "scene"}'], 20.0)
        wait_any([publisher.link, service.link], 20.0)
        assert service.poll(20.0) == 1
        assert link.receive(20.0) is not None


def test_waiting_for_links_of_both_engines() -> None:
    with Publisher(FREE_PORT) as one, Publisher(ZENOH_FREE_PORT) as other, Replica(other.endpoint):
        wait_any([one.link, other.link], 20.0)
        until(lambda: other.listens(topics.SCENE_LOCAL), other)


# -- who gets in -------------------------------------------------------------------------------------------------


def test_curve_keys_are_refused() -> None:
    keys = ServerSecurity(public_key=b"0" * 40, secret_key=b"0" * 40)
    with pytest.raises(DioramaError, match="CURVE keys are for ZeroMQ"):
        Publisher(ZENOH_FREE_PORT, security=keys)


def test_several_endpoints_are_refused() -> None:
    with pytest.raises(DioramaError, match="expected one for zenoh"):
        Publisher([ZENOH_FREE_PORT, "zenoh:"])
    with pytest.raises(DioramaError, match="a follower connects"):
        Replica(ZENOH_FREE_PORT)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(DioramaError, match="cannot open"):
            Publisher(f"zenoh:?listen=tcp/127.0.0.1:{taken.getsockname()[1]}")


def test_a_wrong_password_does_not_get_in(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("anna:right\n")
    (tmp_path / "right").write_text("right\n")
    (tmp_path / "wrong").write_text("wrong\n")
    world = small_world()
    with Publisher(f"{ZENOH_FREE_PORT}&users_file={tmp_path / 'users'}") as publisher:
        publisher.publish(world)
        endpoint = f"{publisher.endpoint}?user=anna&password_file={tmp_path}"
        with Replica(f"{endpoint}/wrong") as outsider, Replica(f"{endpoint}/right") as replica:
            catch_up(publisher, replica)
            assert outsider.poll(0.2) is None
            assert not outsider.whole


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_tls_with_certificates_on_both_sides(tmp_path: Path) -> None:
    ca, cert, key = make_certificates(tmp_path)
    world = small_world()
    listen = f"zenoh:?listen=tls/127.0.0.1:0&ca={ca}&cert={cert}&key={key}"
    with Publisher(listen) as publisher:
        publisher.publish(world)
        with (
            Replica(f"{publisher.endpoint}?ca={ca}") as stranger,
            Replica(f"{publisher.endpoint}?ca={ca}&cert={cert}&key={key}") as replica,
        ):
            catch_up(publisher, replica)
            assert difference(world, replica.world) == ""
            assert stranger.poll(0.2) is None


def make_certificates(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, and a certificate and key for 127.0.0.1 by it."""
    ca, ca_key, cert, key = (folder / name for name in ("ca.pem", "ca.key", "cert.pem", "cert.key"))
    request, extension = folder / "request", folder / "extension"
    extension.write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-CA", ca, "-CAkey", ca_key, "-CAcreateserial"]
    for command in (
        ["req", "-x509", *elliptic, "-keyout", ca_key, "-out", ca, "-subj", "/CN=authority", "-days", "2"],
        ["req", *elliptic, "-keyout", key, "-out", request, "-subj", "/CN=127.0.0.1"],
        ["x509", "-req", "-in", request, "-out", cert, "-days", "2", "-extfile", extension, *authority],
    ):
        subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
    return ca, cert, key
