"""The scene document: the seed's example and everything it may say."""

from typing import Any

import orjson
import pytest

from diorama.ecs import Bounds, Effector, Sensor, Transform, Velocity, World, difference, locate, propagate
from diorama.formats.aerosim import document, parse, world_from_document
from diorama.schemas.errors import Problem
from diorama.tests.formats.scene_documents import actor, example, transform

ECEF_TOLERANCE_M = 1e-6


def test_the_example_comes_out_with_the_right_numbers() -> None:
    warnings: list[Problem] = []
    world = parse(orjson.dumps(example()), warnings=warnings)
    place = locate(world, world.rows([world.find("generic_evtol_0")]))
    assert place.ecef[0] == pytest.approx(
        (-499573.586028, -5528032.628386, 3131368.369713), abs=ECEF_TOLERANCE_M
    )
    assert place.cartesian[0].tolist() == [0.0, 0.0, 0.0]
    assert place.lla[0] == pytest.approx((29.594656, -95.16384722, -28.3), abs=1e-8)
    assert [warning.path for warning in warnings] == ["components.actor_state.entity_0.world_coordinate.ecef"]
    assert "6.373e+06 m from where its pose puts it" in warnings[0].message


def test_effectors_are_entities_below_their_owner() -> None:
    world = parse(orjson.dumps(example()))
    rotor = world.find("generic_evtol_0/rotor_blade_01")
    assert world.parent(rotor) == world.find("generic_evtol_0")
    assert world.get(rotor, Effector) == Effector(
        "rotor_blade_01", "evtol/VTOLGeneric_Armature/rotor_blade_01"
    )
    assert world.get(rotor, Transform).world_position.tolist() == [3.0643, 3.147, 1.8735]


def test_sensors_hang_under_their_parent_and_keep_their_parameters() -> None:
    world = parse(orjson.dumps(example()))
    camera = world.find("rgb_camera_0")
    assert world.name(world.parent(camera) or 0) == "generic_evtol_1"
    sensor = world.get(camera, Sensor)
    assert (sensor.name, sensor.type) == ("rgb_camera_0", "rgb_camera")
    assert sensor.parameters["resolution"] == {"x": 1920, "y": 1080}


def test_both_spellings_of_everything_make_one_world() -> None:
    plain = example()
    other = example()
    for effectors in other["components"]["effectors"].values():
        for effector in effectors:
            effector["effector_id"] = effector.pop("id")
            effector["relative_path"] = effector.pop("usd_relative_path")
    other["entities"]["entity_2"][-1] = "sensors"
    sensors = other["components"]["sensors"] = other["components"].pop("sensor")
    inner = sensors["entity_2"]["sensor_parameters"]
    sensors["entity_2"]["sensor_parameters"] = {"RGBCamera": {**inner, "resolution": [1920, 1080]}}
    state = other["components"]["actor_state"]["entity_0"]
    state["pose"]["world_coordinate"] = state.pop("world_coordinate")
    warnings: list[Problem] = []
    world = parse(orjson.dumps(other), warnings=warnings)
    assert difference(parse(orjson.dumps(plain)), world) == ""
    assert any(
        found.path == "components.actor_state.entity_0.pose.world_coordinate.ecef" for found in warnings
    )
    assert any("--profile aerosim" in found.message for found in warnings)


