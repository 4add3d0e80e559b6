"""Systems that move things: plain functions of a world and a tick, for `step(world, tick, systems=MOTION)`.

What a system acts on is gathered into arrays when the structure of the world has changed, and used for all entities
at once every tick.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from diorama.ecs import Effector, Entity, Velocity, World
from diorama.ecs.motion import Force, Landed, Spin, Trajectory
from diorama.formats.airsim.components import Actuator
from diorama.geo.rotation import multiply
from diorama.runtime.clock import Tick
from diorama.runtime.trajectory import Paths, paths_of, sample
from diorama.schemas.errors import StateError

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
T = TypeVar("T")


class Gathered(Generic[T]):
    """What a function makes of a world, made again only after structural changes."""

    def __init__(self, gather: Callable[[World], T]) -> None:
        self._gather = gather
        self._known: WeakKeyDictionary[World, tuple[int, T]] = WeakKeyDictionary()

    def __call__(self, world: World) -> T:
        known = self._known.get(world)
        if known is None or known[0] != world.epoch:
            known = self._known[world] = (world.epoch, self._gather(world))
        return known[1]


@dataclass(frozen=True, slots=True)
class Followers:
    """Rows that follow trajectories, those of them that have a Velocity, and the paths themselves."""

    rows: Rows
    with_velocity: NDArray[np.bool_]
    paths: Paths


def _gather_followers(world: World) -> Followers:
    found = world.query(Trajectory)
    for entity, trajectory in found:
        if trajectory.frame == "lla" and world.parent(entity) is not None:
            name = world.name(entity)
            raise StateError(
                f"entity {name!r}: waypoints by latitude and longitude are for entities without parent"
            )
    rows = world.rows([entity for entity, _ in found])
    return Followers(rows, world.velocities.present[rows], paths_of([trajectory for _, trajectory in found]))


def _gather_free(world: World) -> Rows:
    """Rows with a Velocity that nothing else moves or holds."""
    bound = {entity for kind in (Trajectory, Landed) for entity, *_ in world.query(kind)}
    entities = [entity for entity, _ in world.query(Velocity) if entity not in bound]
    return world.rows(entities)


def _gather_spins(world: World) -> tuple[Rows, Floats]:
    """Rows that spin, and their rotation vectors (rad/s)."""
    found = [(entity, spin) for entity, spin in world.query(Spin) if spin.speed]
    axes = np.array([spin.axis for _, spin in found], np.float64).reshape(-1, 3)
    lengths = np.linalg.norm(axes, axis=1, keepdims=True)
    speeds = np.array([spin.speed for _, spin in found], np.float64)[:, None]
    return world.rows([entity for entity, _ in found]), axes / np.where(lengths > 0, lengths, 1.0) * speeds


_followers = Gathered(_gather_followers)
_free = Gathered(_gather_free)
_spins = Gathered(_gather_spins)


def follow_trajectories(world: World, tick: Tick) -> None:
    """Put every entity with a Trajectory where it is at this time; its Velocity, if it has one, says how it moves."""
    followers = _followers(world)
    if not len(followers.rows):
        return
    now = sample(followers.paths, tick.time_ns, world.origin)
    rows = followers.rows
    world.transforms.position[rows] = now.position
    world.transforms.orientation[rows[now.known]] = now.orientation[now.known]
    world.velocities.linear[rows[followers.with_velocity]] = now.velocity[followers.with_velocity]


def integrate_velocities(world: World, tick: Tick) -> None:
    """Move and turn every entity with a Velocity: linear in the axes of its parent (NED for roots), angular in its own.

    What follows a Trajectory or is Landed is left alone.
    """
    rows = _free(world)
    if not len(rows):
        return
    world.transforms.position[rows] += world.velocities.linear[rows] * tick.step_s
    angular = world.velocities.angular[rows]
    turning = angular.any(axis=1)
    _turn(world, rows[turning], angular[turning] * tick.step_s)


def spin_rotors(world: World, tick: Tick) -> None:
    """Turn every entity with a Spin about its axis."""
    rows, rates = _spins(world)
    _turn(world, rows, rates * tick.step_s)


def hold_landed(world: World, tick: Tick) -> None:  # noqa: ARG001
    """Keep what is Landed where it is, until it moves up or is pulled up by more than its weight."""
    for entity, landed in world.query(Landed):
        velocity = world.try_get(entity, Velocity)
        force = world.try_get(entity, Force)
        rises = velocity is not None and velocity.linear[2] < 0.0
        if rises or (force is not None and -force.newton[2] > landed.weight):
            world.remove(entity, Landed)
        elif velocity is not None:
            velocity.linear[:] = 0.0
            velocity.angular[:] = 0.0


# In this order: what is held, what is led, what is free, what spins.
MOTION = (hold_landed, follow_trajectories, integrate_velocities, spin_rotors)


def set_rotor_speed(world: World, effector: Entity, speed: float) -> None:
    """Let a rotor turn at `speed` (rad/s, in its own direction), and with it the link it drives."""
    actuator = world.try_get(effector, Actuator)
    parts = [effector]
    owner = world.parent(effector)
    if actuator is not None and actuator.link and owner is not None:
        parts.append(world.find(f"{world.name(owner)}/{actuator.link}"))
    for part in parts:
        spin = world.try_get(part, Spin)
        if spin is None and part == effector and not world.has(part, Effector):
            raise StateError(f"entity {world.name(part)!r} is no effector")
        world.set(part, Spin(speed) if spin is None else replace(spin, speed=speed))


def _turn(world: World, rows: Rows, angles: Floats) -> None:
    """Turn rows by rotation vectors (n, 3; rad) in their own axes."""
    if not len(rows):
        return
    size = np.linalg.norm(angles, axis=1, keepdims=True)
    half = 0.5 * size
    # sin(size / 2) / size by sinc, which is right at zero too
    change: Any = np.concatenate([angles * (0.5 * np.sinc(half / np.pi)), np.cos(half)], axis=1)
    turned = multiply(world.transforms.orientation[rows], change)
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    world.transforms.orientation[rows] = turned
