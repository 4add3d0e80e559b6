"""How the cost of a tick grows: with entities, with those that move, with depth, with subscribers; and memory.

A tick moves, resolves and publishes to a subscriber in another process that receives; its processor time is what
counts. With subscribers it is the time until the last of so many replicas is ready.
The exponent is the slope of a straight line through the logarithms: 1 means in proportion, 0 not at all. With `--plot`
the figure of the documentation is drawn (extra `plot`).
"""

import sys
import time
from pathlib import Path

import numpy as np
from bench_columns import RECEIVER
from bench_fanout import latencies, listen
from bench_load import memory_per_entity
from measure import Row, measure

from diorama.ecs import World, propagate
from diorama.transport.publisher import Publisher

FIGURE = Path(__file__).parents[1] / "docs" / "img" / "scaling.png"
Points = dict[int, float]


def layered(count: int, depth: int) -> World:
    """`count` entities in `depth` levels of the same width, each below one of the level above."""
    width = count // depth
    world = World()
    world.insert(width * depth, parents=np.maximum(np.arange(width * depth) - width, -1))
    world.transforms.position[: width * depth] = np.random.default_rng(1).normal(size=(width * depth, 3))
    world.forest.order()
    propagate(world)
    return world


def tick_seconds(world: World, moving: int, seconds: float) -> float:
    """Processor seconds of a tick, the best round; a subscriber in another process receives."""
    rows = world.forest.order()[-moving:]
    with Publisher("tcp://127.0.0.1:*", queue=2) as publisher:
        receiver = listen(RECEIVER.replace("print(", "(lambda *a, **k: None)("), publisher.endpoint, "-")
        publisher.publish(world)
        while not publisher.listens("scene/local/"):
            publisher.poll(0.01)

        def tick() -> None:
            world.transforms.position[rows, 0] += 1.0
            propagate(world)
            publisher.publish(world)

        best = measure({"tick": tick}, seconds, time.thread_time)["tick"].best
        receiver.kill()
        receiver.communicate()
    return best


def delivery_seconds(subscribers: int, ticks: int) -> float:
    """From publishing until the last replica is ready, the median tick."""
    ours, _ = latencies(subscribers, ticks)
    return float(np.median(ours[:, -1]))


def curves(quick: bool) -> dict[str, Points]:
    """Seconds of a tick by what grows."""
    seconds = 0.15 if quick else 0.8
    sizes = (1_000, 3_000, 10_000, 30_000, 100_000)
    depths = (1, 10, 100, 1_000, 10_000)
    return {
        "entities, all moving": {n: tick_seconds(layered(n, 8), n, seconds) for n in sizes},
        "moving entities, of 100,000": {
            n: tick_seconds(layered(100_000, 8), n, seconds) for n in (100, 1_000, 10_000, 100_000)
        },
        "depth, 20,000 entities": {n: tick_seconds(layered(20_000, n), 20_000, seconds) for n in depths},
        "subscribers, 1,000 entities": {
            n: delivery_seconds(n, 60 if quick else 300) for n in (1, 2, 4, 8, 16)
        },
    }


def exponent(points: Points) -> float:
    """The slope of the logarithms."""
    return float(np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)[0])


def rows(quick: bool) -> list[Row]:
    """Exponents, and memory for each entity."""
    found = [
        Row(
            work=f"growth of a tick with {name}: exponent",
            ours=exponent(points),
            unit="",
            goal="at most 1.05",
        )
        for name, points in curves(quick).items()
    ]
    if not Path("/proc/self/statm").exists():
        return found
    each = memory_per_entity(100_000)
    return [*found, Row(work="memory of a settled entity on Earth", ours=each, unit="bytes")]


def draw(found: dict[str, Points]) -> None:
    """A panel for each curve, with the line of its exponent."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(14, 3.4), layout="constrained")
    for axis, (name, points) in zip(axes, found.items(), strict=True):
        x, y = np.array(list(points), float), np.array(list(points.values())) * 1e3
        slope = exponent(points)
        axis.loglog(x, y, "o", color="#1f5fa8")
        axis.loglog(x, np.exp(np.mean(np.log(y)) + slope * (np.log(x) - np.mean(np.log(x)))), color="#1f5fa8")
        axis.set_title(f"{name}\nexponent {slope:.2f}", fontsize=10)
        axis.set_ylabel("ms for a tick")
        axis.set_ylim(y.min() / 3, y.max() * 3)
        axis.grid(alpha=0.3, which="both")
        axis.yaxis.set_minor_formatter("")
    figure.savefig(FIGURE, dpi=90)


def main() -> None:
    found = curves(quick="--quick" in sys.argv)
    for name, points in found.items():
        cost = ", ".join(f"{n:,}: {seconds * 1e3:.3f} ms" for n, seconds in points.items())
        print(f"{name}: exponent {exponent(points):.2f}; {cost}")
    if "--plot" in sys.argv:
        draw(found)


if __name__ == "__main__":
    main()
