"""Where is the camera that hangs under an aircraft? Look at the last line printed: it is on Earth."""

from diorama import load
from diorama.ecs import locate

world = load(__file__.replace("01_where.py", "houston.scene.json"))
camera = world.find("rgb_camera_0")
print("metres north, east, down of the origin:", locate(world, world.rows([camera])).ned[0])
print("latitude, longitude, metres above the ellipsoid:", locate(world, world.rows([camera])).lla[0])
