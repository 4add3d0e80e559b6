"""Mistakes in scene documents and in what is to be written: every one told, with its line and its path."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from diorama.ecs import Sensor, Transform, World, propagate
from diorama.formats.aerosim import document, parse, write
from diorama.geo import Origin
from diorama.schemas.errors import Problem, StateError
from diorama.tests.formats.scene_documents import actor, example, problems_of


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
    ("components.effectors.entity_0.0", {}, "effectors.entity_0[0].id: expected text, got nothing"),
    ("components.effectors.entity_0.0.id", None, "effectors.entity_0[0].id: expected text, got nothing"),
    ("components.effectors.entity_0.0.parent", "hub", "no effector of 'entity_0' has the id 'hub'"),
    ("components.effectors.entity_0.0.parent", "rotor_blade_01", "its parents go in a circle"),
    ("components.effectors.entity_0.0.entity", "", "effectors.entity_0[0]: expected an id, got an empty one"),
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


def test_an_entity_needs_an_id() -> None:
    value = example()
    actor(value, "", "nobody")
    (problem,) = problems_of(value)
    assert problem.endswith('components.actor_properties[""]: expected an id, got an empty one')


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


def test_an_unknown_key_of_a_registered_component_is_odd_too() -> None:
    value = example()
    for group, content in (("bounds", {"size": [1, 2, 3], "centre": [0, 0, 0]}), ("pfd", {"knots": 3})):
        value["entities"]["entity_0"].append(group)
        value["components"][group] = {"entity_0": content}
    warnings: list[Problem] = []
    parse(orjson.dumps(value), warnings=warnings)
    assert [found.path for found in warnings if "not known" in found.message] == [
        "components.bounds.entity_0.centre"
    ]


def test_a_resource_that_is_null_is_odd() -> None:
    warnings: list[Problem] = []
    world = parse(orjson.dumps(change("resources", {"wind": None, "calm": False})), warnings=warnings)
    assert dict(world.resources) == {"calm": False}
    assert [found.message for found in warnings if found.path == "resources.wind"] == [
        "null is no resource and is left out"
    ]


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


def test_ten_thousand_mistakes_are_told() -> None:
    value: dict[str, Any] = {"entities": {}, "components": {"actor_properties": {}, "actor_state": {}}}
    for number in range(10_000):
        actor(value, f"entity_{number}", parent=f"nobody_{number}")
    assert len(problems_of(value)) == 10_000
