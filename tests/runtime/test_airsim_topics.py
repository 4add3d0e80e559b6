"""What robots, environment actors and their sensors tell, against pyproj and the standard atmosphere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyproj import Transformer

from diorama.ecs import Sensor, Transform, Velocity, World, propagate
from diorama.formats.airsim import read
from diorama.runtime.airsim_topics import airsim_reports, airsim_topics
from diorama.runtime.clock import Tick
from diorama.runtime.motion import MOTION
from diorama.runtime.step import step

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"
STEP_NS = 20_000_000


def told(world: World, time_s: float = 1.0) -> dict[str, dict[str, Any]]:
    propagate(world)
    return dict(airsim_reports(world, Tick(0, round(time_s * 1e9), STEP_NS)))


def test_the_topics_are_named_as_project_airsim_names_them() -> None:
    assert airsim_topics(read(FOLDER / "drone.jsonc")) == [
        "/Sim/HarbourFlight/robots/Heron1/actual_pose",
        "/Sim/HarbourFlight/robots/Heron2/actual_pose",
        "/Sim/HarbourFlight/robots/Heron1/sensors/Position/gps",
        "/Sim/HarbourFlight/robots/Heron1/sensors/Pressure/barometer",
        "/Sim/HarbourFlight/robots/Heron2/sensors/Position/gps",
        "/Sim/HarbourFlight/robots/Heron2/sensors/Pressure/barometer",
    ]


def test_a_pose_is_told_with_w_first() -> None:
    pose = told(read(FOLDER / "drone.jsonc"))["/Sim/HarbourFlight/robots/Heron1/actual_pose"]
    assert pose["time_stamp"] == 1_000_000_000
    assert pose["position"] == {"x": 109.05, "y": -7.5, "z": -19.42}
    assert list(pose["orientation"]) == ["w", "x", "y", "z"]
    assert pose["orientation"]["z"] == pytest.approx(np.sqrt(0.5))


def test_a_gps_tells_where_its_robot_is_on_earth() -> None:
    world = read(FOLDER / "drone.jsonc")
    drone = world.find("Heron2")
    world.get(drone, Transform).position[:] = (1000.0, -2000.0, -150.0)
    world.get(drone, Velocity).linear[:] = (1.0, 2.0, 3.0)
    fix = told(world)["/Sim/HarbourFlight/robots/Heron2/sensors/Position/gps"]
    # an independent way: topocentric coordinates by PROJ
    pipeline = Transformer.from_pipeline(
        "+proj=pipeline +step +inv +proj=topocentric +ellps=WGS84 +lat_0=53.5436 +lon_0=9.9856 +h_0=46.5 "
        "+step +inv +proj=cart +ellps=WGS84 +step +proj=unitconvert +xy_in=rad +xy_out=deg"
    )
    longitude, latitude, altitude = pipeline.transform(-2000.0, 1000.0, 150.0)
    assert fix["latitude"] == pytest.approx(latitude, abs=1e-10)
    assert fix["longitude"] == pytest.approx(longitude, abs=1e-10)
    assert fix["altitude"] == pytest.approx(altitude, abs=1e-5)
    assert fix["velocity"] == {"x": 1.0, "y": 2.0, "z": 3.0}


def test_a_gps_settles_from_no_fix_to_a_good_one() -> None:
    world = read(FOLDER / "drone.jsonc")
    topic = "/Sim/HarbourFlight/robots/Heron1/sensors/Position/gps"
    found = [
        (fix["fix_type"], round(fix["eph"], 3))
        for time in (0.0, 3.0, 10.0)
        for fix in [told(world, time)[topic]]
    ]
    assert found == [
        (0, 100.0),
        (2, round(0.1 + 99.9 * np.exp(-3 / 0.9), 3)),
        (3, round(0.1 + 99.9 * np.exp(-10 / 0.9), 3)),
    ]


def test_a_barometer_tells_the_standard_pressure_and_what_an_altimeter_shows() -> None:
    world = read(FOLDER / "drone.jsonc")
    world.get(world.find("Heron1"), Transform).position[:] = (
        0,
        0,
        46.5 - 1000.0,
    )  # 1000 m above the ellipsoid
    air = told(world)["/Sim/HarbourFlight/robots/Heron1/sensors/Pressure/barometer"]
    assert air["pressure"] == pytest.approx(89_876.3, abs=0.5)  # the table's value for 1000 m
    assert air["altitude"] == pytest.approx(999.84, abs=0.05)  # geopotential


def test_environment_actors_tell_their_kinematics() -> None:
    world = read(FOLDER / "environment.jsonc")
    step(world, Tick(0, 500_000_000, STEP_NS), MOTION)
    kite = told(world)["/Sim/Street/env_actors/Kite/actual_kinematics"]
    assert kite["pose"]["position"] == {"x": 5.0, "y": 0.0, "z": -10.0}
    assert kite["twist"]["linear"] == {"x": 10.0, "y": 0.0, "z": 0.0}


def test_slow_sensors_tell_only_when_they_measure_and_nothing_is_made_for_nobody() -> None:
    world = read(FOLDER / "sensors.jsonc")
    propagate(world)
    step_ns = 3_000_000  # the barometer measures every 20 ms
    times = [
        time
        for time in range(step_ns, 100_000_001, step_ns)
        if any("barometer" in topic for topic, _ in airsim_reports(world, Tick(0, time, step_ns)))
    ]
    assert [time // 20_000_000 for time in times] == [1, 2, 3, 4]
    assert list(airsim_reports(world, Tick(0, 0, 1), lambda topic: False)) == []
    heard = [
        topic for topic, _ in airsim_reports(world, Tick(0, 0, 1), lambda topic: topic.endswith("/gps/"))
    ]
    assert heard == ["/Sim/AllSensors/robots/Lab/sensors/Fix/gps"]


def test_qnh_and_startup_delay_are_the_sensors_own() -> None:
    world = read(FOLDER / "drone.jsonc")
    topic = "/Sim/HarbourFlight/robots/Heron1/sensors/Pressure/barometer"
    here = told(world)[topic]
    sensor = world.find("Heron1/Pressure")
    world.set(sensor, Sensor("Pressure", "barometer", {"qnh": 1003.25, "startup-delay": 2.0}))
    assert topic not in told(world, 1.99)
    low = told(world, 2.0)[topic]
    assert low["pressure"] == here["pressure"]
    assert low["altitude"] - here["altitude"] == pytest.approx(-83.0, abs=1.0)  # 8.3 m for each hPa
    world.set(sensor, Sensor("Pressure", "barometer", {"enabled": False}))
    assert topic not in told(world, 3.0)
