"""Memory while entities come and go: ten million of them through a world that is published and followed.

A batch leaves and another one comes: most in bulk with components they share, leaving by subtrees; some one by one,
with a velocity and a component of their own, some of which are hung elsewhere, changed or taken away. Each time the
world is propagated; every sixteenth time a publisher tells what changed (of those that came and went in between, that
they went), a replica in this process applies it, and both are queried. Ten thousand others stay. Memory at the end is
compared with memory in the middle of the run; at the end the replica must equal the world.

    python benchmarks/bench_churn.py            ten million, about a minute
    python benchmarks/bench_churn.py --quick    six hundred thousand, told every second time
"""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_load import resident
from measure import Row

from diorama.cli.progress import Bar
from diorama.ecs import Bounds, Classification, Velocity, World, propagate
from diorama.ecs.compare import difference
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica

STANDING = 10_000
CARS, BIRDS = 4_980, 20
BATCH = CARS + BIRDS
PARENTS = np.where(
    np.arange(CARS) % 4 == 0, -1, np.arange(CARS) // 4 * 4
)  # one in four has the next three below it
SHARED = (Bounds((4.0, 2.0, 1.5)), Classification("car"))


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of this process in memory, and blocks that Python has handed out to objects."""

    bytes: int
    blocks: int


def memory() -> Memory:
    """As it is now, without garbage."""
    return Memory(resident(), sys.getallocatedblocks())


def next_batch(world: World, leaving: list[int], tick: int) -> list[int]:
    """One batch goes and another one comes; returns whom to take away for all of it to go."""
    for entity in leaving:
        world.despawn(entity)
    names = [f"car_{tick}_{index}" for index in range(CARS)]
    cars = world.insert(names, *SHARED, parents=PARENTS, position=np.full(3, float(tick)))
    tops: list[int] = cars[::4].tolist()
    for index in range(BIRDS):
        bird = world.spawn(f"bird_{tick}_{index}", Bounds((index, 1.0, 1.0)), Velocity((1.0, 0.0, 0.0)))
        if index % 2:
            world.reparent(bird, tops[index])
        else:
            tops.append(bird)
    world.set(tops[0], Classification(f"car {tick}"))
    world.remove(tops[1], Bounds)
    below = world.children(tops[2])
    world.despawn(tops[2], children="grandparent")
    return [*tops[:2], *below, *tops[3:]]


def churn(entities: int, told_every: int) -> tuple[Memory, Memory]:
    """Memory in the middle and at the end of so many entities' coming and going."""
    world = World()
    world.insert(STANDING)
    tops: list[int] = []
    middle: Memory | None = None
    ticks = entities // BATCH
    bar = Bar(sys.stderr)
    with Publisher("tcp://127.0.0.1:*") as publisher, Replica(publisher.endpoint) as replica:
        publisher.publish(world)
        while not replica.whole:
            publisher.poll(0.01)
            replica.poll()
        for tick in range(1, ticks + 1):
            tops = next_batch(world, tops, tick)
            propagate(world)
            if tick % told_every == 0 or tick == ticks:
                publisher.publish(world)
                while replica.sequence < publisher.sequence:
                    replica.poll(1.0)
                assert len(replica.world.query(Bounds)) == len(world.query(Bounds)) == BATCH - 2
                if middle is None and 2 * tick >= ticks:
                    middle = memory()
            bar("entities that came and went", tick * BATCH, entities)
        end = memory()
        assert middle is not None
        assert replica.gaps == 0
        assert not (wrong := difference(world, replica.world)), wrong
    return middle, end


def rows(quick: bool) -> list[Row]:
    """What has grown in the second half."""
    if not Path("/proc/self/statm").exists():
        return []
    # A replica remembers the last 100 000 it was told went: by the middle it must be full.
    entities, told_every = (600_000, 2) if quick else (10_000_000, 16)
    middle, end = churn(entities, told_every)
    work = f"after {entities:,} entities came and went, published and followed: grown since half of them"
    return [
        Row(work=work, ours=end.bytes - middle.bytes, unit="bytes", goal="at most 1000000"),
        Row(work=work, ours=end.blocks - middle.blocks, unit="blocks of Python objects", goal="at most 1000"),
    ]


def main() -> None:
    start = time.process_time()
    for row in rows(quick="--quick" in sys.argv):
        print(f"{row.work}: {row.ours:+,.0f} {row.unit} ({row.goal})")
    print(f"{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
