"""Making and unmaking entities, against esper alone holding the same as components.

Claims: one by one within 2x of esper's `create_entity`, in bulk at most half of it; memory for each entity is printed.
An entity here has a name, a key, an asset, a parent, a pose, a box and a class, made for it; in esper alone these are
four components.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import thread_time

import esper
import numpy as np
from measure import Row, measure, table
from tree_peers import Pose, Turn, Vector

from diorama.ecs import Bounds, Classification, World, propagate

COUNT = 2_000
NAMES = [f"car_{index}" for index in range(COUNT)]
KEYS = [f"entity_{index}" for index in range(COUNT)]
PARENTS = [-1 if index < COUNT // 4 else index // 4 for index in range(COUNT)]
PLACE, TURN, SIZE = (1.0, 2.0, 3.0), (0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0)
ASSET = "cars/sedan"


@dataclass(slots=True)
class Identity:
    """What diorama keeps in its tables."""

    name: str
    key: str
    asset: str
    parent: int


def cold() -> tuple[Bounds, Classification]:
    """Components that are objects here and there."""
    return Bounds((4.0, 2.0, 1.5)), Classification("car")


def esper_create() -> list[int]:
    esper.switch_world("bench")
    esper.clear_database()
    made: list[int] = []
    for name, key, parent in zip(NAMES, KEYS, PARENTS, strict=True):
        identity = Identity(name, key, ASSET, made[parent] if parent >= 0 else 0)
        made.append(esper.create_entity(identity, Pose(Vector(*PLACE), Turn(*TURN), Vector(*SIZE)), *cold()))
    return made


def esper_create_and_delete() -> None:
    for entity in esper_create():
        esper.delete_entity(entity, immediate=True)


def spawn_each(
    components: Callable[[], tuple[object, ...]] = tuple, *queried: type
) -> tuple[World, list[int]]:
    world = World(capacity=COUNT)
    if queried:
        world.query(*queried)  # from now on the world keeps a set of those who have them
    made: list[int] = []
    for name, key, parent in zip(NAMES, KEYS, PARENTS, strict=True):
        above = made[parent] if parent >= 0 else None
        entity = world.spawn(
            name,
            *components(),
            asset=ASSET,
            key=key,
            parent=above,
            position=PLACE,
            orientation=TURN,
            scale=SIZE,
        )
        made.append(entity)
    return world, made


def spawn_and_despawn() -> None:
    world, made = spawn_each(cold)
    for entity in reversed(made):
        world.despawn(entity)


def insert_all(*components: object, **given: object) -> World:
    world = World(capacity=COUNT)
    world.insert(
        NAMES,
        *components,
        asset=ASSET,
        parents=np.array(PARENTS),
        position=np.tile(PLACE, (COUNT, 1)),
        orientation=np.tile(TURN, (COUNT, 1)),
        scale=np.tile(SIZE, (COUNT, 1)),
        **given,  # type: ignore[arg-type]
    )
    return world


def insert_and_despawn() -> None:
    world = insert_all(*cold())
    for entity in world.entities[: COUNT // 4].tolist():
        world.despawn(entity)


def resident_bytes() -> int:
    """Memory of this process, or 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


def memory(components: tuple[object, ...], count: int = 100_000) -> float:
    """Bytes for each of many entities in a settled world; in a process that has done nothing else."""
    propagate(World())  # so that compiled kernels are not counted
    before = resident_bytes()
    world = World()
    world.insert(count, *components, parents=np.arange(count) // 4 - 1, position=np.zeros((count, 3)))
    propagate(world)
    return (resident_bytes() - before) / len(world)


def rows(quick: bool) -> list[Row]:
    """For each entity, against esper."""
    create, delete = "esper create_entity, four components", "esper create and delete"
    works = {
        "spawn one by one, two components": (lambda: spawn_each(cold), create, "at most 2"),
        "insert in bulk, two shared components": (lambda: insert_all(*cold()), create, "at most 0.5"),
        "spawn and despawn one by one": (spawn_and_despawn, delete, "at most 2"),
        "insert in bulk, despawn by subtree": (insert_and_despawn, delete, "at most 1"),
    }
    candidates: dict[str, Callable[[], object]] = {create: esper_create, delete: esper_create_and_delete}
    candidates |= {name: run for name, (run, _, _) in works.items()}
    timings = measure(candidates, 2.0 if quick else 6.0, thread_time)
    return [
        Row(
            work=f"{name}, each",
            ours=timings[name].best / COUNT,
            peer=peer,
            peer_s=timings[peer].best / COUNT,
            goal=goal,
            spread=timings[name].spread,
        )
        for name, (_, peer, goal) in works.items()
    ]


def main(seconds: float = 6.0) -> None:
    for components, title in (((), "no component"), (cold(), "two shared components")):
        with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
            each = fresh.submit(memory, components).result()
        print(f"memory for each of 100 000 entities, {title}: {each:.0f} bytes")
    candidates: dict[str, Callable[[], object]] = {
        "esper create_entity, four components": esper_create,
        "spawn, two cold components": lambda: spawn_each(cold),
        "spawn, the same, queried before": lambda: spawn_each(cold, Bounds, Classification),
        "spawn, none": spawn_each,
        "insert, two cold components": lambda: insert_all(*cold()),
        "insert, two cold components, keys given": lambda: insert_all(*cold(), keys=KEYS),
        "insert, none": insert_all,
        "esper create and delete": esper_create_and_delete,
        "spawn and despawn one by one": spawn_and_despawn,
        "insert and despawn by subtree": insert_and_despawn,
    }
    print(table(f"{COUNT} entities", measure(candidates, seconds), unit=COUNT))


if __name__ == "__main__":
    main()
