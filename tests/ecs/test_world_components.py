"""What entities carry: views of rows, components, groups, and queries for them."""

import random
from dataclasses import dataclass
from typing import Any

import esper
import numpy as np
import pytest

from diorama.ecs import Bounds, Effector, Transform, Velocity, World, component, propagate
from diorama.tests.ecs.battery import Battery


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
