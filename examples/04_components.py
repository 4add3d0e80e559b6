"""A component and a system of your own: batteries that run empty, written to the scene file like all others."""

from dataclasses import dataclass, replace
from itertools import islice

from diorama import SteppableClock, Tick, World, load, save, step
from diorama.ecs import component


@component("battery")
@dataclass(frozen=True, slots=True)
class Battery:
    """Charge in joules, and the power it is drained with in watts."""

    charge: float
    power: float = 200.0


def drain(world: World, tick: Tick) -> None:
    """Take a tick's energy from every battery."""
    for entity, battery in world.query(Battery):
        world.set(entity, replace(battery, charge=max(0.0, battery.charge - battery.power * tick.step_s)))


world = World()
world.spawn("rover", Battery(charge=1000.0))
for tick in islice(SteppableClock(step_ns=100_000_000, realtime_update_ns=0), 20):
    step(world, tick, systems=[drain])
save(world, "rover.scene.json")
print(load("rover.scene.json").query(Battery))
