"""An ego on a street, and what is heard of it: for the tests of perception."""

from collections.abc import Iterator
from typing import Any

from diorama.ecs import Bounds, Classification, World, propagate
from diorama.perception import (
    DETECTION_TOPIC,
    GROUND_TRUTH_TOPIC,
    Parameters,
    Perception,
    attach,
    parameters_from_dict,
)
from diorama.perception.messages import Message
from diorama.tests.perception.test_messages import vector

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
