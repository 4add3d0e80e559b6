"""Hanging entities below others, and what becomes of the children."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diorama.ecs import Transform, World, propagate
from diorama.schemas.errors import StateError
from diorama.tests.ecs.battery import Battery


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
    b = world.spawn("b", position=(0, 7, 0), orientation=(0, np.sqrt(0.5), 0, np.sqrt(0.5)), scale=(2, 2, 2))
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
        # A quarter of a turn about the y axis: z becomes x, x becomes -z.
        np.testing.assert_allclose(world.get(child, Transform).world_position, [6, 11, -2], atol=1e-12)
    else:
        np.testing.assert_allclose(world.table.pose[world.row(child)], pose, atol=1e-12)


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


def test_entities_come_parents_first() -> None:
    world = World()
    world.insert(["c", "b", "a"], parents=[1, 2, -1])
    assert [world.name(int(entity)) for entity in world.entities] == ["a", "b", "c"]
    assert world.forest.above.tolist() == [-1, 0, 1]
    assert world.forest.levels == [0, 1, 2, 3]


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
