"""What there is: the world, its components, its columns, its tree. The only home of esper."""

from diorama.ecs.compare import difference
from diorama.ecs.components import (
    Bounds,
    Classification,
    Effector,
    Sensor,
    Transform,
    Velocity,
    component,
)
from diorama.ecs.locate import Coordinates, locate
from diorama.ecs.tree import matrix_local, matrix_world, propagate
from diorama.ecs.world import Entity, World

__all__ = [
    "Bounds",
    "Classification",
    "Coordinates",
    "Effector",
    "Entity",
    "Sensor",
    "Transform",
    "Velocity",
    "World",
    "component",
    "difference",
    "locate",
    "matrix_local",
    "matrix_world",
    "propagate",
]
