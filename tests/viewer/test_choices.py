"""What people chose stays chosen while it means something."""

from diorama.ecs import World
from diorama.viewer.choices import Choices


def fleet(*names: str) -> World:
    """Aircraft with an arm, and on it a camera, each."""
    world = World()
    for name in names:
        arm = world.spawn(f"{name}/arm", parent=world.spawn(name))
        world.spawn(f"{name}/arm/eye", parent=arm)
    return world


def test_selecting_unfolds_the_tree_down_to_it() -> None:
    world, chosen = fleet("a", "b"), Choices()
    chosen.select(world, world.find("b/arm/eye"))
    assert (chosen.name, chosen.opened) == ("b/arm/eye", {world.find("b"), world.find("b/arm")})


def test_what_is_hidden_hides_all_that_hangs_under_it() -> None:
    world, chosen = fleet("a", "b"), Choices()
    assert chosen.concealed(world) == set()
    chosen.hidden = {world.find("b"), world.find("a/arm/eye")}
    hidden = {world.find(name) for name in ("a/arm/eye", "b", "b/arm", "b/arm/eye")}
    assert chosen.concealed(world) == hidden


def test_in_another_world_the_selected_one_is_found_by_its_name() -> None:
    before, after, chosen = fleet("a", "b"), fleet("c", "b"), Choices()
    chosen.select(before, before.find("b"))
    chosen.hidden, chosen.through = {before.find("a")}, before.find("a/arm/eye")
    chosen.carry_over(before, fresh=False)
    assert (chosen.selected, chosen.through) == (before.find("b"), before.find("a/arm/eye"))
    chosen.carry_over(after, fresh=True)
    assert (chosen.selected, chosen.hidden) == (after.find("b"), set())
    assert chosen.through is None
    chosen.carry_over(fleet("d"), fresh=True)
    assert chosen.selected is None


def test_what_is_gone_is_no_longer_selected() -> None:
    world, chosen = fleet("a", "b"), Choices()
    chosen.select(world, world.find("a/arm/eye"))
    chosen.through = chosen.selected
    world.despawn(world.find("a"))
    chosen.carry_over(world, fresh=False)
    assert (chosen.selected, chosen.through) == (None, None)
