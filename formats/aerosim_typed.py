"""Read a scene document of the usual shape fast: decoded straight into typed records, gathered into arrays.

Anything unusual (a spelling of AeroSim's, an unknown key, a comment, a mistake) gives None: the careful reader, which
takes its time and explains itself, has the word then.
"""

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import orjson

from diorama.ecs import Effector, Sensor
from diorama.formats.aerosim_batch import Batch, Floats
from diorama.formats.aerosim_careful import ALIASES, plain_parameters, read_group, read_resources
from diorama.formats.findings import Findings

_Text = str | msgspec.UnsetType  # may be left out


class _Record(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Exactly these keys and types, or it is not the usual shape."""


class _Vector(_Record):
    x: float
    y: float
    z: float


class _Quaternion(_Record):
    x: float
    y: float
    z: float
    w: float


class _Transform(_Record):
    position: _Vector
    orientation: _Quaternion
    scale: _Vector


class _Ned(_Record):
    north: float
    east: float
    down: float


class _Lla(_Record):
    latitude: float
    longitude: float
    altitude: float


class _Ellipsoid(_Record):
    equatorial_radius: float
    flattening_factor: float
    polar_radius: float


class _Coordinate(_Record):
    ned: _Ned
    lla: _Lla
    ecef: _Vector
    cartesian: _Vector
    origin_lla: _Lla
    ellipsoid: _Ellipsoid


class _Pose(_Record):
    transform: _Transform


class _State(_Record):
    pose: _Pose
    world_coordinate: _Coordinate | msgspec.UnsetType = msgspec.UNSET


class _Properties(_Record):
    actor_name: str
    actor_asset: str
    parent: str


class _Effector(_Record):
    id: str
    usd_relative_path: str
    pose: _Pose
    parent: _Text = msgspec.UNSET
    entity: _Text = msgspec.UNSET
    actor_name: _Text = msgspec.UNSET
    actor_asset: _Text = msgspec.UNSET


class _Sensor(_Record):
    sensor_name: str
    sensor_type: str
    sensor_parameters: dict[str, Any]


class _Velocity(_Record):
    linear: _Vector
    angular: _Vector


class _Document(_Record):
    entities: dict[str, list[str]]
    components: dict[str, msgspec.Raw]
    resources: msgspec.Raw = msgspec.Raw(b"{}")


_DOCUMENT = msgspec.json.Decoder(_Document)
_GROUPS: dict[str, msgspec.json.Decoder[Any]] = {
    "actor_properties": msgspec.json.Decoder(dict[str, _Properties]),
    "actor_state": msgspec.json.Decoder(dict[str, _State]),
    "effectors": msgspec.json.Decoder(dict[str, list[_Effector]]),
    "sensor": msgspec.json.Decoder(dict[str, _Sensor]),
    "velocity": msgspec.json.Decoder(dict[str, _Velocity]),
}
_TEN = attrgetter(
    *(f"pose.transform.position.{axis}" for axis in "xyz"),
    *(f"pose.transform.orientation.{axis}" for axis in "xyzw"),
    *(f"pose.transform.scale.{axis}" for axis in "xyz"),
)
_EIGHTEEN = attrgetter(
    *(f"ned.{name}" for name in ("north", "east", "down")),
    *(f"lla.{name}" for name in ("latitude", "longitude", "altitude")),
    *(f"ecef.{axis}" for axis in "xyz"),
    *(f"cartesian.{axis}" for axis in "xyz"),
    *(f"origin_lla.{name}" for name in ("latitude", "longitude", "altitude")),
    *(f"ellipsoid.{name}" for name in ("equatorial_radius", "flattening_factor", "polar_radius")),
)
_SIX = attrgetter(*(f"{part}.{axis}" for part in ("linear", "angular") for axis in "xyz"))


def batch_from_bytes(data: bytes) -> Batch | None:
    """What a document of the usual shape says, or None."""
    findings = Findings()
    batch = Batch()
    try:
        document = _DOCUMENT.decode(data)
        groups: dict[str, dict[str, Any]] = {
            group: _GROUPS[group].decode(raw) if group in _GROUPS else orjson.loads(bytes(raw))
            for group, raw in document.components.items()
        }
        read_resources(findings.as_object(orjson.loads(bytes(document.resources)), ()), batch, findings)
    except (msgspec.DecodeError, orjson.JSONDecodeError, RecursionError):
        return None
    if not _agree(document.entities, groups):
        return None
    _gather_actors(document.entities, groups, batch)
    if not _gather_effectors(groups.get("effectors", {}), batch):
        return None
    if not document.entities.keys() <= set(batch.keys):
        return None
    usual = _gather_components(groups, batch, findings)
    return None if findings.errors or findings.oddities or not usual else batch


def _agree(entities: dict[str, list[str]], groups: dict[str, dict[str, Any]]) -> bool:
    """Whether the lists in `entities` and the members of `components` say the same."""
    listed: dict[str, list[str]] = {group: [] for group in groups}
    try:
        for key, names in entities.items():
            for name in names:
                listed[name].append(key)
    except KeyError:
        return False
    return (
        all(
            isinstance(members, dict) and members.keys() == set(listed[group])
            for group, members in groups.items()
        )
        and groups.get("actor_properties", {}).keys() == groups.get("actor_state", {}).keys()
        and not ALIASES.keys() & groups.keys()
    )


def _gather_actors(entities: dict[str, list[str]], groups: dict[str, dict[str, Any]], batch: Batch) -> None:
    properties, states = groups.get("actor_properties", {}), groups.get("actor_state", {})
    batch.keys = [key for key in entities if key in properties]
    actors = [properties[key] for key in batch.keys]
    batch.names = [actor.actor_name or key for actor, key in zip(actors, batch.keys, strict=True)]
    batch.assets = [actor.actor_asset for actor in actors]
    batch.parents = [actor.parent for actor in actors]
    ordered = [states[key] for key in batch.keys]
    batch.poses = _rows(map(_TEN, ordered), len(ordered), 10)
    stated = [state.world_coordinate for state in ordered]
    batch.located = [index for index, coordinate in enumerate(stated) if coordinate is not msgspec.UNSET]
    batch.coordinates = _rows((_EIGHTEEN(stated[index]) for index in batch.located), len(batch.located), 18)


def _gather_effectors(owners: dict[str, list[_Effector]], batch: Batch) -> bool:
    """Whether the effectors could be understood."""
    names = dict(zip(batch.keys, batch.names, strict=True))
    found = [
        (owner, number, effector) for owner, them in owners.items() for number, effector in enumerate(them)
    ]
    keys = {(owner, item.id): _or(item.entity, f"{owner}/{item.id}") for owner, _, item in found}
    if len(keys) < len(found):
        return False
    for index, (owner, number, item) in enumerate(found, len(batch.keys)):
        key = keys[owner, item.id]
        above = owner if not _or(item.parent, "") else keys.get((owner, _or(item.parent, "")))
        if above is None:
            return False
        batch.places[index] = ("components", "effectors", owner, number)
        batch.components[key] = [Effector(item.id, item.usd_relative_path)]
        batch.keys.append(key)
        batch.names.append(_or(item.actor_name, f"{names.get(owner, owner)}/{item.id}"))
        batch.assets.append(_or(item.actor_asset, ""))
        batch.parents.append(above)
    poses = _rows(map(_TEN, (item for _, _, item in found)), len(found), 10)
    batch.poses = np.concatenate([batch.poses, poses])
    return True


def _or(text: _Text, usual: str) -> str:
    return usual if isinstance(text, msgspec.UnsetType) else text


def _gather_components(groups: dict[str, dict[str, Any]], batch: Batch, findings: Findings) -> bool:
    """Whether all sensors have plain parameters; AeroSim's, inside a variant, are a matter for the careful reader."""
    for group, members in groups.items():
        if group == "sensor":
            for key, sensor in members.items():
                if plain_parameters(sensor.sensor_parameters) is not sensor.sensor_parameters:
                    return False
                found = Sensor(sensor.sensor_name, sensor.sensor_type, sensor.sensor_parameters)
                batch.components.setdefault(key, []).append(found)
        elif group == "velocity":
            batch.velocities = {key: _SIX(velocity) for key, velocity in members.items()}
        elif group not in _GROUPS:
            for key, value in members.items():
                read_group(key, group, value, batch, findings)
    return True


def _rows(tuples: Iterable[tuple[float, ...]], count: int, width: int) -> Floats:
    return np.fromiter(chain.from_iterable(tuples), np.float64, count * width).reshape(count, width)
