"""A replica is the world, whatever happened and whenever it joined."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import numpy as np
import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from diorama.ecs import Transform, World, difference, propagate
from diorama.ecs.table import ROW_MASK
from diorama.geo import AXES
from diorama.runtime.clock import Tick
from diorama.schemas import topics
from diorama.schemas.errors import StateError
from diorama.tests.patience import PATIENCE_S, patiently
from diorama.tests.transport.engines import FREE_PORT as FREE_PORT
from diorama.tests.transport.engines import on_every_engine
from diorama.tests.transport.history import play
from diorama.transport import codec
from diorama.transport.client import Client
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica, Update
from diorama.transport.service import Service
from diorama.transport.subscriber import Subscriber


def catch_up(publisher: Publisher, *replicas: Replica) -> None:
    """Let the replicas reach the publisher's last update; bounded, and woken by messages."""
    for _ in patiently():
        publisher.poll()
        if all(replica.whole and replica.sequence == publisher.sequence for replica in replicas):
            return
        for replica in replicas:
            replica.poll(0.005)
    raise AssertionError("a replica did not catch up")


def follow(publisher: Publisher, replica: Replica) -> Update:
    """The next update of a replica."""
    for _ in patiently():
        publisher.poll()
        update = replica.poll(0.005)
        if update is not None:
            return update
    raise AssertionError("no update came")


@contextmanager
def proxy() -> Iterator[tuple[str, str]]:
    """A plain XSUB/XPUB proxy: (endpoint for publishers, endpoint for subscribers)."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
    front, back = context.socket(zmq.XSUB), context.socket(zmq.XPUB)
    ports = [socket.bind_to_random_port("tcp://127.0.0.1") for socket in (front, back)]
    stop = Event()

    def forward() -> None:
        poller = zmq.Poller()
        poller.register(front, zmq.POLLIN)
        poller.register(back, zmq.POLLIN)
        while not stop.is_set():
            for socket, _ in poller.poll(20):
                other = back if socket is front else front
                other.send_multipart(socket.recv_multipart())
        front.close(0)
        back.close(0)

    thread = Thread(target=forward)
    thread.start()
    try:
        yield f"tcp://127.0.0.1:{ports[0]}", f"tcp://127.0.0.1:{ports[1]}"
    finally:
        stop.set()
        thread.join()


@on_every_engine
@settings(max_examples=40)
@given(
    seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=8),
    joins=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    keyframe_interval=st.sampled_from([0, 3]),
)
def test_after_any_history_every_replica_is_the_world(
    free_port: str, seeds: list[int], joins: list[int], keyframe_interval: int
) -> None:
    world = World()
    replicas: list[Replica] = []
    with Publisher(free_port, keyframe_interval=keyframe_interval) as publisher:
        for index, seed in enumerate(seeds):
            replicas += [Replica(publisher.endpoint) for join in joins if min(join, len(seeds) - 1) == index]
            play(world, seed)
            publisher.publish(world)
            catch_up(publisher, *replicas)
            for replica in replicas:
                assert difference(world, replica.world) == ""
        for replica in replicas:
            order = world.forest.order()
            assert replica.world.table.pose[order].tobytes() == world.table.pose[order].tobytes()
            replica.close()


@on_every_engine
def test_updates_between_ticks_of_a_slow_replica_add_up(free_port: str) -> None:
    world = World()
    with Publisher(free_port) as publisher, Replica(publisher.endpoint) as replica:
        play(world, 1)
        publisher.publish(world)
        catch_up(publisher, replica)
        for seed in range(2, 20):
            play(world, seed)
            publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""


def test_joining_through_a_plain_proxy_second_joins_too() -> None:
    world = World()
    play(world, 5, steps=30)
    with proxy() as (into, out):
        publisher = Publisher(FREE_PORT)
        publisher.link.socket.connect(into)
        first = Replica(out)
        publisher.publish(world)
        catch_up(publisher, first)
        second = Replica(out)
        catch_up(publisher, first, second)
        play(world, 6)
        publisher.publish(world)
        catch_up(publisher, first, second)
        for replica in (first, second):
            assert difference(world, replica.world) == ""
            replica.close()
        publisher.close()


@on_every_engine
def test_a_replica_that_joins_while_the_simulation_is_paused_is_whole(free_port: str) -> None:
    world = World()
    play(world, 3)
    with Publisher(free_port) as publisher:
        publisher.publish(world)
        with Replica(publisher.endpoint) as replica:
            catch_up(publisher, replica)
            assert difference(world, replica.world) == ""


@on_every_engine
def test_a_new_publisher_on_the_same_port_is_noticed_and_followed(free_port: str) -> None:
    events: list[str] = []
    first = World()
    play(first, 1)
    publisher = Publisher(free_port)
    endpoint = publisher.endpoint
    replica = Replica(endpoint, on_event=lambda event, _: events.append(event))
    publisher.publish(first)
    catch_up(publisher, replica)
    publisher.close()

    second = World()
    play(second, 99)
    with Publisher(endpoint) as publisher:
        publisher.publish(second)
        for _ in patiently():
            publisher.poll()
            replica.poll(0.005)
            if replica.run_id == publisher.run_id and replica.whole:
                break
        assert difference(second, replica.world) == ""
    assert "restart" in events
    replica.close()


@on_every_engine
def test_another_world_from_the_same_publisher_replaces_the_scene(free_port: str) -> None:
    with Publisher(free_port) as publisher, Replica(publisher.endpoint) as replica:
        for seed in (1, 2, 3):
            world = World()
            play(world, seed)
            publisher.publish(world)
            catch_up(publisher, replica)
            assert difference(world, replica.world) == ""


@on_every_engine
def test_a_lost_update_is_noticed_by_the_heartbeat_even_while_paused(free_port: str) -> None:
    """The last update before a pause goes missing: drop it on the replica's side of the socket."""
    events: list[str] = []
    world = World()
    play(world, 1)
    with Publisher(free_port) as publisher:
        replica = Replica(publisher.endpoint, on_event=lambda event, _: events.append(event))
        publisher.publish(world)
        catch_up(publisher, replica)
        play(world, 2)
        publisher.publish(world)
        lost = False
        while not lost:  # a heartbeat, or the scene once more, may come before it
            topic, frames = replica._link.receive(PATIENCE_S) or ("", [])
            lost = (
                topic == topics.SCENE_LOCAL and codec.unpack_header(frames[0]).sequence == publisher.sequence
            )
        for _ in patiently():
            publisher.poll()
            replica.poll(0.005)
            if replica.sequence == publisher.sequence:
                break
        assert difference(world, replica.world) == ""
        # Over zenoh a second answer to the join may be under way and heal the loss before a heartbeat shows it.
        if free_port == FREE_PORT or "gap" in events:
            assert events == ["joined", "gap", "joined"]
            assert publisher.statistics.resyncs >= 1  # who is not answered within a second asks again
        replica.close()


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


