"""Real processes, real faults: nothing hangs, nothing crashes, nothing wrong is shown, everything heals."""

import contextlib
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Self

import pytest
import zmq
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import World, difference, propagate
from diorama.schemas import topics
from diorama.tests.transport.engines import FREE_PORT
from diorama.tests.transport.following import catch_up
from diorama.tests.transport.history import play
from diorama.transport import codec
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica
from diorama.transport.subscriber import Subscriber

PATIENCE_S = 30.0


class PublisherProcess:
    """A publisher in another process, and the world it must be publishing, played along here."""

    def __init__(self, endpoint: str = FREE_PORT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "diorama.tests.transport.publisher_process", endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.endpoint = self._answer()
        self.world = World()
        self.sequence = 0

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def publish(self, seed: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()
        play(self.world, seed)
        self.sequence = int(self._answer())

    def kill(self) -> None:
        self.process.kill()
        self._end()

    def _end(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait(PATIENCE_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.process.returncode is None:
            self.process.terminate()
            self._end()


def wait_for(condition: Callable[[], bool], *replicas: Replica) -> None:
    """Poll replicas until the condition holds; bounded."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        for replica in replicas:
            replica.poll(0.01)


@pytest.fixture(scope="module")
def publisher() -> Iterator[PublisherProcess]:
    with PublisherProcess() as process:
        yield process


@settings(max_examples=25)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=6), join=st.integers(0, 5))
def test_two_processes_after_any_history(publisher: PublisherProcess, seeds: list[int], join: int) -> None:
    replica = None
    for index, seed in enumerate(seeds):
        if index == min(join, len(seeds) - 1):
            replica = Replica(publisher.endpoint)
        publisher.publish(seed)
    assert replica is not None
    wait_for(lambda: replica.whole and replica.sequence == publisher.sequence, replica)
    assert difference(publisher.world, replica.world) == ""
    replica.close()


def test_a_killed_publisher_comes_back_as_another_and_is_followed() -> None:
    events: list[str] = []
    with PublisherProcess() as first:
        replica = Replica(first.endpoint, on_event=lambda event, _: events.append(event))
        first.publish(1)
        wait_for(lambda: replica.whole and replica.sequence == 1, replica)
        first.kill()
        shown = replica.world
        with PublisherProcess(first.endpoint) as second:
            second.publish(77)
            second.publish(78)
            wait_for(lambda: replica.world is not shown and replica.sequence == second.sequence, replica)
            assert difference(second.world, replica.world) == ""
    assert events[0] == "joined"
    assert "restart" in events
    replica.close()


class CutProxy:
    """A TCP proxy that can cut its connections and stall what passes through."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("tcp://").rpartition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.02)
        self.endpoint = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.open = Event()
        self.open.set()
        self._stop = Event()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self) -> None:
        """End every connection abruptly."""
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def _accept(self) -> None:
        while not self._stop.is_set():
            try:
                near, _ = self._listener.accept()
            except TimeoutError:
                continue
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            self._pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                self._threads.append(Thread(target=self._carry, args=(one, other)))
                self._threads[-1].start()
        self._listener.close()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        source.settimeout(0.02)
        while not self._stop.is_set():
            if not self.open.wait(0.02):
                continue
            try:
                data = source.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                break
            if not data:
                break
            try:
                target.settimeout(5.0)
                target.sendall(data)
            except OSError:
                break
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()

    def close(self) -> None:
        self._stop.set()
        self.cut()
        for thread in self._threads:
            thread.join(PATIENCE_S)


def test_cut_and_stalled_connections_heal() -> None:
    world = World()
    with Publisher(FREE_PORT) as publisher:
        path = CutProxy(publisher.endpoint)
        replica = Replica(path.endpoint)
        for seed in range(12):
            play(world, seed)
            publisher.publish(world)
            catch_up(publisher, replica)
            assert difference(world, replica.world) == ""
            if seed % 3 == 0:
                path.cut()
            elif seed % 3 == 1:
                path.open.clear()
                for more in range(3):
                    play(world, 100 + seed * 10 + more)
                    publisher.publish(world)
                path.open.set()
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""
        replica.close()
        path.close()


FROZEN = """
import sys
from diorama.transport.replica import Replica
replica = Replica(sys.argv[1])
for update in replica:
    print(update.sequence, len(replica.world), float(replica.world.poses.position[0, 0]), flush=True)
"""


def test_a_frozen_subscriber_harms_nobody_and_gets_the_newest_state_when_it_comes_back() -> None:
    world = World()
    world.insert(2000)
    with Publisher(FREE_PORT, queue=4) as publisher:
        frozen = subprocess.Popen(
            [sys.executable, "-c", FROZEN, publisher.endpoint], stdout=subprocess.PIPE, text=True
        )
        assert frozen.stdout is not None
        try:
            publisher.publish(world)
            while publisher.statistics.joins == 0:
                publisher.poll(0.01)
            frozen.stdout.readline()
            healthy = [Replica(publisher.endpoint, latest=False) for _ in range(10)]
            catch_up(publisher, *healthy)
            os.kill(frozen.pid, signal.SIGSTOP)
            for step in range(200):  # 160 kB each: far more than queue and kernel hold
                world.transforms.position[world.forest.order(), 0] = step + 1.0
                publisher.publish(_moved(world))
                catch_up(publisher, *healthy)
            assert all(replica.gaps == 0 for replica in healthy)
            os.kill(frozen.pid, signal.SIGCONT)
            deadline = time.monotonic() + PATIENCE_S
            line = ""
            while not line.startswith(f"{publisher.sequence} "):
                assert time.monotonic() < deadline
                publisher.poll(0.01)
                line = _line_if_any(frozen)
            assert line.split() == [str(publisher.sequence), "2000", "200.0"]
            for replica in healthy:
                replica.close()
        finally:
            frozen.kill()
            frozen.stdout.close()
            frozen.wait(PATIENCE_S)


def _moved(world: World) -> World:
    propagate(world)
    return world


def _line_if_any(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline() if select.select([process.stdout], [], [], 0)[0] else ""


@pytest.mark.parametrize("seed", range(4))
def test_garbage_on_the_publishers_port_stops_nothing(seed: int) -> None:
    """Raw bytes, half handshakes and wild subscriptions: 2 500 a run, 10 000 in all."""
    draw = random.Random(seed)
    world = World()
    play(world, 1)
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        host, _, port = publisher.endpoint.removeprefix("tcp://").rpartition(":")
        handshake = bytes.fromhex("ff00000000000000017f03004e554c4c") + bytes(48)
        wild: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XSUB)
        wild.setsockopt(zmq.LINGER, 0)
        wild.connect(publisher.endpoint)
        for case in range(2500):
            if case % 10 == 0:
                with socket.create_connection((host, int(port))) as raw:
                    start = draw.choice([b"", handshake, handshake[: draw.randrange(64)]])
                    raw.sendall(start + draw.randbytes(draw.randrange(200)))
            else:
                first = draw.choice([b"\x00", b"\x01", b"\x02", b""])
                topic = draw.choice([b"", b"scene/", b"snapshot/local/", b"snapshot/", draw.randbytes(20)])
                wild.send(first + topic + draw.randbytes(draw.randrange(6)), zmq.NOBLOCK)
            if case % 100 == 0:
                publisher.poll()
        play(world, 2)
        publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""
        wild.close()


def test_garbage_from_a_publisher_stops_no_replica_and_no_subscriber() -> None:
    """10 000 mangled messages between good ones: whatever is shown is always a scene that was published."""
    draw = random.Random(7)
    world = World()
    play(world, 1)
    with Publisher(FREE_PORT, queue=20_000) as publisher:
        replica, subscriber = Replica(publisher.endpoint), Subscriber(publisher.endpoint, "")
        publisher.publish(world)
        catch_up(publisher, replica)
        raw = publisher.link.socket
        header = codec.pack_header(publisher._header(codec.UPDATE))
        for case in range(10_000):
            frames = [header, b"{}", b"", b"", b"", b""]
            for _ in range(draw.randrange(1, 4)):
                frames[draw.randrange(len(frames))] = draw.randbytes(draw.choice([0, 1, 4, 64, 80]))
            frames = frames[: draw.randrange(1, len(frames) + 1)]
            topic = draw.choice([topics.SCENE_LOCAL, topics.HEARTBEAT, topics.SCENE_JSON, "x/"])
            raw.send_multipart([topic.encode(), *frames])
            if case % 500 == 0:
                catch_up(publisher, replica)
                assert difference(world, replica.world) == ""
        play(world, 2)
        publisher.publish(world)
        catch_up(publisher, replica)
        assert difference(world, replica.world) == ""
        assert replica.malformed > 0
        heard = 0
        while subscriber.receive(0.05) is not None or subscriber.malformed > heard:
            heard = subscriber.malformed
        assert subscriber.malformed > 0
        replica.close()
        subscriber.close()


OVERSIZED = """
import sys, time, zmq
wild = zmq.Context.instance().socket(zmq.XSUB)
wild.connect(sys.argv[1])
wild.send(b"\\x01" + b"x" * 1_000_000)
print("sent", flush=True)
sys.stdin.read()
"""


def test_an_oversized_subscription_is_refused_by_the_publishers_socket() -> None:
    """A topic of a megabyte makes libzmq recurse a million deep where it is taken in: it must not be."""
    world = World()
    with Publisher(FREE_PORT) as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        catch_up(publisher, replica)
        wild = subprocess.Popen(
            [sys.executable, "-c", OVERSIZED, publisher.endpoint],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert wild.stdout is not None
        wild.stdout.readline()
        for _ in range(20):
            world.set_resource("step", world.epoch)
            publisher.publish(world)
            catch_up(publisher, replica)
        assert not publisher.listens("x" * (1 << 20))
        wild.kill()
        wild.communicate()
