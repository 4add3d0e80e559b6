"""One tick: users' systems in the order given, then every world pose brought up to date."""

from collections.abc import Callable, Iterable

from diorama.ecs import World, propagate
from diorama.runtime.clock import Tick


def step(world: World, tick: Tick, systems: Iterable[Callable[[World, Tick], None]] = ()) -> None:
    """Run the systems, then resolve the tree. What a system raises stops the step and reaches the caller."""
    for system in systems:
        system(world, tick)
    propagate(world)
