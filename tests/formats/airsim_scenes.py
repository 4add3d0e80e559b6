"""The corpus of Project AirSim scenes: where it lies, its worlds with their poses settled."""

from pathlib import Path
from typing import Any

from diorama.ecs import Transform, World, propagate
from diorama.formats.airsim import read
from diorama.geo import Origin

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"
POSE = 1e-12  # m, and quaternion components
HOME = Origin(47.641468, -122.140165, 122.0)


def settled(name: str, **options: Any) -> World:
    world = read(FOLDER / name, **options)
    propagate(world)
    return world


def place(world: World, name: str) -> Transform:
    return world.get(world.find(name), Transform)
