"""Read AeroSim's sim_config.json: the world its orchestrator would start from.

Actors and then sensors become `entity_0`, `entity_1`, ... in the order of the file, as AeroSim numbers them. Rotations
are roll, pitch, yaw in degrees; parents are named by name. What only a running AeroSim needs (topics, models) is
kept as it is: in the group `sim_config` of an actor, in the resource `sim_config` of the scene.
"""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from diorama.ecs import Effector, Sensor, World
from diorama.formats import jsonc
from diorama.formats.aerosim_batch import Batch, world_from_batch
from diorama.formats.aerosim_profile import our_sensor
from diorama.formats.files import read_file
from diorama.formats.findings import Findings
from diorama.geo import quaternion_from_rpy
from diorama.schemas.errors import Problem

_LLA = ("latitude", "longitude", "altitude")
_ACTOR_KEYS = ("actor_name", "actor_asset", "parent", "transform", "effectors")
# What a flight display shows before anybody flies, and a trajectory before anybody draws.
_DISPLAY = {
    **dict.fromkeys(
        ("airspeed_kts", "true_airspeed_kts", "altitude_ft", "target_altitude_ft", "vertical_speed_fpm"), 0.0
    ),
    **dict.fromkeys(("pitch_deg", "roll_deg", "side_slip_fps2", "heading_deg"), 0.0),
    **dict.fromkeys(("hsi_course_select_heading_deg", "hsi_course_deviation_deg"), 0.0),
    "altimeter_pressure_setting_inhg": 29.92,
    "hsi_mode": 0,
}
_TRAJECTORY = {
    "settings": {
        "display_future_trajectory": False,
        "display_past_trajectory": False,
        "highlight_user_defined_waypoints": False,
        "number_of_future_waypoints": 1,
    },
    "user_defined_waypoints": {"waypoints": []},
    "future_trajectory": {"waypoints": []},
}


def read(path: str | Path, *, warnings: list[Problem]) -> World:
    """The world of a sim_config.json; SceneError holds everything that is wrong with it."""
    return parse(read_file(path), str(path), warnings=warnings)


def parse(data: bytes, file: str = "", *, warnings: list[Problem] | None = None) -> World:
    """The same from bytes."""
    written = jsonc.parse(data, file)
    findings = Findings()
    batch = Batch()
    top = findings.as_object(written.value, ())
    described = findings.object_at(top, "world", ())
    place = ("world",)
    origin = findings.object_at(described, "origin", place)
    if "origin" in described:
        batch.origin_lla = [findings.number_at(origin, name, (*place, "origin")) for name in _LLA]
    poses: list[list[float]] = []
    places: list[jsonc.Path] = []
    effectors: list[tuple[str, str, Any, jsonc.Path]] = []
    for number, value in enumerate(findings.list_at(described, "actors", place)):
        here = (*place, "actors", number)
        actor = findings.as_object(value, here)
        key = _add(batch, findings.text_at(actor, "actor_name", here), places, here)
        batch.assets.append(findings.text_at(actor, "actor_asset", here))
        batch.parents.append(findings.text_at(actor, "parent", here))
        poses.append(_pose(actor, here, findings))
        if "effectors" in actor:
            effectors.append((key, batch.names[-1], actor["effectors"], (*here, "effectors")))
        _add_groups(actor, key, batch)
    for number, value in enumerate(findings.list_at(described, "sensors", place)):
        here = (*place, "sensors", number)
        sensor = findings.as_object(value, here)
        key = _add(batch, findings.text_at(sensor, "sensor_name", here), places, here)
        batch.assets.append("")
        batch.parents.append(findings.text_at(sensor, "parent", here))
        poses.append(_pose(sensor, here, findings))
        parameters = findings.object_at(sensor, "parameters", here)
        kind = findings.text_at(sensor, "type", here)
        batch.components[key] = [our_sensor(Sensor(batch.names[-1], kind, parameters))]
    _resolve_parents(batch, places, findings)
    for owner, owner_name, them, spot in effectors:
        _add_effectors(owner, owner_name, findings.as_list(them, spot), spot, batch, poses, findings)
    batch.poses = np.array(poses, np.float64).reshape(-1, 10)
    batch.resources = _resources(top, described, batch, findings)
    for index, found in enumerate(places):
        batch.places.setdefault(index, found)
    world = world_from_batch(batch, findings)
    findings.settle(written, [] if warnings is None else warnings)
    return world


def _add(batch: Batch, name: str, places: list[jsonc.Path], here: jsonc.Path) -> str:
    key = f"entity_{len(batch.keys)}"
    batch.keys.append(key)
    batch.names.append(name or key)
    places.append(here)
    return key


