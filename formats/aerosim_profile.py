"""AeroSim's own encoding of the scene document, as its renderers expect it: chosen by name, never guessed.

It differs from ours in that

- a quaternion is no rotation but an encoding of three angles: yaw about x, pitch about y, roll about z;
- effectors say `effector_id` and `relative_path`, and know no nesting;
- sensor parameters stand inside the name of their variant, with the resolution as a list;
- a message is JSON text inside a JSON string, in an envelope with topic, type and time stamps.

Its `world_coordinate` is written right here, and ignored when read: AeroSim computes it from a wrong origin.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import Effector, Sensor, World
from diorama.ecs.locate import earth_of
from diorama.ecs.tree import local_from_world
from diorama.formats.aerosim_batch import Batch
from diorama.formats.aerosim_careful import VARIANTS
from diorama.formats.aerosim_write import Mount, document, mounts_of, pose_document
from diorama.formats.findings import MISSING, Findings, is_number
from diorama.geo.rotation import conjugate, quaternion_from_rpy, rpy_from_quaternion
from diorama.schemas.errors import DioramaError

Floats = NDArray[np.float64]
PROFILES = ("aerosim", "aerosim-message")
UPDATE_TOPIC = "aerosim.scene_graph.update"
# All groups are there, in this order, even when nobody has them.
GROUPS = (
    "actor_properties",
    "actor_state",
    "sensor",
    "effectors",
    "primary_flight_display_state",
    "trajectory",
)
# Our sensor type, AeroSim's type, and the variant its parameters are wrapped in with what it cannot do without.
SENSORS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "rgb_camera": (
        "sensors/cameras/rgb_camera",
        "RGBCamera",
        {
            "resolution": [1920, 1080],
            "tick_rate": 0.02,
            "fov": 90.0,
            "near_clip": 0.1,
            "far_clip": 1000.0,
            "capture_enabled": False,
        },
    ),
    "depth_sensor": (
        "sensors/depth_sensor",
        "DepthSensor",
        {"tick_rate": 0.02, "resolution": [1920, 1080], "fov": 90.0, "near_clip": 0.1, "far_clip": 1000.0},
    ),
}
OUR_TYPE = {theirs: ours for ours, (theirs, _, _) in SENSORS.items()}
# The second a time stamp has when there is no simulated time.
UNSET_SECOND = -(2**31)


def check_profile(profile: str | None) -> None:
    """Refuse a profile nobody knows."""
    if profile is not None and profile not in PROFILES:
        raise DioramaError(f"profile: expected one of {', '.join(PROFILES)}, got {profile!r}")


def wire_from_quaternion(quaternion: ArrayLike) -> Floats:
    """AeroSim's encoding (..., 4) of rotations (..., 4), both xyzw: qx(yaw) qy(pitch) qz(roll)."""
    angles = rpy_from_quaternion(quaternion)
    return conjugate(quaternion_from_rpy(-angles))[..., [2, 1, 0, 3]]


def quaternion_from_wire(wire: ArrayLike) -> Floats:
    """Rotations (..., 4) of AeroSim's encoding (..., 4), both xyzw."""
    swapped = np.asarray(wire, np.float64)[..., [2, 1, 0, 3]]
    return quaternion_from_rpy(-rpy_from_quaternion(conjugate(swapped)))


def profile_document(world: World) -> dict[str, Any]:
    """The scene document of a settled world in AeroSim's encoding. The world must have an origin."""
    earth_of(world)
    mounts = mounts_of(world)
    written = document(world)
    components = {**{group: {} for group in GROUPS}, **written["components"]}
    poses = _flat_poses(world, mounts)
    actors = [entity for entity in world.entities.tolist() if entity not in mounts]
    for entity in actors:
        key = world.key(entity)
        components["actor_state"][key]["pose"] = pose_document(poses[entity])
        parent = world.parent(entity)
        if parent is not None and parent in mounts:
            components["actor_properties"][key]["parent"] = world.key(mounts[parent].owner)
        sensor = world.try_get(entity, Sensor)
        if sensor is not None:
            components["sensor"][key] = _sensor_document(sensor)
            properties = components["actor_properties"][key]
            properties["actor_asset"] = properties["actor_asset"] or _their_type(sensor.type)
    components["effectors"] = {}
    for entity, mount in mounts.items():
        effector = world.get(entity, Effector)
        components["effectors"].setdefault(world.key(mount.owner), []).append(
            {
                "effector_id": effector.id,
                "relative_path": effector.path,
                "pose": pose_document(poses[entity]),
            }
        )
    keys = [world.key(entity) for entity in actors]
    # Their renderer stops at an entity without properties: what effectors carry beyond their pose stays here.
    components = {
        group: {key: members[key] for key in keys if key in members} for group, members in components.items()
    }
    listed = {key: [group for group in components if key in components[group]] for key in keys}
    resources = {"weather": {"preset": "Cloudy"}, "viewport_configs": [], **written["resources"]}
    resources["origin"].pop("ellipsoid", None)
    return {"entities": listed, "resources": resources, "components": components}


