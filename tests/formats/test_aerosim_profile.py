"""AeroSim's own encoding: quaternions, sensors, effectors, envelope."""

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import assume, given
from scipy.spatial.transform import Rotation

from diorama.ecs import Effector, Sensor, Transform, World, difference, propagate
from diorama.formats.aerosim import parse
from diorama.formats.aerosim_profile import (
    GROUPS,
    message,
    profile_document,
    quaternion_from_wire,
    wire_from_quaternion,
)
from diorama.geo import Ellipsoid, Origin, quaternion_from_rpy
from diorama.schemas.errors import DioramaError, GeoError, Problem, SceneError
from diorama.tests.ecs.strategies import quaternions
from diorama.tests.formats.scene_documents import example

ANGLE_TOLERANCE_RAD = 1e-9
# Published with eight digits.
TABLE_TOLERANCE = 5e-9
# roll, pitch, yaw in degrees; AeroSim's encoding and the rotation itself, both w x y z
TABLE = [
    (
        (10, 20, 30),
        (0.94371436, 0.26853582, 0.14487813, 0.12767944),
        (0.95154852, 0.03813458, 0.18930786, 0.23929834),
    ),
    ((0, 0, 90), (0.70710678, 0.70710678, 0, 0), (0.70710678, 0, 0, 0.70710678)),
    ((90, 0, 0), (0.70710678, 0, 0, 0.70710678), (0.70710678, 0.70710678, 0, 0)),
    ((0, 0, 30), (0.96592583, 0.25881905, 0, 0), (0.96592583, 0, 0, 0.25881905)),
    ((0, 20, 0), (0.98480775, 0, 0.17364818, 0), (0.98480775, 0, 0.17364818, 0)),
    ((0, -10, 0), (0.9961947, 0, -0.08715574, 0), (0.9961947, 0, -0.08715574, 0)),
]


@pytest.mark.parametrize(("rpy_deg", "wire", "rotation"), TABLE)
def test_quaternions_of_the_table(rpy_deg: Any, wire: Any, rotation: Any) -> None:
    wire, rotation = np.roll(wire, -1), np.roll(rotation, -1)
    assert quaternion_from_rpy(np.radians(rpy_deg)) == pytest.approx(rotation, abs=TABLE_TOLERANCE)
    assert wire_from_quaternion(rotation) == pytest.approx(wire, abs=1e-8)
    assert quaternion_from_wire(wire) == pytest.approx(rotation, abs=1e-8)


@given(quaternions())
def test_the_encoding_agrees_with_scipy_and_comes_back(quaternion: tuple[float, ...]) -> None:
    x, y, z, w = quaternion
    assume(
        abs(2.0 * (w * y - z * x)) < 0.999999
    )  # scipy warns, and chooses otherwise, where roll and yaw are one
    yaw, pitch, roll = Rotation.from_quat(quaternion).as_euler("ZYX")
    theirs = Rotation.from_euler("zyx", [roll, pitch, yaw])
    assert (
        Rotation.from_quat(wire_from_quaternion(quaternion)).inv() * theirs
    ).magnitude() < ANGLE_TOLERANCE_RAD
    back = Rotation.from_quat(quaternion_from_wire(wire_from_quaternion(quaternion)))
    assert (back.inv() * Rotation.from_quat(quaternion)).magnitude() < ANGLE_TOLERANCE_RAD


@pytest.mark.parametrize("rpy_deg", [(0, 90, 0), (10, 90, 30), (0, -90, 45), (180, 0, 180), (90, -90, 90)])
def test_straight_up_and_down_come_back_as_the_same_rotation(rpy_deg: tuple[float, ...]) -> None:
    quaternion = quaternion_from_rpy(np.radians(rpy_deg))
    back = Rotation.from_quat(quaternion_from_wire(wire_from_quaternion(quaternion)))
    assert (back.inv() * Rotation.from_quat(quaternion)).magnitude() < 1e-7


def evtol_world() -> World:
    world = World(origin=Origin(29.594656, -95.16384722, -28.3))
    evtol = world.spawn("evtol", asset="vehicles/evtol", orientation=quaternion_from_rpy((0.1, 0.2, 0.3)))
    world.spawn(
        "evtol/rotor", Effector("rotor", "a/rotor"), parent=evtol, key="entity_0/rotor", position=(3, 3, -2)
    )
    parameters = {"resolution": {"x": 640, "y": 480}, "tick_rate": 0.1, "fov": 60.0, "near_clip": 0.2}
    parameters |= {"far_clip": 500.0, "capture_enabled": True}
    world.spawn("camera", Sensor("camera", "rgb_camera", parameters), parent=evtol, position=(1, 0, 0))
    world.spawn("gps", Sensor("gps", "gnss", {"rate": 5}), parent=evtol)
    world.set_resource("weather", {"preset": "ClearSky"})
    world.set_resource("viewport_configs", [{"renderer_instance": "0", "active_camera": "entity_1"}])
    propagate(world)
    return world


def test_a_world_comes_back_from_aerosims_encoding_in_a_file_or_a_message() -> None:
    world = evtol_world()
    content = profile_document(world)
    for data in (orjson.dumps(content), message(content, time_ns=1_020_000_000)):
        warnings: list[Problem] = []
        back = parse(data, profile="aerosim", warnings=warnings)
        assert difference(world, back, tolerance=1e-12) == ""
        assert warnings == []


