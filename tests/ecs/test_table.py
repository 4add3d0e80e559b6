"""Rows and handles: re-use, exact handles for replicas, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import Bounds, Transform, Velocity, World
from diorama.schemas.errors import StateError

INTEGERS = [int, np.int64, np.uint64, np.int32]


@pytest.mark.parametrize("kind", INTEGERS)
def test_numpy_integers_are_handles_too(kind: type) -> None:
    world = World()
    parent = world.spawn("parent")
    entity = world.spawn("a")
    same = kind(entity)

    assert same in world
    assert world.alive(same)
    assert world.name(same) == "a"
    world.set(same, Bounds((1, 1, 1)))
    world.set_group(same, "trajectory", {"points": []})
    world.rename(same, "b")
    world.reparent(same, kind(parent))
    assert world.get(same, Bounds) == Bounds((1, 1, 1))
    # What comes back are plain integers, which every encoder knows.
    handles = [world.find("b"), world.query(Bounds)[0][0], *world.children(parent), *world.names.values()]
    assert {type(handle) for handle in handles} == {int}
    world.remove_group(same, "trajectory")
    assert [type(handle) for handle, _ in world.query(Bounds)] == [int]
    world.despawn(same)
    assert same not in world


@pytest.mark.parametrize("handle", [-1, -(1 << 32), 1 << 32, 1 << 70, 7])
def test_handles_of_nobody_are_refused(handle: int) -> None:
    world = World()
    world.spawn("a")
    assert handle not in world
    for attempt in (world.row, world.name, world.groups, world.despawn, world.children, world.touch):
        with pytest.raises(StateError, match=f"entity {handle} is not in this world"):
            attempt(handle)


@pytest.mark.parametrize("handle", [-1, -(1 << 32), -(1 << 63), 1 << 32, 7, 0xFFFF_FFFF])
def test_handles_of_nobody_have_no_rows(handle: int) -> None:
    world = World(capacity=4)
    entity = world.spawn("a")
    with pytest.raises(StateError, match=f"entity {handle} is not in this world"):
        world.rows([entity, handle])


@pytest.mark.parametrize("wrong", [[0.7], [True], ["a"], [1 << 70]])
def test_what_is_no_whole_number_is_no_handle(wrong: Any) -> None:
    world = World(capacity=4)
    world.spawn("a")
    with pytest.raises(StateError, match="entities: expected whole numbers, got "):
        world.rows(wrong)
    with pytest.raises(StateError, match="entities: expected whole numbers, got "):
        world.insert(1, entities=wrong)


def test_a_name_in_place_of_a_handle_is_told_where_handles_are() -> None:
    world = World(capacity=4)
    world.spawn("a")
    with pytest.raises(TypeError, match=r"entity 'a': expected a handle, such as world\.find gives by name"):
        world.get("a", Transform)  # type: ignore[arg-type]


def test_a_stale_handle_finds_nothing_anywhere() -> None:
    world = World(capacity=1)
    old = world.spawn("a", Bounds((1, 1, 1)))
    world.despawn(old)
    world.spawn("b", Bounds((2, 2, 2)))
    for attempt in (
        world.groups,
        world.despawn,
        lambda entity: world.set_group(entity, "trajectory", {}),
        lambda entity: world.remove(entity, Bounds),
        lambda entity: world.set(entity, Bounds((3, 3, 3))),
        lambda entity: world.spawn("c", parent=entity),
    ):
        with pytest.raises(StateError, match=f"entity {old} is not in this world"):
            attempt(old)
    assert world.query(Bounds) == [(world.find("b"), Bounds((2, 2, 2)))]


def test_claimed_handles_are_exactly_those() -> None:
    world = World()
    wanted = [5 | 3 << 32, 2]
    entities = world.insert(["a", "b"], parents=[-1, 0], entities=wanted)

    assert entities.tolist() == wanted
    assert world.find("a") == wanted[0]
    assert world.parent(world.find("b")) == wanted[0]
    assert world.entities.tolist() == wanted


def test_rows_between_claimed_ones_are_used_later_and_none_twice() -> None:
    world = World(capacity=8)
    world.insert(2, entities=[4, 6])
    world.insert(1, entities=[1])
    rest = [world.spawn() for _ in range(3)] + world.insert(2).tolist()

    assert sorted([*rest, 1, 4, 6]) == list(range(8))
    with pytest.raises(StateError, match="the world is full"):
        world.spawn()


def test_a_claim_of_the_last_row_does_not_fill_the_memory_with_free_ones() -> None:
    world = World()
    last = world.table.capacity - 1
    world.insert(["far"], entities=[last])
    assert len(world.table.free) == 0
    world.despawn(last)
    world.insert(["near"], entities=[3])
    assert world.spawn("next") == last | 1 << 32


@pytest.mark.parametrize(
    ("handles", "message"),
    [
        ([3, 3], "entity 3: its row is in use already"),
        ([0, 3], "entity 0: its row is in use already"),
        ([3, 0 | 5 << 32], "entity 0: its row is in use already"),
        ([-1, 3], "entity -1: expected a handle"),
        ([3, 0xFFFF_FFFF], "the world is full: 8 rows"),
        ([3], "entities: expected one for each of 2 entities, got 1"),
    ],
)
def test_handles_that_cannot_be_claimed_change_nothing(handles: list[int], message: str) -> None:
    world = World(capacity=8)
    world.spawn("a")
    before = world.epoch, world.table.high, len(world.table.free)
    with pytest.raises(StateError, match=message):
        world.insert(["b", "c"], entities=handles)
    assert (world.epoch, world.table.high, len(world.table.free)) == before
    assert list(world.names) == ["a"]
    assert world.insert(7).tolist() == list(range(1, 8))


@pytest.mark.parametrize(("generation", "following"), [((1 << 31) - 1, 0), ((1 << 30) - 1, 1 << 30)])
def test_generations_rise_and_the_last_one_is_followed_by_the_first(generation: int, following: int) -> None:
    world = World(capacity=1)
    handle = generation << 32
    world.insert(["a"], entities=[handle])
    world.despawn(handle)
    again = world.spawn("b")
    assert again == following << 32
    assert world.rows([again]).tolist() == [0]


def test_rows_are_used_again_in_the_order_they_were_left() -> None:
    """The oldest first, so that a stale view stays harmless as long as possible."""
    world = World(capacity=4)
    for entity in world.insert(4)[[2, 0, 3, 1]].tolist():
        world.despawn(entity)
    assert [world.row(world.spawn()) for _ in range(2)] == [2, 0]
    assert world.rows(world.insert(2)).tolist() == [3, 1]


def test_a_new_tenant_does_not_inherit_a_velocity() -> None:
    world = World(capacity=1)
    world.despawn(world.spawn("old", Velocity((1, 2, 3))))
    new = world.spawn("new")
    assert not world.has(new, Velocity)
    assert world.query(Velocity) == []


@given(st.data())
def test_any_mixture_of_spawns_claims_and_despawns_uses_each_row_once(data: st.DataObject) -> None:
    world = World(capacity=12)
    living: set[int] = set()
    for _ in range(data.draw(st.integers(0, 25))):
        action = data.draw(st.sampled_from(["spawn", "insert", "claim", "despawn"]))
        rows = {entity & 0xFFFF_FFFF for entity in living}
        if action == "despawn":
            if living:
                entity = data.draw(st.sampled_from(sorted(living)))
                world.despawn(entity)
                living.remove(entity)
        elif action == "claim":
            row = data.draw(st.integers(0, 11))
            handle = row | data.draw(st.integers(0, 3)) << 32
            if row in rows:
                with pytest.raises(StateError, match="its row is in use already"):
                    world.insert(1, entities=[handle])
            else:
                living.update(world.insert(1, entities=[handle]).tolist())
        else:
            count = 1 if action == "spawn" else data.draw(st.integers(0, 3))
            if len(living) + count > 12:
                with pytest.raises(StateError, match="the world is full"):
                    world.insert(count)
            elif action == "spawn":
                living.add(world.spawn())
            else:
                living.update(world.insert(count).tolist())
    assert set(world.entities.tolist()) == living
    assert len({entity & 0xFFFF_FFFF for entity in living}) == len(living)
    assert all(world.get(entity, Transform).position.tolist() == [0, 0, 0] for entity in living)
