"""Read a scene document part by part, noting everything that is wrong with it.

Takes every spelling in use: effectors with `id`/`usd_relative_path` or `effector_id`/`relative_path`, sensors under
`sensor` or `sensors`, sensor parameters flat or inside their variant's name, `world_coordinate` beside `pose` or in it.
"""

import re
from typing import Any

import msgspec
import numpy as np

from diorama.ecs import Effector, Sensor
from diorama.ecs.components import GROUPS, component_from_json, keys_of
from diorama.formats.aerosim_batch import COORDINATE_KEYS, Batch
from diorama.formats.findings import MISSING, Findings, is_number, shown
from diorama.formats.jsonc import Path

OWN_GROUPS = ("actor_properties", "actor_state")
ALIASES = {"sensors": "sensor"}
# AeroSim wraps the parameters of a sensor in the name of its variant.
VARIANTS = ("RGBCamera", "DepthSensor")
_XYZ = ("x", "y", "z")
_XYZW = ("x", "y", "z", "w")
_EFFECTOR_KEYS = ("id", "effector_id", "usd_relative_path", "relative_path", "pose")
# Ours: an effector below another one, and an effector with an id, a name or an asset of its own.
_EFFECTOR_EXTRAS = ("parent", "entity", "actor_name", "actor_asset")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def batch_from_json(value: Any, findings: Findings) -> Batch:
    """What a document says, as far as it can be understood."""
    top = findings.as_object(value, (), what="a scene document: an object with entities and components")
    findings.known_keys(top, ("entities", "components", "resources"), ())
    batch = Batch()
    entities = findings.object_at(top, "entities", ())
    components = {
        group: findings.as_object(members, ("components", group))
        for group, members in findings.object_at(top, "components", ()).items()
    }
    _check_agreement(entities, components, findings)
    if "resources" in top:
        read_resources(findings.as_object(top["resources"], ("resources",)), batch, findings)
    poses = _read_actors(entities, components, batch, findings)
    names = dict(zip(batch.keys, batch.names, strict=True))
    for owner, effectors in components.get("effectors", {}).items():
        if owner in entities:
            place = ("components", "effectors", owner)
            _read_effectors(owner, names.get(owner, owner), effectors, place, batch, poses, findings)
    batch.poses = np.array(poses, np.float64).reshape(-1, 10)
    _check_listed(entities, batch, findings)
    known = set(batch.keys)
    for group, members in components.items():
        if group not in (*OWN_GROUPS, "effectors"):
            for key, content in members.items():
                if key in known:
                    read_group(key, group, content, batch, findings)
    return batch


def _check_agreement(
    entities: dict[str, Any], components: dict[str, dict[str, Any]], findings: Findings
) -> None:
    """The lists in `entities` and the members of `components` must say the same."""
    listed: dict[str, set[str]] = {}
    for key, groups in entities.items():
        listed[key] = set()
        for number, group in enumerate(findings.as_list(groups, ("entities", key))):
            if not isinstance(group, str):
                findings.wrong(("entities", key, number), f"expected the name of a group, got {shown(group)}")
            elif key not in components.get(group, {}):
                hint = findings.hint(group, components)
                findings.wrong(("entities", key, number), f"components.{group} has no {key!r}{hint}")
            else:
                listed[key].add(group)
        for alias, group in ALIASES.items():
            if {alias, group} <= listed[key]:
                findings.wrong(("entities", key), f"expected {group!r} or {alias!r}, got both")
    for group, members in components.items():
        for key in members:
            place = ("components", group, key)
            if key not in listed:
                hint = findings.hint(key, listed)
                findings.wrong(place, f"`entities` has no {key!r}{hint}", key=True)
            elif group not in listed[key]:
                findings.wrong(place, f"entities.{key} does not list {group!r}; add it there", key=True)


def _check_listed(entities: dict[str, Any], batch: Batch, findings: Findings) -> None:
    """Every entity that is listed must have become one, as an actor or as an effector."""
    known = set(batch.keys)
    for key in (key for key in entities if key not in known):
        message = "expected actor_properties and actor_state among its groups"
        findings.wrong(("entities", key), f"{message}, or an effector of that id")


