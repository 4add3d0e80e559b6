"""Three fleets, each a process with an origin of its own, joined into one scene. Look at where Austin's drones are."""

from multiprocessing import get_context
from tempfile import mkdtemp

import numpy as np

from diorama import Origin, Publisher, SteppableClock, Transform, World, step
from diorama.runtime.composite import Composite

HOMES = {"houston": (29.59, -95.16, 0.0), "galveston": (29.3, -94.8, 0.0), "austin": (30.27, -97.74, 0.0)}


def fly(endpoint: str, home: tuple[float, float, float]) -> None:
    """A fleet: 20 drones on a circle 100 m above home, until the process is ended."""
    world, phase = World(Origin(*home)), np.arange(20) * np.pi / 10
    rows = world.rows(world.insert([f"drone_{number}" for number in range(20)]))
    with Publisher(endpoint) as publisher:
        for tick in SteppableClock(step_ns=20_000_000):
            angle = phase + 0.1 * tick.time_s
            world.transforms.position[rows] = np.c_[500 * np.cos(angle), 500 * np.sin(angle), 0 * angle - 100]
            step(world, tick)
            publisher.publish(world, tick)


if __name__ == "__main__":
    sources = {name: f"ipc://{mkdtemp()}/{name}" for name in HOMES}
    for name, endpoint in sources.items():
        get_context("spawn").Process(target=fly, args=(endpoint, HOMES[name]), daemon=True).start()
    with Composite(sources, origin=Origin(*HOMES["houston"])) as composite:
        for tick in SteppableClock(step_ns=20_000_000):
            step(composite.world, tick, [composite])
            if set(composite.states.values()) == {"live"}:
                break
    world = composite.world
    print(len(world), "entities; metres north, east and down of Houston's home:")
    for name in HOMES:
        print(name, world.get(world.find(f"{name}/drone_0"), Transform).world_position.round())
