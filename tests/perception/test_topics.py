"""Perception of a world: what sensors on egos report, in which axes, and when."""

import logging
from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import Bounds, Classification, Sensor, Transform, Velocity, World, propagate
from diorama.geo.rotation import matrix_from_quaternion, multiply, quaternion_from_rpy, rotate
from diorama.perception import (
    DETECTION_TOPIC,
    GROUND_TRUTH_TOPIC,
    Parameters,
    Perception,
    attach,
    parameters_from_dict,
)
from diorama.perception.messages import Message
from diorama.schemas.errors import SceneError
from diorama.tests.perception.test_messages import validator, vector

TOLERANCE_M = 1e-9
STEP_NS = 20_000_000
CAR = (Bounds((4.4, 1.8, 1.5), (0.0, 0.0, -0.75)), Classification("car"))


def told(detection: dict[str, Any] | None = None, truth: dict[str, Any] | None = None) -> Parameters:
    """Parameters of both topics that override the legacy ones."""
    head = {"version": 20240605, "override_legacy_configuration": True}
    return parameters_from_dict(
        {
            DETECTION_TOPIC: {**head, "seed": 1, **(detection or {})},
            GROUND_TRUTH_TOPIC: {**head, **(truth or {})},
        }
    )


def street(**sensor: Any) -> World:
    """An ego at the origin that looks north, with a LiDAR on its roof."""
    world = World()
    attach(world, world.spawn("ego", *CAR), **sensor)
    return world


def run(
    world: World, parameters: Parameters, ticks: int, step_ns: int = STEP_NS
) -> Iterator[tuple[int, str, Message]]:
    """(tick, topic, message) for every message of a number of ticks, the first of which reaches one step."""
    propagate(world)
    perception = Perception(world, parameters)
    for index in range(ticks):
        for topic, message in perception.due(world, (index + 1) * step_ns, step_ns):
            yield index, topic, message


def one(world: World, parameters: Parameters, topic: str) -> list[Message]:
    """The objects of the first message on a topic."""
    return next(message["objects"] for _, name, message in run(world, parameters, 5) if name == topic)


def position(item: Message) -> list[float]:
    return vector(item["kinematics"]["pose_with_covariance"]["pose"]["position"])


def orientation(item: Message) -> list[float]:
    return vector(item["kinematics"]["pose_with_covariance"]["pose"]["orientation"])


