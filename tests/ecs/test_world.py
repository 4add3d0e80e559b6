"""Making, unmaking, hanging and finding entities."""

import copy
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import esper
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import Bounds, Effector, Sensor, Transform, Velocity, World, component, propagate
from diorama.schemas.errors import StateError


@component("test_battery")
@dataclass(frozen=True)
class Battery:
    charge: float
    cells: tuple[int, ...] = ()


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


def test_transform_views_are_live_and_stay_good_while_the_world_grows() -> None:
    world = World()
    transform = world.get(world.spawn("a", position=(1, 2, 3)), Transform)
    world.insert(200_000)

    transform.position[0] += 5.0
    propagate(world)

    assert transform.world_position.tolist() == [6, 2, 3]
    assert world.transforms.position[0].tolist() == [6, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        transform.world_position[0] = 1.0


def test_assigning_to_a_view_writes_into_the_row_and_columns_cannot_be_replaced() -> None:
    world = World()
    entity = world.spawn("a", Velocity())
    transform, velocity = world.get(entity, Transform), world.get(entity, Velocity)
    transform.position, transform.orientation, transform.scale = (1, 2, 3), [1, 0, 0, 0], np.full(3, 4)
    transform.position += 1.0
    velocity.linear, velocity.angular = (5, 6, 7), (8, 9, 10)
    assert world.table.local[0].tolist() == [2, 3, 4, 1, 0, 0, 0, 4, 4, 4]
    assert world.velocities.block[0].tolist() == [5, 6, 7, 8, 9, 10]
    with pytest.raises(ValueError, match="could not broadcast"):
        transform.position = (1, 2)
    for columns, name in (
        (world.transforms, "position"),
        (world.poses, "scale"),
        (world.velocities, "linear"),
    ):
        with pytest.raises(AttributeError, match="can't set attribute"):
            setattr(columns, name, np.zeros((1, 3)))


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


def test_despawn_takes_the_subtree() -> None:
    world = World()
    root = world.spawn("root")
    entities = world.insert(["a", "b", "c"], Battery(1.0), parents=[-1, 0, 1], under=root)
    other = world.spawn("other")

    world.despawn(int(entities[0]))

    assert sorted(world.names) == ["other", "root"]
    assert world.children(root) == []
    assert world.query(Battery) == []
    assert {key for _, _, key in world.removals} == {"entity_1", "entity_2", "entity_3"}
    world.despawn(root)
    assert list(world.names.values()) == [other]


def test_despawn_can_hand_children_to_the_grandparent_where_they_are() -> None:
    world = World()
    top = world.spawn("top", position=(0, 0, 10))
    middle = world.spawn("middle", parent=top, position=(5, 0, 0), scale=(2, 2, 2))
    leaf = world.spawn("leaf", parent=middle, position=(1, 1, 1))
    propagate(world)
    before = world.get(leaf, Transform).world_position.copy()

    world.despawn(middle, children="grandparent")
    propagate(world)

    assert world.parent(leaf) == top
    np.testing.assert_allclose(world.get(leaf, Transform).world_position, before, atol=1e-12)


def test_one_without_children_goes_whatever_its_parent_is() -> None:
    """There is nobody whose world pose would have to be kept under a scale without an inverse."""
    world = World()
    leaf = world.spawn("leaf", parent=world.spawn("flat", scale=(0, 0, 0)))
    world.despawn(leaf, children="grandparent")
    assert list(world.names) == ["flat"]


@pytest.mark.parametrize("keep", ["local", "world"])
def test_reparenting_keeps_the_local_or_the_world_pose(keep: str) -> None:
    world = World()
    turned = (0, 0, np.sqrt(0.5), np.sqrt(0.5))
    a = world.spawn("a", position=(10, 0, 0), orientation=turned, scale=(3, 4, 5))
    b = world.spawn("b", position=(0, 7, 0), scale=(2, 2, 2))
    child = world.spawn("child", parent=a, position=(1, 2, 3), orientation=(np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    propagate(world)
    local = world.table.local[world.row(child)].copy()
    pose = world.table.pose[world.row(child)].copy()

    world.reparent(child, b, keep=keep)  # type: ignore[arg-type]
    propagate(world)

    assert world.parent(child) == b
    assert world.children(a) == []
    if keep == "local":
        assert (world.table.local[world.row(child)] == local).all()
        assert world.get(child, Transform).world_position.tolist() == [2, 11, 6]
    else:
        np.testing.assert_allclose(world.table.pose[world.row(child)], pose, atol=1e-12)


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


def test_handing_many_children_up_is_one_piece_of_work_and_all_or_nothing() -> None:
    world = World()
    top = world.spawn("top", scale=(1e-200, 1, 1))
    middle = world.spawn("middle", parent=top, position=(1, 0, 0), scale=(1e200, 1, 1))
    world.spawn("first", parent=middle)
    world.spawn("second", parent=middle, scale=(1e200, 1, 1))
    epoch = world.epoch
    with pytest.raises(StateError, match="entity 'second': scale: expected finite numbers"):
        world.despawn(middle, children="grandparent")
    assert world.epoch == epoch
    assert len(world.children(middle)) == 2

    world.despawn(world.find("second"))
    world.insert(20_000, under=middle, position=(0.0, 1.0, 0.0))
    version = world.version
    world.despawn(middle, children="grandparent")
    assert world.version == version
    assert len(world.children(top)) == 20_001


def test_keeping_the_world_pose_does_not_mind_a_stranger_who_is_not_finite() -> None:
    world = World()
    stranger, parent, child = (
        world.spawn("stranger"),
        world.spawn("parent", position=(1, 0, 0)),
        world.spawn("child"),
    )
    world.get(stranger, Transform).position[0] = np.nan
    world.reparent(child, parent, keep="world")
    assert world.get(child, Transform).position.tolist() == [-1, 0, 0]
    with pytest.raises(StateError, match="entity 'stranger': position: expected finite numbers"):
        world.reparent(child, stranger, keep="world")
    assert world.parent(child) == parent


def test_despawning_while_walking_through_a_query() -> None:
    world = World()
    world.insert(["a", "b", "c"], Battery(1.0), parents=[-1, 0, -1])
    seen = []
    for entity, battery in world.query(Battery):
        if entity in world:
            seen.append(battery)
            world.despawn(entity)
    assert len(seen) == 2
    assert len(world) == 0


def test_setting_something_that_is_no_component_is_a_programming_mistake() -> None:
    world = World()
    a = world.spawn("a")
    with pytest.raises(TypeError, match="int is not a component; register it with @component"):
        world.set(a, 3)
    with pytest.raises(ValueError, match="group 'bounds' already belongs to Bounds"):
        component("bounds")(Battery)


def test_components_are_set_replaced_queried_and_removed() -> None:
    world = World()
    a = world.spawn("a", Battery(0.5), Bounds((1, 2, 3)))
    b = world.spawn("b", Battery(0.7))
    world.set(a, Battery(0.9, (1, 2)), Velocity((1, 0, 0)))

    assert world.query(Battery) == [(a, Battery(0.9, (1, 2))), (b, Battery(0.7))]
    assert [found[0] for found in world.query(Battery, Bounds, Transform)] == [a]
    assert [found[0] for found in world.query(Velocity)] == [a]
    world.get(a, Velocity).linear[1] = 4.0
    assert world.velocities.linear[world.row(a)].tolist() == [1, 4, 0]
    world.remove(a, Battery)
    world.remove(a, Velocity)
    assert not world.has(a, Battery)
    assert not world.has(a, Velocity)
    assert world.has(a, Bounds)


def test_groups_of_other_peoples_making_are_kept_and_registered_ones_are_typed() -> None:
    world = World()
    a = world.spawn("a", Effector("rotor"))
    world.set_group(a, "trajectory", {"parameters": [1, 2]})
    world.set_group(a, "test_battery", {"charge": 0.25})

    assert world.get(a, Battery) == Battery(0.25)
    assert world.groups(a) == {
        "effector": {"id": "rotor", "path": ""},
        "trajectory": {"parameters": [1, 2]},
        "test_battery": {"charge": 0.25, "cells": ()},
    }
    world.remove_group(a, "trajectory")
    assert "trajectory" not in world.groups(a)


def test_entities_come_parents_first() -> None:
    world = World()
    world.insert(["c", "b", "a"], parents=[1, 2, -1])
    assert [world.name(int(entity)) for entity in world.entities] == ["a", "b", "c"]
    assert world.forest.above.tolist() == [-1, 0, 1]
    assert world.forest.levels == [0, 1, 2, 3]


def test_rename_moves_the_name() -> None:
    world = World()
    a = world.spawn("a")
    world.rename(a, "z")
    assert world.find("z") == a
    assert "a" not in world.names


@given(st.data())
def test_any_history_leaves_a_consistent_forest(data: st.DataObject) -> None:
    """After random spawns, despawns and re-parents, the indices agree with each other and with a plain model."""
    world = World(capacity=64)
    model: dict[int, int | None] = {}
    for _ in range(data.draw(st.integers(0, 30))):
        action = data.draw(st.sampled_from(["spawn", "spawn", "despawn", "hand", "reparent"]))
        chosen = data.draw(st.sampled_from(sorted(model))) if model else None
        other = data.draw(st.sampled_from([None, *sorted(model)]))
        if action == "spawn" or chosen is None:
            model[world.spawn(parent=other)] = other
        elif action == "reparent":
            below = chosen == other or _above(model, other, chosen)
            if below:
                with pytest.raises(StateError, match="hangs below it already"):
                    world.reparent(chosen, other)
            else:
                world.reparent(chosen, other)
                model[chosen] = other
        elif action == "hand":
            world.despawn(chosen, children="grandparent")
            parent = model.pop(chosen)
            model = {entity: parent if above == chosen else above for entity, above in model.items()}
        else:
            world.despawn(chosen)
            model = {entity: above for entity, above in model.items() if not _above(model, entity, chosen)}
    assert {entity: world.parent(entity) for entity in world.names.values()} == model
    for entity in model:
        assert set(world.children(entity)) == {child for child, above in model.items() if above == entity}
    positions = {int(entity): index for index, entity in enumerate(world.entities)}
    assert positions.keys() == model.keys()
    assert all(above is None or positions[above] < positions[entity] for entity, above in model.items())


def _above(model: dict[int, int | None], entity: int | None, ancestor: int) -> bool:
    """Whether `ancestor` is the entity or above it."""
    while entity is not None:
        if entity == ancestor:
            return True
        entity = model[entity]
    return False


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


def test_a_program_that_uses_esper_itself_is_left_alone() -> None:
    esper.switch_world("mine")
    mine = esper.create_entity(Battery(3.0))
    world = World()
    world.spawn("a", Battery(1.0))
    world.query(Battery)
    assert esper.current_world == "mine"
    assert esper.get_component(Battery) == [(mine, Battery(3.0))]


def test_esper_answers_queries_of_three_types_right() -> None:
    """esper 3.8 could raise KeyError on a valid query of three types."""
    kinds: list[Any] = [
        component(f"test_kind_{index}")(dataclass(frozen=True)(type(f"Kind{index}", (), {})))
        for index in range(4)
    ]
    random_numbers = random.Random(1)
    world = World()
    carried: dict[int, set[type]] = {}
    for _ in range(60):
        chosen = random_numbers.sample(kinds, random_numbers.randint(0, 4))
        carried[world.spawn("", *(kind() for kind in chosen))] = set(chosen)
    for _ in range(300):
        wanted = random_numbers.sample(kinds, random_numbers.randint(1, 4))
        found = [entity for entity, *_ in world.query(*wanted)]
        assert found == [entity for entity, have in sorted(carried.items()) if have.issuperset(wanted)]


def test_transforms_and_velocities_can_be_given_as_components() -> None:
    world = World()
    transform, velocity = Transform((1, 2, 3), (1, 0, 0, 0), (4, 5, 6)), Velocity((7, 8, 9), (10, 11, 12))
    one = world.spawn("one", transform, velocity, Battery(1.0))
    many = world.insert(2, transform, velocity)
    changed = world.spawn("changed")
    world.set(changed, transform, velocity)
    for entity in (one, *many.tolist(), changed):
        row = world.row(entity)
        assert world.table.local[row].tolist() == [1, 2, 3, 1, 0, 0, 0, 4, 5, 6]
        assert world.velocities.block[row].tolist() == [7, 8, 9, 10, 11, 12]
        assert world.velocities.present[row]


def test_groups_are_removed_one_by_one_whether_registered_or_raw() -> None:
    world = World()
    a = world.spawn("a", Battery(1.0))
    world.set_group(a, "one", 1)
    world.set_group(a, "two", 2)
    world.remove_group(a, "test_battery")
    assert world.groups(a) == {"one": 1, "two": 2}
    world.remove_group(a, "one")
    assert world.groups(a) == {"two": 2}


def test_the_origin_is_no_resource() -> None:
    world = World()
    with pytest.raises(ValueError, match=r"the origin is set with world\.origin"):
        world.set_resource("origin", {})
    assert dict(world.resources) == {}
