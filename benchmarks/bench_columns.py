"""Columns end to end: move, propagate, encode, send, and a replica in another process that applies.

Against a bare pyzmq send of the same bytes to a subscriber that only receives, measured in the same run.
"""

import subprocess
import sys
import time

import numpy as np
import zmq

from diorama.ecs import World, propagate
from diorama.transport.publisher import Publisher

FOLLOWER = """
import sys
from diorama.transport.replica import Replica
with Replica(sys.argv[1], latest=False, queue=4) as replica:
    print(replica.wait_until_whole(30).sequence, flush=True)
    for update in replica:
        print(update.sequence, flush=True)
"""
RECEIVER = """
import sys, zmq
socket = zmq.Context.instance().socket(zmq.SUB)
socket.setsockopt(zmq.RCVHWM, 4)
socket.subscribe(b"")
socket.connect(sys.argv[1])
while True:
    frames = socket.recv_multipart(copy=False)
    print(int.from_bytes(frames[1].bytes, "little"), flush=True)
"""


def tree(count: int, depth: int = 8) -> World:
    """A quarter roots, eight levels, random parents in the level before."""
    random = np.random.default_rng(1)
    level = np.minimum(np.arange(count) * depth // count, depth - 1)
    parents = np.full(count, -1)
    for index in range(1, depth):
        rows = np.flatnonzero(level == index)
        parents[rows] = random.choice(np.flatnonzero(level == index - 1), len(rows))
    world = World()
    world.insert(count, parents=parents, position=random.normal(size=(count, 3)))
    propagate(world)
    return world


def follow(code: str, endpoint: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code, endpoint], stdout=subprocess.PIPE, text=True)


def until(process: "subprocess.Popen[str]", sequence: int) -> None:
    assert process.stdout is not None
    while int(process.stdout.readline()) < sequence:
        pass


def run(count: int, moving: float, seconds: float = 3.0) -> dict[str, float]:
    """Best round-trip times in seconds: whole tick with replica, publisher's part, bare send of the same bytes."""
    world = tree(count)
    rows = world.forest.order()[: max(1, round(count * moving))] if moving < 1 else world.forest.order()
    best = {"tick": np.inf, "publisher": np.inf, "bare": np.inf, "propagate": np.inf}
    with Publisher("tcp://127.0.0.1:*", queue=4) as publisher:
        replica = follow(FOLLOWER, publisher.endpoint)
        publisher.publish(world)
        while publisher.statistics.joins == 0:
            publisher.poll(0.01)
        until(replica, publisher.sequence)
        bare_socket = zmq.Context.instance().socket(zmq.XPUB)
        port = bare_socket.bind_to_random_port("tcp://127.0.0.1")
        receiver = follow(RECEIVER, f"tcp://127.0.0.1:{port}")
        bare_socket.recv()
        sent, end, number = 0, time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            world.transforms.position[rows, 0] += 1.0
            start = time.perf_counter()
            propagate(world)
            propagated = time.perf_counter()
            before = publisher.statistics.bytes_sent
            publisher.publish(world)
            published = time.perf_counter()
            sent = publisher.statistics.bytes_sent - before
            until(replica, publisher.sequence)
            best["tick"] = min(best["tick"], time.perf_counter() - start)
            best["propagate"] = min(best["propagate"], propagated - start)
            best["publisher"] = min(best["publisher"], published - start)
            number += 1
            payload = np.empty(sent, np.uint8)
            start = time.perf_counter()
            bare_socket.send(b"x/", zmq.SNDMORE)
            bare_socket.send(number.to_bytes(8, "little"), zmq.SNDMORE)
            bare_socket.send(payload, copy=False)
            until(receiver, number)
            best["bare"] = min(best["bare"], time.perf_counter() - start)
        for process in (replica, receiver):
            process.kill()
            process.communicate()
        bare_socket.close(0)
    best["bytes"] = sent
    return best


def main() -> None:
    for count in (1_000, 10_000, 100_000):
        for moving in (1.0, 0.01):
            best = run(count, moving)
            print(
                f"{count:>7} entities, {moving:>5.0%} moving, {best['bytes'] / 1e6:7.3f} MB: "
                f"tick to replica ready {best['tick'] * 1e3:7.3f} ms = {1 / best['tick']:7.0f} Hz; "
                f"publisher {best['publisher'] * 1e3:6.3f} ms (propagate {best['propagate'] * 1e3:.3f}); "
                f"bare pyzmq {best['bare'] * 1e3:6.3f} ms; ratio {best['tick'] / best['bare']:.2f}"
            )


if __name__ == "__main__":
    main()
