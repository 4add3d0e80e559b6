"""Reading from a replica: each update or the last, waiting for the scene, silence, closing."""

import asyncio
from threading import Event, Thread

import pytest

from diorama.ecs import Transform, World, propagate
from diorama.schemas import topics
from diorama.tests.patience import PATIENCE_S
from diorama.tests.transport.engines import FREE_PORT, on_every_engine
from diorama.tests.transport.following import catch_up, follow
from diorama.transport import codec
from diorama.transport.client import Client
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica, Update
from diorama.transport.service import Service
from diorama.transport.subscriber import Subscriber


@on_every_engine
def test_silence_is_told_once(free_port: str) -> None:
    events: list[str] = []
    with Publisher(free_port) as publisher:
        replica = Replica(publisher.endpoint, silence_s=0.5, on_event=lambda event, _: events.append(event))
        publisher.publish(World())
        catch_up(publisher, replica)
        events.clear()
        while not events:
            replica.poll(0.1)
        replica.poll(0.7)
        assert events == ["silence"]
        replica.close()


@on_every_engine
def test_updates_say_what_changed_and_what_went(free_port: str) -> None:
    world = World()
    a, b = world.spawn("a"), world.spawn("b")
    child = world.spawn("child", parent=a)
    with Publisher(free_port) as publisher, Replica(publisher.endpoint, latest=False) as replica:
        publisher.publish(world)
        first = follow(publisher, replica)
        assert first.complete
        assert first.changed.tolist() == [a, b, child]

        world.get(a, Transform).position[0] = 4.0
        propagate(world)
        publisher.publish(world)
        assert follow(publisher, replica).changed.tolist() == [a, child]

        world.despawn(b)
        propagate(world)
        publisher.publish(world)
        third = follow(publisher, replica)
        assert (third.changed.tolist(), third.removed) == ([], (b,))


@on_every_engine
def test_reading_every_update_yields_each_and_latest_yields_the_last(free_port: str) -> None:
    world = World()
    a = world.spawn("a")
    with Publisher(free_port) as publisher:
        every, latest = Replica(publisher.endpoint, latest=False), Replica(publisher.endpoint)
        publisher.publish(world)
        catch_up(publisher, every, latest)
        for step in range(5):
            world.get(a, Transform).position[0] = step + 1.0
            propagate(world)
            publisher.publish(world)
        seen: list[float] = []
        while len(seen) < 5:
            update = every.poll(PATIENCE_S)
            assert update is not None
            seen.append(float(every.world.poses.position[0, 0]))
        assert seen == [1.0, 2.0, 3.0, 4.0, 5.0]
        catch_up(publisher, latest)
        assert latest.world.poses.position[0, 0] == 5.0
        every.close()
        latest.close()


@on_every_engine
def test_async_iteration(free_port: str) -> None:
    world = World()
    world.spawn("a")

    async def first_of(replica: Replica) -> Update:
        async for update in replica:
            return update
        raise AssertionError("closed")

    with Publisher(free_port) as publisher, Replica(publisher.endpoint) as replica:

        async def main() -> Update:
            task = asyncio.create_task(first_of(replica))
            publisher.publish(world)
            while not task.done():
                publisher.poll()
                await asyncio.sleep(0.001)
            return task.result()

        assert asyncio.run(main()).complete


@on_every_engine
@pytest.mark.parametrize("kind", ["replica", "subscriber"])
def test_closing_from_another_thread_ends_the_iteration(free_port: str, kind: str) -> None:
    world = World()
    world.spawn("a")
    with Publisher(free_port) as publisher:
        for _ in range(5):
            listener: Replica | Subscriber
            if kind == "replica":
                listener = Replica(publisher.endpoint)
            else:
                listener = Subscriber(publisher.endpoint, topics.SCENE_LOCAL)
            going = Event()

            def iterate(listener: "Replica | Subscriber" = listener, going: Event = going) -> None:
                for _ in listener:
                    going.set()

            thread = Thread(target=iterate)
            thread.start()
            while not going.wait(0.002):
                publisher.publish(world)
            listener.close()
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


@on_every_engine
def test_closing_twice_is_closing_once(free_port: str) -> None:
    """Over zenoh links of one endpoint share a session, which must not be taken from the others."""
    world = World()
    world.spawn("a")
    with Publisher(free_port) as publisher, Replica(publisher.endpoint) as other:
        with (
            Replica(publisher.endpoint) as replica,
            Subscriber(publisher.endpoint, topics.CLOCK) as subscriber,
            Service(world, free_port) as service,
            Client(service.endpoint) as client,
        ):
            for one in (replica, subscriber, service, client):
                one.close()
        publisher.publish(world)
        catch_up(publisher, other)
        publisher.close()


def test_a_callback_may_close_the_replica() -> None:
    world = World()
    world.spawn("a")
    with Publisher(FREE_PORT) as publisher:
        replica = Replica(publisher.endpoint, on_event=lambda *_: replica.close())
        publisher.publish(world)
        while not replica._closed:
            publisher.poll()
            replica.poll(0.01)
        assert replica.poll() is None
        assert list(replica) == []
        with pytest.raises(TimeoutError):
            replica.wait_until_whole(0.0)


def test_one_who_gets_no_scene_asks_less_and_less_often() -> None:
    with Replica("tcp://127.0.0.1:1") as replica:
        for patience_s in (1.0, 2.0, 4.0, 8.0, 8.0):
            asked = replica._snapshot
            replica._asked += 0.1 - patience_s  # almost as long ago
            replica.poll()
            assert replica._snapshot == asked
            replica._asked -= 0.1
            replica.poll()
            assert replica._snapshot != asked


def test_waiting_until_whole_again_gives_the_last_update() -> None:
    world = World()
    world.spawn("a")
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        assert replica.wait_until_whole(0.0).sequence == publisher.sequence


def test_a_scene_that_cannot_be_read_is_told_by_who_waits_for_it() -> None:
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        world = World()
        world.spawn("a")
        publisher.publish(world)
        while publisher.statistics.joins == 0:
            publisher.poll(0.01)
        while (passed := replica._link.receive(PATIENCE_S)) and not passed[0].startswith(topics.SNAPSHOT):
            pass  # until the scene has gone by unread
        header = codec.pack_header(codec.Header(codec.COMPLETE, publisher.run_id, 1))
        publisher.link.send(topics.SCENE_LOCAL, [header, b"{", b"", b"", b"", b""])
        while replica.malformed == 0:
            replica.poll(0.01)
        with pytest.raises(TimeoutError, match=r"no scene within 0\.3 s; structure: .*truncated"):
            replica.wait_until_whole(0.3)


def test_a_reader_slower_than_the_publisher_still_sees_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """More keeps coming while it reads: it must not read for ever."""
    monkeypatch.setattr("diorama.transport.replica.DRAIN_S", 0.0)
    world = World()
    world.spawn("a")
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        for _ in range(5):
            publisher.publish(world)
        first = replica.poll(PATIENCE_S)
        assert first is not None
        assert first.sequence == 2
