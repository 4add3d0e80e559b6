"""The JSON topics: complete documents are the world, and changes add up to it."""

from typing import Any

import orjson
import pytest

from diorama.ecs import Effector, Transform, World, difference, propagate
from diorama.formats.aerosim import world_from_document
from diorama.formats.aerosim_write import document
from diorama.geo import WGS84, Origin
from diorama.schemas.errors import StateError
from diorama.tests.patience import patiently
from diorama.tests.transport.history import play
from diorama.transport.changed_text import ChangedText
from diorama.transport.codec import UPDATE, Header, Since
from diorama.transport.publisher import Publisher
from diorama.transport.scene_json import changes_document
from diorama.transport.scene_text import SceneText
from diorama.transport.subscriber import Message, Subscriber

FREE_PORT = "tcp://127.0.0.1:*"


def next_message(publisher: Publisher, subscriber: Subscriber) -> Message:
    for _ in patiently():
        publisher.poll()
        message = subscriber.receive(0.005)
        if message is not None:
            return message
    raise AssertionError("nothing came")


def merge(scene: dict[str, Any], changes: dict[str, Any]) -> None:
    """What a client does with changes: drop what is removed or told whole, then put in what is told."""
    for key in (*changes["removed"], *changes["entities"]):
        scene["entities"].pop(key, None)
        for group in scene["components"].values():
            group.pop(key, None)
    scene["entities"] |= changes["entities"]
    for group, values in changes["components"].items():
        scene["components"].setdefault(group, {}).update(values)
    if "resources" in changes:
        scene["resources"] = changes["resources"]


@pytest.mark.parametrize("seed", range(10))
def test_a_snapshot_and_the_changes_after_it_are_the_world(seed: int) -> None:
    world = World(Origin(29.5, -95.0, 12.0))
    play(world, seed, steps=20)
    with Publisher(FREE_PORT) as publisher:
        subscriber = Subscriber(publisher.endpoint, "scene/changes/", "snapshot/changes/me.0/")
        publisher.publish(world)
        scene = next_message(publisher, subscriber).json()
        if scene["header"]["kind"] == "complete":
            latest = scene["header"]["sequence"]
        for more in range(5):
            play(world, seed * 100 + more)
            publisher.publish(world)
        while latest < publisher.sequence:
            message = next_message(publisher, subscriber).json()
            header = message["header"]
            if header["kind"] == "complete":
                scene, latest = message, header["sequence"]
            elif header["sequence"] > latest:
                assert header["base"] == latest
                merge(scene, message)
                latest = header["sequence"]
        subscriber.close()
    del scene["header"]
    for group in [group for group, values in scene["components"].items() if not values]:
        del scene["components"][group]
    assert difference(world, world_from_document(scene)) == ""


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("origin", [None, Origin(29.5, -95.0, 12.0)], ids=["nowhere", "earth"])
def test_the_spliced_text_is_what_orjson_would_write(seed: int, origin: Origin | None) -> None:
    world = World()
    text = SceneText()
    for step in range(4):
        play(world, seed * 10 + step, steps=15)
        world.origin = origin
        assert text.complete(world) == orjson.dumps(document(world))
        world.transforms.position[world.forest.order(), 1] += 0.1
        propagate(world)
        assert text.complete(world) == orjson.dumps(document(world))


def test_the_text_of_an_empty_world_and_of_more_than_a_chunk() -> None:
    world = World(Origin(1.0, 2.0, 3.0))
    text = SceneText()
    propagate(world)
    assert text.complete(world) == orjson.dumps(document(world))
    world.insert(2500)
    propagate(world)
    assert text.complete(world) == orjson.dumps(document(world))


def test_where_there_is_no_latitude_none_is_told() -> None:
    world = World(Origin(0.0, 0.0, 0.0))
    text = SceneText()
    entity = world.spawn("a")
    world.spawn("b")
    propagate(world)
    assert text.complete(world) == orjson.dumps(document(world))
    for down in (WGS84.equatorial_radius, 0.0, 1e200):  # the Earth's centre, and back, and far out
        since = Since(world.version, world.epoch)
        world.get(entity, Transform).position[2] = down
        propagate(world)
        assert text.complete(world) == orjson.dumps(document(world))
        assert SceneText().complete(world) == orjson.dumps(document(world))
        changes = orjson.loads(changes_document(ChangedText(), world, Header(UPDATE, bytes(16), 2), since))
        assert changes["components"]["actor_state"] == {
            world.key(entity): document(world)["components"]["actor_state"][world.key(entity)]
        }
        assert ("lla" in changes["components"]["actor_state"]["entity_0"]["world_coordinate"]) == (
            down == 0.0
        )


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("origin", [None, Origin(29.5, -95.0, 12.0)], ids=["nowhere", "earth"])
def test_what_a_text_of_changes_remembers_is_what_a_new_one_finds_out(
    seed: int, origin: Origin | None
) -> None:
    world = World()
    header = Header(UPDATE, bytes(16), 2)
    always, sometimes = ChangedText(), ChangedText()
    told = {always: Since(), sometimes: Since()}
    for step in range(24):
        if step % 4 == 0:
            play(world, seed * 100 + step, steps=6)
        elif step % 4 == 1:
            world.origin = origin if step < 12 else None
            propagate(world)
        else:  # the same ones move twice; far out there is no latitude
            far = {3: 1e200, 6: -1e200}.get(step, 0.1)
            world.transforms.position[world.forest.order()[1:], 2] += far
            propagate(world)
        for text in (always, sometimes) if step % 7 in (0, 1, 4) else (always,):
            changes = changes_document(text, world, header, told[text])
            assert changes == changes_document(ChangedText(), world, header, told[text])
            told[text] = Since(world.version, world.epoch)
            states = orjson.loads(changes)["components"].get("actor_state", {})
            whole = orjson.loads(orjson.dumps(document(world)))["components"].get("actor_state", {})
            assert states == {key: whole[key] for key in states}


