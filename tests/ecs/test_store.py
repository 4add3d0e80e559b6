"""Cold components: worlds in different threads do not meet, and nothing of a world outlives it."""

import gc
import random
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier

import pytest

from diorama.ecs import Bounds, Classification, Effector, World, component

KINDS: tuple[type, ...] = (Bounds, Classification, Effector)
OPERATIONS = 6000


@component("test_keepsake")
@dataclass(frozen=True)
class Keepsake:
    """A component without slots, so that one can see when it goes."""


@pytest.fixture
def _eager_switching() -> Iterator[None]:
    """Threads take turns after every few instructions, so that what can collide does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def component_of(kind: type, number: int) -> object:
    return {
        Bounds: Bounds((number, 1, 1)),
        Classification: Classification(f"class {number}"),
        Effector: Effector(f"part {number}"),
    }[kind]


def live(seed: int, start: Barrier) -> None:
    """A random life of one world beside a plain model of it; worlds are thrown away now and then."""
    numbers = random.Random(seed)
    world = World(capacity=256)
    model: dict[int, dict[type, object]] = {}
    start.wait()
    for step in range(OPERATIONS):
        action = numbers.random()
        chosen = numbers.choice(list(model)) if model else None
        if chosen is None or (action < 0.3 and len(model) < 200):
            carried = {
                kind: component_of(kind, step) for kind in numbers.sample(KINDS, numbers.randint(0, 3))
            }
            if numbers.random() < 0.5:
                model[world.spawn("", *carried.values())] = carried
            else:  # what they share at first is each one's own
                model |= {entity: carried.copy() for entity in world.insert(3, *carried.values()).tolist()}
        elif action < 0.5:
            kind = numbers.choice(KINDS)
            model[chosen][kind] = component_of(kind, step)
            world.set(chosen, model[chosen][kind])
        elif action < 0.6 and model[chosen]:
            kind = numbers.choice(list(model[chosen]))
            del model[chosen][kind]
            world.remove(chosen, kind)
        elif action < 0.7:
            del model[chosen]
            world.despawn(chosen)
        elif action < 0.71:
            world, model = World(capacity=256), {}
        else:
            wanted = numbers.sample(KINDS, numbers.randint(1, 2))
            expected = [
                (entity, *(carried[kind] for kind in wanted))
                for entity, carried in sorted(model.items())
                if carried.keys() >= set(wanted)
            ]
            assert world.query(*wanted) == expected


@pytest.mark.usefixtures("_eager_switching")
def test_worlds_in_two_threads_do_not_meet() -> None:
    start = Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        for life in [threads.submit(live, seed, start) for seed in range(2)]:
            life.result()


def test_what_a_world_holds_goes_with_it_and_does_not_wait_for_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        world = World()
        keepsake = Keepsake()
        world.insert(2, keepsake)
        world.query(Keepsake)
        gone = weakref.ref(keepsake)
        del world, keepsake
        assert gone() is None
    finally:
        gc.enable()
