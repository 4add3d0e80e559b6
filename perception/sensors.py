"""Sensors that own perception topics: who carries them, where they look from, what they are told.

A `Sensor` of type `lidar` or `perception` (also as the end of a path, `sensors/lidar`) perceives. Its parameters,
all optional:

    channels, horizontal_resolution_deg, vertical_field_of_view_deg, vertical_center_deg    the rays
    mount            {position: [forward, right, down], orientation: [x, y, z, w]} on the sensor's entity
    rate_hz          how often its topics speak, 10 by default
    topic_prefix     stands before its topic names; without it, the first sensor speaks on the plain topics,
                     the others have the name of their ego in front, or else their own
    parameters       topic parameters of its own, in place of those all sensors share
    properties       legacy ObjectController.Properties, weighed against its parameters
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diorama.ecs import Bounds, Entity, Sensor, World
from diorama.geo.arrays import FloatArray
from diorama.geo.axes import ENU
from diorama.geo.rotation import multiply, normalize, rotate
from diorama.perception.parameter_file import parameters_from_dict
from diorama.perception.parameter_keys import channels, field_of_view_deg, is_number, number, resolution_deg
from diorama.perception.parameters import DETECTION_TOPIC, GROUND_TRUTH_TOPIC, Lidar, Parameters
from diorama.perception.visibility import RayGrid, ray_grid
from diorama.schemas.errors import Problem, SceneError

PERCEIVING_TYPES = ("lidar", "perception")
DEFAULT_RATE_HZ = 10.0
_RAYS = ("channels", "horizontal_resolution_deg", "vertical_field_of_view_deg", "vertical_center_deg")
_CHECKS = {
    "vertical_center_deg": number(-90.0, 90.0),
    "channels": channels,
    "number-of-channels": channels,  # Project AirSim's word for it
    "horizontal_resolution_deg": resolution_deg,
    "vertical_field_of_view_deg": field_of_view_deg,
    "rate_hz": number(0.001, 1000.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Perceiver:
    """A sensor that perceives: its entity, the ego that carries it, and everything it goes by."""

    name: str
    entity: Entity
    ego: Entity
    topic_prefix: str
    period_ns: int
    grid: RayGrid
    mount_position: tuple[float, ...]
    mount_orientation: tuple[float, ...]
    parameters: Parameters

    @property
    def detection_topic(self) -> str:
        """The topic of what it detects."""
        return self.topic_prefix + DETECTION_TOPIC

    @property
    def ground_truth_topic(self) -> str:
        """The topic of what there is around it."""
        return self.topic_prefix + GROUND_TRUTH_TOPIC

    @property
    def topics(self) -> list[str]:
        """The topics it speaks on."""
        configured = self.parameters
        detection = [self.detection_topic] if configured.detection else []
        return detection + ([self.ground_truth_topic] if configured.ground_truth else [])

    def pose(self, world: World) -> tuple[FloatArray, FloatArray]:
        """Where the rays start (3,) in the map and the sensor's forward-left-up axes (4,) there."""
        row = world.row(self.entity)
        position, turn = world.poses.position[row], world.poses.orientation[row]
        start = position + rotate(turn, world.poses.scale[row] * np.array(self.mount_position))
        return ENU.points(start), ENU.rotations(multiply(turn, self.mount_orientation))


def perceivers(world: World, shared: Parameters) -> tuple[list[Perceiver], list[Problem]]:
    """Every perceiving sensor of a world that is right, and what is wrong with the others."""
    found: list[Perceiver] = []
    problems: list[Problem] = []
    speakers: dict[str, str] = {}
    for entity, sensor in world.query(Sensor):
        if sensor.type.rpartition("/")[2].lower() not in PERCEIVING_TYPES:
            continue
        name = world.name(entity)
        try:
            perceiver = _perceiver(world, entity, sensor.parameters, shared, set(speakers))
        except SceneError as error:
            problems += [
                replace(item, path=f"sensor {name!r}: {item.path}".rstrip(": ")) for item in error.problems
            ]
            continue
        if taken := [topic for topic in perceiver.topics if topic in speakers]:
            message = f"speaks on {taken[0]}, as {speakers[taken[0]]!r} does; give one another topic_prefix"
            problems.append(Problem(message, f"sensor {name!r}"))
            continue
        found.append(perceiver)
        speakers.update(dict.fromkeys(perceiver.topics, name))
    return found, problems