def test_the_document_is_as_their_renderers_expect_it() -> None:
    content = profile_document(evtol_world())
    components = content["components"]
    assert tuple(components) == GROUPS
    assert content["entities"]["entity_0"] == ["actor_properties", "actor_state", "effectors"]
    assert components["effectors"]["entity_0"][0].keys() == {"effector_id", "relative_path", "pose"}
    camera = components["sensor"]["entity_1"]
    assert (
        camera["sensor_type"]
        == components["actor_properties"]["entity_1"]["actor_asset"]
        == "sensors/cameras/rgb_camera"
    )
    assert camera["sensor_parameters"]["RGBCamera"]["resolution"] == [640, 480]
    assert components["sensor"]["entity_2"]["sensor_parameters"] == {"rate": 5}
    assert content["resources"]["viewport_configs"][0]["active_camera"] == "entity_1"
    orientation = components["actor_state"]["entity_0"]["pose"]["transform"]["orientation"]
    expected = Rotation.from_euler("zyx", [0.1, 0.2, 0.3]).as_quat()
    assert [orientation[axis] for axis in "xyzw"] == pytest.approx(expected, abs=1e-12)


def test_a_camera_gets_what_their_renderer_cannot_do_without() -> None:
    world = World(origin=Origin(0.0, 0.0, 0.0))
    world.spawn("camera", Sensor("camera", "rgb_camera"))
    propagate(world)
    parameters = profile_document(world)["components"]["sensor"]["entity_0"]["sensor_parameters"]["RGBCamera"]
    assert parameters["fov"] == 90.0
    assert parameters["capture_enabled"] is False


def test_nested_effectors_are_said_relative_to_their_owner() -> None:
    world = World(origin=Origin(0.0, 0.0, 0.0))
    evtol = world.spawn("evtol", orientation=quaternion_from_rpy((0, 0, 1)), position=(100, 0, 0))
    tilt = world.spawn(
        "tilt", Effector("tilt"), parent=evtol, position=(1, 2, 3), orientation=quaternion_from_rpy((0, 1, 0))
    )
    blade = world.spawn("blade", Effector("blade"), parent=tilt, position=(0, 0, -1))
    camera = world.spawn("camera", Sensor("camera", "rgb_camera"), parent=blade, position=(0.5, 0, 0))
    propagate(world)
    back = parse(orjson.dumps(profile_document(world)), profile="aerosim")
    assert back.parent(back.find("evtol/blade")) == back.parent(back.find("camera")) == back.find("evtol")
    for there, here in ((blade, "evtol/blade"), (camera, "camera")):
        expected, found = world.get(there, Transform), back.get(back.find(here), Transform)
        assert found.world_position == pytest.approx(expected.world_position, abs=1e-12)
        turned = Rotation.from_quat(found.world_orientation).inv() * Rotation.from_quat(
            expected.world_orientation
        )
        assert turned.magnitude() < ANGLE_TOLERANCE_RAD


def test_their_origin_knows_no_ellipsoid() -> None:
    world = World(Origin(1.0, 2.0, 3.0, Ellipsoid(6_371_000.0, 0.0)))
    propagate(world)
    written = profile_document(world)
    assert written["resources"]["origin"] == {"latitude": 1.0, "longitude": 2.0, "altitude": 3.0}


def test_what_effectors_carry_stays_at_home() -> None:
    world = evtol_world()
    world.set_group(world.find("evtol/rotor"), "rpm", 500)
    content = profile_document(world)
    assert set(content["entities"]) == {"entity_0", "entity_1", "entity_2"}
    assert content["components"]["rpm"] == {}


def test_the_envelope() -> None:
    content: dict[str, Any] = {"entities": {}, "components": {}}
    opened = orjson.loads(message(content, time_ns=1_020_000_000, platform_time_ns=1_745_000_000_123_456_789))
    assert opened["metadata"] == {
        "topic": "aerosim.scene_graph.update",
        "type_name": "aerosim::types::JsonData",
        "timestamp_sim": {"sec": 1, "nanosec": 20_000_000},
        "timestamp_platform": {"sec": 1_745_000_000, "nanosec": 123_456_789},
    }
    assert orjson.loads(opened["data"]["data"]) == content
    assert orjson.loads(message(content))["metadata"]["timestamp_sim"]["sec"] == -(2**31)


def test_the_command_that_loads_a_scene_is_opened_too() -> None:
    content = profile_document(evtol_world())
    command = {"command": "load_scene_graph", "parameters": {"scene_graph": content}}
    world = parse(message(command), profile="aerosim")
    assert len(world) == 4


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"metadata": {}, "data": {"data": 3}}', "data.data: expected text, got 3"),
        (b'{"metadata": {}, "data": {"data": "{"}}', "data.data: expected JSON text"),
        (b'{"metadata": {}, "data": {"data": "{}"}}', "entities: expected an object, got nothing"),
    ],
)
def test_a_broken_message_is_told(data: bytes, expected: str) -> None:
    with pytest.raises(SceneError, match=expected):
        parse(data, "m.json", profile="aerosim")


def test_a_zero_quaternion_stays_an_error() -> None:
    value = example()
    value["components"]["actor_state"]["entity_0"]["pose"]["transform"]["orientation"]["w"] = 0
    with pytest.raises(SceneError, match="expected a quaternion that can be normalised"):
        parse(orjson.dumps(value), profile="aerosim")


def test_coordinates_of_aerosims_making_are_ignored() -> None:
    value = example()
    value["resources"] = {"origin": {"latitude": 10.0, "longitude": 20.0, "altitude": 30.0}}
    warnings: list[Problem] = []
    assert parse(orjson.dumps(value), profile="aerosim", warnings=warnings).origin == Origin(10.0, 20.0, 30.0)
    assert warnings == []


def test_refusals() -> None:
    with pytest.raises(GeoError, match="--origin"):
        profile_document(World())
    with pytest.raises(DioramaError, match="profile: expected one of aerosim, aerosim-message, got 'x'"):
        parse(b"{}", profile="x")
