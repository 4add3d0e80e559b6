"""Perception of a world: what is reported, when, and with which noise."""

from math import pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diorama.ecs import Bounds, Transform, World, propagate
from diorama.geo.rotation import multiply, quaternion_from_rpy, rotate
from diorama.perception import (
    DETECTION_TOPIC,
    GROUND_TRUTH_TOPIC,
    Parameters,
    Perception,
    attach,
)
from diorama.perception.messages import Message
from diorama.tests.perception.street import CAR, STEP_NS, one, position, run, street, told
from diorama.tests.perception.test_messages import validator


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


def test_the_range_is_from_origin_to_origin_and_ends_with_it() -> None:
    world = street()
    world.spawn("at", *CAR, position=(30.0, 40.0, 0.0))
    world.spawn("beyond", *CAR, position=(-30.0, -40.000001, 0.0))
    (item,) = one(world, told({"range": 50.0, "occlusionless": True}), DETECTION_TOPIC)
    assert position(item)[:2] == [40.0, 30.0]


def test_covariances_are_told_also_when_only_the_heading_errs() -> None:
    world = street()
    world.spawn("car", *CAR, position=(20.0, 0.0, 0.0))
    yaw = {"noise.model.version": 2, "noise.v2.yaw.standard_deviation.values": [0.1] * 9}
    for noise, known in (({}, False), (yaw, True)):
        (item,) = one(world, told(noise), DETECTION_TOPIC)
        assert item["kinematics"]["has_position_covariance"] is known


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
