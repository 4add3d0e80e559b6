"""Edit a RaiSim Engine 2 scene: move a crate, go to the Moon. Look at the difference: only those words change."""

from difflib import unified_diff
from pathlib import Path

import diorama

yard = Path(__file__).with_name("yard.rscene")
world = diorama.load(yard)
crate = world.find("/World/Yard/Crate")

world.get(crate, diorama.Transform).position[0] += 1.0  # metres north; the lid on it comes along
world.set_resource("gravity", [0.0, 0.0, 1.62])  # m/s², down

diorama.save(world, "edited.rscene")
before, after = (path.read_text().splitlines() for path in (yard, Path("edited.rscene")))
for line in unified_diff(before, after, "before", "after", lineterm="", n=0):
    print(line)