def test_nested_effectors_and_effectors_with_a_life_of_their_own() -> None:
    world = World()
    evtol = world.spawn("evtol")
    tilt = world.spawn("evtol/tilt", Effector("tilt"), parent=evtol, key="entity_0/tilt")
    blade = world.spawn(
        "my blade", Effector("blade", "a/b"), Velocity((1, 2, 3)), parent=tilt, asset="blade.glb"
    )
    world.spawn("camera", Sensor("camera", "rgb_camera"), parent=blade)
    world.spawn("loose", Effector("loose"))
    nameless = world.spawn("nameless", Effector(""), parent=evtol)
    world.spawn("below", Effector("below"), parent=nameless)
    world.spawn("twin", Effector("tilt"), parent=evtol)
    propagate(world)
    written = document(world)
    assert written["components"]["effectors"]["entity_0"][1] == {
        "id": "blade",
        "usd_relative_path": "a/b",
        "pose": {"transform": transform()},
        "parent": "tilt",
        "entity": world.key(blade),
        "actor_name": "my blade",
        "actor_asset": "blade.glb",
    }
    assert "parent" not in written["components"]["effectors"]["entity_0"][0]
    assert set(written["components"]["effector"]) == {
        world.key(world.find(name)) for name in ("loose", "nameless", "twin")
    }
    assert difference(world, parse(orjson.dumps(written))) == ""


def test_groups_of_other_peoples_making_come_back_unchanged() -> None:
    value = example()
    value["entities"]["entity_0"] += ["trajectory", "bounds"]
    value["components"]["trajectory"] = {
        "entity_0": {"parameters": {"waypoints": [[1, 2.5, None]], "": True}}
    }
    value["components"]["bounds"] = {"entity_0": {"size": [1, 2, 3]}}
    value["resources"] = {"weather": {"preset": "Cloudy"}, "anything": [1, {"a": None}]}
    world = parse(orjson.dumps(value))
    assert world.get(world.find("generic_evtol_0"), Bounds) == Bounds((1.0, 2.0, 3.0))
    written = document(world)
    assert written["components"]["trajectory"] == value["components"]["trajectory"]
    assert written["resources"]["anything"] == [1, {"a": None}]


def test_parents_are_written_before_children() -> None:
    world = World()
    child = world.spawn("child")
    world.reparent(child, world.spawn("parent"))
    propagate(world)
    assert list(document(world)["entities"]) == ["entity_1", "entity_0"]


def test_a_document_of_chosen_entities_holds_whole_values_and_no_resources() -> None:
    world = parse(orjson.dumps(example()))
    rotor = world.find("generic_evtol_0/rotor_blade_01")
    part = document(world, [rotor])
    assert part["entities"] == {"entity_0": ["actor_properties", "actor_state", "effectors"]}
    assert "resources" not in part
    whole = document(world)
    assert part["components"]["effectors"]["entity_0"] == whole["components"]["effectors"]["entity_0"]
    camera = document(world, [world.find("rgb_camera_0")])
    assert camera["entities"] == {"entity_2": ["actor_properties", "actor_state", "sensor"]}
    assert camera["components"]["actor_state"] == {"entity_2": whole["components"]["actor_state"]["entity_2"]}
    assert document(world, [])["entities"] == {}


def test_comments_are_read_too() -> None:
    text = orjson.dumps(example(), option=orjson.OPT_INDENT_2).replace(
        b'"entities"', b'/* all of them */ "entities"'
    )
    assert difference(parse(text), parse(orjson.dumps(example()))) == ""


def test_children_may_stand_before_their_parents() -> None:
    value: dict[str, Any] = {"entities": {}, "components": {"actor_properties": {}, "actor_state": {}}}
    actor(value, "entity_10", "camera", parent="entity_2")
    actor(value, "entity_2", "plane")
    value["components"]["actor_state"]["entity_2"]["pose"]["transform"] = transform(5.0)
    world = parse(orjson.dumps(value))
    assert world.get(world.find("camera"), Transform).world_position.tolist() == [5.0, 0.0, 0.0]
    assert list(document(world)["entities"]) == ["entity_2", "entity_10"]


def test_ids_of_actors_are_kept() -> None:
    value: dict[str, Any] = {"entities": {}, "components": {"actor_properties": {}, "actor_state": {}}}
    for key in ("entity_10", "entity_2", "the drone"):
        actor(value, key)
    assert list(document(world_from_document(value))["entities"]) == [
        "entity_10",
        "entity_2",
        "the drone",
    ]
