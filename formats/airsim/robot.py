"""Robot and environment-actor files: links, joints, actuators, sensors and controllers as a tree of nodes.

robot ─┬─ root link ─┬─ joint ── link ── ...        a link stands at its visual (or else inertial) origin
       │             └─ sensor                      a sensor at its origin in its link
       ├─ actuator (an effector)                    at its origin in the robot
       └─ controller
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import radians, tau
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Effector, Sensor
from diorama.ecs.motion import Spin
from diorama.formats.airsim.components import Actuator, Controller, Joint, Link
from diorama.formats.airsim.fields import (
    AT,
    MISSING,
    Form,
    Source,
    choice,
    group,
    items,
    located,
    plain,
    read_object,
    shown,
)
from diorama.formats.airsim.files import merge, value_at
from diorama.formats.airsim.keys import ACTUATOR, CONTROLLER, ENV_LINK, JOINT, LINK, SCRIPT
from diorama.formats.airsim.poses import IDENTITY, Pose, read_pose
from diorama.formats.airsim.sensor_keys import SENSORS
from diorama.formats.jsonc import Path
from diorama.geo.rotation import multiply
from diorama.schemas.errors import did_you_mean

STANDARD_AXES = {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)}
CONTROLLERS = (
    *("simple-flight-api", "simple-drive-api", "px4-api"),
    *("ardupilot-api", "manual-controller-api", "matlab-controller-api"),
)
PHYSICS = ("non-physics", "fast-physics", "matlab-physics", "unreal-physics")
GRAVITY = 9.80665  # m/s²


@dataclass(slots=True)
class Node:
    """One entity below the actor; `parent` is an index into the blueprint's nodes, -1 for the actor itself."""

    name: str
    kind: str
    parent: int = -1
    pose: Pose = IDENTITY
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    asset: str = ""
    components: tuple[object, ...] = ()


@dataclass(slots=True)
class Blueprint:
    """What every actor with the same config is made of."""

    nodes: list[Node] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    script: dict[str, Any] = field(default_factory=dict)
    arrays: tuple[NDArray[np.float64], ...] = ()
    components: list[tuple[int, tuple[object, ...]]] = field(default_factory=list)

    @property
    def mass(self) -> float:
        """Of all links together, kg."""
        return sum(part.mass for node in self.nodes for part in node.components if isinstance(part, Link))

    def seal(self) -> "Blueprint":
        """Give names that are unique in the robot, and gather the nodes' poses for spawning in bulk."""
        taken = Counter(node.name for node in self.nodes)
        for node in self.nodes:
            if taken[node.name] > 1 and node.kind != "link":
                node.name = f"{node.kind}s/{node.name}"
        self.arrays = (
            np.array([node.pose.position for node in self.nodes], np.float64).reshape(-1, 3),
            np.array([node.pose.orientation for node in self.nodes], np.float64).reshape(-1, 4),
            np.array([node.scale for node in self.nodes], np.float64).reshape(-1, 3),
            np.array([node.parent for node in self.nodes], np.int64),
        )
        self.components = [
            (index, node.components) for index, node in enumerate(self.nodes) if node.components
        ]
        return self


def _sensor(source: Source, path: Path, value: Any) -> Any:
    if not isinstance(value, dict):
        return source.error(path, f"expected an object, got {shown(value)}")
    kind = choice(*SENSORS)(source, (*path, "type"), value["type"]) if "type" in value else MISSING
    if "type" not in value:
        source.error(path, "'type' is missing")
    if "id" not in value:
        source.error(path, "'id' is missing")
    return MISSING if kind is MISSING else read_object(source, path, value, SENSORS[kind])


ROBOT = Form(
    {
        "physics-type": choice(*PHYSICS),
        "links": items(located(group(LINK))),
        "joints": items(located(group(JOINT))),
        "controller": located(group(CONTROLLER)),
        "actuators": items(located(group(ACTUATOR))),
        "sensors": items(located(_sensor)),
    }
)
ENV_ACTOR_CONFIG = Form(
    {
        "links": items(located(group(ENV_LINK))),
        "joints": items(located(group(JOINT))),
        "script": located(group(SCRIPT)),
    }
)


def read_blueprint(parts: list[tuple[Source, Path]], form: Form) -> Blueprint:
    """The tree of a config given by one document or several laid over each other."""
    merged: Any = MISSING
    for source, path in parts:
        merged = merge(merged, read_object(source, path, value_at(source.document, path), form))
    blueprint = Blueprint()
    if merged is MISSING or not parts:
        return blueprint
    source, path = parts[0]
    links = _by_name(merged.get("links", []), "name", "a link")
    if not links:
        if form is ROBOT:
            source.error((*path, "links"), "a robot needs at least one link")
        else:
            source.warn((*path, "links"), "without links there is nothing to be seen")
    places = _links_and_joints(blueprint, links, merged.get("joints", []))
    _sensors(blueprint, merged.get("sensors", []), places)
    _actuators(blueprint, merged.get("actuators", []), places)
    _controller(blueprint, merged.get("controller"))
    known = {"links", "joints", "sensors", "actuators", "controller", "script"}
    blueprint.settings = {
        key: value for key, value in merged.items() if key not in known and not key.startswith("$")
    }
    blueprint.script = merged.get("script", {})
    return blueprint.seal()