@pytest.mark.parametrize("axes", ["ned", "enu", "unreal", "gltf"])
def test_poses_come_in_the_axes_of_the_renderer(axes: str) -> None:
    world = World()
    world.spawn("a", position=(1, 2, 3), orientation=(0, 0, np.sqrt(0.5), np.sqrt(0.5)))
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint, axes=axes) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        poses = replica.poses()
        np.testing.assert_array_equal(poses.position, AXES[axes].points(world.poses.position[:1]))
        np.testing.assert_array_equal(poses.orientation, AXES[axes].rotations(world.poses.orientation[:1]))
    with pytest.raises(ValueError, match=r"axes: expected one of ned, .* got 'neb'; did you mean 'ned'?"):
        Replica(FREE_PORT, axes="neb")


@on_every_engine
def test_float32_instances_near_a_moving_centre_do_not_jitter(free_port: str) -> None:
    """A thousand kilometres out, float32 alone is 6 cm coarse; relative to a centre nearby it is not."""
    world = World()
    far = np.array([1.0e6, 2.0e5, -1.0e4])
    world.spawn("a", position=far + np.array([0.001, 0.002, 0.003]))
    with Publisher(free_port) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        found = replica.instances(center=far)
        assert found.position.dtype == np.float32
        np.testing.assert_allclose(found.position[0], [0.001, 0.002, 0.003], atol=1e-9)


@on_every_engine
def test_interpolation_between_two_updates(free_port: str) -> None:
    world = World()
    a = world.spawn("a", position=(0, 0, 0))
    turned = Rotation.from_euler("ZYX", [0.9, -0.4, 0.2])
    with Publisher(free_port) as publisher:
        replica = Replica(publisher.endpoint, interpolated=True, latest=False)
        with pytest.raises(StateError, match="no update has arrived yet"):
            replica.interpolate(0)
        publisher.publish(world, Tick(0, 1_000, 1_000))
        follow(publisher, replica)
        world.get(a, Transform).position[:] = (10.0, 0.0, -4.0)
        world.get(a, Transform).orientation[:] = turned.as_quat()
        late = world.spawn("late", position=(7, 7, 7))
        propagate(world)
        publisher.publish(world, Tick(1, 2_000, 1_000))
        follow(publisher, replica)

        quarter = replica.interpolate(1_250)
        expected = Slerp([0, 1], Rotation.concatenate([Rotation.identity(), turned]))(0.25).as_quat()
        np.testing.assert_allclose(quarter.position[0], [2.5, 0.0, -1.0], atol=1e-12)
        np.testing.assert_allclose(quarter.orientation[0], expected, atol=1e-12)
        assert quarter.entities.tolist() == [a, late]
        assert quarter.position[1].tolist() == [7, 7, 7]
        assert replica.interpolate(9_000).position[0].tolist() == [10, 0, -4]
        np.testing.assert_allclose(replica.interpolate(3_000, extrapolate=True).position[0], [20, 0, -8])
        replica.close()


