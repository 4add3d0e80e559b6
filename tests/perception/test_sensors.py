"""Sensors: egos, mounts, rays, prefixes, parameters of their own, and what is refused."""

import logging
from math import pi
from typing import Any

import numpy as np
import pytest

from diorama.ecs import Bounds, Classification, Sensor, World, propagate
from diorama.geo.rotation import quaternion_from_rpy
from diorama.perception import (
    DETECTION_TOPIC,
    GROUND_TRUTH_TOPIC,
    Perception,
    attach,
    parameters_from_dict,
)
from diorama.perception.sensors import perceivers
from diorama.schemas.errors import SceneError
from diorama.tests.perception.street import CAR, one, position, run, street, told

TOLERANCE_M = 1e-9


def test_the_ego_neither_sees_itself_nor_hides_behind_itself() -> None:
    world = street()
    world.spawn(
        "ego/bull bar",
        Bounds((0.1, 50.0, 50.0)),
        Classification("unknown"),
        parent=world.find("ego"),
        position=(3, 0, 0),
    )
    world.spawn("car", *CAR, position=(20.0, 0.0, 0.0))
    assert len(one(world, told(), DETECTION_TOPIC)) == len(one(world, told(), GROUND_TRUTH_TOPIC)) == 1


@pytest.mark.parametrize(("mount", "seen"), [({}, 1), ({"position": [0.0, 0.0, -30.0]}, 0)])
def test_a_sensor_sees_from_where_it_is_mounted(mount: dict[str, Any], seen: int) -> None:
    world = World()
    world.spawn("ego", *CAR, Sensor("roof", "sensors/LiDAR", {"mount": mount}))
    world.spawn("car", *CAR, position=(10.0, 0.0, 0.0))
    assert len(one(world, told(), DETECTION_TOPIC)) == seen


def test_a_mount_grows_with_its_entity() -> None:
    world = World()
    mount = {"position": [1.0, 2.0, -3.0]}
    ego = world.spawn(
        "ego", *CAR, Sensor("roof", "lidar", {"mount": mount}), position=(10, 0, 0), scale=(2, 2, 2)
    )
    propagate(world)
    (perceiver,), _ = perceivers(world, told())
    assert perceiver.entity == ego
    start, _ = perceiver.pose(world)
    assert start.tolist() == [4.0, 12.0, 6.0]  # east, north, up


def test_a_tilted_mount_tilts_the_rays() -> None:
    down = quaternion_from_rpy([0.0, -pi / 2, 0.0]).tolist()
    world = World()
    world.spawn(
        "drone",
        Bounds((1, 1, 1)),
        Sensor("belly", "lidar", {"mount": {"orientation": down}}),
        position=(0, 0, -20),
    )
    world.spawn("below", *CAR, position=(0.0, 0.0, 0.0))
    world.spawn("ahead", *CAR, position=(20.0, 0.0, -20.0))
    (item,) = one(world, told(), DETECTION_TOPIC)
    assert np.allclose(position(item)[:2], [0.0, 0.0], atol=TOLERANCE_M)


def test_finer_rays_find_smaller_things() -> None:
    def seen(**rays: Any) -> int:
        world = street(**rays)
        world.spawn(
            "cone", Bounds((0.3, 0.3, 0.5), (0, 0, -0.25)), Classification("hazard"), position=(30, 3, 0)
        )
        return len(one(world, told(), DETECTION_TOPIC))

    assert seen() == 0
    assert seen(channels=128, horizontal_resolution_deg=0.2, vertical_field_of_view_deg=30.0) == 1


def test_several_egos_and_sensors_speak_at_their_own_rates() -> None:
    world = World()
    for number, rate in (("1", 10.0), ("2", 25.0)):
        ego = world.spawn(f"ego {number}", *CAR, position=(0.0, 20.0 * int(number), 0.0))
        attach(world, ego, topic_prefix=f"/ego_{number}", rate_hz=rate)
    left = list(run(world, told(), 50))
    counts = {topic: sum(name == topic for _, name, _ in left) for _, topic, _ in left}
    assert counts == {
        f"/ego_{number}{topic}": count
        for number, count in (("1", 10), ("2", 25))
        for topic in (DETECTION_TOPIC, GROUND_TRUTH_TOPIC)
    }
    # each sees the other, and not itself
    for _, topic, message in left:
        assert len(message["objects"]) == 1
        assert position(message["objects"][0])[0] == (40.0 if topic.startswith("/ego_1") else 20.0)


