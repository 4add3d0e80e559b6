"""A component as a user would register it."""

from dataclasses import dataclass

from diorama.ecs import component


@component("test_battery")
@dataclass(frozen=True)
class Battery:
    charge: float
    cells: tuple[int, ...] = ()
