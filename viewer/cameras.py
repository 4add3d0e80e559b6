"""What the cameras of a scene see: fields of view out of sensor parameters, poses as renderers want them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import atan, isfinite, radians, tan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Sensor, World
from diorama.geo.rotation import multiply, quaternion_from_matrix, rotate

Floats = NDArray[np.float64]
USUAL_FOV_DEG = 90.0
USUAL_RESOLUTION = (16.0, 9.0)
# From a camera's optical axes (right, down, forward) to the body axes that carry it (forward, right, down).
BODY_FROM_OPTICAL = quaternion_from_matrix(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frustum:
    """What a camera sees: vertical field of view (rad), width over height, and the pose of its optical axes (NED)."""

    key: str
    fov: float
    aspect: float
    position: Floats
    w_first: Floats
    length: float


def is_camera(sensor: Sensor) -> bool:
    """Whether a sensor takes pictures."""
    return any(word in sensor.type.lower() for word in ("camera", "rgb", "depth"))


def is_lidar(sensor: Sensor) -> bool:
    """Whether a sensor casts rays."""
    return "lidar" in sensor.type.lower()


def lens(parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Vertical field of view (rad) and width over height; scenes give the horizontal one in degrees.

    Understands the scene document's flat parameters, AeroSim's inside `RGBCamera`, and Project AirSim's
    `capture-settings`.
    """
    inner = parameters.get("RGBCamera", parameters)
    captures = inner.get("capture-settings") if isinstance(inner, Mapping) else None
    if isinstance(captures, list) and captures:
        inner = captures[0]
    if not isinstance(inner, Mapping):
        inner = {}
    fov = _number(inner.get("fov", inner.get("fov-degrees")), USUAL_FOV_DEG)
    size = inner.get("resolution", (inner.get("width"), inner.get("height")))
    pair = (size.get("x"), size.get("y")) if isinstance(size, Mapping) else tuple(size or ())
    width, height = (
        _number(value, usual) for value, usual in zip((*pair, 0, 0)[:2], USUAL_RESOLUTION, strict=True)
    )
    horizontal = radians(min(max(fov, 1.0), 170.0))
    return 2.0 * atan(tan(0.5 * horizontal) * height / width), width / height


def frustum_of(world: World, entity: Entity, origin: Floats, length: float, ahead: float = 0.0) -> Frustum:
    """The frustum of a camera, relative to a centre (NED m), `ahead` metres before the camera."""
    fov, aspect = lens(world.get(entity, Sensor).parameters)
    pose = world.table.pose[world.row(entity)]
    turn = multiply(pose[3:7], BODY_FROM_OPTICAL)
    return Frustum(
        key=str(entity),
        fov=fov,
        aspect=aspect,
        position=pose[0:3] + rotate(pose[3:7], np.array([ahead, 0.0, 0.0])) - origin,
        w_first=turn[[3, 0, 1, 2]],
        length=length,
    )


def _number(value: Any, usual: float) -> float:
    good = isinstance(value, int | float) and isfinite(value) and value > 0
    return float(value) if good else usual
