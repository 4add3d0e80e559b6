"""One tick: systems in order, then the tree."""

import pytest

from diorama.ecs import Transform, World
from diorama.runtime.clock import Tick
from diorama.runtime.step import step

TICK = Tick(index=0, time_ns=20_000_000, step_ns=20_000_000)


def test_systems_run_in_the_order_given_and_poses_follow() -> None:
    world = World()
    parent = world.spawn("parent")
    child = world.spawn("child", parent=parent, position=(1, 0, 0))
    seen: list[str] = []

    def move(world: World, tick: Tick) -> None:
        seen.append("move")
        world.get(parent, Transform).position[0] += 5.0 * tick.step_s

    def note(world: World, tick: Tick) -> None:
        seen.append(f"note {world.get(parent, Transform).position[0]}")

    step(world, TICK, [move, note])
    assert seen == ["move", "note 0.1"]
    assert world.get(child, Transform).world_position.tolist() == [1.1, 0.0, 0.0]


def test_an_error_in_a_system_reaches_the_caller() -> None:
    def fail(world: World, tick: Tick) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        step(World(), TICK, [fail])