def read_resources(resources: dict[str, Any], batch: Batch, findings: Findings) -> None:
    """The origin, and everything else that belongs to the whole scene."""
    batch.resources = {name: value for name, value in resources.items() if name != "origin"}
    for name in (name for name, value in batch.resources.items() if value is None):
        findings.odd(("resources", name), "null is no resource and is left out")
    if "origin" not in resources:
        return
    place = ("resources", "origin")
    origin = findings.as_object(resources["origin"], place)
    findings.known_keys(origin, (*COORDINATE_KEYS["origin_lla"], "ellipsoid"), place)
    batch.origin_lla = [findings.number_at(origin, name, place) for name in COORDINATE_KEYS["origin_lla"]]
    if "ellipsoid" in origin:
        batch.ellipsoid = findings.numbers_at(origin, "ellipsoid", COORDINATE_KEYS["ellipsoid"], place)[:2]


def _read_actors(
    entities: dict[str, Any], components: dict[str, dict[str, Any]], batch: Batch, findings: Findings
) -> list[list[float]]:
    """Names, assets, parents and poses of all entities that are no effectors; returns the poses."""
    properties, states = (components.get(group, {}) for group in OWN_GROUPS)
    poses, coordinates = [], []
    for key in entities:
        if key not in properties and key not in states:
            continue
        place: Path = ("components", "actor_properties", key)
        if key not in properties:
            findings.wrong(("entities", key), "expected actor_properties among its groups")
        if key not in states:
            findings.wrong(("entities", key), "expected actor_state among its groups")
        actor = findings.as_object(properties.get(key, {}), place) if key in properties else _NO_PROPERTIES
        findings.known_keys(actor, ("actor_name", "actor_asset", "parent"), place)
        batch.keys.append(key)
        batch.names.append(findings.text_at(actor, "actor_name", place) or key)
        batch.assets.append(findings.text_at(actor, "actor_asset", place))
        batch.parents.append(findings.text_at(actor, "parent", place))
        place = ("components", "actor_state", key)
        state = findings.as_object(states[key], place) if key in states else _NO_STATE
        findings.known_keys(state, ("pose", "world_coordinate"), place)
        poses.append(_read_pose(state, place, findings))
        pose = state.get("pose")
        inside = isinstance(pose, dict) and "world_coordinate" in pose
        if inside or "world_coordinate" in state:
            holder, place = (pose, (*place, "pose")) if inside else (state, place)
            batch.inside_pose = batch.inside_pose or inside
            batch.located.append(len(batch.keys) - 1)
            coordinates.append(_read_coordinate(holder, place, findings))
    batch.coordinates = np.array(coordinates, np.float64).reshape(-1, 18)
    return poses


_NO_PROPERTIES = {"actor_name": "", "actor_asset": "", "parent": ""}
_IDENTITY = {"position": dict.fromkeys(_XYZ, 0.0), "orientation": {**dict.fromkeys(_XYZ, 0.0), "w": 1.0}}
_NO_STATE = {"pose": {"transform": {**_IDENTITY, "scale": dict.fromkeys(_XYZ, 1.0)}}}


def _read_pose(holder: dict[str, Any], place: Path, findings: Findings) -> list[float]:
    """Position, orientation and scale of `pose.transform`: ten numbers."""
    pose = findings.object_at(holder, "pose", place)
    findings.known_keys(pose, ("transform", "world_coordinate"), (*place, "pose"))
    if "pose" in holder and isinstance(holder["pose"], dict):
        place = (*place, "pose")
        transform = findings.object_at(pose, "transform", place)
        place = (*place, "transform")
        if isinstance(pose.get("transform"), dict):
            findings.known_keys(transform, ("position", "orientation", "scale"), place)
            return [
                *findings.numbers_at(transform, "position", _XYZ, place),
                *findings.numbers_at(transform, "orientation", _XYZW, place),
                *findings.numbers_at(transform, "scale", _XYZ, place),
            ]
    return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]


def _read_coordinate(holder: Any, place: Path, findings: Findings) -> list[float]:
    """The eighteen numbers of `world_coordinate`, NaN for those that are not there."""
    stated = findings.object_at(holder, "world_coordinate", place)
    place = (*place, "world_coordinate")
    findings.known_keys(stated, COORDINATE_KEYS, place)
    numbers: list[float] = []
    for name, keys in COORDINATE_KEYS.items():
        numbers += (
            findings.numbers_at(stated, name, keys, place) if name in stated else [float("nan")] * len(keys)
        )
    return numbers


