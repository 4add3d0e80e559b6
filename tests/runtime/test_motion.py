"""Motion: velocities, spins, landings and scripts, all ticks deterministic."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diorama.ecs import Effector, Transform, Velocity, World
from diorama.ecs.motion import Force, Landed, Spin, Trajectory
from diorama.formats.airsim import read
from diorama.runtime.clock import SteppableClock, Tick
from diorama.runtime.motion import (
    MOTION,
    follow_trajectories,
    hold_landed,
    integrate_velocities,
    set_rotor_speed,
    spin_rotors,
)
from diorama.runtime.step import step
from diorama.schemas.errors import StateError

FOLDER = Path(__file__).parent.parent / "scenes" / "airsim"
TICK = Tick(0, 10_000_000, 10_000_000)
RADIAN = 1e-12


def test_velocities_move_and_turn_all_entities_at_once() -> None:
    world = World()
    count = 100
    rng = np.random.default_rng(4)
    entities = world.insert([f"e{n}" for n in range(count)], position=rng.normal(size=(count, 3)))
    linear, angular = rng.normal(size=(2, count, 3))
    for entity, velocity, rate in zip(entities.tolist(), linear, angular, strict=True):
        world.set(entity, Velocity(velocity, rate))
    resting = world.spawn("resting", position=(1, 2, 3))
    rows = world.rows(entities)
    begin = world.transforms.position[rows].copy()
    for _ in range(100):
        step(world, TICK, [integrate_velocities])
    np.testing.assert_allclose(world.transforms.position[rows], begin + linear, atol=1e-12)
    # a steady turn of one second in the body's own axes
    expected = Rotation.from_rotvec(angular)
    found = Rotation.from_quat(world.transforms.orientation[rows])
    assert (found.inv() * expected).magnitude().max() < RADIAN * 100
    assert world.get(resting, Transform).position.tolist() == [1, 2, 3]


def test_rotors_spin_and_their_links_with_them() -> None:
    world = read(FOLDER / "drone.jsonc")
    motor = world.find("Heron1/Motor_L")
    set_rotor_speed(world, motor, 10.0)
    for _ in range(10):
        step(world, TICK, [spin_rotors])
    base = Rotation.from_euler("ZYX", [30, 0, 0], degrees=True)
    for name, start in (("Heron1/Motor_L", Rotation.identity()), ("Heron1/Rotor_L", base)):
        found = Rotation.from_quat(world.get(world.find(name), Transform).orientation)
        expected = start * Rotation.from_rotvec([0, 0, -1.0])  # counter-clockwise from above, one radian
        assert (found.inv() * expected).magnitude() < RADIAN * 100, name
    assert world.get(world.find("Heron1/Rotor_R"), Spin).speed == 0
    assert world.get(world.find("Heron2/Rotor_L"), Spin).speed == 0


def test_any_effector_can_spin_and_nothing_else_can() -> None:
    world = World()
    craft = world.spawn("craft")
    rotor = world.spawn("craft/rotor", Effector("rotor"), parent=craft)
    set_rotor_speed(world, rotor, 3.0)
    assert world.get(rotor, Spin) == Spin(3.0)
    with pytest.raises(StateError, match="entity 'craft' is no effector"):
        set_rotor_speed(world, craft, 3.0)


def test_landed_things_stay_until_they_rise_or_are_lifted() -> None:
    world = World()
    craft = world.spawn("craft", Velocity(), Landed(15.0), position=(0, 0, -1))
    systems = [hold_landed, integrate_velocities]
    velocity = world.get(craft, Velocity)
    velocity.linear[:] = (1, 0, 2)  # falling, as gravity would have it
    step(world, TICK, systems)
    assert world.get(craft, Transform).position.tolist() == [0, 0, -1]
    assert velocity.linear.tolist() == [0, 0, 0]
    world.set(craft, Force((100.0, 0.0, -15.0)))  # strong, but not upward above the weight
    step(world, TICK, systems)
    assert world.has(craft, Landed)
    world.set(craft, Force((0.0, 0.0, -15.1)))
    step(world, TICK, systems)
    assert not world.has(craft, Landed)
    velocity.linear[:] = (0, 0, -1)
    step(world, TICK, systems)
    assert world.get(craft, Transform).position[2] == pytest.approx(-1.01)


def test_an_upward_velocity_lifts_off() -> None:
    world = World()
    craft = world.spawn("craft", Velocity((0, 0, -1)), Landed(15.0))
    step(world, TICK, [hold_landed, integrate_velocities])
    assert not world.has(craft, Landed)
    assert world.get(craft, Transform).position[2] == pytest.approx(-0.01)


def test_scripts_of_environment_actors_are_followed() -> None:
    world = read(FOLDER / "environment.jsonc")
    kite = world.get(world.find("Kite"), Transform)
    expected = {
        0.5: (5, 0, -10),
        1.0: (10, 0, -10),
        3.0: (20, 10, -10),
        5.0: (20, 0, -10),
        6.0: (20, 10, -10),
    }
    for time, position in expected.items():
        step(world, Tick(0, round(time * 1e9), 1), MOTION)
        np.testing.assert_allclose(kite.position, position, atol=1e-9, err_msg=str(time))
    assert world.get(world.find("Kite"), Velocity).linear.tolist() == pytest.approx([0, 10, 0])


def test_waypoints_on_earth_are_for_roots() -> None:
    world = World()
    ship = world.spawn("ship")
    boat = world.spawn("boat", Trajectory((0.0,), ((0.0, 0.0, 0.0),), frame="lla"), parent=ship)
    with pytest.raises(StateError, match="entity 'boat': waypoints by latitude and longitude"):
        follow_trajectories(world, TICK)
    world.despawn(boat)
    follow_trajectories(world, TICK)


def run_ten_thousand_ticks() -> str:
    """A hash over the state after every tick."""
    world = read(FOLDER / "environment.jsonc")
    drone = world.spawn("drone", Velocity((1.0, 0.3, -0.1), (0.3, 0.2, 0.1)))
    world.spawn("rotor", Effector("rotor"), Spin(400.0), parent=drone)
    digest = sha256()
    clock = SteppableClock(3_000_000, 0)
    rows = world.rows(world.entities)
    for tick in clock:
        step(world, tick, MOTION)
        digest.update(world.poses.position[rows].tobytes())
        digest.update(world.poses.orientation[rows].tobytes())
        if tick.index == 9_999:
            clock.stop()
    assert clock.time_ns == 30_000_000_000
    lengths = np.linalg.norm(world.transforms.orientation[rows], axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-15)  # rounding has not added up
    return digest.hexdigest()


def test_ten_thousand_ticks_give_the_same_bits_every_time() -> None:
    assert run_ten_thousand_ticks() == run_ten_thousand_ticks()
