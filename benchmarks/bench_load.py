"""How long a scene document takes to become a world, against `orjson.loads` on the same bytes; memory per entity."""

import gc
import os
from pathlib import Path
from time import thread_time

import numpy as np
import orjson
from measure import Row, measure, table

from diorama.ecs import Effector, Sensor, World, locate, propagate
from diorama.formats.aerosim import document, parse
from diorama.geo import Origin

CAMERA = {
    "resolution": {"x": 1920, "y": 1080},
    "tick_rate": 0.2,
    "fov": 90,
    "near_clip": 0.1,
    "far_clip": 1000.0,
}


def scene(count: int, *, every: int) -> World:
    """A forest of `count` entities, up to 8 deep, on Earth; every so-many-th is a camera, and as many are rotors."""
    random = np.random.default_rng(7)
    quaternions = random.normal(size=(count, 4))
    world = World(origin=Origin(29.594656, -95.16384722, -28.3))
    parents = np.array([-1 if i % 4 == 0 else random.integers(max(0, i - 8), i) for i in range(count)])
    entities = world.insert(
        [f"actor_{number}" for number in range(count)],
        asset="generic-aircrafts/GenericEVtol/GenericEVTOL",
        parents=parents,
        position=random.normal(scale=1000.0, size=(count, 3)),
        orientation=quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True),
    )
    if every:
        for number in range(0, count, every):
            world.set(int(entities[number]), Sensor(f"camera_{number}", "rgb_camera", CAMERA))
        for number in range(1, count, every):
            world.set(int(entities[number]), Effector(f"rotor_{number}", "evtol/armature/rotor"))
    propagate(world)
    return world


def resident() -> int:
    """Bytes of this process in memory now (Linux)."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def memory_per_entity(count: int) -> float:
    """Bytes that a settled, located world of `count` entities keeps for each of them."""
    warm = scene(100, every=10)
    before = resident()
    world = scene(count, every=10)
    locate(world)
    grown = resident() - before
    assert len(world) + len(warm) == count + 100
    return grown / count


def rows(quick: bool) -> list[Row]:
    """Bytes to a settled world and back."""
    found = []
    for count in (1_000, 10_000):
        world = scene(count, every=10)
        ready = document(world)
        data = orjson.dumps(ready)
        read, write = "orjson.loads of the same bytes", "orjson.dumps of a ready-made dict"
        timings = measure(
            {
                read: lambda data=data: orjson.loads(data),
                "load": lambda data=data: parse(data),
                write: lambda ready=ready: orjson.dumps(ready),
                "save": lambda world=world: orjson.dumps(document(world)),
            },
            2.0 if quick else 4.0,
            thread_time,
        )
        for work, peer, goal in (("load", read, "at most 5"), ("save", write, "")):
            found.append(
                Row(
                    work=f"{work} a scene of {count:,} entities",
                    ours=timings[work].best,
                    peer=peer,
                    peer_s=timings[peer].best,
                    goal=goal,
                    spread=timings[work].spread,
                )
            )
    return found


def main() -> None:
    if Path("/proc/self/statm").exists():
        print(f"memory of a settled world on Earth: {memory_per_entity(100_000):.0f} bytes per entity")
    for count in (1_000, 10_000):
        for kind, every in (("plain actors", 0), ("1 in 10 a camera, 1 in 10 a rotor", 10)):
            data = orjson.dumps(document(scene(count, every=every)))
            timings = measure(
                {
                    "orjson.loads (the same bytes)": lambda data=data: orjson.loads(data),
                    "diorama: bytes to a settled world": lambda data=data: parse(data),
                },
                seconds=4.0,
            )
            print(table(f"{count} entities, {kind}, {len(data) / 1e6:.1f} MB", timings, count))


if __name__ == "__main__":
    main()
