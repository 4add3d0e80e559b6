"""Components of things that move by themselves: along waypoints, about an axis, or not yet.

They are plain data; the systems of `diorama.runtime` act on them each tick.
"""

from dataclasses import dataclass
from typing import Literal

from diorama.ecs.components import Vector, component

Quaternion = tuple[float, float, float, float]


@component("waypoints")
@dataclass(frozen=True, slots=True)
class Trajectory:
    """Timed waypoints an entity follows, and holds the last of unless it loops.

    `times` (s) ascend. `positions` are metres in the parent's frame (NED for roots), or latitude, longitude (deg)
    and altitude (m) with `frame="lla"`. Without `orientations` (xyzw) the nose points along the path, wings level.
    `smooth` curves through the waypoints instead of turning at them. A loop goes back to `loop_from` (s; to the first
    waypoint if None).
    """

    times: tuple[float, ...]
    positions: tuple[Vector, ...]
    orientations: tuple[Quaternion, ...] = ()
    frame: Literal["ned", "lla"] = "ned"
    smooth: bool = False
    loop: bool = False
    loop_from: float | None = None
    name: str = ""


@component("spin")
@dataclass(frozen=True, slots=True)
class Spin:
    """A steady turn about an axis of the entity, such as a rotor's: `speed` in rad/s, right-handed."""

    speed: float
    axis: Vector = (0.0, 0.0, 1.0)


@component("landed")
@dataclass(frozen=True, slots=True)
class Landed:
    """Stands where it is until it has an upward velocity, or an upward `Force` above its weight (N)."""

    weight: float


@component("force")
@dataclass(frozen=True, slots=True)
class Force:
    """A force on the entity in newton, world NED axes: up is negative z."""

    newton: Vector
