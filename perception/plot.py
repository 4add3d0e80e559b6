"""Messages as pictures: outlines seen from above. Draws on matplotlib axes it is given and imports nothing."""

from typing import Any

import numpy as np

from diorama.geo.arrays import FloatArray
from diorama.geo.rotation import rotate
from diorama.perception.messages import Message

# Around the floor of a unit box from its right rear corner, with a stroke from the middle through the nose.
_OUTLINE = np.array(
    [[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1], [np.nan] * 2, [0, 0], [1.4, 0], [np.nan] * 2]
)


def outlines(message: Message) -> FloatArray:
    """East and north (n * 9, 2) of lines around every object of a message; NaN lifts the pen."""
    objects = message["objects"]
    poses = [item["kinematics"]["pose_with_covariance"]["pose"] for item in objects]
    place = np.array([[pose["position"][axis] for axis in "xy"] for pose in poses]).reshape(-1, 1, 2)
    turn = np.array([[pose["orientation"][axis] for axis in "xyzw"] for pose in poses]).reshape(-1, 1, 4)
    size = np.array([[item["shape"]["dimensions"][axis] for axis in "xy"] for item in objects]).reshape(
        -1, 1, 2
    )
    corners = np.zeros((len(objects), len(_OUTLINE), 3))
    corners[..., :2] = 0.5 * size * _OUTLINE
    lines: FloatArray = place + rotate(turn, corners)[..., :2]
    return lines.reshape(-1, 2)


def plot_objects(axes: Any, message: Message, **style: Any) -> None:
    """Draw every object of a message on matplotlib axes, east to the right and north up, metres."""
    axes.plot(*outlines(message).T, **style)


def plot_centres(axes: Any, message: Message, **style: Any) -> None:
    """Mark the centre of every object of a message on matplotlib axes."""
    poses = [item["kinematics"]["pose_with_covariance"]["pose"]["position"] for item in message["objects"]]
    axes.plot([pose["x"] for pose in poses], [pose["y"] for pose in poses], linestyle="none", **style)
