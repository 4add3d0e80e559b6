"""What makes libzmq 4.3.5 abort the whole process, and must not be reached: each in a process of its own."""

import subprocess
import sys

import pytest

PATIENCE_S = 100.0

HALF_A_NAME = """
import sys
from contextlib import suppress
from socket import create_connection
from threading import Event, Thread

from diorama.ecs import World
from diorama.transport.publisher import Publisher
from diorama.transport.service import Service

FREE_PORT = "tcp://127.0.0.1:*"
opened = {"publisher": lambda: Publisher(FREE_PORT), "service": lambda: Service(World(), FREE_PORT)}[sys.argv[1]]


def finish(closing, peers):
    closing.wait()
    for peer in peers:
        with suppress(OSError):
            peer.sendall(b"x" * 80)


for _ in range(20):
    with opened() as server:
        port = int(server.endpoint.rpartition(":")[2])
        peers = [create_connection(("127.0.0.1", port)) for _ in range(40)]
        for peer in peers:
            peer.sendall(bytes([64, 0]))  # ZMTP 1: a frame of 64 bytes, of which one is here
        with suppress(OSError):
            peers[-1].recv(1)  # libzmq has taken in all of them by the time it greets or refuses the last one
        closing = Event()
        finishing = Thread(target=finish, args=(closing, peers))
        finishing.start()
        closing.set()
    finishing.join()
    for peer in peers:
        peer.close()
print("alive")
"""


@pytest.mark.parametrize("kind", ["publisher", "service"])
def test_an_old_peer_that_says_its_name_while_the_socket_closes(kind: str) -> None:
    assert said_by(HALF_A_NAME, kind) == "alive\n"


NOT_READ = """
import sys
from time import monotonic

import zmq

from diorama.ecs import World, propagate
from diorama.schemas import topics
from diorama.tests.transport.following import catch_up
from diorama.transport import zmq_pubsub
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica


def set_quicker(self, option, value, plain=zmq.Socket.setsockopt):
    beats = option in (zmq.HEARTBEAT_IVL, zmq.HEARTBEAT_TIMEOUT)
    plain(self, option, value // 20 if beats else value)


zmq.Socket.setsockopt = set_quicker
patient = sys.argv[1] == "waits"
if patient:
    zmq_pubsub.BOUND = ()
world = World()
world.insert(2000)
with Publisher("tcp://127.0.0.1:*") as publisher, Replica(publisher.endpoint, queue=4) as replica:
    publisher.publish(world)
    catch_up(publisher, replica)
    enough = monotonic() + 2.0
    # Several times what heartbeats may be missing, and until the publisher has noticed if it is to.
    while monotonic() < enough or (not patient and publisher.listens(topics.SCENE_LOCAL)):
        world.transforms.position[world.forest.order(), 0] += 1.0
        propagate(world)
        publisher.publish(world)
        publisher.poll(0.01)
    gave_up = not publisher.listens(topics.SCENE_LOCAL)
    for _ in range(100):
        publisher.publish(world)
        catch_up(publisher, replica)
    print(gave_up, (replica.world.poses.position == world.poses.position).all())
"""


@pytest.mark.parametrize(("publisher", "gave_up"), [("gives up", True), ("waits", False)])
def test_a_replica_that_is_not_read_for_long(publisher: str, gave_up: bool) -> None:
    """A loading screen, a breakpoint: its queue is full, and for longer than heartbeats may be missing."""
    assert said_by(NOT_READ, publisher) == f"{gave_up} True\n"


def said_by(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