def test_a_sensor_may_bring_parameters_of_its_own() -> None:
    own = {GROUND_TRUTH_TOPIC: {"version": 20240605}}
    perception = Perception(street(parameters=own), told())
    assert perception.topics == [GROUND_TRUTH_TOPIC]
    world = street(
        parameters={DETECTION_TOPIC: {"version": 20240605}}, properties={"detectionSensorRange": "5"}
    )
    world.spawn("car", *CAR, position=(20.0, 0.0, 0.0))
    assert one(world, told(), DETECTION_TOPIC) == []


def test_a_sensor_may_bring_legacy_properties_to_the_parameters_all_share() -> None:
    def seen(override: bool) -> int:
        world = street(properties=[{"name": "detectionSensorRange", "value": "5"}])
        world.spawn("car", *CAR, position=(20.0, 0.0, 0.0))
        keys = {"version": 20240605, "range": 100.0, "override_legacy_configuration": override}
        return len(one(world, parameters_from_dict({DETECTION_TOPIC: keys}), DETECTION_TOPIC))

    assert seen(override=False) == 0
    assert seen(override=True) == 1


def test_a_lidar_of_project_airsim_has_the_rays_it_asks_for() -> None:
    world = World()
    asked = {"number-of-channels": 4, "vertical-fov-lower-deg": -45.0, "vertical-fov-upper-deg": -15.0}
    world.spawn("drone/lidar", Sensor("lidar", "lidar", {**asked, "range": 100, "draw-debug-points": False}))
    (perceiver,), problems = perceivers(world, told())
    assert problems == []
    assert np.allclose(np.degrees(perceiver.grid.elevations), [-45.0, -35.0, -25.0, -15.0])
    world.spawn("tilted", Sensor("tilted", "lidar", {"vertical_center_deg": -30.0, "channels": 3}))
    elevations = perceivers(world, told())[0][1].grid.elevations
    assert np.allclose(np.degrees(elevations), [-45.0, -35.0, -25.0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"channels": 0},
            "sensor 'ego/perception': channels: expected a whole number between 1 and 4096, got 0",
        ),
        ({"number-of-channels": 10**9}, "number-of-channels: expected a whole number between 1 and 4096"),
        ({"rate_hz": 0}, "rate_hz: expected a number between"),
        ({"topic_prefix": "ego"}, "topic_prefix: expected a name such as '/ego_2', got 'ego'"),
        ({"mount": {"position": [1, 2]}}, "mount.position: expected 3 numbers, got [1, 2]"),
        ({"mount": {"orientation": [0, 0, 0, 0]}}, "mount.orientation: expected 4 numbers, got [0, 0, 0, 0]"),
        ({"mount": 3}, "mount.position: expected"),
        (
            {"parameters": {DETECTION_TOPIC: {}}},
            f"sensor 'ego/perception': {DETECTION_TOPIC}.version: is missing",
        ),
    ],
)
def test_a_sensor_told_nonsense_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneError) as caught:
        Perception(street(**parameters), told())
    assert message in str(caught.value)


def test_the_first_sensor_speaks_on_the_plain_topics_and_others_under_names() -> None:
    world = street()
    second = world.spawn("second", *CAR, position=(30.0, 0.0, 0.0))
    attach(world, second)
    world.spawn("rear", Sensor("rear", "lidar"), parent=second)
    perception = Perception(world, told())
    plain = [DETECTION_TOPIC, GROUND_TRUTH_TOPIC]
    assert perception.topics == [prefix + topic for prefix in ("", "/second", "/rear") for topic in plain]


def test_two_sensors_of_one_prefix_are_refused_and_later_ones_are_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = street(topic_prefix="/a")
    perception = Perception(world, told())
    attach(world, world.spawn("second", *CAR, position=(30.0, 0.0, 0.0)), topic_prefix="/a")
    with pytest.raises(
        SceneError, match=r"sensor 'second/perception': speaks on .* as 'ego/perception' does"
    ):
        Perception(world, told())
    propagate(world)
    with caplog.at_level(logging.ERROR):
        assert len(perception.due(world, 100_000_000, 100_000_000)) == 2
    assert "give one another topic_prefix" in caplog.text


def test_a_world_without_a_perceiving_sensor_is_refused() -> None:
    world = World()
    world.spawn("ego", *CAR, Sensor("front", "sensors/cameras/rgb_camera"))
    with pytest.raises(SceneError, match="no sensor perceives: expected one of type 'lidar' or 'perception'"):
        Perception(world, told())
