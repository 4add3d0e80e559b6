"""A service in a thread of its own, for tests that ask it things; and small worlds to ask about."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np

from diorama.ecs import World, propagate
from diorama.geo import Origin
from diorama.transport.client import Client
from diorama.transport.service import Service

HOUSTON = Origin(29.594656, -95.163847, -28.3)
ANY_PORT = "tcp://127.0.0.1:*"
ROUNDING = 1e-12


@contextmanager
def serving(world: World | Callable[[], World], **options: Any) -> Iterator[Service]:
    """Poll a service in a thread until the block ends; each poll is a tick."""
    options.setdefault("endpoint", ANY_PORT)
    service = Service(world, **options)
    stop = Event()
    failures: list[BaseException] = []

    def run() -> None:
        tick = 0
        try:
            while not stop.is_set():
                service.poll(0.02, tick=tick)
                tick += 1
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        yield service
    finally:
        stop.set()
        thread.join()
        service.close()
    assert not failures, failures


@contextmanager
def asking(world: World | Callable[[], World], **options: Any) -> Iterator[Client]:
    """A client of such a service."""
    with serving(world, **options) as service, Client(service.endpoint, timeout_s=20.0) as client:
        yield client


def small_world() -> World:
    """Two roots, a child that is turned and scaled, and a grandchild."""
    world = World(HOUSTON)
    mast = world.spawn(
        "mast", position=(100.0, 200.0, -30.0), orientation=(0.0, 0.0, 1.0, 0.0), asset="mast.glb"
    )
    arm = world.spawn("arm", parent=mast, position=(1.0, 2.0, 3.0), scale=(2.0, 2.0, 2.0))
    world.spawn("tip", parent=arm, position=(0.5, 0.0, 0.0), orientation=(0.5, 0.5, 0.5, 0.5))
    world.spawn("drone", position=(-400.0, 50.0, -120.0))
    world.set_resource("weather", {"preset": "Cloudy"})
    propagate(world)
    return world


def scattered_world(count: int, seed: int = 1) -> World:
    """Entities `e0`, `e1`, ... at random within a few kilometres."""
    world = World(HOUSTON)
    places = np.random.default_rng(seed).uniform(-3000.0, 3000.0, (count, 3))
    world.insert([f"e{index}" for index in range(count)], position=places)
    propagate(world)
    return world
