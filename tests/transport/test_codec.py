"""Bytes in and out: round trips, and nothing but MessageError for bytes that are not ours."""

import contextlib
import re
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import World, difference, locate, propagate
from diorama.geo import Origin
from diorama.schemas import topics
from diorama.schemas.errors import MessageError
from diorama.tests.transport.history import play
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.codec import COMPLETE, Frame, Header, Since

unsigned = st.integers(0, 2**64 - 1)


def complete_frames(world: World) -> list[Frame]:
    """A complete scene of local poses, as the publisher sends it."""
    rows = world.forest.order()
    moving = rows[world.velocities.present[rows]]
    return [codec.encode_structure(world, rows, None), *codec.encode_blocks(world, "local", rows, moving)]


def some_world(seed: int = 1, steps: int = 30) -> World:
    world = World(Origin(10.0, 20.0, 30.0))
    play(world, seed, steps)
    return world


@given(
    st.builds(
        Header,
        kind=st.sampled_from([1, 2, 3, 4]),
        run_id=st.binary(min_size=16, max_size=16),
        sequence=unsigned,
        epoch=unsigned,
        tick=unsigned,
        time_ns=st.integers(-(2**63), 2**63 - 1),
        base=unsigned,
    )
)
def test_headers_round_trip_in_64_bytes(header: Header) -> None:
    packed = codec.pack_header(header)
    assert len(packed) == codec.HEADER_SIZE == 64
    assert codec.unpack_header(packed) == header


def test_a_header_byte_for_byte() -> None:
    """As docs/wire.md has it: a reader in another language counts on every offset."""
    header = Header(codec.BEAT, bytes(range(16)), 1, epoch=2, tick=3, time_ns=-4, base=5)
    numbers = b"".join(value.to_bytes(8, "little", signed=True) for value in (1, 2, 3, -4, 5))
    assert codec.pack_header(header) == b"DIOR" + bytes([1, 3, 0, 0]) + bytes(range(16)) + numbers
    assert codec.pack_header(Header(1, bytes(16), 0))[8:] == bytes(56)


def test_the_message_in_the_documentation_is_right_byte_by_byte() -> None:
    page = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
    listed = page.split("### A message, byte by byte")[1].split("```")[1]
    told: list[bytes] = []
    sizes: list[str] = []
    for line in listed.strip().splitlines():
        if line.startswith("frame "):
            told.append(b"")
            sizes += re.findall(r", (\d+) bytes", line)
        else:
            told[-1] += bytes.fromhex(re.split(" {3,}", line.strip())[0])
    assert [str(len(frame)) for frame in told] == sizes

    world = World()
    world.spawn("drone", asset="uav/quad", position=(1.5, -2, 3))
    rows = np.zeros(1, np.int32)
    header = Header(codec.UPDATE, bytes(range(16)), 7, epoch=3, tick=42, time_ns=840_000_000, base=6)
    blocks = codec.encode_blocks(world, "local", rows, rows[:0])
    assert told == [
        topics.SCENE_LOCAL.encode(),
        codec.pack_header(header),
        codec.NO_STRUCTURE,
        *map(bytes, blocks),
    ]
    structure = re.search(r"```json\n(.*?)```", page.split("as the complete scene told it")[1], re.DOTALL)
    assert structure is not None
    assert orjson.loads(structure[1]) == orjson.loads(codec.encode_structure(world, rows, None))


GOOD = codec.pack_header(Header(COMPLETE, b"r" * 16, 7))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"", "header: expected 64 bytes, got 0"),
        (GOOD[:-1], "header: expected 64 bytes, got 63"),
        (b"XXXX" + GOOD[4:], "header: expected it to begin with b'DIOR', got b'XXXX'"),
        (GOOD[:4] + b"\x09" + GOOD[5:], "header: expected protocol version 1, got 9; update the older side"),
        (GOOD[:5] + b"\x63" + GOOD[6:], "header: unknown kind 99"),
    ],
)
def test_a_bad_header_says_what_is_wrong(frame: bytes, message: str) -> None:
    with pytest.raises(MessageError, match=message.replace("(", r"\(")):
        codec.unpack_header(frame)


@given(st.integers(0, 2**32))
def test_a_complete_scene_round_trips(seed: int) -> None:
    world = some_world(seed)
    assert difference(world, world_from_complete(codec.decode_columns(complete_frames(world)))) == ""


def test_an_update_holds_only_what_changed() -> None:
    world = some_world(3)
    since = Since(world.version, world.epoch)
    assert len(codec.structured_rows(world, since)) == len(codec.moved_rows(world, since)) == 0

    entity = world.spawn("newcomer")
    first = int(world.forest.order()[0])
    world.transforms.position[first, 0] += 1.0
    propagate(world)
    assert codec.structured_rows(world, since).tolist() == [world.row(entity)]
    assert codec.moved_rows(world, since).tolist() == sorted([first, world.row(entity)])


