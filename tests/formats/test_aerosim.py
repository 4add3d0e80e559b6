"""The scene document: the seed's example, everything it may say, everything that is wrong with it, round trips."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import (
    Bounds,
    Effector,
    Sensor,
    Transform,
    Velocity,
    World,
    difference,
    locate,
    propagate,
)
from diorama.formats.aerosim import document, parse, world_from_document, write
from diorama.formats.aerosim_typed import batch_from_bytes
from diorama.geo import Ellipsoid, Origin
from diorama.schemas.errors import Problem, SceneError, StateError
from diorama.tests.formats.scene_documents import actor, example, transform
from diorama.tests.formats.scene_worlds import json_values, worlds

ECEF_TOLERANCE_M = 1e-6


def problems_of(value: Any) -> list[str]:
    data = value if isinstance(value, bytes) else orjson.dumps(value, option=orjson.OPT_INDENT_2)
    with pytest.raises(SceneError) as caught:
        parse(data, "scene.json")
    return [str(problem) for problem in caught.value.problems]


# -- what it says ------------------------------------------------------------------------------------------------


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


# -- the origin --------------------------------------------------------------------------------------------------


def test_the_origin_in_resources_counts_and_entities_that_disagree_are_odd() -> None:
    value = example()
    value["resources"] = {"origin": {"latitude": 10.0, "longitude": 20.0, "altitude": 30.0}}
    warnings: list[Problem] = []
    world = parse(orjson.dumps(value), warnings=warnings)
    assert world.origin == Origin(10.0, 20.0, 30.0)
    (told,) = [found for found in warnings if found.path.endswith("origin_lla")]
    assert "as resources.origin says" in told.message


def test_entities_that_disagree_on_the_origin_are_an_error() -> None:
    value = example()
    state = value["components"]["actor_state"]
    other = orjson.loads(orjson.dumps(state["entity_0"]["world_coordinate"]))
    other["origin_lla"]["latitude"] = 29.6
    state["entity_1"]["world_coordinate"] = other
    (problem,) = problems_of(value)
    assert (
        "components.actor_state.entity_1.world_coordinate.origin_lla: expected the origin of 'entity_0'"
        in problem
    )
    assert "write it in resources.origin" in problem


def test_a_scene_without_an_origin_has_no_earth() -> None:
    world = world_from_document({"entities": {}, "components": {}})
    assert world.origin is None
    value = document(world)
    assert value == {"entities": {}, "components": {}}


def test_an_ellipsoid_of_ones_own_comes_back() -> None:
    world = World(origin=Origin(1.0, 2.0, 3.0, Ellipsoid(3396190.0, 0.00589)))
    assert world_from_document(document(world)).origin == world.origin
    world.spawn("rover")
    propagate(world)
    value = document(world)
    del value["resources"]
    assert world_from_document(value).origin == world.origin


def test_a_place_more_than_a_metre_off_is_odd_and_one_less_is_not() -> None:
    world = World(origin=Origin(0.0, 180.0, 0.0))
    world.spawn("ship", position=(0, 5, 0))
    propagate(world)
    for name, parts in (("ned", "east"), ("ecef", "y"), ("lla", "altitude"), ("cartesian", "z")):
        for off, expected in ((0.9, []), (1.1, [name])):
            value = document(world)
            value["components"]["actor_state"]["entity_0"]["world_coordinate"][name][parts] += off
            warnings: list[Problem] = []
            world_from_document(value, warnings=warnings)
            assert [found.path.rpartition(".")[2] for found in warnings] == expected
    value = document(world)
    value["components"]["actor_state"]["entity_0"]["world_coordinate"]["lla"]["longitude"] += 360.0
    warnings = []
    world_from_document(value, warnings=warnings)
    assert warnings == []


def test_where_there_is_no_latitude_none_is_written() -> None:
    world = World(origin=Origin(0.0, 0.0, 0.0))
    world.spawn("core", position=(0, 0, 6378137.0))
    world.spawn("far", position=(1e308, 0, 0))
    propagate(world)
    states = document(world)["components"]["actor_state"]
    assert "lla" not in states["entity_0"]["world_coordinate"]
    assert states["entity_0"]["world_coordinate"]["ned"]["down"] == 6378137.0
    data = orjson.dumps(document(world))
    assert b"null" not in data
    assert difference(world, parse(data)) == ""


def test_many_oddities_of_a_kind_are_counted() -> None:
    world = World(origin=Origin(0.0, 0.0, 0.0))
    world.insert(100, position=np.zeros((100, 3)))
    propagate(world)
    value = document(world)
    for state in value["components"]["actor_state"].values():
        state["world_coordinate"]["ned"]["north"] = 50.0
    warnings: list[Problem] = []
    parse(orjson.dumps(value), warnings=warnings)
    assert len(warnings) == 21
    assert warnings[-1].message == "and 80 more like the last one"


# -- what is wrong -----------------------------------------------------------------------------------------------


def change(path: str, value: Any = None) -> dict[str, Any]:
    """The example with one value replaced, or taken away."""
    changed = example()
    *steps, last = path.split(".")
    holder: Any = changed
    for step in steps:
        holder = holder[int(step) if step.isdigit() else step]
    if value is None:
        del holder[int(last) if last.isdigit() else last]
    else:
        holder[int(last) if last.isdigit() else last] = value
    return changed


STATE = "components.actor_state.entity_0"
MISTAKES: list[tuple[str, Any, str]] = [
    ("entities", None, "entities: expected an object, got nothing"),
    ("components", None, "components: expected an object, got nothing"),
    ("components", [], "components: expected an object, got []"),
    ("entities.entity_0", "x", "entities.entity_0: expected a list, got 'x'"),
    ("entities.entity_0.0", 3, "entities.entity_0[0]: expected the name of a group, got 3"),
    ("entities.entity_0.0", "actor_propertis", "did you mean 'actor_properties'?"),
    (
        "entities.entity_0.2",
        None,
        "components.effectors.entity_0: entities.entity_0 does not list 'effectors'",
    ),
    ("entities.entity_0", None, "components.actor_properties.entity_0: `entities` has no 'entity_0'"),
    ("entities.entity_9", ["actor_state"], "entities.entity_9[0]: components.actor_state has no 'entity_9'"),
    (
        "entities.entity_9",
        [],
        "entities.entity_9: expected actor_properties and actor_state among its groups",
    ),
    (
        "components.actor_properties.entity_0.actor_name",
        None,
        "entity_0.actor_name: expected text, got nothing",
    ),
    ("components.actor_properties.entity_0.actor_asset", 3, "entity_0.actor_asset: expected text, got 3"),
    (
        "components.actor_properties.entity_0",
        3,
        "components.actor_properties.entity_0: expected an object, got 3",
    ),
    ("components.actor_properties.entity_2.parent", "entity_7", "parent: no entity has the id 'entity_7'"),
    (
        "components.actor_properties.entity_2.parent",
        "generic_evtol_1",
        "no entity has the id 'generic_evtol_1'; that is the name of 'entity_1': write the id",
    ),
    (
        "components.actor_properties.entity_1.parent",
        "entity_2",
        "entity_1.parent: its parents go in a circle: entity_1 → entity_2 → entity_1",
    ),
    ("components.actor_properties.entity_1.parent", "entity_1", "in a circle: entity_1 → entity_1"),
    (
        "components.actor_properties.entity_1.actor_name",
        "generic_evtol_0",
        "the name 'generic_evtol_0' is taken by 'entity_0'; names are unique in a scene",
    ),
    (f"{STATE}.pose", None, "components.actor_state.entity_0.pose: expected an object, got nothing"),
    (f"{STATE}.pose.transform", None, "entity_0.pose.transform: expected an object, got nothing"),
    (f"{STATE}.pose.transform.scale", None, "transform.scale: expected an object with x, y, z, got nothing"),
    (f"{STATE}.pose.transform.position.x", None, "position.x: expected a finite number, got nothing"),
    (f"{STATE}.pose.transform.position.x", "1.0", "position.x: expected a finite number, got '1.0'"),
    (f"{STATE}.pose.transform.position.x", True, "position.x: expected a finite number, got true"),
    (
        f"{STATE}.pose.transform.position",
        [1, 2, 3],
        "position: expected an object with x, y, z, got [1, 2, 3]",
    ),
    (f"{STATE}.pose.transform.orientation.w", 0, "orientation: expected a quaternion that can be normalised"),
    (
        f"{STATE}.pose.transform.scale.x",
        1e308,
        "entity 'generic_evtol_0/rotor_blade_01': its world pose is too large",
    ),
    (f"{STATE}.world_coordinate", 1, "world_coordinate: expected an object, got 1"),
    (f"{STATE}.world_coordinate.ned.north", "a", "ned.north: expected a finite number, got 'a'"),
    (
        f"{STATE}.world_coordinate.origin_lla.latitude",
        95,
        "latitude_deg: expected -90 to 90 degrees, got 95.0",
    ),
    (
        "components.effectors.entity_0",
        {},
        "components.effectors.entity_0: expected a list, got an empty object",
    ),
    ("components.effectors.entity_0.0.id", None, "effectors.entity_0[0].id: expected text, got nothing"),
    ("components.effectors.entity_0.0.parent", "hub", "no effector of 'entity_0' has the id 'hub'"),
    ("components.effectors.entity_0.0.parent", "rotor_blade_01", "its parents go in a circle"),
    ("components.effectors.entity_0.0.entity", "entity_2", "the id 'entity_2' is taken"),
    (
        "components.effectors.entity_0.0.pose.transform.scale.z",
        None,
        "[0].pose.transform.scale.z: expected a finite",
    ),
    (
        "components.sensor.entity_2.sensor_type",
        None,
        "sensor.entity_2.sensor_type: expected text, got nothing",
    ),
    ("components.sensor.entity_2.sensor_parameters", [], "sensor_parameters: expected an object, got []"),
    ("components.sensor.entity_2", [{}], "components.sensor.entity_2: expected an object, got [{}]"),
    (
        "resources",
        {"origin": {"latitude": 1, "longitude": 2}},
        "resources.origin.altitude: expected a finite number",
    ),
    (
        "resources",
        {"origin": {"latitude": 91, "longitude": 2, "altitude": 3}},
        "resources.origin: origin: latitude",
    ),
    ("resources", [], "resources: expected an object, got []"),
]


@pytest.mark.parametrize(("path", "value", "message"), MISTAKES)
def test_a_mistake_is_told_with_file_line_and_path(path: str, value: Any, message: str) -> None:
    told = problems_of(change(path, value))
    assert any(message in problem for problem in told), told
    assert all(problem.startswith("scene.json:") for problem in told)


def test_an_entity_needs_properties_and_state() -> None:
    value = example()
    value["entities"]["entity_1"].remove("actor_state")
    del value["components"]["actor_state"]["entity_1"]
    assert problems_of(value)[0].endswith("entities.entity_1: expected actor_state among its groups")


def test_a_component_of_the_wrong_type_is_told_with_the_place_inside_it() -> None:
    value = example()
    value["entities"]["entity_0"].append("bounds")
    value["components"]["bounds"] = {"entity_0": {"size": [1, "2", 3]}}
    (problem,) = problems_of(value)
    assert "components.bounds.entity_0.size[1]: expected `float`, got `str`" in problem


def test_all_mistakes_of_a_file_are_told_at_once_with_their_lines() -> None:
    value = example()
    del value["components"]["actor_properties"]["entity_0"]["actor_name"]
    value["components"]["actor_properties"]["entity_2"]["parent"] = "nobody"
    value["components"]["actor_state"]["entity_1"]["pose"]["transform"]["position"]["y"] = None
    data = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    told = problems_of(data)
    lines = data.decode().splitlines()
    for problem, text in zip(told, ('"entity_0": {', '"parent": "nobody"', '"y": null'), strict=True):
        assert text in lines[int(problem.split(":")[1]) - 1]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (
            b'{"entities": {"entity_0": [',
            "the text ends too early; the '[' of line 1, column 27 is not closed",
        ),
        (b'{"entities": {}, "components": {"actor_state": {"e": NaN}}}', "expected a finite number, got NaN"),
        (b'{"entities": {}, "components": {"velocity": {"e": 1e999}}}', "a number too large for a double"),
        (b"[1, 2]", "expected a scene document: an object with entities and components, got [1, 2]"),
        (b'{"entities": {}, "components": {}}}', "expected the end of the file"),
        (b'{"metadata": {}, "data": {"data": "{}"}}', "--profile aerosim"),
    ],
)
def test_text_that_is_no_document(data: bytes, message: str) -> None:
    assert any(message in problem for problem in problems_of(data))


@pytest.mark.parametrize("piece", [b"[", b'{"a":', b'{"entities":{},"components":{"x":['])
def test_fifty_megabytes_of_nesting_are_an_error_like_any_other(piece: bytes) -> None:
    (problem,) = problems_of(piece * (50_000_000 // len(piece)))
    assert "nested too deeply" in problem


def test_an_unknown_key_is_odd_but_read() -> None:
    value = change("components.actor_properties.entity_0.actor_naem", "x")
    warnings: list[Problem] = []
    parse(orjson.dumps(value), warnings=warnings)
    assert "did you mean 'actor_name'?" in warnings[0].message


def test_what_cannot_be_written_is_refused() -> None:
    world = World()
    drone = world.spawn("drone", Sensor("s", "t", {"deep": [{"noise": float("nan")}]}))
    propagate(world)
    with pytest.raises(
        StateError, match=r"entity 'drone': sensor.sensor_parameters.deep\[0\].noise: expected finite"
    ):
        document(world)
    world.remove(drone, Sensor)
    world.get(drone, Transform).position[1] = np.inf
    with pytest.raises(StateError, match="entity 'drone': position: expected finite numbers"):
        document(world)


@pytest.mark.parametrize("profile", [None, "aerosim-message"])
def test_what_json_cannot_hold_is_refused_and_the_file_stays(tmp_path: Path, profile: str | None) -> None:
    world = World(Origin(0.0, 0.0, 0.0))
    file = tmp_path / "x.scene.json"
    write(world, file)
    before = file.read_bytes()
    world.set_resource("count", 2**64)
    with pytest.raises(StateError, match=r"x.scene.json: some component or resource cannot be written as"):
        write(world, file, profile=profile)
    assert file.read_bytes() == before


def test_comments_are_read_too() -> None:
    text = orjson.dumps(example(), option=orjson.OPT_INDENT_2).replace(
        b'"entities"', b'/* all of them */ "entities"'
    )
    assert difference(parse(text), parse(orjson.dumps(example()))) == ""


# -- round trips -------------------------------------------------------------------------------------------------


@given(worlds())
def test_what_is_written_is_read_back(world: World) -> None:
    data = orjson.dumps(document(world))
    warnings: list[Problem] = []
    assert difference(world, parse(data, warnings=warnings)) == ""
    assert [warning.message for warning in warnings] == []


@given(worlds())
def test_the_fast_and_the_careful_reader_agree(world: World) -> None:
    value = document(world)
    assert difference(parse(orjson.dumps(value)), world_from_document(value)) == ""


@given(st.data())
def test_whatever_stands_in_a_document_is_read_or_refused_and_both_readers_say_the_same(
    data: st.DataObject,
) -> None:
    value = example()
    for _ in range(data.draw(st.integers(1, 3))):
        holder: Any = value
        if not holder:
            break
        step: Any = data.draw(st.sampled_from(list(holder)))
        while isinstance(holder[step], dict | list) and holder[step] and data.draw(st.integers(0, 5)):
            holder = holder[step]
            step = data.draw(
                st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder)))
            )
        if data.draw(st.booleans()):
            del holder[step]
        else:
            holder[step] = data.draw(json_values | st.sampled_from(["entity_0", "entity_2", "sensor", 1e308]))
    readers: tuple[Callable[[], World], ...] = (
        lambda: parse(orjson.dumps(value)),
        lambda: world_from_document(value),
    )
    outcomes: list[Any] = []
    for read in readers:
        try:
            outcomes.append(document(read()))
        except SceneError as error:
            outcomes.append({problem.message for problem in error.problems})
    assert outcomes[0] == outcomes[1]


def test_ten_thousand_mistakes_are_told() -> None:
    value: dict[str, Any] = {"entities": {}, "components": {"actor_properties": {}, "actor_state": {}}}
    for number in range(10_000):
        actor(value, f"entity_{number}", parent=f"nobody_{number}")
    assert len(problems_of(value)) == 10_000


def test_the_fast_reader_reads_what_is_usual() -> None:
    world = parse(orjson.dumps(example()))
    for value in (example(), document(world)):
        assert batch_from_bytes(orjson.dumps(value)) is not None


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