def _by_name(found: Iterable[dict[str, Any]], key: str, what: str) -> dict[str, dict[str, Any]]:
    """Items by their name; a name used twice is an error."""
    named: dict[str, dict[str, Any]] = {}
    for item in found:
        if key not in item:
            continue
        if item[key] in named:
            source, path = item[AT]
            source.error((*path, key), f"there is already {what} named {item[key]!r}")
        else:
            named[item[key]] = item
    return named


def _links_and_joints(
    blueprint: Blueprint, links: dict[str, dict[str, Any]], joints: list[dict[str, Any]]
) -> dict[str, int]:
    """Nodes for all links, parents first, each behind its joint; returns the index of each link's node."""
    joint_of: dict[str, dict[str, Any]] = {}  # by child
    for joint in _by_name(joints, "id", "a joint").values():
        source, path = joint[AT]
        _check_axis(joint)
        ends = [joint.get("parent-link"), joint.get("child-link")]
        for key, name in zip(("parent-link", "child-link"), ends, strict=True):
            if name is not None and name not in links:
                source.error((*path, key), f"no link is named {name!r}{did_you_mean(name, links)}")
        child = joint.get("child-link", "")
        if child in joint_of:
            other = joint_of[child]["id"]
            source.error((*path, "child-link"), f"link {child!r} is the child of joint {other!r} already")
        elif all(name in links for name in ends):
            joint_of[child] = joint
    children: dict[str, list[str]] = {name: [] for name in links}
    for name in links:
        above = joint_of[name]["parent-link"] if name in joint_of else links[name].get("parent-link")
        if above in links:
            children[above].append(name)
    hung = {name for found in children.values() for name in found}
    roots = [name for name in links if name not in hung]
    for name in roots[1:]:
        source, path = links[name][AT]
        if not any(other.get("child-link") == name for other in joints):
            source.warn(path, f"link {name!r} is joined to no other; it hangs under the actor")
    places: dict[str, int] = {}
    pending = list(reversed(roots))
    while pending:
        name = pending.pop()
        _link(blueprint, links[name], joint_of.get(name), places, links)
        pending.extend(reversed(children[name]))
    for name in links.keys() - places.keys():
        source, path = links[name][AT]
        source.error(path, f"link {name!r}: its joints go in a circle")
    return places


def _check_axis(joint: dict[str, Any]) -> None:
    source, path = joint[AT]
    axis = joint.get("axis")
    if axis is None:
        note: Callable[..., Any] = source.warn if joint.get("type") == "fixed" else source.error
        note(path, "'axis' is missing; Project AirSim refuses the joint without it")
    elif axis not in STANDARD_AXES:
        source.error(
            (*path, "axis"),
            'expected "1 0 0", "0 1 0" or "0 0 1", got ' + shown(" ".join(f"{x:g}" for x in axis)),
        )


def _link(
    blueprint: Blueprint,
    link: dict[str, Any],
    joint: dict[str, Any] | None,
    places: dict[str, int],
    links: dict[str, dict[str, Any]],
) -> None:
    source, path = link[AT]
    above = joint["parent-link"] if joint else link.get("parent-link", "")
    parent = places.get(above, -1)
    if joint is not None:
        joint_source, joint_path = joint[AT]
        pose = read_pose(joint_source, (*joint_path, "origin"), joint.get("origin"))
        held = Joint(joint.get("type", "fixed"), plain(joint, "id", "type", "origin"))
        blueprint.nodes.append(Node(joint["id"], "joint", parent, pose, components=(held,)))
        parent = len(blueprint.nodes) - 1
    visual, inertial = link.get("visual", {}), link.get("inertial", {})
    part = "visual" if "origin" in visual else "inertial"
    pose = read_pose(
        source, (*path, part, "origin"), (visual if part == "visual" else inertial).get("origin")
    )
    components: list[object] = [Link(inertial.get("mass", 0.0), plain(link, "name"))]
    pose, spin = _turned(link, pose, {} if above == link.get("parent-link") else links)
    if spin is not None:
        components.append(spin)
    asset, scale = read_geometry(source, (*path, "visual"), visual)
    places[link["name"]] = len(blueprint.nodes)
    blueprint.nodes.append(Node(link["name"], "link", parent, pose, scale, asset, tuple(components)))


def read_geometry(
    source: Source, path: Path, visual: dict[str, Any]
) -> tuple[str, tuple[float, float, float]]:
    """The asset and the scale of a checked `visual`."""
    geometry = visual.get("geometry")
    if geometry is None:
        return "", (1.0, 1.0, 1.0)
    key = "file_name" if geometry.get("type") == "file_mesh" else "name"
    if "type" in geometry and key not in geometry:
        source.error((*path, "geometry"), f"{key!r} is missing")
    return geometry.get(key, ""), geometry.get("scale", (1.0, 1.0, 1.0))


