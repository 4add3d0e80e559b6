"""What counts as a change of structure, so that whoever follows a world is told, and what does not."""

import pytest

from diorama.ecs import Bounds, Effector, Transform, Velocity, World, propagate
from diorama.geo import Origin


def test_changes_that_leave_the_tree_alone_leave_the_order_alone() -> None:
    world = World()
    a = world.spawn("a")
    order = world.forest.order()
    world.set(a, Bounds((1, 1, 1)))
    world.rename(a, "b")
    world.set_resource("weather", {})
    assert world.forest.order() is order
    world.spawn("c")
    assert len(world.forest.order()) == 2


def test_structure_changes_are_stamped_with_the_epoch() -> None:
    world = World()
    a, b = world.spawn("a"), world.spawn("b")
    seen = world.epoch
    world.set(b, Bounds((1, 1, 1)))
    world.set_resource("weather", {"preset": "Cloudy"})
    world.origin = Origin(29.5, -95.1, 10.0)

    assert (world.table.structured[world.rows([a, b])] > seen).tolist() == [False, True]
    assert world.resource_epochs["weather"] > seen
    assert world.origin_epoch > seen
    assert dict(world.resources) == {"weather": {"preset": "Cloudy"}}
    world.set_resource("weather", None)
    assert world.resource("weather", "none") == "none"


def test_one_who_comes_alone_or_with_others_is_stamped_with_a_later_epoch() -> None:
    world = World()
    for _ in range(2):
        before = world.epoch
        alone = world.spawn()
        assert before < world.table.structured[world.row(alone)] == world.epoch
        before = world.epoch
        many = world.insert(2)
        assert (world.table.structured[world.rows(many)] == world.epoch).all()
        assert before < world.epoch


def test_a_world_with_changes_is_not_propagated_until_it_is() -> None:
    world = World()
    for _ in range(3):
        assert world.propagated_epoch != world.epoch
        world.spawn()
    propagate(world)
    assert world.propagated_epoch == world.epoch


def test_a_velocity_is_told_when_it_comes_and_not_when_it_changes() -> None:
    """Coming and going is structure; the numbers travel in columns."""
    world = World()
    a = world.spawn("a")
    epoch = world.epoch
    world.set(a, Transform((1, 2, 3)))
    assert world.epoch == epoch
    world.set(a, Velocity((1, 0, 0)))
    assert world.table.structured[world.row(a)] == world.epoch == epoch + 1
    world.set(a, Velocity((2, 0, 0)))
    assert world.epoch == epoch + 1
    world.remove(a, Velocity)
    assert world.table.structured[world.row(a)] == world.epoch == epoch + 2


def test_other_names_and_assets_are_told_and_the_same_name_is_no_change() -> None:
    world = World()
    a = world.spawn("a", asset="old")
    epoch = world.epoch
    world.rename(a, "a")
    assert world.epoch == epoch
    world.set_asset(a, "new")
    assert world.asset(a) == "new"
    assert world.table.structured[world.row(a)] == world.epoch == epoch + 1
    world.rename(a, "b")
    assert world.table.structured[world.row(a)] == world.epoch == epoch + 2
    assert (world.find_key("entity_0"), world.find_key("b")) == (a, None)


@pytest.mark.parametrize("change", ["despawn", "remove", "reparent"])
def test_an_effector_that_goes_is_told_as_a_change_of_its_owner(change: str) -> None:
    world = World()
    owner, other = world.spawn("owner"), world.spawn("other")
    rotor = world.spawn("owner/rotor", Effector("rotor"), parent=owner)
    plain = world.spawn("plain", parent=owner)
    before = world.epoch
    if change == "despawn":
        world.despawn(plain)
        assert world.table.structured[world.row(owner)] <= before
        world.despawn(rotor)
    elif change == "remove":
        world.remove(rotor, Effector)
    else:
        world.reparent(plain, other)
        assert world.table.structured[world.row(owner)] <= before
        world.reparent(rotor, other)
    assert world.table.structured[world.row(owner)] > before
    assert world.table.structured[world.row(other)] <= before
