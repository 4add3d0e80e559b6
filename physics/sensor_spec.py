"""Sensors written into the composed spec."""

import re

from diorama.physics.entity_spec import listed
from diorama.physics.mujoco_import import MjSpec, mujoco
from diorama.physics.sensor_config import BuiltinSensorCfg, ContactMatch, ContactSensorCfg, ObjRef
from diorama.schemas.errors import SceneError, did_you_mean

# Fields of a contact in MuJoCo's order, with their width; the bit of a field is its place here.
CONTACT_FIELDS = {"found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3}
MODES = {"geom": "mjOBJ_GEOM", "body": "mjOBJ_BODY", "subtree": "mjOBJ_XBODY"}
REDUCTIONS = ("none", "mindist", "maxforce", "netforce")
# Element type in a configuration -> list of such elements in a spec.
ELEMENTS = {
    "body": "bodies",
    "xbody": "bodies",
    "geom": "geoms",
    "site": "sites",
    "joint": "joints",
    "actuator": "actuators",
    "tendon": "tendons",
    "camera": "cameras",
}


def _names(spec: MjSpec, kind: str) -> list[str]:
    return [element.name for element in getattr(spec, ELEMENTS[kind])]


def check_reference(spec: MjSpec, ref: ObjRef, place: str) -> None:
    """Refuse a reference to an element that is not in the composed spec."""
    if ref.type not in ELEMENTS:
        raise SceneError(f"{place}: expected a type of {listed(ELEMENTS)}, got {ref.type!r}")
    names = _names(spec, ref.type)
    if ref.full_name not in names:
        raise SceneError(
            f"{place}: no {ref.type} is named {ref.full_name!r}{did_you_mean(ref.full_name, names)} "
            f"(known: {listed(names)})"
        )


def add_builtin_sensor(spec: MjSpec, cfg: BuiltinSensorCfg) -> None:
    """Add one of MuJoCo's own sensors."""
    place = f"sensor {cfg.key!r}"
    types = {name[len("mjSENS_") :].lower(): name for name in dir(mujoco.mjtSensor) if "mjSENS_" in name}
    if cfg.sensor_type not in types:
        near = did_you_mean(cfg.sensor_type, types)
        raise SceneError(f"{place}: MuJoCo has no sensor type {cfg.sensor_type!r}{near}")
    sensor = spec.add_sensor(name=cfg.key, type=getattr(mujoco.mjtSensor, types[cfg.sensor_type]))
    sensor.cutoff = cfg.cutoff
    if cfg.obj is not None:
        check_reference(spec, cfg.obj, place)
        sensor.objtype = getattr(mujoco.mjtObj, f"mjOBJ_{cfg.obj.type.upper()}")
        sensor.objname = cfg.obj.full_name
    if cfg.ref is not None:
        check_reference(spec, cfg.ref, place)
        sensor.reftype = getattr(mujoco.mjtObj, f"mjOBJ_{cfg.ref.type.upper()}")
        sensor.refname = cfg.ref.full_name


def contact_fields(cfg: ContactSensorCfg) -> list[str]:
    """The fields MuJoCo has to report, in its order: those asked for, and axes to turn forces by."""
    asked = set(cfg.fields)
    if cfg.global_frame:
        asked |= {"normal", "tangent"}
    return [field for field in CONTACT_FIELDS if field in asked]


def add_contact_sensor(spec: MjSpec, cfg: ContactSensorCfg) -> list[str]:
    """Add one MuJoCo contact sensor per primary and return their names."""
    place = f"sensor {cfg.key!r}"
    unknown = [field for field in cfg.fields if field not in CONTACT_FIELDS]
    if unknown or not cfg.fields:
        raise SceneError(f"{place}: expected fields of {listed(CONTACT_FIELDS)}, got {listed(unknown)}")
    if cfg.reduce not in REDUCTIONS:
        near = did_you_mean(cfg.reduce, REDUCTIONS)
        raise SceneError(
            f"{place}: expected reduce to be one of {listed(REDUCTIONS)}, got {cfg.reduce!r}{near}"
        )
    primaries = _matches(spec, cfg.primary, place)
    secondary = _matches(spec, cfg.secondary, place) if cfg.secondary else []
    if len(secondary) > 1:
        raise SceneError(f"{place}: expected one secondary, got {listed(secondary)}; a subtree may hold many")
    bits = sum(1 << list(CONTACT_FIELDS).index(field) for field in contact_fields(cfg))
    names = []
    for primary in primaries:
        sensor = spec.add_sensor(name=f"{cfg.key}/{primary}", type=mujoco.mjtSensor.mjSENS_CONTACT)
        sensor.objtype, sensor.objname = _match_type(cfg.primary), primary
        if cfg.secondary is not None:
            sensor.reftype, sensor.refname = _match_type(cfg.secondary), secondary[0]
        sensor.intprm = [bits, REDUCTIONS.index(cfg.reduce), cfg.num_slots]
        names.append(sensor.name)
    return names


def _match_type(match: ContactMatch) -> int:
    return getattr(mujoco.mjtObj, MODES[match.mode])  # type: ignore[no-any-return]


def _matches(spec: MjSpec, match: ContactMatch, place: str) -> list[str]:
    """Full names of the elements a match selects, in the model's order."""
    if match.mode not in MODES:
        raise SceneError(f"{place}: expected mode to be one of {listed(MODES)}, got {match.mode!r}")
    prefix = f"{match.entity}/" if match.entity else ""
    kind = "geom" if match.mode == "geom" else "body"
    names = [name for name in _names(spec, kind) if name.startswith(prefix)]
    found = [
        name
        for name in names
        if any(re.fullmatch(pattern, name[len(prefix) :]) for pattern in match.patterns)
        and not any(re.fullmatch(pattern, name[len(prefix) :]) for pattern in match.exclude)
    ]
    if not found:
        wanted = " or ".join(repr(pattern) for pattern in match.patterns)
        raise SceneError(f"{place}: no {kind} of {match.entity!r} matches {wanted} (known: {listed(names)})")
    return found
