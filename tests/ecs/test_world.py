"""Making, naming and finding entities; batches of them, and worlds beside each other."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

from diorama.ecs import Sensor, Transform, World
from diorama.schemas.errors import StateError
from diorama.tests.ecs.battery import Battery


def test_spawn_gives_names_keys_assets_and_parents() -> None:
    world = World()
    evtol = world.spawn("evtol", asset="aircraft/EVTOL", position=(1, 2, 3))
    camera = world.spawn("camera", Sensor("camera", "rgb_camera", {"fov": 90}), parent=evtol)
    nameless = world.spawn()

    assert [world.find(name) for name in ("evtol", "camera", "entity_2")] == [evtol, camera, nameless]
    assert (world.key(evtol), world.asset(evtol), world.parent(camera)) == (
        "entity_0",
        "aircraft/EVTOL",
        evtol,
    )
    assert world.children(evtol) == [camera]
    assert world.get(camera, Sensor).parameters == {"fov": 90}
    assert len(world) == 3


def test_handles_of_despawned_entities_are_dead_even_when_the_row_is_used_again() -> None:
    world = World(capacity=2)
    first = world.spawn("a")
    world.spawn("b")
    world.despawn(first)
    again = world.spawn("c")

    assert again != first
    assert world.row(again) == first & 0xFFFFFFFF
    assert first not in world
    with pytest.raises(StateError, match=f"entity {first} is not in this world"):
        world.get(first, Transform)
    with pytest.raises(StateError, match=f"entity {first} is not in this world"):
        world.rows([again, first])


def test_a_full_world_says_so_and_stays_as_it_is() -> None:
    world = World(capacity=3)
    world.insert(2)
    with pytest.raises(StateError, match="the world is full: 3 rows"):
        world.insert(2)
    assert len(world) == 2
    world.spawn("fits")
    assert len(world) == 3


def test_fresh_keys_avoid_every_name_and_no_key_comes_twice() -> None:
    world = World()
    world.insert(["entity_1", "", "entity_3"])
    world.spawn("entity_5")
    world.spawn("a", key="entity_7")
    last = world.spawn()
    world.despawn(last)
    world.spawn()
    world.despawn(int(world.insert(1)[0]))
    world.insert(1)
    assert [world.key(entity) for entity in world.entities.tolist()] == [
        "entity_0",
        "entity_2",
        "entity_4",
        "entity_5",
        "entity_7",
        "entity_8",
        "entity_10",
    ]


def test_what_a_batch_leaves_out_is_the_identity_and_one_row_serves_all() -> None:
    world = World()
    world.insert(2, scale=(2.0, 3.0, 4.0))
    world.insert(2, orientation=[(1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)])
    world.insert(2, position=(5.0, 6.0, 7.0))
    world.insert(1)
    assert world.table.local[:7].tolist() == [
        [0, 0, 0, 0, 0, 0, 1, 2, 3, 4],
        [0, 0, 0, 0, 0, 0, 1, 2, 3, 4],
        [0, 0, 0, 1, 0, 0, 0, 1, 1, 1],
        [0, 0, 0, 0, 1, 0, 0, 1, 1, 1],
        [5, 6, 7, 0, 0, 0, 1, 1, 1, 1],
        [5, 6, 7, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, 0, 0, 1, 1, 1, 1],
    ]


def test_what_a_spawn_leaves_out_is_the_identity() -> None:
    world = World()
    for pose in ({}, {"position": (0, 0, 0)}, {"orientation": (0, 0, 0, 1)}, {"scale": (1, 1, 1)}):
        row = world.row(world.spawn("", **pose))
        assert world.table.local[row].tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_batches_of_none_and_of_numpy_counts() -> None:
    world = World()
    assert world.insert(0).shape == world.insert([], position=np.empty((0, 3)), parents=[]).shape == (0,)
    assert len(world.insert(np.int64(3), parents=np.array([-1, 0, 1], np.int8))) == 3  # type: ignore[arg-type]


def test_rename_moves_the_name() -> None:
    world = World()
    a = world.spawn("a")
    world.rename(a, "z")
    assert world.find("z") == a
    assert "a" not in world.names


@pytest.mark.parametrize("names", ["drone", -3])
def test_a_single_name_and_less_than_nothing_are_no_batch(names: str | int) -> None:
    world = World()
    with pytest.raises(StateError, match=f"names: expected a list of names or a count, got {names!r}"):
        world.insert(names)
    assert len(world) == 0


def test_worlds_do_not_share_anything() -> None:
    one, two = World(), World()
    one.insert(2, Battery(1.0))
    two.spawn("a", Battery(2.0))
    assert [battery.charge for _, battery in one.query(Battery)] == [1.0, 1.0]
    assert [battery.charge for _, battery in two.query(Battery)] == [2.0]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_world_is_not_copied_by_accident(way: Callable[[World], object]) -> None:
    with pytest.raises(TypeError, match=r"a world cannot be copied or pickled; diorama\.save it"):
        way(World())


def test_the_origin_is_no_resource() -> None:
    world = World()
    with pytest.raises(ValueError, match=r"the origin is set with world\.origin"):
        world.set_resource("origin", {})
    assert dict(world.resources) == {}
