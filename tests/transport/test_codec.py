"""Bytes in and out: round trips, and nothing but MessageError for bytes that are not ours."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import World, difference, propagate
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
        (0, b'{"row":"x"}', "Expected `array`, got `str`"),
        (1, b"abc", "rows: expected a multiple of 4 bytes, got 3"),
        (1, np.array([2**30], "<i4").tobytes(), "rows: expected numbers from 0"),
        (2, b"abc", "values: expected .* rows of 80 bytes, got 3 bytes"),
        (4, b"abc", "values: expected .* rows of 48 bytes, got 3 bytes"),
    ],
)
def test_a_bad_body_says_what_is_wrong(index: int, frame: bytes, message: str) -> None:
    frames = complete_frames(some_world())
    frames[index] = frame
    with pytest.raises(MessageError, match=message):
        world_from_complete(codec.decode_columns(frames))


def test_poses_for_strangers_and_poses_that_are_not_finite_are_refused() -> None:
    world = some_world()
    stranger = [b"", np.array([5000], "<i4").tobytes(), bytes(80), b"", b""]
    with pytest.raises(MessageError, match="update: poses for entities that are not there"):
        apply_update(world, codec.decode_columns(stranger))
    frames = complete_frames(world)
    frames[2] = np.full((len(world), 10), np.nan).tobytes()
    with pytest.raises(MessageError, match=r"complete scene: entity .*: position: expected finite numbers"):
        world_from_complete(codec.decode_columns(frames))


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


@given(st.text())
def test_user_topics_never_meet_ours(name: str) -> None:
    try:
        topic = topics.user_topic(name)
    except ValueError:
        return
    assert topic.endswith("/")
    assert not any(topic.startswith(own) or own.startswith(topic) for own in topics.OURS)


def test_snapshot_topics_say_their_encoding() -> None:
    assert topics.encoding_of_snapshot(topics.snapshot("local", "abc.0")) == "local"
    for wrong in (
        "snapshot/",
        "snapshot/nothing/abc/",
        "snapshot/local//",
        "snapshot/local/a/b/",
        "scene/local/",
    ):
        assert topics.encoding_of_snapshot(wrong) is None