def test_the_map_is_east_north_up_and_bodies_are_forward_left_up() -> None:
    world = street()
    # 30 m north, 10 m east, 5 m up, nose to the east, going north at 3 m/s and turning clockwise from above.
    car = world.spawn(
        "car",
        Bounds((4.0, 2.0, 1.5)),
        Classification("car"),
        position=(30.0, 10.0, -5.0),
        orientation=quaternion_from_rpy([0, 0, pi / 2]),
    )
    world.set(car, Velocity((3.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    assert np.allclose(position(item), [10.0, 30.0, 5.0], atol=TOLERANCE_M)
    forward, left, up = matrix_from_quaternion(orientation(item)).T
    assert np.allclose([forward, left, up], np.eye(3), atol=TOLERANCE_M)  # forward is east, left north
    twist = item["kinematics"]["twist_with_covariance"]["twist"]
    assert np.allclose(vector(twist["linear"]), [0.0, 3.0, 0.0], atol=TOLERANCE_M)  # to its left
    assert np.allclose(vector(twist["angular"]), [0.0, 0.0, -0.5], atol=TOLERANCE_M)  # clockwise about up
    assert vector(item["shape"]["dimensions"]) == [4.0, 2.0, 1.5]
    assert item["classification"][0]["label"] == 1


def test_the_pose_is_that_of_the_box_under_any_parent_scale_and_turn() -> None:
    random = np.random.default_rng(3)
    world = street()
    carrier = world.spawn(
        "carrier", position=(50.0, 0.0, 0.0), orientation=random.normal(size=4), scale=(2, 2, 2)
    )
    turn = random.normal(size=4)
    car = world.spawn(
        "car",
        Bounds((4.0, 2.0, 1.0), (1.0, 0.2, -0.3)),
        Classification("truck"),
        parent=carrier,
        position=(1, 2, 3),
        orientation=turn,
        scale=(0.5, 1.5, 1.0),
    )
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    pose = world.get(car, Transform)
    center = pose.world_position + rotate(
        pose.world_orientation, np.array([1.0, 0.2, -0.3]) * [1.0, 3.0, 2.0]
    )
    north, east, down = center
    assert np.allclose(position(item), [east, north, -down], atol=TOLERANCE_M)
    assert np.allclose(vector(item["shape"]["dimensions"]), [4.0, 6.0, 2.0])
    # The body's axes, forward and minus right and minus down, written in east, north, up.
    ned = matrix_from_quaternion(pose.world_orientation) * [1.0, -1.0, -1.0]
    assert np.allclose(
        matrix_from_quaternion(orientation(item)), ned[[1, 0, 2]] * [[1], [1], [-1]], atol=1e-12
    )


def test_the_centre_of_a_turning_box_moves() -> None:
    world = street()
    car = world.spawn("car", Bounds((4, 2, 1), (2.0, 0.0, 0.0)), Classification("car"), position=(20, 0, 0))
    world.set(car, Velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.5)))
    (item,) = one(world, told(), GROUND_TRUTH_TOPIC)
    twist = item["kinematics"]["twist_with_covariance"]["twist"]
    assert np.allclose(vector(twist["linear"]), [1.0, -1.0, 0.0])  # the nose swings to the right


def test_ground_truth_is_all_there_is_and_detection_what_is_in_range_and_sight() -> None:
    world = street()
    world.spawn("near", *CAR, position=(20.0, 0.0, 0.0))
    world.spawn("hidden", *CAR, position=(28.0, 0.0, 0.0))
    world.spawn("behind", *CAR, position=(-30.0, 0.0, 0.0))
    world.spawn("far", *CAR, position=(400.0, 0.0, 0.0))
    world.spawn(
        "wall",
        Bounds((0.5, 30.0, 10.0)),
        position=(0.0, 40.0, 0.0),
        orientation=quaternion_from_rpy([0, 0, pi / 2]),
    )
    world.spawn("walled off", *CAR, position=(0.0, 45.0, 0.0))
    truth = one(world, told(), GROUND_TRUTH_TOPIC)
    assert len(truth) == 5  # neither the wall, which has no class, nor the ego
    east_north = [position(item)[:2] for item in one(world, told(), DETECTION_TOPIC)]
    assert np.allclose(east_north, [[0.0, -30.0], [0.0, 20.0]])
    clear = [position(item)[:2] for item in one(world, told({"occlusionless": True}), DETECTION_TOPIC)]
    assert np.allclose(clear, [[0.0, -30.0], [0.0, 28.0], [0.0, 20.0], [45.0, 0.0]])
    close = one(world, told({"occlusionless": True, "range": 25.0}), DETECTION_TOPIC)
    assert np.allclose([position(item)[:2] for item in close], [[0.0, 20.0]])


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


NOISY = {
    "noise.model.version": 2,
    "noise.v2.distance.autocorrelation_coefficient": {"amplitude": 0.5, "decay": 0.3},
    "noise.v2.distance.mean.values": [0.1] * 9,
    "noise.v2.distance.standard_deviation": {
        "ellipse_normalized_x_radius": 1.8,
        "values": [0.1 * n for n in range(1, 10)],
    },
    "noise.v2.yaw.standard_deviation.values": [0.05] * 9,
    "noise.v2.yaw_flip.rate": 0.3,
    "noise.v2.true_positive.rate": {
        "ellipse_normalized_x_radius": 0.5,
        "values": [0.99, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2],
    },
}


def crowd(order: list[int], yaw: float = 0.0) -> World:
    """An ego and 30 cars about it, made in the given order, everything turned about the origin."""
    random = np.random.default_rng(11)
    places = random.uniform(-80.0, 80.0, (30, 2))
    headings = random.uniform(-3.0, 3.0, 30)
    turn = quaternion_from_rpy([0.0, 0.0, yaw])
    world = World()
    attach(world, world.spawn("ego", *CAR, orientation=turn))
    for index in order:
        world.spawn(
            f"car {index}",
            *CAR,
            position=rotate(turn, [*places[index], 0.0]),
            orientation=multiply(turn, quaternion_from_rpy([0.0, 0.0, headings[index]])),
        )
    return world


def detections(world: World, parameters: Parameters, ticks: int = 50) -> list[Message]:
    return [message for _, topic, message in run(world, parameters, ticks) if topic == DETECTION_TOPIC]


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(30)))
def test_the_same_seed_says_the_same_whatever_the_order_of_entities(order: list[int]) -> None:
    assert detections(crowd(order), told(NOISY)) == detections(crowd(list(range(30))), told(NOISY))


@settings(max_examples=10, deadline=None)
@given(yaw=st.floats(-3.0, 3.0))
def test_turning_the_ego_with_its_surroundings_turns_the_errors(yaw: float) -> None:
    """Rings lie in the ego's axes: the same objects are detected, and as wrongly."""
    parameters = told({**NOISY, "occlusionless": True})
    back = quaternion_from_rpy([0.0, 0.0, yaw])  # yaw about down turned, about up turns back
    for straight, turned in zip(
        detections(crowd(list(range(30))), parameters),
        detections(crowd(list(range(30)), yaw), parameters),
        strict=True,
    ):
        assert len(straight["objects"]) == len(turned["objects"])
        for first, second in zip(straight["objects"], turned["objects"], strict=True):
            assert np.allclose(rotate(back, position(second)), position(first), atol=1e-6)


def test_seed_0_draws_one_and_publishes_it() -> None:
    first, second = (detections(crowd(list(range(30))), told({**NOISY, "seed": 0})) for _ in range(2))
    drawn = first[0]["noise"]["seed"]
    assert drawn > 0
    assert drawn != second[0]["noise"]["seed"]
    assert first != second
    assert detections(crowd(list(range(30))), told({**NOISY, "seed": drawn})) == first


