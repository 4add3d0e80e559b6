"""Load a Project AirSim scene, take off, and hear what its GPS says, for one simulated second."""

from itertools import islice
from pathlib import Path

import diorama
from diorama.ecs import Velocity
from diorama.runtime.airsim_topics import airsim_reports
from diorama.runtime.motion import MOTION, set_rotor_speed

world = diorama.load(Path(__file__).with_name("scene_harbour.jsonc"))
print(f"{len(world)} entities; the drone starts landed")

drone = world.find("Drone1")
set_rotor_speed(world, world.find("Drone1/Motor"), 600.0)  # rad/s
clock = diorama.SteppableClock(step_ns=3_000_000, realtime_update_ns=0)  # as fast as it goes
for tick in islice(clock, 333):
    world.get(drone, Velocity).linear[:] = (0.0, 3.0, -1.0)  # east, and up: that lifts it off
    diorama.step(world, tick, MOTION)

for topic, message in airsim_reports(world, tick):
    print(topic, {key: message[key] for key in list(message)[:4]})
