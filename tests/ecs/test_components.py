"""Registering components, and components as JSON."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from diorama.ecs import Bounds, Transform, Velocity, World, component
from diorama.ecs.components import RESERVED
from diorama.ecs.motion import Spin, Trajectory
from diorama.schemas.errors import StateError


class Charge(msgspec.Struct, frozen=True):
    volts: float


def test_a_frozen_struct_is_a_component_too() -> None:
    component("test_charge_of_struct")(Charge)
    world = World()
    entity = world.spawn("a", Charge(3.7))
    assert world.groups(entity) == {"test_charge_of_struct": {"volts": 3.7}}


def test_only_frozen_classes_register_and_a_group_has_one_class() -> None:
    @dataclass
    class Loose:
        x: int = 0

    class LooseStruct(msgspec.Struct):
        x: int = 0

    for cls in (Loose, LooseStruct, int):
        with pytest.raises(TypeError, match=f"{cls.__name__}: expected a frozen dataclass or msgspec.Struct"):
            component("test_loose")(cls)
    elsewhere: type = dataclass(frozen=True)(type("Bounds", (), {"__module__": "somewhere_else"}))
    with pytest.raises(ValueError, match="group 'bounds' already belongs to Bounds"):
        component("bounds")(elsewhere)
    with pytest.raises(ValueError, match="group 'velocity' is diorama's own"):
        component("velocity")(Charge)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"size": [1, 2, "three"]}, r"entity 'a': bounds: Expected `float`, got `str` - at `\$.size\[2\]`"),
        ({}, "entity 'a': bounds: Object missing required field `size`"),
        ([1, 2, 3], "entity 'a': bounds: Expected `object`, got `array`"),
    ],
)
def test_json_that_does_not_fit_its_group_is_refused_by_name(value: Any, message: str) -> None:
    world = World()
    entity = world.spawn("a", Bounds((1, 1, 1)))
    epoch = world.epoch
    with pytest.raises(StateError, match=message):
        world.set_group(entity, "bounds", value)
    assert world.get(entity, Bounds) == Bounds((1, 1, 1))
    assert world.epoch == epoch


@pytest.mark.parametrize("group", sorted(RESERVED))
def test_a_group_of_diorama_itself_cannot_be_set_as_json(group: str) -> None:
    """A document written with it would be refused when read: it says what names, columns and the tree say."""
    world = World()
    entity = world.spawn("a")
    with pytest.raises(StateError, match=f"entity 'a': the group '{group}' is diorama's own"):
        world.set_group(entity, group, {})
    assert world.groups(entity) == {}


def test_removing_a_group_that_is_not_there_says_so() -> None:
    world = World()
    entity = world.spawn("a")
    world.set_group(entity, "one", 1)
    for group, message in (("two", "entity 'a' has no group 'two'"), ("bounds", "entity 'a' has no Bounds")):
        with pytest.raises(StateError, match=message):
            world.remove_group(entity, group)
    world.remove_group(entity, "one")
    assert world.groups(entity) == {}
    with pytest.raises(StateError, match="entity 'a' has no group 'one'"):
        world.remove_group(entity, "one")


def test_what_components_are_when_little_is_said() -> None:
    assert Bounds((1, 2, 3)).center == (0, 0, 0)
    plain = Transform()
    assert [*plain.position, *plain.orientation, *plain.scale] == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert Spin(2.0).axis == (0, 0, 1)
    assert (Trajectory((), ()).smooth, Trajectory((), ()).loop) == (False, False)


def test_a_transform_of_no_world_has_no_world_pose() -> None:
    transform = Transform((1, 2, 3))
    assert repr(transform) == (
        "Transform(position=[1.0, 2.0, 3.0], orientation=[0.0, 0.0, 0.0, 1.0], scale=[1.0, 1.0, 1.0])"
    )
    with pytest.raises(AttributeError, match="this Transform belongs to no world"):
        _ = transform.world_position


def test_a_velocity_says_what_it_is_and_rests_by_default() -> None:
    assert repr(Velocity()) == "Velocity(linear=[0.0, 0.0, 0.0], angular=[0.0, 0.0, 0.0])"
    world = World()
    world.spawn("a", Velocity((1, 2, 3), (4, 5, 6)))
    view = world.get(world.find("a"), Velocity)
    assert repr(view) == "Velocity(linear=[1.0, 2.0, 3.0], angular=[4.0, 5.0, 6.0])"
