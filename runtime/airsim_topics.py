"""Topics in the style of Project AirSim, for worlds from its scenes and any others:

    /Sim/<scene>/robots/<name>/actual_pose                     where a robot is
    /Sim/<scene>/robots/<name>/sensors/<id>/gps                latitude, longitude, altitude
    /Sim/<scene>/robots/<name>/sensors/<id>/barometer          pressure by the standard atmosphere
    /Sim/<scene>/env_actors/<name>/actual_kinematics           pose and velocity of an environment actor

Messages are JSON with Project AirSim's keys: time in ns, NED metres, quaternions by w, x, y and z.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Entity, Sensor, World, locate
from diorama.formats.airsim.components import Actor
from diorama.runtime.atmosphere import pressure_altitude, standard_air
from diorama.runtime.clock import Tick
from diorama.runtime.motion import Gathered

Message = dict[str, Any]
Listens = Callable[[str], bool]
ROBOT = "robot"
ENV_ACTORS = ("env_actor", "env_car", "env_human")
BAROMETER_RATE_HZ = 50.0
FIX_3D, FIX_2D, NO_FIX = 3, 2, 0


@dataclass(frozen=True, slots=True)
class Source:
    """A row that something is told about, and the topic it is told on."""

    topic: str
    row: int
    kind: str
    parameters: Mapping[str, Any]


def topic_root(world: World) -> str:
    """`/Sim/<scene>`, by the scene's id."""
    return f"/Sim/{world.resource('scene_id', 'scene')}"


def _gather_sources(world: World) -> list[Source]:
    root = topic_root(world)
    found = []
    for entity, actor in world.query(Actor):
        name, row = world.name(entity), world.row(entity)
        if actor.type == ROBOT:
            found.append(Source(f"{root}/robots/{name}/actual_pose", row, "pose", {}))
        elif actor.type in ENV_ACTORS:
            found.append(Source(f"{root}/env_actors/{name}/actual_kinematics", row, "kinematics", {}))
    for entity, sensor in world.query(Sensor):
        if sensor.type in ("gps", "barometer") and sensor.parameters.get("enabled", True):
            topic = f"{root}/robots/{_owner(world, entity)}/sensors/{sensor.name}/{sensor.type}"
            found.append(Source(topic, world.row(entity), sensor.type, sensor.parameters))
    return found


_sources = Gathered(_gather_sources)


def airsim_topics(world: World) -> list[str]:
    """The names of all topics that are told of a world."""
    return [source.topic for source in _sources(world)]


def airsim_reports(world: World, tick: Tick, listens: Listens | None = None) -> Iterator[tuple[str, Message]]:
    """What there is to tell after a tick, as (topic, message); only what somebody `listens` to is made."""
    wanted = [source for source in _sources(world) if listens is None or listens(f"{source.topic}/")]
    placed = [source for source in wanted if source.kind in ("gps", "barometer")]
    lla: dict[int, list[float]] = {}
    if placed and world.origin is not None:
        rows = np.array([source.row for source in placed], np.intp)
        lla = dict(zip(rows.tolist(), locate(world, rows).lla.tolist(), strict=True))
    for source in wanted:
        if source.kind == "pose":
            yield source.topic, _pose(world, source.row, tick)
        elif source.kind == "kinematics":
            yield source.topic, _kinematics(world, source.row, tick)
        elif source.row in lla and _is_due(source, tick):
            place = lla[source.row]
            if source.kind == "gps":
                yield source.topic, _gps(source.parameters, place, tick, _velocity_above(world, source.row))
            else:
                yield source.topic, _barometer(source.parameters, place, tick)


def _owner(world: World, entity: Entity) -> str:
    above: Entity | None = entity
    while above is not None:
        entity, above = above, world.parent(above)
    return world.name(entity)


def _vector(values: NDArray[np.float64]) -> Message:
    x, y, z = values.tolist()
    return {"x": x, "y": y, "z": z}


def _pose(world: World, row: int, tick: Tick) -> Message:
    x, y, z, w = world.poses.orientation[row].tolist()
    return {
        "time_stamp": tick.time_ns,
        "position": _vector(world.poses.position[row]),
        "orientation": {"w": w, "x": x, "y": y, "z": z},
    }


def _kinematics(world: World, row: int, tick: Tick) -> Message:
    pose = _pose(world, row, tick)
    return {
        "time_stamp": pose.pop("time_stamp"),
        "pose": pose,
        "twist": {
            "linear": _vector(world.velocities.linear[row]),
            "angular": _vector(world.velocities.angular[row]),
        },
    }


def _is_due(source: Source, tick: Tick) -> bool:
    """Whether the sensor's next measurement falls into this tick."""
    rate = source.parameters.get("update-frequency", BAROMETER_RATE_HZ if source.kind == "barometer" else 0.0)
    begin_ns = round(source.parameters.get("startup-delay", 0.0) * 1e9)
    if tick.time_ns < begin_ns:
        return False
    period_ns = round(1e9 / rate) if rate > 0 else 0
    if period_ns <= tick.step_ns:
        return True
    return tick.time_ns // period_ns != (tick.time_ns - tick.step_ns) // period_ns


def _gps(parameters: Mapping[str, Any], lla: list[float], tick: Tick, velocity: Message) -> Message:
    def settled(what: str, time_constant: float) -> float:
        initial = float(parameters.get(f"{what}-initial", 100.0))
        final = float(parameters.get(f"{what}-final", 0.1))
        return final + (initial - final) * exp(-tick.time_s / time_constant) if time_constant > 0 else final

    eph = settled("eph", parameters.get("eph-time-const", 0.9))
    epv = settled("epv", parameters.get("epv-time-constant", 0.9))
    fix = NO_FIX
    if eph <= parameters.get("eph-min-3d", 3.0):
        fix = FIX_3D
    elif eph <= parameters.get("eph-min-2d", 4.0):
        fix = FIX_2D
    return {
        "time_stamp": tick.time_ns,
        "latitude": lla[0],
        "longitude": lla[1],
        "altitude": lla[2],
        "eph": eph,
        "epv": epv,
        "fix_type": fix,
        "velocity": velocity,
    }


def _barometer(parameters: Mapping[str, Any], lla: list[float], tick: Tick) -> Message:
    qnh = float(parameters.get("qnh", 1013.25))
    pressure = float(standard_air(lla[2]).pressure)
    return {
        "time_stamp": tick.time_ns,
        "altitude": float(pressure_altitude(pressure, qnh * 100.0)),
        "pressure": pressure,
        "qnh": qnh,
    }


def _velocity_above(world: World, row: int) -> Message:
    """The velocity of the root a row hangs under."""
    parent = int(world.table.parent[row])
    while parent >= 0:
        row, parent = parent, int(world.table.parent[parent])
    return _vector(world.velocities.linear[row])
