"""Perception in a running simulation: what sensors say goes out with every tick."""

import logging
from collections.abc import Callable, Iterable, Sequence

from diorama.ecs import World, propagate
from diorama.perception import Parameters, Perception, attach
from diorama.runtime.clock import Tick
from diorama.runtime.simulation import Reporter
from diorama.schemas.errors import StateError
from diorama.schemas.topics import user_topic

log = logging.getLogger(__name__)


def perceive(
    world: World, parameters: Parameters, *, egos: Sequence[str] = (), listens: Callable[[str], bool]
) -> tuple[list[str], Reporter]:
    """The topics that sensors speak on, and the reporter that speaks for them.

    `egos` are names of entities that get a sensor on top, in this world and in any that is loaded later; `listens`
    says whether anybody listens to a topic (`Publisher.listens`).
    """
    _attach_all(world, egos)
    perception = Perception(world, parameters)
    known = world

    def report(world: World, tick: Tick) -> Iterable[tuple[str, dict[str, object]]]:
        nonlocal known
        if world is not known:
            known = world
            try:
                _attach_all(world, egos)
            except StateError as problem:
                log.error("perception: %s", problem)
            propagate(world)
        return perception.due(world, tick.time_ns, tick.step_ns, lambda topic: listens(user_topic(topic)))

    return perception.topics, report


def _attach_all(world: World, egos: Sequence[str]) -> None:
    for entity in [world.find(name) for name in egos]:
        attach(world, entity)
