"""Perception in a running simulation: over a real socket, only for those who listen, and through a reload."""

import logging
from typing import Any

import pytest

from diorama.ecs import Bounds, Classification, World
from diorama.perception import DETECTION_TOPIC, GROUND_TRUTH_TOPIC, parameters_from_dict
from diorama.runtime.clock import Tick
from diorama.runtime.perceive import perceive
from diorama.runtime.simulation import Simulation
from diorama.transport.publisher import Publisher
from diorama.transport.subscriber import Subscriber

PATIENCE_S = 30.0
PERIOD_NS = 100_000_000
CAR = (Bounds((4.4, 1.8, 1.5), (0.0, 0.0, -0.75)), Classification("car"))
HEAD = {"version": 20240605, "override_legacy_configuration": True}
PARAMETERS = parameters_from_dict({DETECTION_TOPIC: {**HEAD, "seed": 1}, GROUND_TRUTH_TOPIC: HEAD})


def street(*names: str) -> World:
    """An ego and cars on its left, ten metres apart."""
    world = World()
    for place, name in enumerate(names):
        world.spawn(name, *CAR, position=(0.0, -10.0 * place, 0.0))
    return world


def hear(simulation: Simulation, subscriber: Subscriber, index: int) -> Any:
    """Tick until a message arrives: the first ticks may be over before the subscription is known."""
    while True:
        simulation.advance(Tick(index, index * PERIOD_NS, PERIOD_NS))
        simulation.serve()
        received = subscriber.receive(0.05)
        if received is not None:
            return received.json()
        index += 1


def test_messages_go_out_while_somebody_listens_and_after_another_world_is_loaded() -> None:
    world = street("ego", "car")
    with Publisher("tcp://127.0.0.1:*") as publisher:
        topics, reporter = perceive(world, PARAMETERS, egos=["ego"], listens=publisher.listens)
        assert topics == [DETECTION_TOPIC, GROUND_TRUTH_TOPIC]
        simulation = Simulation(world, publisher, reporters=[reporter])
        for index in range(1, 4):
            simulation.advance(Tick(index, index * PERIOD_NS, PERIOD_NS))
        assert not any(topic.startswith("/perception") for topic in publisher.statistics.messages)
        with Subscriber(publisher.endpoint, f"{GROUND_TRUTH_TOPIC}/") as subscriber:
            assert len(hear(simulation, subscriber, 4)["objects"]) == 1
            simulation.replace(street("ego", "car", "truck", "bus"))
            after = simulation.tick.index + 1
            while len(found := hear(simulation, subscriber, after)["objects"]) == 1:
                after = simulation.tick.index + 1
            assert len(found) == 3
        sent = publisher.statistics.messages
        assert f"{GROUND_TRUTH_TOPIC}/" in sent
        assert f"{DETECTION_TOPIC}/" not in sent


def test_an_ego_that_the_new_world_lacks_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    world = street("ego", "car")
    _, reporter = perceive(world, PARAMETERS, egos=["ego"], listens=lambda _: True)
    with caplog.at_level(logging.ERROR):
        assert list(reporter(street("car"), Tick(1, PERIOD_NS, PERIOD_NS))) == []
    assert "perception: no entity is named 'ego'" in caplog.text
