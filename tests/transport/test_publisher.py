"""A publisher under demanding subscribers: its memory, its time and what it has sent stay its own."""

import logging

import numpy as np
import orjson
import pytest
import zmq

from diorama.ecs import Transform, Velocity, World, difference, propagate
from diorama.runtime.answer import answer
from diorama.runtime.clock import SteppableClock, Tick
from diorama.runtime.simulation import Simulation
from diorama.schemas import topics
from diorama.tests.patience import PATIENCE_S, patiently
from diorama.tests.transport.following import catch_up
from diorama.transport import codec, listeners, zmq_pubsub
from diorama.transport.listeners import Listeners
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica
from diorama.transport.scene_text import SceneText
from diorama.transport.service_link import Caller
from diorama.transport.subscriber import Subscriber
from diorama.transport.zmq_pubsub import ZmqPublishLink

FREE_PORT = "tcp://127.0.0.1:*"


def wait_for(publisher: Publisher, topic: str) -> None:
    """Until somebody listens to a topic."""
    for _ in patiently():
        publisher.poll(0.01)
        if publisher.listens(topic):
            return
    raise AssertionError(f"nobody listens to {topic}")


def test_wild_subscriptions_are_bounded_and_nobody_misses_a_topic(caplog: pytest.LogCaptureFixture) -> None:
    known = Listeners()
    with caplog.at_level(logging.WARNING, "diorama.transport"):
        for number in range(3 * listeners.MOST_TOPICS):
            known.note(f"wild/{number}/", True)
    assert len(known._others) == listeners.MOST_TOPICS
    assert len(caplog.records) == 1
    known.note(topics.SCENE_LOCAL, True)
    assert known.hears(topics.SCENE_LOCAL)
    assert not known.hears(topics.SCENE_JSON)
    assert known.hears(f"wild/{3 * listeners.MOST_TOPICS - 1}/")


def test_prefixes_count_as_zeromq_counts_them() -> None:
    known = Listeners()
    for prefix in ("", "sce", "my/top", "grüße/"):
        known.note(prefix, True)
        assert known.hears(topics.SCENE_JSON) == (prefix in ("", "sce"))
        assert known.hears("my/topic/") == (prefix in ("", "my/top"))
        assert known.hears("grüße/") == (prefix in ("", "grüße/"))
        known.note(prefix, False)
        assert not known.hears(topics.SCENE_JSON)


def test_newcomers_before_the_first_update_are_bounded_and_may_give_up() -> None:
    known = Listeners()
    for number in range(3 * listeners.MOST_JOINS):
        known.note(topics.snapshot("local", f"impatient.{number}"), True)
    known.note(topics.snapshot("local", "impatient.0"), False)
    waiting = known.take_joins()
    assert len(waiting) == listeners.MOST_JOINS - 1
    assert topics.snapshot("local", "impatient.0") not in waiting
    assert known.take_joins() == []


def test_a_flood_of_wishes_is_looked_at_in_parts() -> None:
    link = ZmqPublishLink([FREE_PORT], queue=4)
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
    try:
        socket.sndhwm = 0  # a wish that finds the queue full is lost
        socket.connect(link.endpoints[0])
        wanted = 3 * zmq_pubsub.MOST_INTERESTS
        for number in range(wanted):
            socket.subscribe(f"wild/{number}/")
        seen = 0
        while seen < wanted:
            found = link.interests(10.0)
            assert 0 < len(found) <= zmq_pubsub.MOST_INTERESTS
            seen += len(found)
    finally:
        socket.close(0)
        link.close()


def test_statistics_do_not_grow_with_every_newcomer() -> None:
    world = World()
    world.spawn("rock")
    with Publisher(FREE_PORT) as publisher:
        publisher.publish(world)
        wishes = [topics.snapshot("local", f"visitor{number}.0") for number in range(20)]
        with Subscriber(publisher.endpoint, *wishes) as subscriber:
            for _ in patiently():
                publisher.poll(0.01)
                if publisher.statistics.joins == 20:
                    break
            assert subscriber.receive(PATIENCE_S) is not None
        assert set(publisher.statistics.messages) == {topics.HEARTBEAT, topics.SNAPSHOT}
        assert publisher.statistics.messages[topics.SNAPSHOT] == 20


@pytest.mark.parametrize("queue", [16, 2])
def test_what_was_sent_never_changes_however_late_it_is_read(queue: int) -> None:
    """Update n puts every entity at north n: a message read late must hold its own n and no other."""
    world = World()
    world.insert(20_000)
    with (
        Publisher(FREE_PORT, queue=queue) as publisher,
        Subscriber(publisher.endpoint, "end", topics.SCENE_WORLD, topics.SCENE_LOCAL, queue=1) as slow,
    ):
        wait_for(publisher, topics.SCENE_LOCAL)
        for number in range(1, 13):
            world.transforms.position[:20_000, 0] = number
            propagate(world)
            publisher.publish(world, Tick(number, number, 1))
        seen = 0
        for _ in patiently():
            publisher.send_json(
                "end", {}
            )  # until one finds room in the queue: it comes after everything else
            message = slow.receive(0.01)
            if message is not None and message.topic == "end":
                break
            if message is not None:
                columns = codec.decode_columns(message.frames)
                assert (columns.values[:, 0] == message.header.tick).all()
                seen += 1
        assert seen >= queue


