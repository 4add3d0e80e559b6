"""Robots and environment actors of Project AirSim: their trees, poses against scipy, their settings."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from scipy.spatial.transform import Rotation

from diorama.ecs import Effector, Sensor, Velocity, propagate
from diorama.ecs.motion import Landed, Spin, Trajectory
from diorama.formats.airsim import read
from diorama.formats.airsim.components import Actor, Actuator, Controller, Joint, Link
from diorama.formats.airsim.sensor_keys import SENSORS
from diorama.tests.formats.airsim_scenes import POSE, place, settled


def test_a_robot_becomes_a_tree_of_entities_with_the_right_places() -> None:
    world = settled("drone.jsonc")
    turned = Rotation.from_euler("ZYX", [90, 0, 0], degrees=True)
    spawn = np.array([109.05, -7.5, -19.42])
    expected = {
        "Heron1": (spawn, turned),
        "Heron1/Body": (spawn, turned),
        "Heron1/Body_L": (spawn, turned),
        "Heron1/Rotor_L": (
            spawn + turned.apply([0.2, -0.3, -0.1]),
            turned * Rotation.from_euler("ZYX", [30, 0, 0], degrees=True),
        ),
        "Heron1/Rotor_R": (spawn + turned.apply([0.2, 0.3, -0.1]), turned),
        "Heron1/Motor_L": (spawn + turned.apply([0.2, -0.3, -0.1]), turned),
        "Heron1/Nose": (
            spawn + turned.apply([0.5, 0, 0]),
            turned * Rotation.from_euler("ZYX", [0, -90, 0], degrees=True),
        ),
        "Heron1/Pilot": (spawn, turned),
        "Heron2/Body": (np.array([-3.0, 4.0, -5.0]), Rotation.identity()),
    }
    for name, (position, rotation) in expected.items():
        found = place(world, name)
        np.testing.assert_allclose(found.world_position, position, atol=POSE * 1000, err_msg=name)
        assert (Rotation.from_quat(found.world_orientation).inv() * rotation).magnitude() < POSE * 1000, name
    parents = {
        name: world.name(world.parent(world.find(name)) or 0)
        for name in ("Heron1/Body", "Heron1/Body_L", "Heron1/Rotor_L", "Heron1/Nose", "Heron1/Motor_L")
    }
    assert list(parents.values()) == ["Heron1", "Heron1/Body", "Heron1/Body_L", "Heron1/Body", "Heron1"]


def test_the_parts_of_a_robot_carry_their_settings() -> None:
    world = settled("drone.jsonc")

    def of(name: str, cls: type[Any]) -> Any:
        return world.get(world.find(name), cls)

    assert of("Heron1", Actor).settings == {"physics-type": "fast-physics", "start-landed": True}
    assert of("Heron1", Landed).weight == pytest.approx(1.5 * 9.80665)
    assert world.try_get(world.find("Heron2"), Landed) is None
    assert of("Heron1", Velocity).linear.tolist() == [0, 0, 0]
    assert of("Heron1/Body", Link).mass == 1.2
    assert of("Heron1/Body_L", Joint) == Joint(
        "fixed", {"parent-link": "Body", "child-link": "Rotor_L", "axis": [0.0, 0.0, 1.0]}
    )
    assert of("Heron1/Motor_L", Effector) == Effector("Motor_L", "Rotor_L")
    motor = of("Heron1/Motor_L", Actuator)
    assert (motor.type, motor.enabled, motor.link) == ("rotor", True, "Rotor_L")
    assert motor.settings["max-rpm"] == 6000
    assert of("Heron1/Rotor_L", Spin).axis == (0, 0, -1)  # counter-clockwise seen from above is about up
    assert of("Heron1/Rotor_R", Spin).axis == (0, 0, 1)
    assert of("Heron1/Nose", Sensor).type == "camera"
    assert of("Heron1/Pilot", Controller).type == "simple-flight-api"
    assert world.asset(world.find("Heron1/Rotor_L")) == "/Birds/Rotor"


def test_sensors_of_every_type_keep_their_parameters() -> None:
    world = settled("sensors.jsonc")
    sensors = {sensor.type: (entity, sensor) for entity, sensor in world.query(Sensor)}
    assert set(sensors) == set(SENSORS)
    assert sensors["camera"][1].parameters["capture-settings"][0]["width"] == 640
    assert sensors["airspeed"][1].parameters["forward-xyz"] == [1.0, 0.0, 0.0]
    # The mast is scaled by two, and so is what hangs on it; without origin these two stand 1 m above their link.
    assert place(world, "Lab/Cloud").world_position.tolist() == [0, 0, -4]
    assert place(world, "Lab/Ranger").world_position.tolist() == [0, 0, -4]
    assert place(world, "Lab/Eye").world_position.tolist() == [2, 0, -2]


def test_joint_and_link_offsets_add_up_along_a_chain() -> None:
    world = settled("links.jsonc")
    assert place(world, "Glider/Wing").world_position.tolist() == [0, 2, -100]
    assert place(world, "Glider/Tip").world_position.tolist() == [0, 4, -100]
    assert place(world, "Glider/Tip").world_scale.tolist() == [2, 2, 2]
    world = settled("actuators.jsonc")
    np.testing.assert_allclose(place(world, "Tilter/Disc").world_position, [1, 0, 0], atol=POSE)


def test_configs_in_a_list_are_laid_over_each_other() -> None:
    world = settled("overlay.jsonc")
    assert world.get(world.find("Heavy/Body"), Link).mass == 40
    assert world.asset(world.find("Heavy/Body")) == "/Birds/HeronBody"
    assert world.get(world.find("Heavy"), Actor).settings["physics-type"] == "non-physics"
    assert world.parent(world.find("Heavy/Ballast")) == world.find("Heavy/Body_B")


def test_environment_actors_follow_their_script_from_where_they_stand() -> None:
    world = settled("environment.jsonc")
    path = world.get(world.find("Kite"), Trajectory)
    assert path.times == (0, 1, 2, 4)
    assert path.positions == ((0, 0, -10), (10, 0, -10), (20, 0, -10), (20, 20, -10))
    assert path.loop
    assert path.name == "Eight"
    np.testing.assert_allclose(path.orientations[3], (0, 0, np.sqrt(0.5), np.sqrt(0.5)), atol=POSE)
    fan = world.find("Kite/Fan")
    assert world.get(fan, Spin).speed == pytest.approx(4 * np.pi)
    for part in ("Kite/Shroud", "Kite/Fan"):  # a quarter turn about y, once
        turned = place(world, part).world_orientation
        np.testing.assert_allclose(turned, (0, np.sqrt(0.5), 0, np.sqrt(0.5)), atol=POSE)
    assert path.loop_from == 1
    assert world.asset(world.find("Smoke")) == "/Effects/Smoke"
    link = world.get(world.find("Taxi/Chassis"), Link)
    assert link.settings["visual"]["material"]["color"] == [1.0, 0.9, 0.0, 1.0]
    assert world.asset(world.find("Taxi/Chassis")) == "/Car/Chassis"


def test_a_link_turns_with_its_parent_link_also_when_a_joint_holds_it_to_another(tmp_path: Path) -> None:
    turning = {"axis": "0 1 0", "initial-angle": 90, "parent-link": "Frame"}
    origin = {"xyz": "1 0 0", "rpy-deg": "0 0 90"}
    prop = {"name": "Prop", "axis": "0 0 1", "parent-link": "Shroud", "visual": {"origin": origin}}
    config = {
        "links": [{"name": "Frame"}, {"name": "Shroud", **turning}, prop],
        "joints": [
            {"id": name, "type": "fixed", "parent-link": "Frame", "child-link": name[2:], "axis": "0 0 1"}
            for name in ("F_Shroud", "F_Prop")
        ],
    }
    file = tmp_path / "s.jsonc"
    actor = {"type": "env_actor", "name": "A", "env-actor-config": config}
    file.write_bytes(orjson.dumps({"id": "S", "environment-actors": [actor]}))
    world = read(file)
    propagate(world)
    expected = Rotation.from_euler("Y", 90, degrees=True) * Rotation.from_euler("Z", 90, degrees=True)
    found = Rotation.from_quat(place(world, "A/Prop").world_orientation)
    assert (found.inv() * expected).magnitude() < POSE
    np.testing.assert_allclose(place(world, "A/Prop").world_position, (1, 0, 0), atol=POSE)


def test_a_link_and_a_sensor_of_one_name_get_two_entities(tmp_path: Path) -> None:
    scene = tmp_path / "s.jsonc"
    scene.write_text(
        '{"id": "S", "actors": [{"type": "robot", "name": "R", "robot-config":'
        '{"links": [{"name": "Nose"}], "sensors": [{"id": "Nose", "type": "gps", "parent-link": "Nose"}]}}]}'
    )
    assert {"R/Nose", "R/sensors/Nose"} < set(read(scene).names)


def test_configs_whose_unknown_parts_have_odd_names_are_laid_over_each_other(tmp_path: Path) -> None:
    config = {"links": [{"name": "Nose"}], "later": [{"name": [1]}, {"name": "a", "x": 1}]}
    over = {"links": [], "later": [{"name": [1]}, {"name": "a", "y": 2}]}
    file = tmp_path / "s.jsonc"
    file.write_bytes(
        orjson.dumps({"id": "S", "actors": [{"type": "robot", "name": "R", "robot-config": [config, over]}]})
    )
    world = read(file)
    settings = world.get(world.find("R"), Actor).settings
    assert settings["later"] == [{"name": [1]}, {"name": "a", "x": 1, "y": 2}, {"name": [1]}]
