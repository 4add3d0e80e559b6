"""Messages on worlds: what an update changes, what it leaves alone, and what is refused."""

import numpy as np
import pytest

from diorama.ecs import Bounds, Velocity, World, difference, propagate
from diorama.schemas.errors import MessageError
from diorama.tests.transport.test_codec import complete_frames, some_world
from diorama.transport import codec
from diorama.transport.apply import apply_update, world_from_complete
from diorama.transport.codec import Frame, Since


def update_frames(world: World, since: Since) -> list[Frame]:
    """Everything that changed, as the publisher sends it."""
    moving = codec.velocity_rows(world, since)
    structure = codec.encode_structure(world, codec.structured_rows(world, since), since)
    return [structure, *codec.encode_blocks(world, "local", codec.moved_rows(world, since), moving)]


def copy_of(world: World) -> World:
    return world_from_complete(codec.decode_columns(complete_frames(world)))


def test_one_who_changed_keeps_the_velocity_nobody_mentions_again() -> None:
    world = World()
    a = world.spawn("a", Velocity((1, 2, 3)))
    world.spawn("b", Velocity((4, 5, 6)))
    propagate(world)
    replica, since = copy_of(world), Since(world.version, world.epoch)
    world.rename(a, "z")
    structure = codec.encode_structure(world, codec.structured_rows(world, since), since)
    apply_update(replica, codec.decode_columns([structure, b"", b"", b"", b""]))
    assert difference(world, replica) == ""


def test_an_update_tells_names_that_swap_parents_that_go_groups_and_velocities_that_end() -> None:
    world = World()
    a, b = world.spawn("a", Bounds((1, 1, 1)), asset="x"), world.spawn("b", Velocity((1, 2, 3)))
    child = world.spawn("child", parent=b)
    world.set_group(a, "raw", {"is": "kept"})
    propagate(world)
    replica, since = copy_of(world), Since(world.version, world.epoch)
    assert difference(world, replica) == ""
    handles = [world.find(name) for name in ("a", "b", "child")]

    world.rename(a, "c")
    world.rename(b, "a")
    world.rename(a, "b")
    world.set_asset(a, "y")
    world.remove(a, Bounds)
    world.remove(b, Velocity)
    world.reparent(b, a)
    world.reparent(child, None)
    world.set_resource("weather", {"rain": 1})
    propagate(world)
    apply_update(replica, codec.decode_columns(update_frames(world, since)))

    assert difference(world, replica) == ""
    assert [replica.find(name) for name in ("b", "a", "child")] == handles

    since = Since(world.version, world.epoch)
    world.reparent(b, None)
    world.despawn(a)
    world.spawn("c", parent=world.spawn("d", position=(1, 2, 3)))
    world.set_resource("weather", None)
    propagate(world)
    apply_update(replica, codec.decode_columns(update_frames(world, since)))
    assert difference(world, replica) == ""

    since = Since(world.version, world.epoch)
    assert world.find("d") >> 32 == 1  # the second tenant of its row
    world.despawn(world.find("d"))
    propagate(world)
    apply_update(replica, codec.decode_columns(update_frames(world, since)))
    assert difference(world, replica) == ""


def test_rows_of_a_complete_scene_are_those_of_its_structure() -> None:
    frames = complete_frames(some_world())
    frames[1] = bytes(frames[1][4:]) + bytes(frames[1][:4])
    with pytest.raises(MessageError, match="its rows are not those of its structure"):
        world_from_complete(codec.decode_columns(frames))


def test_poses_for_strangers_and_poses_that_are_not_finite_are_refused() -> None:
    world = some_world()
    stranger = [b"", np.array([5000], "<i4").tobytes(), bytes(80), b"", b""]
    with pytest.raises(MessageError, match="update: poses for entities that are not there"):
        apply_update(world, codec.decode_columns(stranger))
    first = int(world.forest.order()[0])
    for rows in ([5000], [first, 5000], [first, len(world) + 100]):
        numbers = np.array(rows, "<i4").tobytes()
        with pytest.raises(MessageError, match="update: velocities for entities that are not there"):
            apply_update(world, codec.decode_columns([b"", b"", b"", numbers, bytes(48 * len(rows))]))
    frames = complete_frames(world)
    frames[2] = np.full((len(world), 10), np.nan).tobytes()
    with pytest.raises(MessageError, match=r"complete scene: entity .*: position: expected finite numbers"):
        world_from_complete(codec.decode_columns(frames))


@pytest.mark.parametrize("parent", [2, 1000, codec.MAX_ROW - 1])
def test_a_parent_that_is_not_there_is_refused(parent: int) -> None:
    world = World()
    world.spawn("a")
    structure = b'{"row":[%d],"generation":[0],"key":["%s"],"name":["%s"],"asset":[""],"parent":[%d]}'
    for row, key, name in (
        (0, b"entity_0", b"a"),
        (1, b"entity_1", b"b"),
    ):  # one who is known, one who is new
        told = structure % (row, key, name, parent)
        with pytest.raises(MessageError, match=f"update: row {row}: its parent, row {parent}, is not there"):
            apply_update(world, codec.decode_columns([told, b"", b"", b"", b""]))


def test_poses_and_velocities_for_the_dead_are_refused() -> None:
    world = World()
    world.insert(3)
    world.despawn(1)
    rows = np.array([0, 1, 2], "<i4").tobytes()
    with pytest.raises(MessageError, match="update: poses for entities that are not there"):
        apply_update(world, codec.decode_columns([b"", rows, bytes(240), b"", b""]))
    with pytest.raises(MessageError, match="update: velocities for entities that are not there"):
        apply_update(world, codec.decode_columns([b"", b"", b"", rows, bytes(144)]))


def test_an_origin_with_something_missing_or_impossible_is_refused() -> None:
    for origin in (
        b"",
        b',"origin":{"latitude_deg":1.0}',
        b',"origin":{"equatorial_radius":0,"flattening":0}',
    ):
        with pytest.raises(MessageError):
            world_from_complete(
                codec.decode_columns([b'{"has_origin":true' + origin + b"}", b"", b"", b"", b""])
            )


def test_components_that_do_not_fit_are_refused_by_name() -> None:
    structure = (
        b'{"row":[0],"generation":[0],"key":["k"],"name":["n"],"asset":[""],"parent":[-1],'
        b'"components":{"0":{"bounds":{"size":[1]}}}}'
    )
    rows, values = np.zeros(1, "<i4").tobytes(), np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], "<f8").tobytes()
    with pytest.raises(MessageError, match="complete scene: entity 'n': bounds: "):
        world_from_complete(codec.decode_columns([structure, rows, values, b"", b""]))
