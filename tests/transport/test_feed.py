"""Several processes feed one scene: ownership, refusals, time, reloads, and processes that die."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from diorama.ecs import World, propagate
from diorama.tests.patience import PATIENCE_S
from diorama.tests.transport.serving import ANY_PORT, asking, scattered_world, serving, small_world
from diorama.transport.client import Client
from diorama.transport.feed import Feed, Owners
from diorama.transport.methods import Handlers, RequestError
from diorama.transport.service import Service

LONG_S = 3600.0  # longer than any test
SHORT_S = 0.05


def at(*norths: float) -> NDArray[np.float64]:
    """Poses (n, 7) so many metres north, unturned."""
    poses = np.zeros((len(norths), 7))
    poses[:, 0], poses[:, 6] = norths, 1.0
    return poses


@pytest.fixture
def world() -> World:
    return scattered_world(10)


@pytest.fixture
def endpoint(world: World) -> Iterator[str]:
    with serving(world) as service:
        yield service.endpoint


def north_of(endpoint: str, name: str) -> float:
    with Client(endpoint, timeout_s=20) as client:
        return float(client.where(name)["ned"][0])


def test_poses_arrive_and_the_last_write_wins(endpoint: str) -> None:
    with Feed(endpoint, "traffic", ["e3", "e1"], timeout_s=20) as feed:
        first = feed.send(at(10.0, 20.0))
        second = feed.send(at(11.0, 21.0))
        assert (first.applied, first.unknown, first.refused) == (2, (), ())
        assert second.tick >= first.tick >= 1
        assert (north_of(endpoint, "e3"), north_of(endpoint, "e1")) == (11.0, 21.0)
        feed.send(np.hstack((at(1.0, 2.0), np.full((2, 3), 5.0))))
    with Client(endpoint, timeout_s=20) as client:
        assert client.where("e1")["scale"] == [5.0, 5.0, 5.0]


def test_the_last_of_several_writes_before_a_tick_is_what_the_tick_shows() -> None:
    world = scattered_world(2)
    service = Service(world, ANY_PORT)
    with service, Client(service.endpoint, timeout_s=20) as client:
        owner = {"owner": "me", "session": "0123456789"}
        for number, message in enumerate(["claim", "feed", "feed", "feed"]):
            lease = service._owners.of(world).lease
            params = {**owner, "names": ["e0"]} if message == "claim" else {**owner, "lease": lease}
            handle = np.array([world.find("e0")], "<i8")
            bodies = [] if message == "claim" else [handle.tobytes(), at(float(number)).tobytes()]
            head = msgspec.json.encode({"id": number, "method": message, "params": params})
            assert client._link.send([head, *bodies], PATIENCE_S)
        answered = 0
        while answered < 4:
            answered += service.poll(PATIENCE_S, tick=7, budget_s=10.0)
        for number in range(4):
            frames = client._link.receive(PATIENCE_S)
            assert frames is not None
            answer = msgspec.json.decode(frames[0])
            assert (answer["id"], answer["tick"]) == (number, 8)
    assert world.transforms.position[world.row(world.find("e0")), 0] == 3.0


def test_an_entity_has_one_owner_at_a_time(endpoint: str) -> None:
    with Feed(endpoint, "traffic", ["e0", "e1"], silence_s=LONG_S, timeout_s=20) as traffic:
        with Feed(endpoint, "weather", ["e1", "e2"], silence_s=LONG_S, timeout_s=20) as weather:
            assert weather.refused == {"e1": "traffic"}
            report = weather.send(at(1.0, 2.0))
            assert (report.applied, report.refused) == (1, ("e1",))
            assert traffic.send(at(5.0, 6.0)).applied == 2
            assert north_of(endpoint, "e1") == 6.0
            traffic.close()
            weather.claim()
            assert weather.refused == {}
            assert weather.send(at(7.0, 8.0)).applied == 2
        assert north_of(endpoint, "e1") == 7.0


def test_two_processes_of_the_same_name_are_two(endpoint: str) -> None:
    with (
        Feed(endpoint, "traffic", ["e0"], silence_s=LONG_S, timeout_s=20),
        Feed(endpoint, "traffic", ["e0"], silence_s=LONG_S, timeout_s=20) as second,
    ):
        assert second.refused == {"e0": "traffic"}


def test_a_silent_owner_loses_its_entities_and_may_get_them_back(endpoint: str) -> None:
    with Feed(endpoint, "sleepy", ["e0"], silence_s=SHORT_S, timeout_s=20) as sleepy:
        with Feed(endpoint, "keen", ["e0"], silence_s=LONG_S, timeout_s=20) as keen:
            while keen.refused:  # until the silence has lasted
                keen.claim()
            assert keen.send(at(1.0)).applied == 1
            assert sleepy.send(at(2.0)).refused == ("e0",)
            assert north_of(endpoint, "e0") == 1.0
        sleepy.claim()
        assert sleepy.send(at(3.0)).applied == 1


def test_unknown_entities_are_answered_and_fed_once_they_are_there(endpoint: str) -> None:
    with Feed(endpoint, "traffic", ["e0", "late"], silence_s=SHORT_S, timeout_s=20) as feed:
        assert feed.unknown == ("late",)
        assert feed.send(at(1.0, 2.0)).unknown == ("late",)
        with Client(endpoint, timeout_s=20) as client:
            client.spawn("late")
        while feed.send(at(1.0, 2.0)).unknown:
            pass
        assert north_of(endpoint, "late") == 2.0


def test_a_despawned_entity_is_named_and_its_row_is_not_written_for_another(endpoint: str) -> None:
    with (
        Feed(endpoint, "traffic", ["e0", "e1"], silence_s=LONG_S, timeout_s=20) as feed,
        Client(endpoint, timeout_s=20) as client,
    ):
        client.despawn("e0")
        client.spawn("new", position=(42, 0, 0))
        report = feed.send(at(1.0, 2.0))
        assert (report.applied, report.unknown) == (1, ("e0",))
        assert client.where("new")["ned"][0] == 42.0
        assert client.where("e1")["ned"][0] == 2.0
        report = feed.send(at(1.0, 3.0))
        assert (report.applied, report.unknown) == (1, ("e0",))  # told as long as it is so
        client.spawn("e0")
        feed.claim()
        assert feed.send(at(1.0, 3.0)).unknown == feed.unknown == ()


def test_a_reload_is_survived() -> None:
    worlds = [scattered_world(3)]

    def reload(path: Path | None) -> None:
        worlds[0] = scattered_world(3, seed=9)

    with (
        serving(lambda: worlds[0], handlers=Handlers(reload=reload)) as service,
        Feed(service.endpoint, "traffic", ["e0", "e2"], timeout_s=20) as feed,
    ):
        feed.send(at(1.0, 2.0))
        with Client(service.endpoint, timeout_s=20) as client:
            client.reload()
        assert feed.send(at(3.0, 4.0)).applied == 2
        assert north_of(service.endpoint, "e2") == 4.0


def test_a_restarted_server_is_fed_by_name_and_not_by_old_handles() -> None:
    with ExitStack() as stack:
        with serving(scattered_world(3)) as service:
            feed = stack.enter_context(Feed(service.endpoint, "traffic", ["e0", "e2"], timeout_s=20))
            feed.send(at(1.0, 2.0))
        other = World()
        other.insert(["e2", "e1", "e0"])  # the same names on other rows
        propagate(other)
        with serving(other, endpoint=service.endpoint):
            assert feed.send(at(3.0, 4.0)).applied == 2
            feed.close()
    norths = {name: other.transforms.position[other.row(entity), 0] for name, entity in other.names.items()}
    assert norths == {"e0": 3.0, "e1": 0.0, "e2": 4.0}


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_poses_that_are_not_finite_are_refused_one_by_one(endpoint: str, wrong: float) -> None:
    with Feed(endpoint, "traffic", ["e0", "e1", "e2"], timeout_s=20) as feed:
        poses = at(1.0, wrong, 3.0)
        poses[2, 6] = 0.0
        report = feed.send(poses)
        assert (report.applied, report.refused) == (1, ("e1", "e2"))
        with pytest.raises(ValueError, match=r"expected shape \(3, 7\)"):
            feed.send(np.zeros((2, 7)))


def test_bodies_of_the_wrong_size_are_refused() -> None:
    owner = {"owner": "me", "session": "0123456789"}
    with asking(small_world()) as client:
        lease = client.call("claim", {"names": ["mast"], **owner}).result["lease"]
        for bodies in ([], [b""], [b"1234567", b""], [bytes(8), bytes(55)], [bytes(8), bytes(56), b""]):
            with pytest.raises(RequestError) as caught:
                client.call("feed", {"lease": lease, **owner}, bodies)
            assert caught.value.code == "bad_body"


def test_ownership_is_forgotten_with_the_entity_and_with_the_world() -> None:
    world = World()
    entity = world.spawn("a")
    propagate(world)
    owners = Owners().of(world)
    first, second = (owners.session(name * 8, name, LONG_S) for name in "xy")
    rows, entities = world.rows([entity]), np.array([entity])
    assert owners.take(first, entities, rows).all()
    assert not owners.take(second, entities, rows).any()
    world.despawn(entity)
    again = world.spawn("a")
    assert world.rows([again]) == rows
    assert owners.of(world).take(second, np.array([again]), rows).all()
    assert owners.release("y" * 8, None) == 1
    lease = owners.lease
    assert owners.of(World()).lease != lease
    assert not owners.by_session


def test_owners_who_fell_silent_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diorama.transport.feed.OWNERS", 2)
    owners = Owners().of(World())
    owners.session("x" * 8, "x", LONG_S)
    owners.session("y" * 8, "y", -1.0)  # silent for too long at once
    owners.session("z" * 8, "z", LONG_S)
    assert set(owners.by_session) == {"x" * 8, "z" * 8}
    with pytest.raises(RequestError, match="2 processes feed this scene already"):
        owners.session("w" * 8, "w", LONG_S)


FEEDER = """
import sys
import msgspec
import numpy as np
from diorama.transport.feed import Feed
endpoint, owner, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
names = [f"e{index}" for index in range(first, first + count)]
poses = np.zeros((count, 7)); poses[:, 6] = 1.0
feed = Feed(endpoint, owner, names, silence_s=float(sys.argv[5]), timeout_s=30)
for number in range(1, 21):
    poses[:, 0] = number
    assert feed.send(poses).applied == count
