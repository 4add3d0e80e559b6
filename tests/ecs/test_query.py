"""Queries over columns and cold components together."""

from typing import Any

import pytest

from diorama.ecs import Bounds, Classification, Transform, Velocity, World


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((Transform,), ["still", "moving", "boxed", "both"]),
        ((Velocity,), ["moving", "both"]),
        ((Transform, Velocity), ["moving", "both"]),
        ((Bounds,), ["boxed", "both"]),
        ((Transform, Bounds), ["boxed", "both"]),
        ((Bounds, Velocity), ["both"]),
        ((Velocity, Transform, Bounds), ["both"]),
        ((Bounds, Classification), []),
    ],
)
def test_a_query_finds_who_has_all_and_hands_out_each_in_its_place(
    types: tuple[type, ...], expected: list[str]
) -> None:
    world = World()
    box = Bounds((1, 2, 3))
    components: dict[str, tuple[Any, ...]] = {
        "still": (),
        "moving": (Velocity((1, 2, 3)),),
        "boxed": (box,),
        "both": (Velocity((4, 5, 6)), box),
    }
    for index, (name, carried) in enumerate(components.items()):
        world.spawn(name, *carried, position=(index, 0, 0))
    found = world.query(*types)
    assert [world.name(entity) for entity, *_ in found] == expected
    for entity, *parts in found:
        assert [type(part) for part in parts] == list(types)
        for part in parts:
            if isinstance(part, Transform):
                assert part.position[0] == world.row(entity)
            elif isinstance(part, Velocity):
                assert part.linear.tolist() == world.velocities.linear[world.row(entity)].tolist()
            else:
                assert part is box


def test_the_dead_are_not_found() -> None:
    world = World()
    world.spawn("a", Velocity((1, 2, 3)), Bounds((1, 1, 1)))
    world.despawn(world.spawn("b", Velocity((1, 2, 3)), Bounds((1, 1, 1))))
    for types in ((Transform,), (Velocity,), (Bounds,), (Velocity, Bounds)):
        assert [world.name(entity) for entity, *_ in world.query(*types)] == ["a"]


def test_asking_for_what_nobody_can_carry_is_a_mistake() -> None:
    world = World()
    world.spawn("a", Bounds((1, 1, 1)))
    for types in ((int,), (Transform, int), (Bounds, int)):
        with pytest.raises(TypeError, match="int is not a component; register it with @component"):
            world.query(*types)
