"""From publish to a replica that is ready, for 1, 4 and 16 of them, against bare ZeroMQ; and how long joining takes.

The listeners of each kind live in one process of their own. Ours and the bare socket take turns, tick after tick, at a
steady pace; both send as many bytes. Latency is taken with the clock that all processes of a machine share.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import zmq
from bench_columns import tree
from measure import Row

from diorama.ecs import propagate
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica

ENTITIES = 1_000
PACE_S = 0.004

REPLICAS = """
import json, sys, time
from diorama.transport.replica import Replica
from diorama.transport.zmq_pubsub import poll_sockets
replicas = [Replica(sys.argv[1], latest=False) for _ in range(int(sys.argv[2]))]
for replica in replicas:
    replica.wait_until_whole(60)
print("whole", flush=True)
late = {}
while True:
    poll_sockets([replica._link.socket for replica in replicas], 1.0)
    for replica in replicas:
        while (update := replica.poll()) is not None:
            late.setdefault(update.index, []).append(time.monotonic_ns() - update.time_ns)
            last = update.index
    if late and last == int(sys.argv[3]) and len(late[last]) == len(replicas):
        break
print(json.dumps(late))
"""
BARE = """
import json, sys, time, zmq
sockets = []
for _ in range(int(sys.argv[2])):
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.subscribe(b"")
    socket.connect(sys.argv[1])
    sockets.append(socket)
poller = zmq.Poller()
for socket in sockets:
    poller.register(socket, zmq.POLLIN)
late, last = {}, 0
while not (late and last == int(sys.argv[3]) and len(late[last]) == len(sockets)):
    for socket, _ in poller.poll():
        head, _ = socket.recv_multipart(copy=False)
        last, sent = int.from_bytes(head.bytes[:8], "little"), int.from_bytes(head.bytes[8:], "little")
        late.setdefault(last, []).append(time.monotonic_ns() - sent)
print(json.dumps(late))
"""
HOST = """
import sys
sys.path.insert(0, sys.argv[2])
from bench_columns import tree
from diorama.transport.publisher import Publisher
publisher = Publisher("tcp://127.0.0.1:*")
publisher.publish(tree(int(sys.argv[1])))
print(publisher.endpoint, flush=True)
while True:
    publisher.poll(0.5)
"""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a tick was sent."""

    index: int
    time_ns: int


def listen(code: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def latencies(subscribers: int, ticks: int) -> tuple[np.ndarray, np.ndarray]:
    """(ticks, subscribers) seconds, ours and bare, each subscriber's own; the first tenth is left out."""
    world = tree(ENTITIES)
    socket = zmq.Context.instance().socket(zmq.XPUB)
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    with Publisher("tcp://127.0.0.1:*", queue=1000) as publisher:
        publisher.publish(world, Moment(0, 0))
        ours = listen(REPLICAS, publisher.endpoint, subscribers, ticks)
        bare = listen(BARE, f"tcp://127.0.0.1:{port}", subscribers, ticks)
        for _ in range(subscribers):
            socket.recv()
        while publisher.statistics.joins < subscribers:
            publisher.poll(0.05)
        assert ours.stdout is not None
        ours.stdout.readline()
        payload = bytes(84 * ENTITIES)
        for index in range(1, ticks + 1):
            world.transforms.position[:ENTITIES, 0] += 1.0
            propagate(world)
            publisher.publish(world, Moment(index, time.monotonic_ns()))
            time.sleep(PACE_S)
            head = index.to_bytes(8, "little") + time.monotonic_ns().to_bytes(8, "little")
            socket.send_multipart([head, payload], copy=False)
            time.sleep(PACE_S)
        found = []
        for process in (ours, bare):
            late = json.loads(process.communicate()[0])
            whole = [
                sorted(late[str(index)]) for index in range(ticks // 10, ticks + 1) if str(index) in late
            ]
            found.append(np.array([row for row in whole if len(row) == subscribers]) / 1e9)
    socket.close(0)
    return found[0], found[1]


def join_seconds(count: int, times: int = 5) -> float:
    """From making a replica until it has the whole scene of `count` entities; the best of some."""
    from pathlib import Path

    host = listen(HOST, count, Path(__file__).parent)
    assert host.stdout is not None
    endpoint = host.stdout.readline().strip()
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        with Replica(endpoint) as replica:
            replica.wait_until_whole(60)
            best = min(best, time.perf_counter() - start)
    host.kill()
    host.communicate()
    return best


def rows(quick: bool) -> list[Row]:
    """Medians and 99th percentiles of the last subscriber to be ready; joins."""
    found = []
    for subscribers in (1, 4, 16):
        ours, bare = latencies(subscribers, 200 if quick else 800)
        last, bare_last = ours[:, -1], bare[:, -1]
        for percent in (50, 99):
            mine = float(np.percentile(last, percent))
            who = "a replica is ready" if subscribers == 1 else f"the last of {subscribers} replicas is ready"
            found.append(
                Row(
                    work=f"publish {ENTITIES:,} poses until {who}, p{percent}",
                    ours=mine,
                    peer="bare ZeroMQ, the same bytes received",
                    peer_s=float(np.percentile(bare_last, percent)),
                    spread=float(np.percentile(last, 99) / np.median(last)),
                )
            )
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000)
    return found + [
        Row(work=f"join a scene of {count:,} entities until it is whole", ours=join_seconds(count))
        for count in sizes
    ]


def main() -> None:
    for row in rows(quick=False):
        beside = f" against {row.peer_s * 1e3:.3f} ms" if row.peer_s else ""
        print(f"{row.work}: {(row.ours or 0) * 1e3:.3f} ms{beside}")


if __name__ == "__main__":
    main()
