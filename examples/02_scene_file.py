"""Read a scene file, fly one aircraft a minute to the east, and write it again."""

from itertools import islice
from pathlib import Path

import diorama
from diorama.ecs import Effector, locate

world = diorama.load(Path(__file__).with_name("houston.scene.json"))
print(f"{len(world)} entities, among them")

for entity, effector in world.query(Effector):
    print(f"  {world.name(entity)}: {effector.path}")

evtol = world.find("generic_evtol_0")
drone = world.get(evtol, diorama.Transform)
clock = diorama.SteppableClock(step_ns=20_000_000, realtime_update_ns=0)  # as fast as it goes
for tick in islice(clock, 3000):
    drone.position[1] += 5.0 * tick.step_s  # 5 m/s to the east
    diorama.step(world, tick)

place = locate(world, world.rows([evtol, world.find("rgb_camera_0")]))
print("the aircraft and its camera, latitude, longitude, altitude:")
print(place.lla)
diorama.save(world, "later.scene.json")
