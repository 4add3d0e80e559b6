"""The running simulation: a world, a clock, systems that move it, a publisher and a service, in one thread.

tick: systems, propagate, publish, perception topics
between ticks: greet who joins, answer who asks, apply what is commanded
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from diorama.ecs import World
from diorama.runtime.clock import Clock, SteppableClock, Tick
from diorama.runtime.step import step
from diorama.schemas.errors import StateError
from diorama.transport.connect import wait_any
from diorama.transport.publisher import Publisher

System = Callable[[World, Tick], None]
# What a tick has to say beside the scene: (topic, message) pairs, such as perception.
Reporter = Callable[[World, Tick], Iterable[tuple[str, Mapping[str, Any]]]]
log = logging.getLogger("diorama.runtime")


class Answering(Protocol):
    """A service as far as the loop needs it."""

    @property
    def link(self) -> Any:
        """What to wait on."""

    def poll(self, timeout_s: float = 0.0, *, tick: int | None = None) -> int:
        """Answer what is there, after this tick; returns how many were answered."""


class Simulation:
    """Runs a world until its clock ends or somebody stops it. `service` is set once there is one."""

    def __init__(
        self,
        world: World,
        publisher: Publisher,
        *,
        clock: Clock | None = None,
        systems: Sequence[System] = (),
        reporters: Sequence[Reporter] = (),
    ) -> None:
        self.world = world
        self.publisher = publisher
        self.clock: Clock = SteppableClock() if clock is None else clock
        self.systems = tuple(systems)
        self.reporters = tuple(reporters)
        self.service: Answering | None = None
        self.idlers: list[Callable[[], object]] = []  # called between ticks, while paused too
        self.tick = Tick(0, 0, 0)
        self.finished = -1  # the index of the last finished tick
        self._complaint = ""

    def run(self, on_tick: Callable[[Tick], object] | None = None) -> None:
        """Tick until the clock stops. The scene is published before the first tick: a paused start shows it too."""
        self.publisher.publish(self.world, self.tick)
        clock = None
        while clock is not self.clock:  # a reload may bring another one
            clock = self.clock
            clock.wait = self.serve
            for tick in clock:
                self.advance(tick)
                if on_tick is not None:
                    on_tick(tick)

    def advance(self, tick: Tick) -> None:
        """One tick: move, resolve, publish. Numbers that cannot be resolved are logged and the rest goes on."""
        self.tick = tick
        try:
            step(self.world, tick, self.systems)
        except StateError as problem:
            if str(problem) != self._complaint:
                self._complaint = str(problem)
                log.error("tick %d: %s", tick.index, problem)
        self.finished = tick.index
        self.publisher.publish(self.world, tick)
        for reporter in self.reporters:
            for topic, message in reporter(self.world, tick):
                self.publisher.send_json(topic, message)

    def serve(self, timeout_s: float = 0.0) -> None:
        """Between ticks: wait that long for somebody, then greet and answer."""
        links = [self.publisher.link] if self.service is None else [self.publisher.link, self.service.link]
        if timeout_s > 0:
            wait_any(links, timeout_s)
        self.publisher.poll()
        for idler in self.idlers:
            idler()
        was_paused = self.clock.is_paused
        answered = 0 if self.service is None else self.service.poll(tick=self.finished)
        if answered and (was_paused or self.clock.is_paused):
            self.publisher.publish(self.world, self.tick)  # no tick will come to show what was commanded

    def replace(
        self,
        world: World,
        systems: Sequence[System] = (),
        reporters: Sequence[Reporter] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Go on with another world; who follows gets it complete with the next update. Reporters and clock stay unless
        given; another clock begins at its own zero.
        """
        self.world, self.systems = world, tuple(systems)
        self.reporters = self.reporters if reporters is None else tuple(reporters)
        if clock is not None:
            self.clock.stop()
            self.clock, self.tick, self.finished = clock, Tick(0, 0, 0), -1
        self.publisher.publish(world, self.tick)

    def stop(self) -> None:
        """End after this tick."""
        self.clock.stop()