@pytest.mark.parametrize(
    ("index", "frame", "message"),
    [
        (0, b"{", "structure: "),
        (0, b"\xff\xfe", "structure: "),
        (
            0,
            b'{"row":[1],"generation":[],"key":[],"name":[],"asset":[],"parent":[]}',
            "its columns differ in length",
        ),
        (
            0,
            b'{"row":[-1],"generation":[0],"key":["a"],"name":["a"],"asset":[""],"parent":[-1]}',
            "expected rows from 0",
        ),
        (
            0,
            b'{"row":[1],"generation":[2147483648],"key":["a"],"name":["a"],"asset":[""],"parent":[-1]}',
            r"expected generations from 0 to 2\*\*31 - 1",
        ),
        (
            0,
            b'{"row":[1],"generation":[0],"key":["a"],"name":["a"],"asset":[""],"parent":[67108864]}',
            "expected rows from 0 to 67108863",
        ),
        (0, b'{"moving":[-1]}', "expected rows from 0 to 67108863"),
        (0, b'{"row":"x"}', "Expected `array`, got `str`"),
        (1, b"abc", "rows: expected a multiple of 4 bytes, got 3"),
        (1, np.array([2**26], "<i4").tobytes(), "rows: expected numbers from 0 to 67108863"),
        (2, b"abc", "values: expected .* rows of 80 bytes, got 3 bytes"),
        (4, b"abc", "values: expected .* rows of 48 bytes, got 3 bytes"),
    ],
)
def test_a_bad_body_says_what_is_wrong(index: int, frame: bytes, message: str) -> None:
    frames = complete_frames(some_world())
    frames[index] = frame
    with pytest.raises(MessageError, match=message):
        world_from_complete(codec.decode_columns(frames))


def test_an_origin_is_told_when_it_has_changed_and_no_sooner() -> None:
    world = World(Origin(1.0, 2.0, 3.0))
    nobody, since = world.forest.order(), Since(world.version, world.epoch)
    assert codec.encode_structure(world, nobody, since) == b"{}"
    world.origin = None
    assert orjson.loads(codec.encode_structure(world, nobody, since)) == {"has_origin": False}
    assert "origin" in orjson.loads(codec.encode_structure(World(Origin(1.0, 2.0, 3.0)), nobody, None))


def test_another_origin_moves_every_place_once() -> None:
    world = some_world(4)
    since = Since(world.version, world.epoch)
    assert codec.posed_rows(world, since).tolist() == []
    world.origin = Origin(1.0, 2.0, 3.0)
    assert codec.posed_rows(world, since).tolist() == sorted(world.forest.order().tolist())
    assert codec.moved_rows(world, since).tolist() == []
    assert codec.posed_rows(world, Since(world.version, world.epoch)).tolist() == []


def test_who_left_is_told_the_last_one_first_and_once() -> None:
    world = World()
    a, b, c = (world.spawn(name) for name in "abc")
    world.despawn(a)
    since = Since(world.version, world.epoch)
    world.despawn(b)
    world.despawn(c)
    assert codec.removed_since(world, since) == [c, b]
    assert codec.removed_keys_since(world, since) == ["entity_2", "entity_1"]
    assert codec.removed_since(world, Since(world.version, world.epoch)) == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([], False), ([5], True), ([3, 4, 5], True), ([3, 5], False), ([3, 5, 4, 6], False), ([4, 3], False)],
)
def test_what_a_run_is(rows: list[int], expected: bool) -> None:
    assert codec.is_run(np.array(rows, np.int32)) is expected


@pytest.mark.parametrize("rows", [[0, 1, 2], [1, 2], [2, 0], [0, 2], []])
def test_values_are_gathered_the_same_with_a_buffer_and_without(rows: list[int]) -> None:
    world = World(Origin(1.0, 2.0, 3.0))
    parent = world.spawn("a", position=(1, 2, 3))
    world.insert(2, under=parent, position=[(4.0, 5.0, 6.0), (7.0, 8.0, 9.0)], scale=(2.0, 3.0, 4.0))
    propagate(world)
    found, chosen = locate(world, rows), np.array(rows, np.int32)
    expected = {
        "local": world.table.local[rows],
        "world": world.table.pose[rows],
        "geo": np.hstack([found.ecef, found.lla]),
    }
    blocks: tuple[codec.Block, ...] = ("local", "world", "geo")
    for block in blocks:
        out = np.full((len(rows), codec.WIDTH[block]), np.nan)
        gathered = codec.gather(world, block, chosen)
        assert codec.gather(world, block, chosen, out).tobytes() == out.tobytes() == gathered.tobytes()
        np.testing.assert_array_equal(out, expected[block])
        assert not np.shares_memory(gathered, world.table.local)


@given(data=st.data())
def test_mangled_messages_raise_message_errors_and_nothing_else(data: st.DataObject) -> None:
    frames = [bytes(frame) for frame in complete_frames(some_world())]
    for _ in range(data.draw(st.integers(1, 4))):
        index = data.draw(st.integers(0, len(frames) - 1))
        body = bytearray(frames[index])
        action = data.draw(st.sampled_from(["flip", "cut", "swap", "drop", "noise"]))
        if action == "flip" and body:
            body[data.draw(st.integers(0, len(body) - 1))] ^= data.draw(st.integers(1, 255))
        elif action == "cut":
            body = body[: data.draw(st.integers(0, len(body)))]
        elif action == "swap":
            body = bytearray(frames[data.draw(st.integers(0, len(frames) - 1))])
        elif action == "noise":
            body = bytearray(data.draw(st.binary(max_size=64)))
        frames[index] = bytes(body)
        if action == "drop" and len(frames) > 1:
            del frames[index]
    for apply in (world_from_complete, lambda columns: apply_update(some_world(2), columns)):
        with contextlib.suppress(MessageError):
            apply(codec.decode_columns(frames))
