"""Build a world by hand: an aircraft, its rotor, and where the rotor tip is on Earth."""

from diorama.ecs import Effector, Transform, World, locate, propagate
from diorama.geo import Origin, quaternion_from_rpy

world = World(origin=Origin(29.594656, -95.16384722, -28.3))
evtol = world.spawn("evtol", position=(0, 0, -50))
rotor = world.spawn("evtol/rotor", Effector("rotor"), parent=evtol, position=(3.0, 3.1, -1.9))
tip = world.spawn("tip", parent=rotor, position=(1.2, 0, 0))

world.get(evtol, Transform).orientation[:] = quaternion_from_rpy((0, 0, 1.5707963267948966))  # to the east
propagate(world)

north, east, down = world.get(tip, Transform).world_position
print(f"the tip is {north:.2f} m north, {east:.2f} m east, {-down:.2f} m up")
latitude_deg, longitude_deg, altitude = locate(world, world.rows([tip])).lla[0]
print(f"at {latitude_deg:.7f}°, {longitude_deg:.7f}°, {altitude:.2f} m above the ellipsoid")
