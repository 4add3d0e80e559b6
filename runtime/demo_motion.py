"""How the demo's entities move: along closed paths and as a swarm, all of them with arrays.

Each system is made for some entities of a world and called with every tick: `system(world, tick)`. The paths are no
`Trajectory` components, since every listener would then be told their hundreds of waypoints.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diorama.ecs import World
from diorama.geo import quaternion_from_rpy
from diorama.geo.rotation import slerp
from diorama.runtime.clock import Tick
from diorama.runtime.motion import Gathered

Floats = NDArray[np.float64]
Handles = NDArray[np.int64]
Rows = NDArray[np.intp]

SAMPLES = 720  # points a closed path is kept as
GRAVITY = 9.81
STEEPEST_BANK = np.radians(28.0)


def closed_path(corners: ArrayLike) -> Floats:
    """(SAMPLES, 3) points, equally far apart along a smooth closed curve (Catmull-Rom) through corners (n, 3)."""
    points = np.asarray(corners, np.float64)
    before, after, beyond = (np.roll(points, shift, axis=0) for shift in (1, -1, -2))
    t = np.linspace(0.0, 1.0, 64, endpoint=False)[:, None, None]
    curve = 0.5 * (
        2 * points
        + (after - before) * t
        + (2 * before - 5 * points + 4 * after - beyond) * t**2
        + (3 * points - before - 3 * after + beyond) * t**3
    )
    dense = np.concatenate([curve.transpose(1, 0, 2).reshape(-1, 3), points[:1]])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(dense, axis=0), axis=1))])
    wanted = np.linspace(0.0, along[-1], SAMPLES, endpoint=False)
    return np.stack([np.interp(wanted, along, dense[:, axis]) for axis in range(3)], axis=1)


def attitudes(path: Floats, speed: float, *, flies: bool, calm: float = 0.0) -> Floats:
    """(SAMPLES, 4) orientations along a path: nose ahead; what flies leans into its turns (speed in m/s).

    What is calm near the first corner stays level there.
    """
    ahead = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    # Smoothed over a stretch of path, so that a vertical climb keeps the heading of what follows it.
    spread = np.exp(-0.5 * (np.fft.fftfreq(SAMPLES, 1 / SAMPLES) / 8.0) ** 2)
    heading = np.fft.ifft(np.fft.fft(ahead[:, 0] + 1j * ahead[:, 1]) * np.fft.fft(spread / spread.sum()))
    yaw = np.unwrap(np.angle(heading))
    rpy = np.zeros((SAMPLES, 3))
    rpy[:, 2] = yaw
    if flies:
        length = np.linalg.norm(np.diff(path, axis=0, append=path[:1]), axis=1).sum()
        turn = (np.roll(yaw, -1) - np.roll(yaw, 1) + np.pi) % (2 * np.pi) - np.pi
        yaw_rate = turn / 2 * speed / (length / SAMPLES)
        rpy[:, 0] = np.clip(np.arctan(speed * yaw_rate / GRAVITY), -STEEPEST_BANK, STEEPEST_BANK)
        rpy[:, 0] *= 1.0 - calm * np.cos(np.pi * np.arange(SAMPLES) / SAMPLES) ** 8
        rpy[:, 1] = np.radians(-4.0)
    return quaternion_from_rpy(rpy)


def _living(world: World, entities: Handles) -> tuple[NDArray[np.bool_] | slice, Rows]:
    """Which of some entities are still there, and their rows: a client may despawn any, and rows are used again."""
    alive = np.array([world.alive(entity) for entity in entities.tolist()], np.bool_)
    return slice(None) if alive.all() else alive, world.rows(entities[alive])


class Traffic:
    """Entities that go round closed paths.

    `calm` (n,) from 0 to below 1 slows each down near the first corner of its path, where it takes off and lands.
    """

    def __init__(
        self,
        entities: Handles,
        paths: Sequence[Floats],
        *,
        speed: Sequence[float],
        phase: Sequence[float],
        calm: Sequence[float],
        flies: Sequence[bool],
    ) -> None:
        self._living = Gathered(partial(_living, entities=entities))
        self._paths = np.stack(paths)
        self._attitudes = np.stack(
            [
                attitudes(path, v, flies=fly, calm=ease)
                for path, v, fly, ease in zip(paths, speed, flies, calm, strict=True)
            ]
        )
        length = np.linalg.norm(np.diff(self._paths, axis=1, append=self._paths[:, :1]), axis=2).sum(axis=1)
        self._laps_per_s = np.asarray(speed) / length
        self._phase, self._calm = np.asarray(phase), np.asarray(calm)
        self._each = np.arange(len(entities))

    def __call__(self, world: World, tick: Tick) -> None:
        chosen, rows = self._living(world)
        position, orientation = self.at(tick.time_s)
        before, _ = self.at(tick.time_s - 0.01)
        world.transforms.position[rows] = position[chosen]
        world.transforms.orientation[rows] = orientation[chosen]
        world.velocities.linear[rows] = (position - before)[chosen] / 0.01

    def at(self, time_s: float) -> tuple[Floats, Floats]:
        """Positions (n, 3) and orientations (n, 4) at a time."""
        lap = self._phase + self._laps_per_s * time_s
        eased = lap - self._calm * np.sin(2 * np.pi * lap) / (2 * np.pi)
        place = (eased % 1.0) * SAMPLES
        index = place.astype(np.intp) % SAMPLES
        following, part = (index + 1) % SAMPLES, place - np.floor(place)
        here, there = self._paths[self._each, index], self._paths[self._each, following]
        turn = slerp(self._attitudes[self._each, index], self._attitudes[self._each, following], part)
        return here + part[:, None] * (there - here), turn


class Swarm:
    """A flock of small drones that circle the site in a breathing, tilted ring."""

    def __init__(self, entities: Handles, *, center: ArrayLike, seed: int = 8) -> None:
        count = len(entities)
        random = np.random.default_rng(seed)
        self._living = Gathered(partial(_living, entities=entities))
        self._center = np.asarray(center, np.float64)
        self._around = random.uniform(0.0, 2 * np.pi, count)
        self._radius = 420.0 + 190.0 * np.sqrt(random.uniform(0.0, 1.0, count)) * random.choice(
            [-1, 1], count
        )
        self._height = random.normal(0.0, 14.0, count)
        self._rate = 14.0 / self._radius  # rad/s at 14 m/s

    def __call__(self, world: World, tick: Tick) -> None:
        chosen, rows = self._living(world)
        angle = self._around + self._rate * tick.time_s
        wave = 0.08 * np.sin(3 * angle + 0.4 * tick.time_s)
        radius, cos, sin = self._radius * (1 + wave), np.cos(angle), np.sin(angle)
        position = np.empty((len(angle), 3))
        position[:, 0] = self._center[0] + radius * cos
        position[:, 1] = self._center[1] + radius * sin
        position[:, 2] = self._center[2] - 45.0 * np.sin(2 * angle + 0.2 * tick.time_s) + self._height
        half = 0.5 * (angle + np.pi / 2)
        orientation = np.zeros((len(angle), 4))
        orientation[:, 2], orientation[:, 3] = np.sin(half), np.cos(half)
        world.transforms.position[rows] = position[chosen]
        world.transforms.orientation[rows] = orientation[chosen]
        world.velocities.linear[rows, 0] = -14.0 * sin[chosen]
        world.velocities.linear[rows, 1] = 14.0 * cos[chosen]