def _read_effectors(
    owner: str,
    owner_name: str,
    effectors: Any,
    place: Path,
    batch: Batch,
    poses: list[list[float]],
    findings: Findings,
) -> None:
    """The effectors of one entity, each an entity below it or below another of its effectors."""
    keys: dict[str, str] = {}
    items: list[tuple[Path, dict[str, Any]]] = []
    for number, value in enumerate(findings.as_list(effectors, place)):
        here = (*place, number)
        effector = findings.as_object(value, here)
        if not isinstance(value, dict):
            continue
        spelled = "effector_id" if "effector_id" in effector else "id"
        name = findings.text_at(effector, spelled, here)
        if name in keys:
            findings.wrong((*here, spelled), f"the id {name!r} is taken by another effector of {owner!r}")
            continue
        keys[name] = _text_or(effector, "entity", f"{owner}/{name}", here, findings)
        items.append((here, effector))
    for (here, effector), (name, key) in zip(items, keys.items(), strict=True):
        findings.known_keys(effector, (*_EFFECTOR_KEYS, *_EFFECTOR_EXTRAS), here)
        spelled = "relative_path" if "relative_path" in effector else "usd_relative_path"
        path = findings.text_at(effector, spelled, here)
        above = _text_or(effector, "parent", "", here, findings)
        if above and above not in keys:
            hint = findings.hint(above, keys)
            findings.wrong((*here, "parent"), f"no effector of {owner!r} has the id {above!r}{hint}")
            above = ""
        batch.places[len(batch.keys)] = here
        batch.keys.append(key)
        batch.names.append(_text_or(effector, "actor_name", f"{owner_name}/{name}", here, findings))
        batch.assets.append(_text_or(effector, "actor_asset", "", here, findings))
        batch.parents.append(keys[above] if above else owner)
        batch.components.setdefault(key, []).append(Effector(name, path))
        poses.append(_read_pose(effector, here, findings))


def _text_or(holder: dict[str, Any], key: str, default: str, place: Path, findings: Findings) -> str:
    return findings.text_at(holder, key, place) if key in holder else default


def read_group(key: str, group: str, value: Any, batch: Batch, findings: Findings) -> None:
    """The component of one entity in a group that is not one of the document's own."""
    place = ("components", group, key)
    group = ALIASES.get(group, group)
    if group == "sensor":
        sensor = findings.as_object(value, place)
        if isinstance(value, dict):
            findings.known_keys(sensor, ("sensor_name", "sensor_type", "sensor_parameters"), place)
            name, kind = (findings.text_at(sensor, part, place) for part in ("sensor_name", "sensor_type"))
            parameters = plain_parameters(findings.object_at(sensor, "sensor_parameters", place))
            batch.components.setdefault(key, []).append(Sensor(name, kind, parameters))
    elif group == "velocity":
        velocity = findings.as_object(value, place)
        if isinstance(value, dict):
            findings.known_keys(velocity, ("linear", "angular"), place)
            parts = (findings.numbers_at(velocity, part, _XYZ, place) for part in ("linear", "angular"))
            batch.velocities[key] = [number for part in parts for number in part]
    elif group in GROUPS:
        try:
            batch.components.setdefault(key, []).append(component_from_json(group, value))
        except msgspec.ValidationError as error:
            message, _, inner = str(error).partition(" - at `$")
            steps = [name or int(number) for name, number in _STEP.findall(inner)]
            findings.wrong((*place, *steps), message[:1].lower() + message[1:])
        if isinstance(value, dict):
            findings.known_keys(value, keys_of(GROUPS[group]), place)
    else:
        batch.groups.append((key, group, value))


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Sensor parameters taken out of AeroSim's variant, with the resolution as x and y."""
    if len(parameters) != 1 or next(iter(parameters)) not in VARIANTS:
        return parameters
    (inner,) = parameters.values()
    if not isinstance(inner, dict):
        return parameters
    resolution = inner.get("resolution", MISSING)
    if isinstance(resolution, list) and len(resolution) == 2 and all(map(is_number, resolution)):
        return {**inner, "resolution": {"x": resolution[0], "y": resolution[1]}}
    return inner