@on_every_engine
def test_interpolation_never_mixes_two_scenes(free_port: str) -> None:
    """A loaded scene uses rows and keys again: its things must not slide in from where others were."""
    one, two = World(), World()
    one.spawn("drone", position=(0, 0, 0))
    one.spawn("house", position=(5, 5, 0))
    two.spawn("tower", position=(100, 0, 0))
    two.spawn("house", position=(7, 5, 0))
    with Publisher(free_port) as publisher:
        replica = Replica(publisher.endpoint, interpolated=True, latest=False)
        publisher.publish(one, Tick(0, 1_000, 1_000))
        follow(publisher, replica)
        publisher.publish(two, Tick(1, 2_000, 1_000))
        follow(publisher, replica)
        half = replica.interpolate(1_500)
        assert half.position.tolist() == [[100, 0, 0], [6, 5, 0]]
        replica.close()


def test_interpolation_goes_on_across_a_keyframe_and_leaves_out_what_went() -> None:
    world = World()
    a, b = world.spawn("a"), world.spawn("b")
    with Publisher(FREE_PORT, keyframe_interval=1) as publisher:
        replica = Replica(publisher.endpoint, interpolated=True, latest=False)
        publisher.publish(world, Tick(0, 1_000, 1_000))
        follow(publisher, replica)
        world.get(a, Transform).position[0] = 8.0
        world.despawn(b)
        propagate(world)
        publisher.publish(world, Tick(1, 2_000, 1_000))
        assert follow(publisher, replica).complete
        half = replica.interpolate(1_500)
        assert half.entities.tolist() == [a]
        assert half.position[0].tolist() == [4, 0, 0]
        replica.close()


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


def test_of_several_publishers_one_is_followed_until_it_falls_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = World(), World()
    one.spawn("one")
    two.spawn("two")
    events: list[str] = []
    with Publisher(FREE_PORT) as first, Publisher(FREE_PORT) as second:
        replica = Replica(
            [first.endpoint, second.endpoint], on_event=lambda event, _: events.append(event), latest=False
        )
        first.publish(one)
        catch_up(first, replica)
        while not second.listens(topics.SCENE_LOCAL):
            second.poll(0.01)
        for _ in range(5):
            second.publish(two)
            first.publish(one)
            catch_up(first, replica)
        assert replica.poll(0.3) is None  # what the second said has been heard too
        assert events == ["joined"]
        assert list(replica.world.names) == ["one"]
        monkeypatch.setattr("diorama.transport.replica.LOYALTY_S", -1.0)  # as if it were long silent
        while "two" not in replica.world.names:
            second.publish(two)
            replica.poll(0.01)
        replica.close()


def test_instances_in_the_axes_of_unreal_are_centimetres_about_the_centre() -> None:
    world = World()
    world.spawn("a", position=(1e6 + 1.0, 2e5 + 2.0, -1e4 - 3.0))
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint, axes="unreal") as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        found = replica.instances(center=(1e6, 2e5, -1e4)).position[0]
        np.testing.assert_allclose(found, AXES["unreal"].points(np.array([1.0, 2.0, -3.0])), atol=1e-4)
        assert sorted(abs(found).tolist()) == [100.0, 200.0, 300.0]


def test_what_compares_equal_in_python_is_told_apart() -> None:
    world = World()
    a = world.spawn("a")
    world.set_group(a, "nothing", None)
    world.set_group(a, "number", 1)
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        assert replica.world.groups(a) == {"nothing": None, "number": 1}
        world.set_group(a, "number", True)
        publisher.publish(world)
        catch_up(publisher, replica)
        assert replica.world.groups(a)["number"] is True
        world.remove_group(a, "nothing")
        publisher.publish(world)
        catch_up(publisher, replica)
        assert replica.world.groups(a) == {"number": True}


def test_siblings_keep_their_order_when_one_of_them_changes() -> None:
    world = World()
    owner = world.spawn("owner")
    first, second = world.spawn("first", parent=owner), world.spawn("second", parent=owner)
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        world.rename(first, "renamed")
        publisher.publish(world)
        catch_up(publisher, replica)
        assert replica.world.children(owner) == [first, second]


def test_a_parent_whose_row_another_takes_within_one_update() -> None:
    world = World()
    old = world.spawn("old", position=(1, 0, 0))
    child = world.spawn("child", parent=old, position=(0, 1, 0))
    a, b = world.spawn("a"), world.spawn("b")
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        world.reparent(child, None)
        world.despawn(old)
        new = world.spawn("new", position=(5, 0, 0))
        assert world.row(new) == old & ROW_MASK
        world.reparent(child, new)
        world.rename(a, "in between")
        world.rename(b, "a")
        world.rename(a, "b")
        propagate(world)
        publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""
        assert replica.world.parent(child) == new
        assert replica.gaps == replica.malformed == 0
