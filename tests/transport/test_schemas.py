"""Every JSON that is published or answered passes its schema, whatever happened to the world."""

from typing import Any

import orjson
import pytest

from diorama.ecs import World
from diorama.geo import Origin
from diorama.schemas import topics
from diorama.schemas.validate import problems
from diorama.schemas.view import VIEW as VIEW_PREFIX
from diorama.schemas.view import View
from diorama.tests.patience import patiently
from diorama.tests.transport.history import play
from diorama.transport.publisher import Publisher
from diorama.transport.service import Service
from diorama.transport.service_link import Caller
from diorama.transport.subscriber import Message, Subscriber

FREE_PORT = "tcp://127.0.0.1:*"
COLUMNS = ("scene/local", "scene/world", "scene/geo", "view/")
VIEW = View(components=("bounds",), geo=True)
SNAPSHOTS = ("json", "changes", "local", "world", "geo", VIEW.encoding)


def check(message: Message) -> None:
    """Whatever the message is, its JSON is as the schema says."""
    topic = message.topic
    parts = topic.split("/")
    encoding = parts[1] if parts[0] == "snapshot" else ""
    if topic in ("scene/json", "scene/changes") or encoding in ("json", "changes"):
        value: dict[str, Any] = message.json()
        assert problems(value, "scene_message") == []
        told = {name: part for name, part in value.items() if name not in ("header", "removed")}
        assert problems(told, "scene") == []
    elif topic == "clock":
        assert problems(message.json(), "clock") == []
    elif topic == "resources":
        assert problems({"entities": {}, "components": {}, "resources": message.json()}, "scene") == []
    elif message.frames and len(message.frames[0]):
        assert topic.startswith(COLUMNS) or encoding
        assert problems(orjson.loads(message.frames[0]), "structure") == []


@pytest.mark.parametrize("seed", range(5))
def test_every_json_topic_passes_its_schema(seed: int) -> None:
    world = World(Origin(29.5, -95.0, 12.0))
    play(world, seed, steps=20)
    wishes = [topics.snapshot(encoding, "me.0") for encoding in SNAPSHOTS]
    with (
        Publisher(FREE_PORT) as publisher,
        Subscriber(publisher.endpoint, *topics.OURS, VIEW.topic, *wishes) as subscriber,
    ):
        publisher.publish(world)
        heard: set[str] = set()
        wanted = {*topics.OURS, VIEW_PREFIX, topics.SNAPSHOT}
        for more, _ in enumerate(patiently()):
            if more < 10:
                play(world, seed * 100 + more)
                publisher.publish(world)
            publisher.poll()
            while (message := subscriber.receive(0.005)) is not None:
                check(message)
                heard.add(topics.family(f"{message.topic}/"))
            if more >= 10 and heard >= wanted:
                break
            if not heard >= wanted:
                publisher.publish(world)
        assert heard >= wanted


def test_every_answer_passes_its_schema() -> None:
    world = World()
    world.spawn("a")
    with Service(world, FREE_PORT) as service:
        caller = Caller(b"me", (b"me",))
        for request in (
            {"id": 1, "method": "where", "params": {"name": "a"}},
            {"id": "two", "method": "spawn", "params": {"name": "b"}},
            {"method": "describe"},
            {"id": 4, "method": "where", "params": {"name": "nobody"}},
            {"id": 5, "method": "no such"},
        ):
            assert problems(request, "request") == []
            answer = orjson.loads(service.answer(caller, [orjson.dumps(request)])[0])
            assert problems(answer, "answer") == []
        assert problems(orjson.loads(service.answer(caller, [b"{"])[0]), "answer") == []
    assert problems({"id": 1, "result": 1, "tick": 1, "error": {}}, "answer") != []
    assert problems({"tick": 0.5}, "clock") != []
    assert problems({"row": [0]}, "structure") != []
