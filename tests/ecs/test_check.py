"""What a world refuses: it says why, names the entity, and nothing has changed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from diorama.ecs import Bounds, Sensor, Transform, Velocity, World
from diorama.schemas.errors import StateError


def test_reparenting_under_a_zero_scale_cannot_keep_the_world_pose() -> None:
    world = World()
    flat = world.spawn("flat", scale=(1, 0, 1))
    child = world.spawn("child", position=(1, 2, 3))
    with pytest.raises(StateError, match="entity 'flat': a scale of zero has no inverse"):
        world.reparent(child, flat, keep="world")
    assert world.parent(child) is None


def test_what_a_world_refuses_changes_nothing() -> None:
    world = World()
    a = world.spawn("a")
    b = world.spawn("b", parent=a)
    epoch = world.epoch

    for message, attempt in (
        ("entity 'a': the name is taken", lambda: world.spawn("a")),
        ("entity 'x': the key 'entity_0' is taken", lambda: world.spawn("x", key="entity_0")),
        ("entity 'a': 'b' hangs below it already", lambda: world.reparent(a, b)),
        ("entity 'a': 'a' hangs below it already", lambda: world.reparent(a, a)),
        (
            r"entity 'x': position: expected three finite numbers",
            lambda: world.spawn("x", position=(0, np.nan, 0)),
        ),
        (r"entity 'x': position: expected three finite numbers", lambda: world.spawn("x", position=(0, 0))),
        (
            r"entity 'x': orientation: expected four finite numbers, got \(0, 0, 1\)",
            lambda: world.spawn("x", orientation=(0, 0, 1)),
        ),
        (
            "entity 'x': orientation: expected a quaternion that can",
            lambda: world.spawn("x", orientation=(0, 0, 0, 0)),
        ),
        ("entity 99 is not in this world", lambda: world.spawn("x", parent=99)),
        ("entity 'b': the name is taken", lambda: world.insert(["x", "b"])),
        ("entity 'x': the name is taken", lambda: world.insert(["x", "x"])),
        ("entity 'x': its parents go in a circle", lambda: world.insert(["x", "y"], parents=[1, 0])),
        (
            "entity 'y': parent: expected an index below 2 or -1, got 2",
            lambda: world.insert(["x", "y"], parents=[-1, 2]),
        ),
        (
            "entity 'y': scale: expected finite numbers",
            lambda: world.insert(["x", "y"], scale=[[1.0, 1.0, 1.0], [1.0, 1.0, np.inf]]),
        ),
        (
            r"position: expected an array of shape \(2, 3\), got \(3, 3\)",
            lambda: world.insert(2, position=np.zeros((3, 3))),
        ),
        (
            "entity 'a': linear velocity: expected three finite",
            lambda: world.set(a, Velocity((np.inf, 0, 0))),
        ),
        (
            "entity 'a': angular velocity: expected three finite",
            lambda: world.set(a, Velocity((0, 0, 0), (0, 0, np.nan))),
        ),
        ("entity 'b': the name is taken", lambda: world.rename(a, "b")),
        ("no entity is named 'bb'; did you mean 'b'?", lambda: world.find("bb")),
        ("entity 'a' has no Sensor", lambda: world.get(a, Sensor)),
        ("an entity always has a Transform", lambda: world.remove(a, Transform)),
    ):
        with pytest.raises(StateError, match=message):
            attempt()
        assert world.epoch == epoch, message
        assert len(world) == 2, message


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("keys: expected one for each of 2 entities, got 1", {"keys": ["k"]}),
        ("s: expected one for each entity, got an empty one", {"keys": ["k", ""]}),
        ("asset: expected one for each of 2 entities, got 3", {"asset": ["x", "y", "z"]}),
        ("entities: expected one for each of 2 entities, got 3", {"entities": [0, 1, 2]}),
        ("parents: expected whole numbers, got float64", {"parents": [-1.0, 0.5]}),
        (r"parents: expected 2 indices, got an array of shape \(3,\)", {"parents": [-1, 0, 0]}),
        ("position: expected numbers: could not convert", {"position": [["a", "b", "c"]] * 2}),
        ("scale: expected numbers: .*inhomogeneous", {"scale": [[1, 2, 3], [1]]}),
        (
            "linear velocity: expected three finite",
            {"components": (Bounds((1, 1, 1)), Velocity((np.nan, 0, 0)))},
        ),
        ("position: expected three finite", {"components": (Bounds((1, 1, 1)), Transform((np.nan, 0, 0)))}),
    ],
)
def test_a_batch_that_does_not_fit_together_changes_nothing(message: str, arguments: dict[str, Any]) -> None:
    world = World()
    components = arguments.pop("components", ())
    for names in (2, ["x", "y"]):
        with pytest.raises(StateError, match=message):
            world.insert(names, *components, **arguments)
    with pytest.raises(TypeError, match="int is not a component"):
        world.insert(2, Bounds((1, 1, 1)), 5)
    assert (world.epoch, len(world), world.table.high, world.query(Bounds)) == (0, 0, 0, [])
    assert world.key(world.spawn()) == "entity_0"


def test_a_spawn_that_fails_changes_nothing() -> None:
    world = World()
    attempts: list[tuple[type[Exception], Callable[[], object]]] = [
        (StateError, lambda: world.spawn("x", Bounds((1, 1, 1)), Velocity((np.nan, 0, 0)))),
        (TypeError, lambda: world.spawn("x", Bounds((1, 1, 1)), "no component")),
        (StateError, lambda: world.spawn(position=(10**400, 0, 0))),
        (StateError, lambda: world.spawn(parent=3)),
    ]
    for error, attempt in attempts:
        with pytest.raises(error):
            attempt()
    assert (world.epoch, len(world), world.table.high, world.query(Bounds)) == (0, 0, 0, [])
    assert world.key(world.spawn()) == "entity_0"


def test_misspelt_choices_are_programming_mistakes() -> None:
    world = World()
    a = world.spawn("a")
    with pytest.raises(ValueError, match="children: expected 'despawn' or 'grandparent', got 'grandparents'"):
        world.despawn(a, children="grandparents")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep: expected 'local' or 'world', got 'pose'"):
        world.reparent(a, None, keep="pose")  # type: ignore[arg-type]
    with pytest.raises(StateError, match="entity 'a': expected another name, got none"):
        world.rename(a, "")
    assert world.name(a) == "a"


def test_positions_whose_sum_overflows_are_finite_all_the_same() -> None:
    world = World()
    large = [1.7e308, 1.7e308, -1.7e308]
    assert world.get(world.spawn("a", position=large, scale=large), Transform).position.tolist() == large
    world.set(world.find("a"), Transform(large, scale=large))
    for most in (np.uint8(255), np.int16(32767), np.int64(2**62), np.float32(3e38), np.float64(1.7e308)):
        given = np.array([most] * 3)
        row = world.row(world.spawn("", position=given, scale=given))
        assert world.table.local[row, [0, 9]].tolist() == [float(most)] * 2