@pytest.mark.parametrize(("rate_hz", "per_period"), [(30, 3), (50, 5), (60, 6)])
def test_delays_are_exact_to_the_tick_and_both_stamps_tell(rate_hz: int, per_period: int) -> None:
    world = street()
    world.spawn("car", *CAR, position=(20.0, 0.0, 0.0))
    step_ns = 10**9 // rate_hz
    parameters = told({"delay": 0.25}, {"delay": 0.1})
    left = list(run(world, parameters, 40 * per_period, step_ns))
    for topic, periods in ((DETECTION_TOPIC, 3), (GROUND_TRUTH_TOPIC, 1)):
        messages = [(tick, message) for tick, name, message in left if name == topic]
        # The first capture is at the end of the first period, tick per_period - 1.
        expected = [(number + 1 + periods) * per_period - 1 for number in range(40 - periods)]
        assert [tick for tick, _ in messages] == expected
        for tick, message in messages:
            published, captured = (
                stamp["sec"] * 10**9 + stamp["nanosec"]
                for stamp in (message["header"]["stamp"], message["capture_stamp"])
            )
            assert published == (tick + 1) * step_ns
            assert captured == (tick + 1 - periods * per_period) * step_ns


def test_a_delayed_message_tells_of_the_moment_it_was_captured() -> None:
    world = street()
    car = world.get(world.spawn("car", *CAR, position=(20.0, 0.0, 0.0)), Transform)
    propagate(world)
    perception = Perception(world, told({"delay": 0.2}))
    seen = []
    for index in range(1, 51):
        car.position[0] = 20.0 + 0.1 * index
        propagate(world)
        for topic, message in perception.due(world, index * STEP_NS, STEP_NS):
            if topic == DETECTION_TOPIC:
                seen.append((index, position(message["objects"][0])[1]))
    assert [index for index, _ in seen] == list(range(15, 51, 5))
    assert np.allclose([north for _, north in seen], [20.0 + 0.1 * (index - 10) for index, _ in seen])


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


def test_messages_follow_their_schemas() -> None:
    world = crowd(list(range(30)))
    for _, topic, message in run(world, told(NOISY), 10):
        name = "detected_objects" if topic == DETECTION_TOPIC else "tracked_objects"
        assert [str(error) for error in validator(name).iter_errors(message)] == []


def test_ids_are_stable_and_objects_that_return_under_a_name_are_new_to_the_noise() -> None:
    world = crowd(list(range(30)))
    propagate(world)
    frozen = {"noise.v2.distance.autocorrelation_coefficient": {"amplitude": 1.0, "decay": 0.0}}
    perception = Perception(
        world, told({**NOISY, **frozen, "noise.v2.stationary_start": True, "occlusionless": True})
    )

    def hear(index: int) -> dict[str, Message]:
        return dict(perception.due(world, index * 100_000_000, 100_000_000))

    ids = [item["object_id"] for item in hear(1)[GROUND_TRUTH_TOPIC]["objects"]]
    assert len(set(ids)) == 30
    memory = perception._watches[0]._memory
    before = dict(zip(memory.rows["id"].tolist(), memory.rows["distance"].tolist(), strict=True))
    old = world.find("car 3")
    pose = world.get(old, Transform).position.copy()
    world.despawn(old)
    new = world.spawn("car 3", *CAR, position=pose)
    propagate(world)
    assert [item["object_id"] for item in hear(2)[GROUND_TRUTH_TOPIC]["objects"]] == ids
    after = dict(zip(memory.rows["id"].tolist(), memory.rows["distance"].tolist(), strict=True))
    assert old not in after
    assert after.pop(new) != before.pop(old)
    assert after == before  # frozen for all the others


def test_another_world_or_a_clock_set_back_starts_anew() -> None:
    world = street()
    world.spawn("car", *CAR, position=(20.0, 0.0, 0.0))
    propagate(world)
    perception = Perception(world, told({"delay": 0.1}))
    ticks = [0, 100_000_000, 200_000_000, 0, 100_000_000]
    assert [len(perception.due(world, time, 100_000_000)) for time in ticks] == [1, 2, 2, 1, 2]
    other = street()
    propagate(other)
    assert [len(perception.due(other, time, 100_000_000)) for time in (200_000_000, 300_000_000)] == [1, 2]


def test_unwanted_messages_are_not_built_and_noise_goes_on() -> None:
    world = crowd(list(range(30)))
    propagate(world)
    expected = detections(world, told(NOISY))[-1]
    perception = Perception(world, told(NOISY))
    for index in range(50):
        listening = index == 49
        messages = perception.due(world, (index + 1) * STEP_NS, STEP_NS, lambda topic, on=listening: on)  # type: ignore[misc]
        assert len(messages) == (2 if listening else 0)
    assert dict(messages)[DETECTION_TOPIC] == expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"channels": 0},
            "sensor 'ego/perception': channels: expected a whole number between 1 and 4096, got 0",
        ),
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
