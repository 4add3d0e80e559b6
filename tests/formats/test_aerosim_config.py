"""AeroSim's sim_config.json."""

from typing import Any

import numpy as np
import orjson
import pytest

from diorama.ecs import Effector, Sensor, Transform
from diorama.formats.aerosim_config import parse
from diorama.geo import Origin, quaternion_from_rpy
from diorama.schemas.errors import Problem, SceneError
from diorama.schemas.validate import problems


def config() -> dict[str, Any]:
    return {
        "description": "two actors, a camera",
        "clock": {"step_size_ms": 20, "pace_1x_scale": True},
        "orchestrator": {"sync_topics": [{"topic": "t", "interval_ms": 20}]},
        "world": {
            "update_interval_ms": 20,
            "origin": {"latitude": 33.9, "longitude": -118.4, "altitude": 30},
            "weather": {"preset": "ClearSky"},
            "actors": [
                {
                    "actor_name": "pod",
                    "actor_asset": "pods/one",
                    "parent": "plane",
                    "transform": {"position": [1, 2, 3], "rotation": [0, 0, 90], "scale": [2, 2, 2]},
                },
                {
                    "actor_name": "plane",
                    "actor_asset": "planes/one",
                    "parent": "",
                    "description": "the first",
                    "transform": {"position": [100, 200, -50], "rotation": [10, 20, 30], "scale": [1, 1, 1]},
                    "state": {"msg_type": "aerosim::types::VehicleState", "topic": "plane.state"},
                    "effectors": [
                        {
                            "id": "propeller",
                            "relative_path": "plane/propeller",
                            "transform": {"translation": [3, 0, 0], "rotation": [0, 0, 0]},
                            "state": {"topic": "propeller.state"},
                        }
                    ],
                    "flight_deck": [{"id": "primary_flight_display", "state": {"topic": "pfd"}}],
                    "trajectory_visualization": {"msg_type": "m", "topic": "trajectory"},
                },
            ],
            "sensors": [
                {
                    "sensor_name": "camera",
                    "type": "sensors/cameras/rgb_camera",
                    "parent": "plane",
                    "transform": {"translation": [-10, 0, -3], "rotation": [0, -10, 0]},
                    "parameters": {"resolution": [1920, 1080], "fov": 90, "capture_enabled": True},
                },
                {
                    "sensor_name": "nose",
                    "type": "sensors/smell",
                    "parent": "",
                    "transform": {"translation": [0, 0, 0], "rotation": [0, 0, 0]},
                    "parameters": {},
                },
            ],
        },
        "renderers": [
            {
                "renderer_id": "0",
                "role": "primary",
                "sensors": ["camera"],
                "viewport_config": {"active_camera": "camera"},
            }
        ],
        "fmu_models": [],
    }


def test_the_world_is_as_aerosim_would_number_it() -> None:
    world = parse(orjson.dumps(config()))
    assert problems(config(), "sim_config") == []
    assert world.origin == Origin(33.9, -118.4, 30)
    assert [world.key(world.find(name)) for name in ("pod", "plane", "camera", "nose")] == [
        f"entity_{number}" for number in range(4)
    ]
    assert world.parent(world.find("pod")) == world.find("plane") == world.parent(world.find("camera"))
    plane = world.get(world.find("plane"), Transform)
    assert plane.world_position.tolist() == [100, 200, -50]
    assert plane.orientation == pytest.approx(quaternion_from_rpy(np.radians((10, 20, 30))))
    assert world.get(world.find("pod"), Transform).scale.tolist() == [2, 2, 2]


def test_effectors_sensors_and_displays() -> None:
    world = parse(orjson.dumps(config()))
    propeller = world.find("plane/propeller")
    assert world.get(propeller, Effector) == Effector("propeller", "plane/propeller")
    assert world.parent(propeller) == world.find("plane")
    camera = world.get(world.find("camera"), Sensor)
    assert (camera.type, camera.parameters["resolution"]) == ("rgb_camera", {"x": 1920, "y": 1080})
    assert world.get(world.find("nose"), Sensor).type == "sensors/smell"
    groups = world.groups(world.find("plane"))
    assert groups["primary_flight_display_state"]["pfd_data"]["altimeter_pressure_setting_inhg"] == 29.92
    assert len(groups["primary_flight_display_state"]["pfd_data"]) == 13
    assert groups["trajectory"]["parameters"]["future_trajectory"] == {"waypoints": []}
    assert groups["sim_config"]["state"]["topic"] == "plane.state"
    assert world.groups(propeller)["sim_config"] == {"state": {"topic": "propeller.state"}}


def test_resources() -> None:
    world = parse(orjson.dumps(config()))
    assert world.resource("clock") == {"step_size_ms": 20, "pace_1x_scale": True}
    assert world.resource("weather") == {"preset": "ClearSky"}
    assert world.resource("viewport_configs") == [{"renderer_instance": "0", "active_camera": "entity_2"}]
    assert world.resource("sim_config")["orchestrator"]["sync_topics"][0]["topic"] == "t"


def test_all_mistakes_are_told() -> None:
    value = config()
    value["clock"]["step_size_ms"] = 0
    value["world"]["actors"][0]["parent"] = "plan"
    del value["world"]["actors"][1]["actor_asset"]
    value["world"]["actors"][1]["transform"]["rotation"] = [1, 2]
    value["world"]["sensors"][0]["transform"] = None
    value["world"]["sensors"][1]["sensor_name"] = "plane"
    value["world"]["sensors"][1]["transform"] = {}
    del value["world"]["origin"]["altitude"]
    value["renderers"][0]["renderer_id"] = 0
    with pytest.raises(SceneError) as caught:
        parse(orjson.dumps(value, option=orjson.OPT_INDENT_2), "c.json")
    told = {problem.path: problem for problem in caught.value.problems}
    assert told["world.actors[0].parent"].message == "no actor is named 'plan'; did you mean 'plane'?"
    assert told["world.actors[1].transform.rotation"].message == "expected three finite numbers, got [1, 2]"
    assert told["world.sensors[1].actor_name"].message.startswith("the name 'plane' is taken by 'entity_1'")
    assert told.keys() > {
        "clock.step_size_ms",
        "world.actors[1].actor_asset",
        "world.sensors[0].transform",
        "world.sensors[1].transform.position",
        "world.origin.altitude",
        "renderers[0].renderer_id",
    }
    assert all(problem.line for problem in told.values())


def test_a_viewport_of_an_unknown_camera_is_odd() -> None:
    value = config()
    value["renderers"][0]["viewport_config"]["active_camera"] = "camra"
    warnings: list[Problem] = []
    world = parse(orjson.dumps(value), warnings=warnings)
    assert "did you mean 'camera'?" in warnings[0].message
    assert world.resource("viewport_configs")[0]["active_camera"] == ""
