"""What is said of two worlds that are not the same scene."""

from collections.abc import Callable

import pytest

from diorama.ecs import Bounds, Classification, Velocity, World, difference
from diorama.geo import Origin


def scene(rows_before: int = 0) -> World:
    world = World(Origin(1.0, 2.0, 3.0))
    for entity in reversed(
        world.insert(rows_before, keys=[f"gone {i}" for i in range(rows_before)]).tolist()
    ):
        world.despawn(entity)
    parent = world.spawn("parent", Velocity((1, 0, 0)))
    world.spawn("child", Bounds((1, 2, 3)), parent=parent, asset="a/b", position=(1, 2, 3))
    world.set_resource("weather", {"rain": [1, 2]})
    return world


CHANGES: list[tuple[Callable[[World], object], str]] = [
    (lambda world: world.rename(world.find("child"), "kid"), "'entity_1': name: 'child' and 'kid'"),
    (lambda world: world.set_asset(world.find("child"), "c"), "'entity_1': asset: 'a/b' and 'c'"),
    (lambda world: world.reparent(world.find("child"), None), "'entity_1': parent: 'entity_0' and ''"),
    (lambda world: world.set(world.find("child"), Bounds((1, 2, 4))), "'entity_1': components: "),
    (lambda world: world.set(world.find("child"), Classification("car")), "'entity_1': components: "),
    (lambda world: world.remove(world.find("parent"), Velocity), "'entity_0': only one of the two has a vel"),
    (lambda world: world.set(world.find("child"), Velocity()), "'entity_1': only one of the two has a vel"),
    (lambda world: world.set(world.find("parent"), Velocity((1, 0, 1e-9))), "'entity_0': velocity: "),
    (lambda world: world.transforms.position[1].__setitem__(0, 1 + 1e-9), "'entity_1': pose: "),
    (lambda world: world.transforms.scale[1].__setitem__(2, 1 + 1e-9), "'entity_1': pose: "),
    (lambda world: world.transforms.position[0].__setitem__(0, -0.0), "'entity_0': pose: "),
    (lambda world: world.set_resource("weather", {"rain": [2, 1]}), "resources: "),
    (lambda world: setattr(world, "origin", Origin(1.0, 2.0, 3.5)), "origin: "),
    (lambda world: setattr(world, "origin", None), "origin: "),
    (lambda world: world.spawn("another"), "'entity_2' is only in the second world"),
    (lambda world: world.despawn(world.find("child")), "'entity_1' is only in the first world"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES, ids=range(len(CHANGES)))
def test_each_kind_of_difference_is_named(change: Callable[[World], object], message: str) -> None:
    one, two = scene(), scene()
    assert difference(one, two) == ""
    change(two)
    assert difference(one, two).startswith(message)


def test_a_tolerance_is_for_poses_and_velocities_and_is_absolute() -> None:
    one, two = scene(), scene()
    two.transforms.position[1] = (1001, 2, 3)
    one.transforms.position[1] = (1000.5, 2, 3)
    two.set(two.find("parent"), Velocity((1.5, 0, 0)))
    assert difference(one, two, tolerance=0.6) == ""
    assert difference(one, two, tolerance=0.4).startswith("'entity_0': velocity")
    two.set(two.find("parent"), Velocity((1, 0, 0)))
    assert difference(one, two, tolerance=0.4).startswith("'entity_1': pose")


def test_rows_do_not_matter() -> None:
    one, two = scene(), scene(4)
    two.spawn("more", key="more")
    one.spawn("more", key="more")
    one.reparent(one.find("more"), one.find("child"))
    two.reparent(two.find("more"), two.find("child"))
    assert one.row(one.find("child")) != two.row(two.find("child"))
    assert difference(one, two) == difference(two, one) == ""
    one.set(one.find("more"), Velocity())
    for pair in ((one, two), (two, one)):
        assert difference(*pair) == "'more': only one of the two has a velocity"


def test_a_list_is_a_tuple_in_json() -> None:
    one, two = scene(), scene()
    two.set_resource("weather", {"rain": (1, 2)})
    assert difference(one, two) == ""


def test_the_velocity_of_a_row_that_has_none_does_not_count() -> None:
    one, two = scene(), scene()
    two.velocities.linear[1] = 5.0
    assert difference(one, two) == ""