def _pose(holder: dict[str, Any], here: jsonc.Path, findings: Findings) -> list[float]:
    """Ten numbers of a `transform`: position (or translation), roll-pitch-yaw in degrees, scale (1 if left out)."""
    transform = findings.object_at(holder, "transform", here)
    if not isinstance(holder.get("transform"), dict):
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    here = (*here, "transform")
    findings.known_keys(transform, ("position", "translation", "rotation", "scale"), here)
    position = findings.row_at(
        transform, "translation" if "translation" in transform else "position", 3, here
    )
    rotation_deg = findings.row_at(transform, "rotation", 3, here)
    scale = findings.row_at(transform, "scale", 3, here) if "scale" in transform else [1.0, 1.0, 1.0]
    return [*position, *quaternion_from_rpy(np.radians(rotation_deg)).tolist(), *scale]


def _resolve_parents(batch: Batch, places: list[jsonc.Path], findings: Findings) -> None:
    """Parents are named by name here; a world wants keys."""
    key_of = {"": "", **dict(zip(batch.names, batch.keys, strict=True))}
    for index, name in enumerate(batch.parents):
        if name not in key_of:
            message = f"no actor is named {name!r}{findings.hint(name, batch.names)}"
            findings.wrong((*places[index], "parent"), message)
        batch.parents[index] = key_of.get(name, "")


def _add_effectors(
    owner: str,
    owner_name: str,
    effectors: list[Any],
    here: jsonc.Path,
    batch: Batch,
    poses: list[list[float]],
    findings: Findings,
) -> None:
    for number, value in enumerate(effectors):
        place = (*here, number)
        effector = findings.as_object(value, place)
        name = findings.text_at(effector, "id", place)
        key = f"{owner}/{name}"
        batch.places[len(batch.keys)] = place
        batch.keys.append(key)
        batch.names.append(f"{owner_name}/{name}")
        batch.assets.append("")
        batch.parents.append(owner)
        batch.components[key] = [Effector(name, findings.text_at(effector, "relative_path", place))]
        if "state" in effector:
            batch.groups.append((key, "sim_config", {"state": effector["state"]}))
        poses.append(_pose(effector, place, findings))


def _add_groups(actor: dict[str, Any], key: str, batch: Batch) -> None:
    if actor.get("flight_deck"):
        batch.groups.append((key, "primary_flight_display_state", {"pfd_data": dict(_DISPLAY)}))
    if actor.get("trajectory_visualization"):
        batch.groups.append((key, "trajectory", {"parameters": deepcopy(_TRAJECTORY)}))
    kept = {name: value for name, value in actor.items() if name not in _ACTOR_KEYS}
    if kept:
        batch.groups.append((key, "sim_config", kept))


def _resources(
    top: dict[str, Any], described: dict[str, Any], batch: Batch, findings: Findings
) -> dict[str, Any]:
    """Weather, clock, viewports, and the rest of the file as it is."""
    resources: dict[str, Any] = {}
    if "weather" in described:
        resources["weather"] = findings.object_at(described, "weather", ("world",))
    if "clock" in top:
        resources["clock"] = clock = findings.object_at(top, "clock", ())
        if findings.number_at(clock, "step_size_ms", ("clock",)) <= 0.0:
            findings.wrong(("clock", "step_size_ms"), "expected a step above 0 ms")
    if "renderers" in top:
        resources["viewport_configs"] = _viewports(findings.list_at(top, "renderers", ()), batch, findings)
    kept = {name: value for name, value in top.items() if name not in ("world", "clock", "renderers")}
    if "update_interval_ms" in described:
        kept["update_interval_ms"] = described["update_interval_ms"]
    if kept:
        resources["sim_config"] = kept
    return resources


def _viewports(renderers: list[Any], batch: Batch, findings: Findings) -> list[dict[str, Any]]:
    key_of = dict(zip(batch.names, batch.keys, strict=True))
    viewports = []
    for number, value in enumerate(renderers):
        here = ("renderers", number)
        renderer = findings.as_object(value, here)
        instance = findings.text_at(renderer, "renderer_id", here)
        camera = ""
        if "viewport_config" in renderer:
            here_too = (*here, "viewport_config")
            camera = findings.text_at(
                findings.as_object(renderer["viewport_config"], here_too), "active_camera", here_too
            )
            if camera and camera not in key_of:
                message = f"no sensor is named {camera!r}{findings.hint(camera, key_of)}; this viewport has no camera"
                findings.odd((*here_too, "active_camera"), message)
        viewports.append({"renderer_instance": instance, "active_camera": key_of.get(camera, "")})
    return viewports
