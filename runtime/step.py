"""One tick: users' systems in the order given, then every world pose brought up to date."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from diorama.ecs import World, propagate


class TickLike(Protocol):
    """What systems are told about time: the number of the tick, its time and its length."""

    @property
    def index(self) -> int:
        """Ticks before this one."""

    @property
    def time_ns(self) -> int:
        """Simulated time at the end of the tick, nanoseconds."""

    @property
    def step_ns(self) -> int:
        """How long the tick is, nanoseconds."""


T = TypeVar("T", bound=TickLike)


def step(world: World, tick: T, systems: Iterable[Callable[[World, T], None]] = ()) -> None:
    """Run the systems, then resolve the tree. What a system raises stops the step and reaches the caller."""
    for system in systems:
        system(world, tick)
    propagate(world)