def test_the_senders_own_memory_may_be_written_again_at_once() -> None:
    block = np.zeros(1 << 17)
    with (
        Publisher(FREE_PORT) as publisher,
        Subscriber(publisher.endpoint, "pixels", queue=1) as slow,
    ):
        wait_for(publisher, "pixels/")
        for number in range(8):
            block[:] = number
            publisher.send_bytes("pixels", block.data.cast("B"))
        for number in range(8):
            message = slow.receive(PATIENCE_S)
            assert message is not None
            assert (np.frombuffer(message.frames[0]) == number).all()


def test_json_of_ones_own_takes_numpy_and_names_in_any_script() -> None:
    with Publisher(FREE_PORT) as publisher, Subscriber(publisher.endpoint, "grüße/東京") as subscriber:
        wait_for(publisher, "grüße/東京/")
        publisher.send_json("grüße/東京", {"a": np.float64(0.5), "b": np.arange(3), "c": float("nan")})
        message = subscriber.receive(PATIENCE_S)
        assert message is not None
        assert message.topic == "grüße/東京"
        assert message.json() == {"a": 0.5, "b": [0, 1, 2], "c": None}


def test_worlds_may_be_swapped_back_and_forth() -> None:
    one, two = World(), World()
    one.spawn("one")
    two.spawn("two")
    with (
        Publisher(FREE_PORT) as publisher,
        Subscriber(publisher.endpoint, topics.SCENE_JSON, topics.SCENE_LOCAL) as subscriber,
    ):
        wait_for(publisher, topics.SCENE_LOCAL)
        for world, name in ((one, "one"), (two, "two"), (one, "one")):
            publisher.publish(world)
            local = subscriber.receive(PATIENCE_S)
            assert local is not None
            assert local.header.kind == codec.COMPLETE
            assert codec.decode_columns(local.frames).structure.name == [name]
            document = subscriber.receive(PATIENCE_S)
            assert document is not None
            assert [
                each["actor_name"] for each in document.json()["components"]["actor_properties"].values()
            ] == [name]


def test_a_number_that_is_not_finite_keeps_nobody_from_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """The broken entity stays where it was; who joins now gets it there too, and JSON waits until it is mended."""
    world = World()
    base = world.spawn("base", position=(10, 0, 0), scale=(2, 2, 2))
    broken = world.spawn("broken", Velocity((1, 0, 0)), parent=base, position=(1, 2, 3))
    good = world.spawn("good")
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as early:
        publisher.publish(world)
        catch_up(publisher, early)
        world.get(broken, Transform).position[1] = np.nan
        world.velocities.block[world.row(broken), 0] = np.inf
        world.rename(broken, "still broken")
        world.get(good, Transform).position[0] = 5.0
        with (
            Replica(publisher.endpoint) as late,
            Subscriber(publisher.endpoint, topics.SCENE_JSON, topics.SCENE_CHANGES) as reader,
        ):
            wait_for(publisher, topics.SCENE_CHANGES)
            publisher.publish(world)
            catch_up(publisher, early, late)
            for replica in (early, late):
                found = replica.world
                assert found.name(broken) == "still broken"
                assert found.poses.position[found.row(broken)].tolist() == [12, 4, 6]
                assert found.poses.position[found.row(good), 0] == 5.0
            assert early.gaps == early.malformed == late.malformed == 0
            assert reader.receive(0.0) is None
            assert "'still broken'" in caplog.text
            world.get(broken, Transform).position[1] = 4.0
            world.velocities.block[world.row(broken), 0] = 0.0
            propagate(world)
            publisher.publish(world)
            message = reader.receive(PATIENCE_S)
            assert message is not None
            catch_up(publisher, early, late)
        assert difference(world, early.world) == ""


def test_a_scene_text_is_of_its_world_even_if_another_had_its_id() -> None:
    text = SceneText()
    told = set()
    for number in range(50):
        world = World(capacity=64)
        world.spawn(f"name {number}")
        propagate(world)
        told.add(bytes(text.complete(world)))
        del world
    assert len(told) == 50


def test_a_command_names_the_tick_that_shows_it_while_paused_too() -> None:
    world = World()
    world.spawn("a")
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        clock = SteppableClock(10_000_000)
        simulation = Simulation(world, publisher, clock=clock)
        with answer(simulation, FREE_PORT) as service:
            publisher.publish(world, simulation.tick)
            for _ in range(3):
                simulation.advance(next(clock))
            clock.pause()
            service.tick = simulation.finished
            request = orjson.dumps({"method": "set_pose", "params": {"name": "a", "position": [1, 2, 3]}})
            told = orjson.loads(service.answer(Caller(b"me", (b"me",)), [request])[0])
            publisher.publish(world, simulation.tick)
            catch_up(publisher, replica)
            last = replica.wait_until_whole()
            assert told["tick"] == last.index == 2
            assert replica.world.poses.position[0].tolist() == [1, 2, 3]
            clock.resume()
            assert orjson.loads(service.answer(Caller(b"me", (b"me",)), [request])[0])["tick"] == 3
            request = orjson.dumps({"method": "traffic"})
            traffic = orjson.loads(service.answer(Caller(b"me", (b"me",)), [request])[0])["result"]
            assert traffic["updates"] == 5
            assert traffic["resyncs"] == publisher.statistics.resyncs