def _turned(link: dict[str, Any], pose: Pose, links: dict[str, dict[str, Any]]) -> tuple[Pose, Spin | None]:
    """The link's pose turned by its own and its parent link's initial angle, and the spin of a turning link.

    A link that hangs on its parent link turns with it anyway; one that a joint holds to another turns by itself.
    """
    if "axis" not in link and "parent-link" not in link:
        return pose, None
    orientation = np.array(pose.orientation)
    above = links.get(link.get("parent-link", ""), {})
    if "axis" in above and above.get("initial-angle"):
        orientation = multiply(_about(above["axis"], radians(above["initial-angle"])), orientation)
    spin = None
    if "axis" in link:
        if "initial-angle" in link:
            orientation = multiply(orientation, _about(link["axis"], radians(link["initial-angle"])))
        elif "revolutions-per-sec" in link:
            spin = Spin(tau * link["revolutions-per-sec"], link["axis"])
    x, y, z, w = orientation.tolist()
    return Pose(pose.position, (x, y, z, w)), spin


def _about(axis: tuple[float, float, float], angle: float) -> NDArray[np.float64]:
    length = float(np.linalg.norm(axis)) or 1.0
    return np.array([*(np.sin(angle / 2) * np.array(axis) / length), np.cos(angle / 2)])


def _sensors(blueprint: Blueprint, sensors: list[dict[str, Any]], places: dict[str, int]) -> None:
    for sensor in _by_name(sensors, "id", "a sensor").values():
        source, path = sensor[AT]
        parent = sensor.get("parent-link", "")
        if parent not in places:
            root = next(iter(places), "")
            known = (
                f"no link is named {parent!r}{did_you_mean(parent, places)}" if parent else "no link is given"
            )
            source.warn((*path, "parent-link"), f"{known}; the sensor is put on {root!r}")
            parent = root
        origin = sensor.get("origin")
        pose = read_pose(source, (*path, "origin"), origin)
        if origin is None and sensor["type"] in ("lidar", "distance-sensor"):
            pose = Pose((0.0, 0.0, -1.0))
        parameters = plain(sensor, "id", "type", "parent-link", "origin")
        node = Node(sensor["id"], "sensor", places.get(parent, -1), pose)
        node.components = (Sensor(sensor["id"], sensor["type"], parameters),)
        blueprint.nodes.append(node)


def _actuators(blueprint: Blueprint, actuators: list[dict[str, Any]], places: dict[str, int]) -> None:
    named = _by_name(actuators, "name", "an actuator")
    rotors = [name for name, actuator in named.items() if actuator.get("type") == "rotor"]
    for name, actuator in named.items():
        source, path = actuator[AT]
        for key in ("parent-link", "child-link"):
            link = actuator.get(key, "")
            if link and link not in places:
                source.warn((*path, key), f"no link is named {link!r}{did_you_mean(link, places)}")
        kind = actuator.get("type", "")
        settings = actuator.get(f"{kind}-settings", {})
        if kind == "tilt" and "target" in settings and settings["target"] not in rotors:
            target = settings["target"]
            hint = did_you_mean(target, rotors)
            source.error((*path, "tilt-settings", "target"), f"no rotor is named {target!r}{hint}")
        elif kind == "tilt" and "tilt-settings" not in actuator:
            source.error(path, "'tilt-settings' is missing")
        child = actuator.get("child-link", "")
        link = child if child in places else ""
        components: list[object] = [
            Effector(name, child),
            Actuator(kind, actuator.get("enabled", True), link, plain(settings)),
        ]
        if kind == "rotor":
            spin = Spin(0.0, _rotor_axis(settings))
            components.append(spin)
            if link:
                blueprint.nodes[places[link]].components += (spin,)
        pose = read_pose(source, (*path, "origin"), actuator.get("origin"))
        blueprint.nodes.append(Node(name, "actuator", -1, pose, components=tuple(components)))


def _rotor_axis(settings: dict[str, Any]) -> tuple[float, float, float]:
    """About which a rotor turns right-handed: its normal points up, and clockwise is as seen from above."""
    x, y, z = settings.get("normal-vector", (0.0, 0.0, -1.0))
    return (x, y, z) if settings.get("turning-direction") == "counter-clock-wise" else (-x, -y, -z)


def _controller(blueprint: Blueprint, controller: dict[str, Any] | None) -> None:
    if not controller:
        return
    source, path = controller[AT]
    kind = controller.get("type", "")
    if kind and kind not in CONTROLLERS:
        source.warn(
            (*path, "type"), f"Project AirSim knows no controller {kind!r}{did_you_mean(kind, CONTROLLERS)}"
        )
    actuators = [node.name for node in blueprint.nodes if node.kind == "actuator"]
    order = controller.get("simple-flight-api-settings", {}).get("actuator-order", [])
    for index, entry in enumerate(order):
        if entry.get("id", actuators) not in (*actuators, actuators):
            place = (*path, "simple-flight-api-settings", "actuator-order", index, "id")
            source.error(place, f"no actuator is named {entry['id']!r}{did_you_mean(entry['id'], actuators)}")
    name = controller.get("id", "controller")
    blueprint.nodes.append(
        Node(name, "controller", components=(Controller(kind, plain(controller, "id", "type")),))
    )