print("fed", flush=True)
sys.stdin.read()
feed.close()
"""


def start_feeder(
    endpoint: str, owner: str, first: int, count: int, silence_s: float
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", FEEDER, endpoint, owner, str(first), str(count), str(silence_s)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_processes_feed_one_scene_and_one_that_is_killed_is_replaced() -> None:
    world = scattered_world(300)
    with serving(world) as service:
        feeders = [start_feeder(service.endpoint, f"f{index}", 100 * index, 100, 0.5) for index in range(3)]
        try:
            for feeder in feeders:
                assert feeder.stdout is not None
                assert feeder.stdout.readline() == b"fed\n"
            feeders[1].kill()
            names = [f"e{index}" for index in range(100, 200)]
            with Feed(service.endpoint, "heir", names, silence_s=LONG_S, timeout_s=20) as heir:
                while heir.refused:
                    heir.claim()
                assert heir.send(at(*[77.0] * 100)).applied == 100
        finally:
            for feeder in feeders:
                feeder.communicate(timeout=60)
        assert [feeder.returncode for feeder in feeders] == [0, -9, 0]
    norths = world.transforms.position[world.rows([world.find(f"e{index}") for index in range(300)]), 0]
    np.testing.assert_array_equal(norths, np.repeat([20.0, 77.0, 20.0], 100))
