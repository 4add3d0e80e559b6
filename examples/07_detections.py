"""Draw what a car's LiDAR reports over ten seconds on top of what there is. Look at how the dots spread far out."""

import sys

import numpy as np

from diorama.ecs import Bounds, Classification, World, propagate
from diorama.geo import quaternion_from_rpy
from diorama.perception import DETECTION_TOPIC, GROUND_TRUTH_TOPIC, Perception, attach, read_parameters

try:
    import yaml  # noqa: F401  (for the parameters)
    from matplotlib.figure import Figure

    from diorama.perception.plot import plot_centres, plot_objects
except ImportError as error:
    sys.exit(f"this needs: pip install 'diorama[perception,plot]': {error}")

world, box, lanes, random = World(), Bounds((4.4, 1.8, 1.5)), range(-45, 46, 15), np.random.default_rng(5)
attach(world, world.spawn("ego", box), channels=64)
turns = quaternion_from_rpy(random.uniform(-3, 3, (48, 3)) * (0, 0, 1))
places = np.array([(north, east, 0) for north in lanes for east in lanes if north or east])
jitter = random.uniform(-5, 5, (48, 3)) * (1, 1, 0)
world.insert(48, box, Classification("car"), position=places + jitter, orientation=turns)
propagate(world)
perception = Perception(world, read_parameters(__file__.replace(".py", ".yaml")))
figure = Figure((8, 8.3), layout="constrained")
axes = figure.add_subplot(aspect="equal", xlabel="east (m)", ylabel="north (m)")
for time_ns in range(0, 10_000_000_000, 100_000_000):
    heard = dict(perception.due(world, time_ns, 100_000_000))
    plot_centres(axes, heard[DETECTION_TOPIC], marker=".", markersize=2, color="tab:orange")
plot_objects(axes, heard[GROUND_TRUTH_TOPIC], color="darkgrey", label="what there is", zorder=0)
plot_objects(axes, heard[DETECTION_TOPIC], color="tab:red", label="last detection (dots: ten seconds)")
axes.plot(0, 0, "k^", markersize=14, label="the ego, looking north")
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
path = sys.argv[1] if len(sys.argv) > 1 else "detections.png"
figure.savefig(path, dpi=100)
print(f"{path}: {len(heard[DETECTION_TOPIC]['objects'])} of 48 cars are reported in the last scan")
