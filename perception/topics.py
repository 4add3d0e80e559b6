"""The perception topics of a world: at every tick, the messages that are due.

Perception knows no sockets: `Perception.due` returns (topic, message) pairs, and whoever runs the simulation
publishes them.
"""

import logging

import numpy as np

from diorama.ecs import World
from diorama.perception.messages import Message
from diorama.perception.noise import Bools
from diorama.perception.objects import family_of, objects_in, roster_of
from diorama.perception.parameters import Parameters
from diorama.perception.sensors import PERCEIVING_TYPES, perceivers
from diorama.perception.watch import Moment, Wanted, Watch
from diorama.schemas.errors import SceneError

log = logging.getLogger(__name__)


class Perception:
    """What all perceiving sensors of a world say, and when."""

    def __init__(self, world: World, parameters: Parameters) -> None:
        """Refuse a world without a perceiving sensor, or with one that is told what makes no sense."""
        self.parameters = parameters
        found, problems = perceivers(world, parameters)
        if problems or not found:
            types = " or ".join(map(repr, PERCEIVING_TYPES))
            none = f"no sensor perceives: expected one of type {types}; attach one (`serve --ego NAME` does)"
            raise SceneError(problems or none)
        self._world, self._time_ns = world, 0
        self._epoch = self._roster_epoch = -1
        self._watches: list[Watch] = []
        self._own: list[Bools] = []
        self._follow_sensors(world)

    @property
    def topics(self) -> list[str]:
        """Every topic that some sensor speaks on."""
        return [topic for watch in self._watches for topic in watch.perceiver.topics]

    def due(
        self, world: World, time_ns: int, step_ns: int, wanted: Wanted = lambda _: True
    ) -> list[tuple[str, Message]]:
        """The (topic, message) pairs that leave at this tick.

        World poses must be up to date (`propagate`). Messages on topics nobody wants are not built; noise goes
        on all the same. A sensor that appears later and is wrong is named in the log and stays silent. A clock
        set back, or another world, starts everything anew.
        """
        if world is not self._world or time_ns < self._time_ns:
            self._world, self._watches = world, []
            self._epoch = self._roster_epoch = -1
        self._time_ns = time_ns
        if world.epoch != self._epoch:
            self._follow_sensors(world)
        timed = [watch.timer.due(time_ns, step_ns) for watch in self._watches]
        if all(period is None for period in timed):
            return []
        if world.epoch != self._roster_epoch:
            self._follow_objects(world)
        objects = objects_in(world, self._roster)
        moment = Moment(world=world, time_ns=time_ns, roster=self._roster, objects=objects)
        return [
            message
            for watch, own, period in zip(self._watches, self._own, timed, strict=True)
            if period is not None
            for message in watch.speak(moment, own, period, wanted)
        ]

    def _follow_sensors(self, world: World) -> None:
        """Take in sensors that came, went or were told otherwise."""
        found, problems = perceivers(world, self.parameters)
        for problem in problems:
            log.error("%s", problem)
        known = {watch.perceiver: watch for watch in self._watches}
        self._watches = [known.get(perceiver) or Watch(perceiver) for perceiver in found]
        self._epoch = world.epoch

    def _follow_objects(self, world: World) -> None:
        """Take in objects that came, went or are described otherwise."""
        self._roster = roster_of(world)
        boxes = self._roster.entities
        self._own = [np.isin(boxes, family_of(world, watch.perceiver.ego)) for watch in self._watches]
        for watch in self._watches:
            watch.forget_all_but(boxes)
        self._roster_epoch = world.epoch
