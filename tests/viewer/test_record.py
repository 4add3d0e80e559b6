"""Recording and replaying: every update as it was, files that others read, crashes that lose a second at most."""

import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mcap", reason="recording needs the extra `record`")

from foxglove_schemas_protobuf.FrameTransforms_pb2 import FrameTransforms
from foxglove_schemas_protobuf.LocationFix_pb2 import LocationFix
from foxglove_schemas_protobuf.SceneUpdate_pb2 import SceneUpdate
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from mcap.reader import make_reader

from diorama.cli.main import main
from diorama.ecs import Bounds, Velocity, World, propagate
from diorama.geo import Origin
from diorama.geo.axes import ENU
from diorama.geo.rotation import rotate
from diorama.schemas.errors import SceneError
from diorama.tests.patience import patiently
from diorama.transport.publisher import Publisher
from diorama.transport.replica import Replica
from diorama.transport.subscriber import Subscriber
from diorama.viewer.mcap_file import contents, read
from diorama.viewer.record import Recorder
from diorama.viewer.replay import Replay, worlds

ANYWHERE = "tcp://127.0.0.1:*"
ORIGIN = Origin(29.594656, -95.16384722, -28.3)
STEP_NS = 20_000_000
MESSAGES = {message.DESCRIPTOR.full_name: message for message in (FrameTransforms, SceneUpdate, LocationFix)}


@dataclass(frozen=True)
class Tick:
    index: int
    time_ns: int


State = tuple[int, int, dict[str, tuple[str | None, str, bytes, bytes]], dict[str, Any]]


def state(world: World, tick: int, time_ns: int) -> State:
    """Everything a follower can know of a world, bit by bit."""
    found = {}
    for entity in world.entities.tolist():
        row, parent = world.row(entity), world.parent(entity)
        velocity = world.velocities.block[row].tobytes() if world.velocities.present[row] else b""
        above = None if parent is None else world.name(parent)
        found[world.name(entity)] = (above, world.asset(entity), world.table.pose[row].tobytes(), velocity)
    return tick, time_ns, found, dict(world.resources)


def lively_world() -> World:
    world = World(ORIGIN)
    ship = world.spawn(
        "ship", Velocity(), Bounds((9.0, 10.0, 2.6)), asset="demo/evtol", position=(10.0, 20.0, -30.0)
    )
    world.spawn("ship/rotor", parent=ship, position=(1.0, 2.0, 3.0), scale=(2.0, 2.0, 2.0), asset="rotor")
    world.insert(
        [f"tree_{number}" for number in range(20)], asset="tree", position=np.arange(60.0).reshape(20, 3)
    )
    return world


def live(world: World, index: int) -> None:
    """One tick of a life with everything in it: motion, births, deaths, moves in the tree, resources."""
    ship = world.row(world.find("ship"))
    world.transforms.position[ship] += (0.7, 0.1, -0.05)
    world.transforms.orientation[ship] = (0.0, 0.0, np.sin(0.01 * index), np.cos(0.01 * index))
    world.velocities.linear[ship] = (35.0, 5.0, -2.5)
    if index % 7 == 3:
        world.spawn(f"bird_{index}", Velocity((1.0, 0.0, 0.0)), parent=world.find("ship"))
    if index % 7 == 5:
        world.despawn(world.find(f"bird_{index - 2}"))
    if index == 12:
        world.reparent(world.find("tree_3"), world.find("tree_4"), keep="world")
    if index == 20:
        world.set_resource("weather", {"preset": "Rain"})


def record(path: Path, ticks: int = 40, *, with_foxglove: bool = True) -> list[State]:
    """Publish and record a life; returns what was published from the recorder's first update on."""
    world, told = lively_world(), []
    with (
        Publisher(ANYWHERE, queue=10_000) as publisher,
        Recorder(path, publisher.endpoint, with_foxglove=with_foxglove) as recorder,
    ):
        publisher.publish(world, Tick(0, 0))
        while recorder.updates == 0:
            publisher.poll(0.01)
            recorder.poll(0.01)
        while not publisher.listens("/radar/"):
            publisher.poll(0.01)
        told.append(state(world, 0, 0))
        for index in range(1, ticks):
            live(world, index)
            propagate(world)
            publisher.publish(world, Tick(index, index * STEP_NS))
            publisher.send_json("/radar", {"index": index})
            told.append(state(world, index, index * STEP_NS))
        while recorder.updates < ticks or recorder.recording.messages.get("/radar", 0) < ticks - 1:
            recorder.poll(0.01)
        assert recorder.dropped == 0
    return told


def test_a_recording_holds_every_update_bit_by_bit(tmp_path: Path) -> None:
    told = record(tmp_path / "flight.mcap")
    found = [
        state(world, message.header.tick, message.header.time_ns)
        for message, world in worlds(tmp_path / "flight.mcap")
    ]
    assert found == told


