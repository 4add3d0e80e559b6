"""The axes of renderers: world points, rotations and scales from north-east-down and back.

A renderer has axes for its world and axes for its bodies; a rotation maps the second to the first, so it
changes with both. Ours are north-east-down for the world and forward-right-down for bodies.

    name     world axes              body axes                    unit   handed
    ned      north, east, down       forward, right, down         1 m    right
    enu      east, north, up         forward, left, up            1 m    right    ROS (REP 103)
    nwu      north, west, up         forward, left, up            1 m    right
    unreal   east, south, up         forward, right, up           1 cm   left     Unreal, as Cesium places it
    gltf     east, up, south         left, up, forward            1 m    right    glTF 2.0, three.js

What hangs below a parent is given in the parent's body axes: `axes.child` maps those.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.geo.arrays import FloatArray, as_floats
from diorama.geo.rotation import conjugate, multiply, quaternion_from_matrix

Rows = tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True, slots=True)
class Axes:
    """How a renderer's axes lie in ours.

    A row of `world` is one of the renderer's world axes in north-east-down, a row of `body` one of its body
    axes in forward-right-down; both are right-handed or both left-handed.
    """

    name: str
    world: Rows
    body: Rows
    units_per_metre: float = 1.0
    _left: FloatArray = field(init=False, repr=False, compare=False)
    _right: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        world, body = np.array(self.world, dtype=np.float64), np.array(self.body, dtype=np.float64)
        # In left-handed axes both are mirrored; turning both inside out leaves every rotation as it was.
        handed = round(np.linalg.det(world))
        if handed != round(np.linalg.det(body)) or abs(handed) != 1:
            raise ValueError(f"axes {self.name}: world and body axes differ in handedness")
        object.__setattr__(self, "_left", quaternion_from_matrix(handed * world))
        object.__setattr__(self, "_right", conjugate(quaternion_from_matrix(handed * body)))

    @property
    def child(self) -> "Axes":
        """The axes for poses relative to a parent: its FRD becomes the renderer's body axes."""
        return Axes(f"{self.name} child", self.body, self.body, self.units_per_metre)

    @property
    def left_handed(self) -> bool:
        """Whether the renderer's axes are mirrored."""
        return bool(np.linalg.det(np.array(self.world)) < 0)

    def points(self, ned: ArrayLike) -> FloatArray:
        """Positions or velocities (..., 3) in the renderer's axes and unit, of metres north, east, down."""
        return _apply(ned, np.array(self.world).T * self.units_per_metre)

    def ned_points(self, points: ArrayLike) -> FloatArray:
        """Metres north, east, down (..., 3) of positions or velocities in the renderer's axes and unit."""
        return _apply(points, np.array(self.world)) / self.units_per_metre

    def turns(self, ned: ArrayLike) -> FloatArray:
        """Angular velocities or moments (..., 3), which change sign in a mirror, of north-east-down ones."""
        mirror = -1 if self.left_handed else 1
        return _apply(ned, mirror * np.array(self.world).T)

    def rotations(self, quaternions: ArrayLike) -> FloatArray:
        """Quaternions (..., 4) from the renderer's body to its world axes, of ours from FRD to NED."""
        return multiply(multiply(self._left, quaternions), self._right)

    def ned_rotations(self, quaternions: ArrayLike) -> FloatArray:
        """Our quaternions (..., 4) from FRD to NED, of the renderer's from its body to its world axes."""
        return multiply(multiply(conjugate(self._left), quaternions), conjugate(self._right))

    def scales(self, scales: ArrayLike) -> FloatArray:
        """Scale factors (..., 3) along the renderer's body axes, of those along forward, right, down."""
        return _apply(scales, np.abs(np.array(self.body)).T)

    def ned_scales(self, scales: ArrayLike) -> FloatArray:
        """Scale factors (..., 3) along forward, right, down, of those along the renderer's body axes."""
        return _apply(scales, np.abs(np.array(self.body)))


def _apply(rows: ArrayLike, matrix: NDArray[Any]) -> FloatArray:
    mapped: FloatArray = as_floats(rows) @ matrix.astype(np.float64)
    return mapped


_FORWARD_LEFT_UP = ((1, 0, 0), (0, -1, 0), (0, 0, -1))
_IDENTITY = ((1, 0, 0), (0, 1, 0), (0, 0, 1))

NED = Axes("ned", _IDENTITY, _IDENTITY)
ENU = Axes("enu", ((0, 1, 0), (1, 0, 0), (0, 0, -1)), _FORWARD_LEFT_UP)
NWU = Axes("nwu", ((1, 0, 0), (0, -1, 0), (0, 0, -1)), _FORWARD_LEFT_UP)
UNREAL = Axes("unreal", ((0, 1, 0), (-1, 0, 0), (0, 0, -1)), ((1, 0, 0), (0, 1, 0), (0, 0, -1)), 100.0)
GLTF = Axes("gltf", ((0, 1, 0), (0, 0, -1), (-1, 0, 0)), ((0, -1, 0), (0, 0, -1), (1, 0, 0)))

AXES = {axes.name: axes for axes in (NED, ENU, NWU, UNREAL, GLTF)}