def test_a_text_of_changes_knows_one_world_from_another() -> None:
    text = ChangedText()
    for key in ("first", "second"):
        world = World()
        row = world.row(world.spawn("a", key=key))
        propagate(world)
        since = Since(world.version, world.epoch)
        world.transforms.position[row, 0] = 1.0
        propagate(world)
        changes = orjson.loads(changes_document(text, world, Header(UPDATE, bytes(16), 2), since))
        assert list(changes["components"]["actor_state"]) == [key]


def test_an_effector_that_is_an_entity_of_its_own_tells_where_it_moved() -> None:
    world = World()
    owner = world.spawn("drone")
    part = world.spawn("part", Effector("", "parts/rotor"), parent=owner)  # without an id it is in no list
    propagate(world)
    since = Since(world.version, world.epoch)
    world.get(part, Transform).position[0] = 3.0
    propagate(world)
    changes = orjson.loads(changes_document(ChangedText(), world, Header(UPDATE, bytes(16), 2), since))
    states = document(world)["components"]["actor_state"]
    assert changes["components"] == {"actor_state": {world.key(part): states[world.key(part)]}}


def test_numbers_that_are_not_finite_are_refused_by_name() -> None:
    world = World()
    row = world.row(world.spawn("a"))
    text = SceneText()
    propagate(world)
    text.complete(world)
    world.transforms.position[row, 0] = float("nan")
    with pytest.raises(StateError, match="entity 'a': position: expected finite numbers"):
        text.complete(world)


def test_changes_hold_only_what_changed() -> None:
    world = World()
    a = world.spawn("a")
    world.spawn("child", parent=a)
    world.spawn("b")
    with Publisher(FREE_PORT) as publisher, Subscriber(publisher.endpoint, "scene/changes/") as subscriber:
        publisher.publish(world)
        while not publisher.listens("scene/changes/"):
            publisher.poll(0.01)
        world.get(a, Transform).position[0] = 3.0
        propagate(world)
        publisher.publish(world)
        changes = next_message(publisher, subscriber).json()
        while changes["header"]["kind"] == "complete":
            changes = next_message(publisher, subscriber).json()
        assert changes["entities"] == {}
        assert sorted(changes["components"]) == ["actor_state"]
        assert sorted(changes["components"]["actor_state"]) == ["entity_0", "entity_1"]
        assert changes["removed"] == []
        assert "resources" not in changes


def test_the_clock_and_topics_of_ones_own_reach_who_listens_and_nobody_else_pays() -> None:
    world = World()
    with Publisher(FREE_PORT) as publisher:
        publisher.publish(world)
        publisher.send_json("mine/battery", {"charge": 1.0})
        assert publisher.statistics.messages == {"heartbeat/": 1}
        with Subscriber(publisher.endpoint, "clock/", "mine/") as subscriber:
            while not (publisher.listens("clock/") and publisher.listens("mine/battery/")):
                publisher.poll(0.01)
            publisher.publish(world)
            publisher.send_json("mine/battery", {"charge": 0.5})
            assert orjson.loads(bytes(next_message(publisher, subscriber).frames[0])) == {
                "tick": 2,
                "time_ns": 0,
            }
            mine = next_message(publisher, subscriber)
            assert (mine.topic, mine.json()) == ("mine/battery", {"charge": 0.5})
        with pytest.raises(ValueError, match="topic 'scene' is taken by diorama"):
            publisher.send_json("scene", {})


def test_resources_come_to_who_begins_to_listen_and_when_they_change() -> None:
    world = World(Origin(1.0, 2.0, 3.0))
    world.set_resource("weather", {"preset": "Cloudy"})
    with Publisher(FREE_PORT) as publisher:
        publisher.publish(world)
        with Subscriber(publisher.endpoint, "resources/") as subscriber:
            first = next_message(publisher, subscriber).json()
            assert first == {
                "origin": {"latitude": 1.0, "longitude": 2.0, "altitude": 3.0},
                "weather": {"preset": "Cloudy"},
            }
            publisher.publish(world)
            world.set_resource("weather", None)
            publisher.publish(world)
            assert next_message(publisher, subscriber).json() == {"origin": first["origin"]}
            world.spawn("somebody")
            publisher.publish(world)
            publisher.poll()
            assert subscriber.receive(0.1) is None