def test_a_replica_of_the_replay_sees_the_recording_update_by_update(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    told = record(path, with_foxglove=False)
    with Publisher(ANYWHERE, queue=10_000) as publisher:
        replay = Replay(path, publisher, rate=50.0)
        replay.step()  # the first update, and then hold: nobody has joined yet
        thread = threading.Thread(target=replay.run)
        thread.start()
        with (
            Replica(publisher.endpoint, latest=False, queue=10_000) as replica,
            Subscriber(publisher.endpoint, "/radar", queue=10_000) as radar,
        ):
            first = replica.wait_until_whole(20.0)
            seen = [state(replica.world, first.index, first.time_ns)]
            while not publisher.listens("/radar"):  # asked from here, answered by the replay's own polling
                time.sleep(0.01)
            replay.resume()
            heard: list[int] = []
            while len(seen) < len(told):
                update = replica.poll(20.0)
                assert update is not None
                seen.append(state(replica.world, update.index, update.time_ns))
            while len(heard) < len(told) - 1:
                message = radar.receive(20.0)
                assert message is not None
                heard.append(message.json()["index"])
            assert replica.gaps == 0
        thread.join()
    assert seen == told
    assert heard == list(range(1, len(told)))


def test_replay_begins_and_ends_where_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    record(path, with_foxglove=False)
    times = [message.time_ns for message in read(path) if message.topic == "scene/local"]
    middle = (times[20] - times[0]) * 1e-9 + 1e-9
    with Publisher(ANYWHERE) as publisher:
        replay = Replay(path, publisher, rate=1000.0, start_s=middle)
        replay.run()
        later = sum((when - times[0]) * 1e-9 >= middle for when in times)
        assert replay.updates in (later, later + 1)  # one more where a message beside the scene came first
        assert len(replay.world) > 20
        early = Replay(path, publisher, rate=1000.0, end_s=middle)
        early.run()
        assert early.updates == sum((when - times[0]) * 1e-9 <= middle for when in times)
        with pytest.raises(SceneError, match="no scene in it"):
            Replay(path, publisher, start_s=1e6).run()


def test_mcaps_own_reader_finds_foxgloves_messages_by_their_own_schemas(tmp_path: Path) -> None:
    path = tmp_path / "flight.mcap"
    record(path)
    seen: dict[str, list[Any]] = {}
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        for schema, channel, message in reader.iter_messages():
            assert schema is not None
            if channel.message_encoding == "protobuf":
                FileDescriptorSet.FromString(schema.data)
                parsed = MESSAGES[schema.name].FromString(message.data)
                assert parsed.SerializeToString() == message.data  # no field the schema does not know
                seen.setdefault(channel.topic, []).append(parsed)
        assert summary.statistics.message_count == sum(contents(path).messages.values())
        assert {chunk.compression for chunk in summary.chunk_indexes} == {"zstd"}

    transforms = {
        item.child_frame_id: item
        for message in seen["/foxglove/transforms"][:1]
        for item in message.transforms
    }
    assert transforms["ned"].parent_frame_id == "map"
    ship = transforms["ship"]
    turn = transforms["ned"].rotation
    place = [getattr(ship.translation, axis) for axis in "xyz"]
    in_map = rotate([turn.x, turn.y, turn.z, turn.w], place)
    assert in_map == pytest.approx(ENU.points(place), abs=1e-12)
    boxes = {entity.id: entity for entity in seen["/foxglove/scene"][0].entities}
    rotor = next(entity for entity in boxes.values() if entity.frame_id == "ship/rotor")
    assert rotor.frame_locked
    assert rotor.cubes[0].size.x > 2.0  # a rotor of 2 m, at a scale of 2
    fix = seen["/foxglove/location/ship"][0]
    assert (fix.latitude, fix.longitude) == pytest.approx((29.5947, -95.1636), abs=2e-4)


def recorded(path: Path) -> set[int]:
    """The updates that are in a recording, finished or not."""
    try:
        return {message.header.sequence for message in read(path)}
    except SceneError:  # there is nothing yet
        return set()


def test_a_killed_recorder_loses_no_more_than_a_second(tmp_path: Path) -> None:
    path = tmp_path / "crash.mcap"
    world, published = lively_world(), {}
    with Publisher(ANYWHERE, queue=10_000) as publisher:
        command = [
            sys.executable,
            "-m",
            "diorama.cli",
            "record",
            "-o",
            str(path),
            "--endpoint",
            publisher.endpoint,
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        due: set[int] = set()
        for _ in patiently():
            live(world, publisher.sequence + 1)
            publisher.publish(world, Tick(publisher.sequence, publisher.sequence * STEP_NS))
            published[publisher.sequence] = time.monotonic()
            publisher.poll(0.02)
            kept = recorded(path)
            due = {
                sequence
                for sequence, when in published.items()
                if sequence >= min(kept, default=sequence + 1) and when < time.monotonic() - 1.0
            }
            if len(due) > 20 and due <= kept:
                break
        process.kill()
        process.wait()
    assert not contents(path).is_complete
    kept = recorded(path)
    assert due
    assert due <= kept
    with Publisher(ANYWHERE) as publisher:
        replay = Replay(path, publisher, rate=1000.0)
        replay.run()
        assert replay.updates == len(kept)


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.mcap"
    wrong.write_bytes(b"not a recording at all")
    with pytest.raises(SceneError, match=r"wrong\.mcap: expected an MCAP recording"):
        list(read(wrong))
    wrong.write_bytes(b"")
    with pytest.raises(SceneError, match="expected an MCAP recording: the file ends before it begins"):
        list(read(wrong))
    with pytest.raises(SceneError, match="no such file"):
        list(read(tmp_path / "missing.mcap"))


def test_info_tells_topics_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "flight.mcap"
    record(path, 10)
    assert main(["info", str(path)]) == 0
    told = capsys.readouterr().out
    for part in ("scene/local", "diorama.Message", "foxglove.FrameTransforms", "/radar", "MB"):
        assert part in told
    assert main(["info", str(path), "--json"]) == 0
    assert '"messages": 10' in capsys.readouterr().out
