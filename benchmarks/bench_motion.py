"""Moving things: velocities, trajectories and rotors of a whole world in arrays, against a loop over entities."""

import numpy as np
from measure import measure, table

from diorama.ecs import Transform, Velocity, World
from diorama.ecs.motion import Spin, Trajectory
from diorama.geo.rotation import multiply
from diorama.runtime.clock import Tick
from diorama.runtime.motion import follow_trajectories, integrate_velocities, spin_rotors

TICK = Tick(0, 500_000_000, 20_000_000)
COUNT = 10_000


def world_of(*components: object) -> World:
    world = World()
    world.insert([f"e{n}" for n in range(COUNT)], *components)
    return world


def loop_over_entities(world: World) -> None:
    for _, transform, velocity in world.query(Transform, Velocity):
        transform.position += velocity.linear * TICK.step_s
        angle = velocity.angular * TICK.step_s
        size = np.linalg.norm(angle)
        change = np.array([*(angle * 0.5), np.cos(size / 2)])
        transform.orientation[:] = multiply(transform.orientation, change)


def main() -> None:
    moving = world_of(Velocity((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)))
    path = Trajectory(
        (0.0, 1.0, 2.0), ((0.0, 0.0, 0.0), (9.0, 0.0, 0.0), (9.0, 9.0, 0.0)), smooth=True, loop=True
    )
    following, spinning = world_of(path), world_of(Spin(300.0))
    timings = measure(
        {
            "velocities, arrays": lambda: integrate_velocities(moving, TICK),
            "velocities, a loop over entities": lambda: loop_over_entities(moving),
            "smooth trajectories, arrays": lambda: follow_trajectories(following, TICK),
            "rotors, arrays": lambda: spin_rotors(spinning, TICK),
        },
        seconds=4.0,
    )
    print(table(f"{COUNT} entities, one tick", timings, unit=COUNT))


if __name__ == "__main__":
    main()
