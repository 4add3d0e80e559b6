"""Columns end to end: move, propagate, locate, encode, send; a subscriber that receives, or a replica that applies.

Against a bare pyzmq send of the same bytes to a subscriber that only receives, and the sum of the bare kernels inside,
measured in the same run. With `--base` numba counts as not installed.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

if "--base" in sys.argv:
    sys.modules["numba"] = None  # type: ignore[assignment]

import numpy as np
import zmq
from measure import Row, measure

from diorama.ecs import World, propagate
from diorama.ecs.locate import refresh
from diorama.geo import Origin, locate_block
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.publisher import Publisher

ORIGIN = Origin(29.594656, -95.16384722, -28.3)

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
socket.subscribe(b"scene/local/" if len(sys.argv) > 2 else b"")
socket.connect(sys.argv[1])
while True:
    frames = socket.recv_multipart(copy=False)
    at = 24 if len(sys.argv) > 2 else 0  # where a header of ours has its sequence number
    print(int.from_bytes(frames[1].bytes[at : at + 8], "little"), flush=True)
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


def follow(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def until(process: "subprocess.Popen[str]", sequence: int) -> None:
    assert process.stdout is not None
    while int(process.stdout.readline()) < sequence:
        pass


@dataclass(slots=True)
class Best:
    """Best times in seconds: the whole tick until it has arrived, its parts, the same bytes sent by bare pyzmq."""

    tick: float = np.inf
    propagate: float = np.inf
    locate: float = np.inf
    publish: float = np.inf
    bare: float = np.inf
    bytes: int = 0
    kernels: float = 0.0
    median: float = 0.0

    @property
    def limit(self) -> float:
        """The sum of the bare kernels and the bare send."""
        return self.kernels + self.bare


def run(
    count: int, moving: float, seconds: float = 3.0, *, replica: bool = True, earth: bool = False
) -> Best:
    """Tick after tick, each until a replica has applied it or a subscriber has received it."""
    world = tree(count)
    if earth:
        world.origin = ORIGIN
    rows = world.forest.order()[-max(1, round(count * moving)) :] if moving < 1 else slice(0, count)
    best = Best()
    ticks = []
    with Publisher("tcp://127.0.0.1:*", queue=4) as publisher:
        follower = (
            follow(FOLLOWER, publisher.endpoint) if replica else follow(RECEIVER, publisher.endpoint, "-")
        )
        publisher.publish(world)
        while not publisher.listens("scene/local/") or (replica and publisher.statistics.joins == 0):
            publisher.poll(0.01)
        if not replica:
            publisher.publish(world)
        until(follower, publisher.sequence)
        bare_socket = zmq.Context.instance().socket(zmq.XPUB)
        port = bare_socket.bind_to_random_port("tcp://127.0.0.1")
        receiver = follow(RECEIVER, f"tcp://127.0.0.1:{port}")
        bare_socket.recv()
        sent, end, number = 0, time.perf_counter() + seconds, 0
        while time.perf_counter() < end or number < 5:
            start = time.perf_counter()
            world.transforms.position[rows, 0] += 1.0
            propagate(world)
            propagated = time.perf_counter()
            if earth:
                refresh(world)
            located = time.perf_counter()
            before = publisher.statistics.bytes_sent
            publisher.publish(world)
            published = time.perf_counter()
            sent = publisher.statistics.bytes_sent - before
            until(follower, publisher.sequence)
            ticks.append(time.perf_counter() - start)
            best.propagate = min(best.propagate, propagated - start)
            best.locate = min(best.locate, located - propagated)
            best.publish = min(best.publish, published - located)
            number += 1
            payload = np.empty(sent, np.uint8)
            start = time.perf_counter()
            bare_socket.send(b"x/", zmq.SNDMORE)
            bare_socket.send(number.to_bytes(8, "little"), zmq.SNDMORE)
            bare_socket.send(payload, copy=False)
            until(receiver, number)
            best.bare = min(best.bare, time.perf_counter() - start)
        for process in (follower, receiver):
            process.kill()
            process.communicate()
        bare_socket.close(0)
    best.tick, best.median = min(ticks), sorted(ticks)[len(ticks) // 2]
    best.bytes = sent
    best.kernels = bare_kernels(world, rows, sent, earth)
    return best


def bare_kernels(world: World, rows: "slice | np.ndarray", sent: int, earth: bool) -> float:
    """Seconds for the arithmetic of a tick alone: moving, the transform pass, coordinates, a copy of what is sent."""
    high = world.table.high
    source, target = np.ones((2, sent), np.uint8)
    places = world.table.pose[: high if isinstance(rows, slice) else len(rows), 0:3].copy()
    ecef, lla = np.empty_like(places), np.empty_like(places)

    def move() -> None:
        world.transforms.position[rows, 0] += 1.0
        propagate(world)

    work: dict[str, Callable[[], object]] = {"move": move, "copy": lambda: np.copyto(target, source)}
    if earth:
        work["locate"] = lambda: locate_block(places, ORIGIN, ecef, lla)
    return sum(timing.best for timing in measure(work, 0.6).values())


def replica_rows(quick: bool, count: int = 100_000) -> list[Row]:
    """What a replica does with an update, against a copy of its bytes."""
    world = tree(count)
    order = world.forest.order()
    structure = codec.encode_structure(world, order, None)
    complete = [structure, *codec.encode_blocks(world, "local", order, order[:0])]
    copy = world_from_complete(codec.decode_columns(complete))
    propagate(copy)
    every = np.arange(count, dtype=np.int32)
    bodies = []
    for _ in range(2):
        world.transforms.position[every, 0] += 1.0
        frames = codec.encode_blocks(world, "local", every, every[:0])
        bodies.append([b"", *[bytes(frame) for frame in frames]])
    size = sum(map(len, bodies[0]))
    source, target = np.ones((2, size), np.uint8)

    def apply() -> None:
        bodies.reverse()
        apply_update(copy, codec.decode_columns(bodies[0]))

    def applied() -> None:
        apply()
        propagate(copy)

    timings = measure(
        {"apply": apply, "resolve": applied, "copy": lambda: np.copyto(target, source)},
        1.0 if quick else 3.0,
        time.thread_time,
    )
    works = (
        ("apply", "decoded, checked, applied", "at most 3"),
        ("resolve", "the same, and world poses", ""),
    )
    return [
        Row(
            work=f"a replica's update of {count:,} poses: {what}",
            ours=timings[name].best,
            limit="copy of the bytes",
            limit_s=timings["copy"].best,
            goal=f"{goal} to the limit" if goal else "",
            spread=timings[name].spread,
        )
        for name, what, goal in works
    ]


def base_run(count: int, moving: float, seconds: float) -> Best:
    """The same in a process where numba counts as not installed."""
    arguments = [sys.executable, __file__, "--base", str(count), str(moving), str(seconds)]
    output = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Best(**json.loads(output))


def rows(quick: bool) -> list[Row]:
    """Whole ticks to a subscriber that receives, with coordinates; and what a replica does with them."""
    seconds = 2.0 if quick else 5.0
    found = []
    for count in (10_000, 100_000) if quick else (1_000, 10_000, 100_000):
        for moving, title in ((1.0, "all move"), (0.01, "1 % moves")):
            goals = {1.0: ("at most 20 ms", "at most 5 ms"), 0.01: ("", "at most 1 ms")}[moving]
            for kind, goal in zip(("numpy", "numba"), goals, strict=True):
                if kind == "numpy":
                    best = base_run(count, moving, seconds)
                else:
                    best = run(count, moving, seconds, replica=False, earth=True)
                found.append(
                    Row(
                        work=f"columns, whole tick, {count:,} entities, {title} ({kind})",
                        ours=best.tick,
                        peer="the same bytes by bare pyzmq",
                        peer_s=best.bare,
                        limit="bare kernels and send",
                        limit_s=best.limit,
                        goal=goal if count == 100_000 else "",
                        spread=best.median / best.tick,
                    )
                )
    return found + replica_rows(quick)


def main() -> None:
    if "--base" in sys.argv:
        count, moving, seconds = sys.argv[2:]
        best = run(int(count), float(moving), float(seconds), replica=False, earth=True)
        print(json.dumps(asdict(best)))
        return
    for count in (1_000, 10_000, 100_000):
        for moving in (1.0, 0.01):
            best = run(count, moving)
            print(
                f"{count:>7} entities, {moving:>5.0%} moving, {best.bytes / 1e6:7.3f} MB: "
                f"tick to replica ready {best.tick * 1e3:7.3f} ms = {1 / best.tick:7.0f} Hz; "
                f"propagate {best.propagate * 1e3:.3f} ms, publish {best.publish * 1e3:6.3f} ms; "
                f"bare pyzmq {best.bare * 1e3:6.3f} ms; ratio {best.tick / best.bare:.2f}"
            )


if __name__ == "__main__":
    main()