def attach(world: World, ego: Entity, **parameters: Any) -> Entity:
    """Put a perceiving sensor on top of an entity: a child of it, with the given sensor parameters."""
    bounds = world.try_get(ego, Bounds)
    name = f"{world.name(ego)}/perception"
    return world.spawn(
        name, Sensor(name, "perception", parameters), parent=ego, position=_top(bounds) if bounds else None
    )


def _top(bounds: Bounds) -> FloatArray:
    """The middle of a box's roof, in its entity's forward-right-down axes before scale."""
    return np.array(bounds.center) - [0.0, 0.0, 0.5 * bounds.size[2]]


def _problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    for key, check in _CHECKS.items():
        if key in given and (expected := check(given[key])):
            yield Problem(f"expected {expected}, got {given[key]!r}", key)
    prefix = given.get("topic_prefix", "")
    if not isinstance(prefix, str) or (prefix and (prefix[0] != "/" or prefix[-1] == "/")):
        yield Problem(f"expected a name such as '/ego_2', got {prefix!r}", "topic_prefix")
    mount = given.get("mount", {})
    for key, length in (("position", 3), ("orientation", 4)):
        value = mount.get(key, [1.0] * length) if isinstance(mount, Mapping) else None
        right = isinstance(value, list | tuple) and len(value) == length and all(map(is_number, value))
        if not right or (key == "orientation" and not any(value or ())):
            yield Problem(f"expected {length} numbers, got {value!r}", f"mount.{key}")


def _perceiver(
    world: World, entity: Entity, given: Mapping[str, Any], shared: Parameters, taken: set[str]
) -> Perceiver:
    if problems := list(_problems(given)):
        raise SceneError(problems)
    parameters = shared
    if "parameters" in given or "properties" in given:
        parameters = parameters_from_dict(given.get("parameters", shared.given), given.get("properties"))
    name, ego = world.name(entity), _carrier(world, entity)
    bounds = world.try_get(entity, Bounds)
    mount = given.get("mount", {})
    # A sensor that is an entity of its own sits where it sits; one that is the object itself, on its roof.
    position = mount.get("position", _top(bounds) if bounds else (0.0, 0.0, 0.0))
    turn = mount.get("orientation", (0.0, 0.0, 0.0, 1.0))
    prefixes = [given["topic_prefix"]] if "topic_prefix" in given else ["", f"/{world.name(ego)}", f"/{name}"]
    perceiver = Perceiver(
        name=name,
        entity=entity,
        ego=ego,
        topic_prefix=prefixes[0],
        period_ns=round(1e9 / given.get("rate_hz", DEFAULT_RATE_HZ)),
        grid=ray_grid(_lidar(given, parameters.lidar)),
        mount_position=tuple(map(float, position)),
        mount_orientation=tuple(normalize(turn).tolist()),
        parameters=parameters,
    )
    for prefix in prefixes[1:]:
        if not taken.isdisjoint(perceiver.topics):
            perceiver = replace(perceiver, topic_prefix=prefix)
    return perceiver


def _lidar(given: Mapping[str, Any], usual: Lidar) -> Lidar:
    """The rays a sensor asks for, also in the words of Project AirSim, whose topmost row is not left open."""
    rows = given.get("number-of-channels")
    low, high = given.get("vertical-fov-lower-deg"), given.get("vertical-fov-upper-deg")
    if rows is not None and rows > 1:
        usual = replace(usual, channels=rows)
    if is_number(low) and is_number(high) and low < high:
        field = (high - low) * usual.channels / max(usual.channels - 1, 1)
        usual = replace(usual, vertical_field_of_view_deg=field, vertical_center_deg=low + field / 2)
    return replace(usual, **{key: given[key] for key in _RAYS if key in given})


def _carrier(world: World, entity: Entity) -> Entity:
    """The nearest thing with a box that the sensor is or hangs under; without one, the root it hangs under."""
    ego = entity
    while not world.has(ego, Bounds):
        above = world.parent(ego)
        if above is None:
            break
        ego = above
    return ego