def message(
    content: Mapping[str, Any],
    *,
    topic: str = UPDATE_TOPIC,
    time_ns: int | None = None,
    platform_time_ns: int = 0,
) -> bytes:
    """A document as the message that AeroSim's orchestrator sends to renderers; times in nanoseconds."""
    sim = {"sec": UNSET_SECOND, "nanosec": 0} if time_ns is None else stamp(time_ns)
    return orjson.dumps(
        {
            "metadata": {
                "topic": topic,
                "type_name": "aerosim::types::JsonData",
                "timestamp_sim": sim,
                "timestamp_platform": stamp(platform_time_ns),
            },
            "data": {"data": orjson.dumps(content).decode()},
        }
    )


def is_message(value: Any) -> bool:
    """Whether a JSON value is a document in its envelope."""
    return isinstance(value, dict) and {"metadata", "data"} <= value.keys()


def open_message(value: dict[str, Any], findings: Findings) -> Any:
    """The document inside an envelope, or inside the command that loads it."""
    text = findings.text_at(findings.object_at(value, "data", ()), "data", ("data",))
    if findings.errors:
        return {}
    try:
        inner = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        findings.wrong(("data", "data"), f"expected JSON text: {error}")
        return {}
    if isinstance(inner, dict) and inner.get("command") == "load_scene_graph":
        return findings.object_at(findings.object_at(inner, "parameters", ()), "scene_graph", ("parameters",))
    return inner


def decode_batch(batch: Batch) -> None:
    """Turn what a document of AeroSim's encoding says into ours, in place."""
    turned = np.any(batch.poses[:, 3:7] != 0.0, axis=1)  # a zero quaternion is for the checks that follow
    batch.poses[turned, 3:7] = quaternion_from_wire(batch.poses[turned, 3:7])
    if batch.origin_lla is not None:
        batch.coordinates[:, 12:18] = np.nan
    for index, key in enumerate(batch.keys):
        for number, value in enumerate(batch.components.get(key, ())):
            if isinstance(value, Sensor):
                batch.components[key][number] = our_sensor(value)
                if batch.assets[index] == value.type:
                    batch.assets[index] = ""


def our_sensor(sensor: Sensor) -> Sensor:
    """A sensor with our name for its type, and the resolution as x and y."""
    parameters = dict(sensor.parameters)
    resolution = parameters.get("resolution", MISSING)
    if isinstance(resolution, list) and len(resolution) == 2 and all(map(is_number, resolution)):
        parameters["resolution"] = {"x": resolution[0], "y": resolution[1]}
    return Sensor(sensor.name, OUR_TYPE.get(sensor.type, sensor.type), parameters)


def looks_like_aerosim(value: Any) -> bool:
    """Whether a document has the spellings that only AeroSim's own code writes."""
    components = value.get("components") if isinstance(value, dict) else None
    if not isinstance(components, dict):
        return False
    effectors, sensors = (components.get(group, {}) for group in ("effectors", "sensor"))
    text = orjson.dumps([effectors, sensors]) if effectors or sensors else b""
    wrapped = (f'"sensor_parameters":{{"{variant}":'.encode() for variant in VARIANTS)
    return b'"effector_id":' in text or any(spelling in text for spelling in wrapped)


def _flat_poses(world: World, mounts: Mapping[int, Mount]) -> dict[int, list[float]]:
    """The ten numbers of every entity in their encoding, relative to its nearest parent that is no effector."""
    entities: list[int] = world.entities.tolist()
    values = world.table.local[world.rows(entities)]
    for number, entity in enumerate(entities):
        parent = world.parent(entity)
        if parent is not None and parent in mounts:
            owner_row = world.row(mounts[parent].owner)
            values[number] = local_from_world(world, [world.row(entity)], owner_row)[0]
    values[:, 3:7] = wire_from_quaternion(values[:, 3:7])
    return dict(zip(entities, values.tolist(), strict=True))


def _their_type(kind: str) -> str:
    return SENSORS[kind][0] if kind in SENSORS else kind


def _sensor_document(sensor: Sensor) -> dict[str, Any]:
    parameters: dict[str, Any] = dict(sensor.parameters)
    kind = OUR_TYPE.get(sensor.type, sensor.type)
    if kind in SENSORS:
        _, variant, defaults = SENSORS[kind]
        resolution = parameters.get("resolution")
        if isinstance(resolution, Mapping) and resolution.keys() == {"x", "y"}:
            parameters["resolution"] = [resolution["x"], resolution["y"]]
        parameters = {variant: {**defaults, **parameters}}
    return {
        "sensor_name": sensor.name,
        "sensor_type": _their_type(sensor.type),
        "sensor_parameters": parameters,
    }


def stamp(time_ns: int) -> dict[str, int]:
    """A time in nanoseconds as AeroSim writes it."""
    second, nanosecond = divmod(time_ns, 1_000_000_000)
    return {"sec": second, "nanosec": nanosecond}
